// The order of work in the fake driver: streams and events. Run in every order that
// FAKE_CUDA_ORDER names.
#include "tests/cuda/fake_order.h"

#include <filesystem>

namespace fake {
namespace {

TEST_F(FakeOrder, AStreamIsInOrder) {
  const CUstream stream = NewStream();
  for (int id = 1; id <= 5; ++id) Note(id, stream);
  if (IsLazy()) {
    EXPECT_EQ(Ran(), std::vector<int>{});
  }
  EXPECT_EQ(Cuda().StreamSynchronize(stream), kSuccess);
  EXPECT_EQ(Ran(), (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST_F(FakeOrder, WaitingRunsOnlyWhatIsNeeded) {
  if (!IsLazy()) GTEST_SKIP();
  const CUstream a = NewStream(), b = NewStream();
  Note(1, a);
  Note(2, b);
  EXPECT_EQ(Cuda().fake_cuda_pending(), 2);
  EXPECT_EQ(Cuda().StreamSynchronize(b), kSuccess);
  EXPECT_EQ(Ran(), (std::vector<int>{2}));
  EXPECT_EQ(Cuda().StreamSynchronize(a), kSuccess);
  EXPECT_EQ(Ran(), (std::vector<int>{2, 1}));
}

TEST_F(FakeOrder, AStreamWaitsForAnEvent) {
  const CUstream a = NewStream(), b = NewStream();
  const CUevent event = NewEvent();
  Note(1, a);
  EXPECT_EQ(Cuda().EventRecord(event, a), kSuccess);
  Note(2, a);
  EXPECT_EQ(Cuda().StreamWaitEvent(b, event, 0), kSuccess);
  Note(3, b);
  EXPECT_EQ(Cuda().StreamSynchronize(b), kSuccess);
  const auto ran = Ran();
  EXPECT_LT(Place(ran, 1), Place(ran, 3));
  if (IsLazy()) {
    EXPECT_EQ(ran, (std::vector<int>{1, 3}));
  }
  EXPECT_EQ(Cuda().StreamSynchronize(a), kSuccess);
}

TEST_F(FakeOrder, WithoutAnEventTheOrderOfStreamsIsOpen) {
  if (!IsLazy()) GTEST_SKIP();
  bool first = false, second = false;
  for (int i = 0; i < 20; ++i) {
    const CUdeviceptr before = list_;
    list_ = Upload(std::vector<int>(100, 0));
    EXPECT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
    const CUstream a = NewStream(), b = NewStream();
    Note(1, a);
    Note(2, b);
    const CUevent event = NewEvent();
    EXPECT_EQ(Cuda().EventRecord(event, b), kSuccess);
    EXPECT_EQ(Cuda().StreamWaitEvent(a, event, 0), kSuccess);
    EXPECT_EQ(Cuda().StreamSynchronize(a), kSuccess);
    (Ran()[0] == 1 ? first : second) = true;
    EXPECT_EQ(Cuda().MemFree(before), kSuccess);
  }
  EXPECT_TRUE(first && second);
}

TEST_F(FakeOrder, AskingAnEventComesToAnEnd) {
  const CUstream stream = NewStream();
  const CUevent event = NewEvent(), later = NewEvent();
  EXPECT_EQ(Cuda().EventQuery(event), kSuccess);  // never recorded
  EXPECT_EQ(Cuda().EventRecord(event, stream), kSuccess);
  for (int id = 1; id <= 3; ++id) Note(id, stream);
  EXPECT_EQ(Cuda().EventRecord(later, stream), kSuccess);
  float ms = -1;
  if (IsLazy()) {
    EXPECT_EQ(Cuda().EventElapsedTime(&ms, event, later), kNotReady);
  }
  int asked = 0;
  while (Cuda().EventQuery(later) == kNotReady) ASSERT_LT(++asked, 100);
  EXPECT_EQ(Ran(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(Cuda().EventElapsedTime(&ms, event, later), kSuccess);
  EXPECT_GE(ms, 0);
  EXPECT_EQ(Cuda().EventDestroy(event), kSuccess);
  EXPECT_EQ(Cuda().EventRecord(event, stream), 400);
}

TEST_F(FakeOrder, TheLegacyStreamWaitsForBlockingOnes) {
  CUstream blocking = nullptr;
  EXPECT_EQ(Cuda().StreamCreate(&blocking, 0), kSuccess);
  Note(1, blocking);
  Note(2, nullptr);
  Note(3, blocking);
  EXPECT_EQ(Cuda().StreamSynchronize(blocking), kSuccess);
  EXPECT_EQ(Ran(), (std::vector<int>{1, 2, 3}));
}

// All tests again, in processes of their own: the order is read once.
TEST(FakeOrders, TheOthersPassTheSameTests) {
  if (std::getenv("FAKE_CUDA_ORDER") != nullptr) GTEST_SKIP();
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  for (const char* order : {"eager", "random:1", "random:2", "lazy:3"}) {
    const std::string command =
        std::string("FAKE_CUDA_ORDER=") + order + " '" + program + "' --gtest_brief=1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

}  // namespace
}  // namespace fake
