// Kernels that note when they run. Used by the tests of the fake driver's order and graphs.
#pragma once

#include <algorithm>

#include "tests/cuda/fake_fixture.h"

namespace fake {

// Whether nothing runs before something waits for it.
inline bool IsLazy() {
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
  CUstream reader_ = NewReader();
  void* params_[2];

 private:
  static CUstream NewReader() {
    CUcontext context;
    CUstream stream = nullptr;
    Cuda().Init(0);
    Cuda().DevicePrimaryCtxRetain(&context, 0);
    Cuda().CtxSetCurrent(context);
    Cuda().StreamCreate(&stream, kStreamNonBlocking);
    return stream;
  }
};

}  // namespace fake
