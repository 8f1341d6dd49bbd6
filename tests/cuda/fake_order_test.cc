// The order of work in the fake driver: streams, events, captures, graphs. Run in every order that
// FAKE_CUDA_ORDER names.
#include <algorithm>
#include <sstream>

#include "tests/cuda/fake_fixture.h"

namespace fake {
namespace {

bool IsLazy() {
  const char* order = std::getenv("FAKE_CUDA_ORDER");
  return order == nullptr || std::string(order).rfind("lazy", 0) == 0;
}

class FakeOrder : public FakeTest {
 protected:
  void SetUp() override {
    FakeTest::SetUp();
    // Appends `id` to a list, so that the list is the order in which kernels ran.
    note_ = Load(R"(
      extern "C" __global__ void note(int* list, int id) { list[++list[0]] = id; })",
                 "note");
    list_ = Upload(std::vector<int>(100, 0));
    ASSERT_EQ(Cuda().StreamSynchronize(nullptr), kSuccess);
  }
  void TearDown() override { EXPECT_EQ(Cuda().MemFree(list_), kSuccess); }

  void Note(int id, CUstream stream) {
    EXPECT_EQ(Launch(note_, 1, 1, stream, list_, id), kSuccess);
  }
  KernelNodeParams NoteParams(int* id) {
    params_[0] = &list_;
    params_[1] = id;
    return {.func = note_,
            .grid_x = 1,
            .grid_y = 1,
            .grid_z = 1,
            .block_x = 1,
            .block_y = 1,
            .block_z = 1,
            .params = params_};
  }
  // What ran so far, in order; reading it runs nothing else.
  std::vector<int> Ran() {
    const auto list = Download<int>(list_, 100, reader_);
    return {list.begin() + 1, list.begin() + 1 + list[0]};
  }
  static size_t Place(const std::vector<int>& ran, int id) {
    return size_t(std::find(ran.begin(), ran.end(), id) - ran.begin());
  }

  CUfunction note_ = nullptr;
  CUdeviceptr list_ = 0;
  CUstream reader_ = NewStream1();
  void* params_[2];

 private:
  static CUstream NewStream1() {
    CUcontext context;
    CUstream stream = nullptr;
    Cuda().Init(0);
    Cuda().DevicePrimaryCtxRetain(&context, 0);
    Cuda().CtxSetCurrent(context);
    Cuda().StreamCreate(&stream, kStreamNonBlocking);
    return stream;
  }
};

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

TEST_F(FakeOrder, CapturedWorkRunsWhenTheGraphIsLaunched) {
  const CUstream stream = NewStream(), side = NewStream();
  const CUevent fork = NewEvent(), join = NewEvent();
  EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
  Note(1, stream);
  EXPECT_EQ(Cuda().EventRecord(fork, stream), kSuccess);
  EXPECT_EQ(Cuda().StreamWaitEvent(side, fork, 0), kSuccess);
  Note(2, side);
  Note(3, stream);
  EXPECT_EQ(Cuda().EventRecord(join, side), kSuccess);
  EXPECT_EQ(Cuda().StreamWaitEvent(stream, join, 0), kSuccess);
  Note(4, stream);
  CUgraph graph = nullptr;
  EXPECT_EQ(Cuda().StreamEndCapture(stream, &graph), kSuccess);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(Cuda().GraphInstantiate(&exec, graph, 0), kSuccess);
  EXPECT_EQ(Cuda().GraphDestroy(graph), kSuccess);
  EXPECT_EQ(Ran(), std::vector<int>{});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Cuda().GraphLaunch(exec, stream), kSuccess);
  Note(5, stream);
  Note(6, side);  // no longer captured
  EXPECT_EQ(Cuda().StreamSynchronize(side), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(stream), kSuccess);
  auto ran = Ran();
  std::erase(ran, 6);
  ASSERT_EQ(ran.size(), 9);
  for (size_t i = 0; i < 8; i += 4) {
    EXPECT_EQ(ran[i], 1);
    EXPECT_EQ(ran[i + 3], 4);
    EXPECT_EQ(ran[i + 1] + ran[i + 2], 5);
  }
  EXPECT_EQ(ran[8], 5);
  EXPECT_EQ(Cuda().GraphExecDestroy(exec), kSuccess);
  EXPECT_EQ(Cuda().GraphLaunch(exec, stream), 400);
}

