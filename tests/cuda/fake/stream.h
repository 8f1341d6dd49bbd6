// Streams, events and captures of the fake driver. Used by driver_stream.cc and driver_graph.cc.
// Invariant: a stream is the operation that what comes next must follow, or, while it is captured,
// the nodes that the next node must follow.
#pragma once

#include <thread>

#include "tests/cuda/fake/driver.h"

namespace fake {

struct Launch;
struct Node;
using NodeRef = std::shared_ptr<Node>;

// A node is a kernel, a graph, or an action.
struct Node {
  CUgraphNode handle;
  std::vector<CUgraphNode> needs;
  Context* context = nullptr;
  std::shared_ptr<Launch> launch;
  std::shared_ptr<Graph> child;
  Action action;
};

// Nodes in an order in which each comes after what it needs.
struct Graph {
  std::vector<Node> nodes;
  CUgraphNode Add(Node node);
  bool Has(CUgraphNode handle) const;
  // The same nodes, with launches of its own.
  std::shared_ptr<Graph> Copy() const;
};

struct GraphExec {
  Context* context;
  std::shared_ptr<Graph> graph;
  OpRef last;  // a graph does not run beside itself
};

struct Capture {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::thread::id thread;
  bool invalid = false, ended = false;
};

struct Stream {
  Stream(Context* context, bool blocking) : context(context), blocking(blocking) {}
  Context* const context;
  const bool blocking;  // waits for the legacy stream, and that one for it
  OpRef tail;
  std::shared_ptr<Capture> capture;
  bool origin = false;  // where the capture began
  std::vector<CUgraphNode> nodes;
};

struct Event {
  Event(Context* context, bool timing) : context(context), timing(timing) {}
  Context* const context;
  const bool timing;
  OpRef op;
  std::shared_ptr<Capture> capture;
  std::vector<CUgraphNode> nodes;
};

// What a handle stands for in the current context; null if it is no stream.
std::shared_ptr<Stream> FindStream(CUstream handle);
// Adds an operation behind everything in the stream; knows the legacy stream.
OpRef Append(Stream* stream, std::vector<OpRef> more_needs, std::function<void()> run);
// Adds a node behind the captured ones.
void AppendNode(Stream* stream, Node node);
// Adds all nodes behind what is in the stream.
void AppendGraph(Stream* stream, GraphExec* exec);

int MaxSharedBytes();

}  // namespace fake
