// Captures and graphs of the fake driver. Run in every order that FAKE_CUDA_ORDER names.
#include "tests/cuda/fake_order.h"

namespace fake {
namespace {

using FakeGraph = FakeOrder;

TEST_F(FakeGraph, CapturedWorkRunsWhenTheGraphIsLaunched) {
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

TEST_F(FakeGraph, CapturesThatCannotBeGraphs) {
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

TEST_F(FakeGraph, GraphsFollowTheirEdgesAlone) {
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

TEST_F(FakeGraph, AnInstantiatedGraphIsUpdated) {
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