TEST_F(FakeOrder, CapturesThatCannotBeGraphs) {
  const CUstream stream = NewStream(), side = NewStream();
  const CUevent event = NewEvent();
  CUgraph graph = nullptr;
  // Work that nothing joins.
  EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
  EXPECT_EQ(Cuda().EventRecord(event, stream), kSuccess);
  EXPECT_EQ(Cuda().StreamWaitEvent(side, event, 0), kSuccess);
  Note(1, side);
  EXPECT_EQ(Cuda().StreamEndCapture(side, &graph), 903);
  EXPECT_EQ(Cuda().StreamEndCapture(stream, &graph), 904);
  // Waiting, and memory.
  EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(stream), 900);
  EXPECT_EQ(Launch(note_, 1, 1, stream, list_, 1), 901);
  EXPECT_EQ(Cuda().StreamEndCapture(stream, &graph), 901);
  EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
  CUdeviceptr p;
  EXPECT_EQ(Cuda().MemAlloc(&p, 16), 900);
  EXPECT_EQ(Cuda().StreamEndCapture(stream, &graph), 901);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(Ran(), std::vector<int>{});
}

TEST_F(FakeOrder, GraphsFollowTheirEdgesAlone) {
  const CUstream stream = NewStream();
  bool as_added = true;
  for (int round = 0; round < 8; ++round) {
    CUgraph graph = nullptr;
    EXPECT_EQ(Cuda().GraphCreate(&graph, 0), kSuccess);
    // 0 before 1..6, all of them before 7.
    std::vector<CUgraphNode> nodes(8);
    for (int id = 0; id < 8; ++id) {
      const KernelNodeParams params = NoteParams(&id);
      const size_t count = id == 0 ? 0 : id == 7 ? 6 : 1;
      EXPECT_EQ(Cuda().GraphAddKernelNode(&nodes[size_t(id)], graph,
                                          id == 7 ? &nodes[1] : &nodes[0], count, &params),
                kSuccess);
    }
    CUgraphExec exec = nullptr;
    EXPECT_EQ(Cuda().GraphInstantiate(&exec, graph, 0), kSuccess);
    EXPECT_EQ(Cuda().GraphLaunch(exec, stream), kSuccess);
    EXPECT_EQ(Cuda().StreamSynchronize(stream), kSuccess);
    auto ran = Ran();
    ran.erase(ran.begin(), ran.begin() + 8 * round);
    EXPECT_EQ(ran.front(), 0);
    EXPECT_EQ(ran.back(), 7);
    as_added &= std::is_sorted(ran.begin(), ran.end());
  }
  if (IsLazy()) {
    EXPECT_FALSE(as_added);
  }
}

TEST_F(FakeOrder, AnInstantiatedGraphIsUpdated) {
  const CUstream stream = NewStream();
  CUgraph graph = nullptr, inner = nullptr, other = nullptr;
  EXPECT_EQ(Cuda().GraphCreate(&graph, 0), kSuccess);
  CUgraphNode kernel, child, within;
  const auto capture = [&](std::vector<int> ids) {
    CUgraph made = nullptr;
    EXPECT_EQ(Cuda().StreamBeginCapture(stream, kCaptureThreadLocal), kSuccess);
    for (int id : ids) Note(id, stream);
    EXPECT_EQ(Cuda().StreamEndCapture(stream, &made), kSuccess);
    return made;
  };
  int id = 1;
  KernelNodeParams params = NoteParams(&id);
  EXPECT_EQ(Cuda().GraphAddKernelNode(&kernel, graph, nullptr, 0, &params), kSuccess);
  inner = capture({2, 3});
  EXPECT_EQ(Cuda().GraphAddChildGraphNode(&child, graph, &kernel, 1, inner), kSuccess);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(Cuda().GraphInstantiate(&exec, graph, 0), kSuccess);
  EXPECT_EQ(Cuda().GraphLaunch(exec, stream), kSuccess);
  // What is in flight keeps what it was launched with.
  id = 11;
  EXPECT_EQ(Cuda().GraphExecKernelNodeSetParams(exec, kernel, &params), kSuccess);
  other = capture({12, 13});
  EXPECT_EQ(Cuda().GraphExecChildGraphNodeSetParams(exec, child, other), kSuccess);
  EXPECT_EQ(Cuda().GraphLaunch(exec, stream), kSuccess);
  EXPECT_EQ(Cuda().StreamSynchronize(stream), kSuccess);
  EXPECT_EQ(Ran(), (std::vector<int>{1, 2, 3, 11, 12, 13}));
  EXPECT_EQ(Cuda().GraphExecChildGraphNodeSetParams(exec, child, capture({1, 2, 3})), 910);
  EXPECT_EQ(Cuda().GraphExecKernelNodeSetParams(exec, child, &params), kInvalidValue);
  EXPECT_EQ(Cuda().GraphAddKernelNode(&within, graph, &within, 1, &params), kInvalidValue);
}

}  // namespace
}  // namespace fake
