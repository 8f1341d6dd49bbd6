#include "jit/graph/pack.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/backend.h"
#include "core/check.h"
#include "jit/graph/loop_kernel.h"

namespace frazil::jit {
namespace {

// What a node's first byte says.
enum : uint8_t {
  kInput = 1,
  kImmediate = 2,
  kView = 4,  // of an input: it is zero
  kHasAttrs = 8,
  kSameType = 16,    // as the node before
  kOfLoop = 32,      // its role follows
  kNextOrigin = 64,  // one more than the node before; neither this nor the next: a number follows
  kSameOrigin = 128,
};

// Numbers in seven bits a byte, small ones first; signed ones with the sign in the lowest bit.
void Put(std::string* out, uint64_t value) {
  for (; value >= 128; value >>= 7) out->push_back(char(value | 128));
  out->push_back(char(value));
}
void PutSigned(std::string* out, int64_t value) {
  Put(out, uint64_t(value) << 1 ^ uint64_t(value >> 63));
}

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  uint64_t Take() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = TakeByte();
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128) return value;
    }
    good_ = false;
    return 0;
  }
  int64_t TakeSigned() {
    const uint64_t value = Take();
    return int64_t(value >> 1 ^ (0 - (value & 1)));
  }
  uint8_t TakeByte() {
    good_ &= !bytes_.empty();
    if (!good_) return 0;
    const auto byte = uint8_t(bytes_[0]);
    bytes_.remove_prefix(1);
    return byte;
  }
  // How many of something follow, each of at least a byte.
  size_t TakeCount() {
    const uint64_t count = Take();
    good_ &= count <= bytes_.size();
    return good_ ? size_t(count) : 0;
  }
  // Below `bound`; else nothing is good.
  int32_t TakeBelow(uint64_t bound) {
    const uint64_t value = Take();
    good_ &= value < bound;
    return good_ ? int32_t(value) : 0;
  }
  void Need(bool holds) { good_ &= holds; }
  bool good() const { return good_; }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

struct Type {
  DType dtype;
  Device device;
  LayoutRef layout;
};

class Packer {
 public:
  std::string Run(const Graph& graph) {
    for (const Node& node : graph.nodes) PutNode(graph, node);
    std::string out;
    Put(&out, num_types_);
    out += types_;
    Put(&out, uint64_t(graph.num_inputs));
    Put(&out, graph.nodes.size());
    out += nodes_;
    Put(&out, graph.outputs.size());
    for (const int32_t id : graph.outputs) Put(&out, uint64_t(id));
    return out;
  }

 private:
  static void PutLoop(const Graph& graph, const Loop& loop, std::string* out) {
    PutSigned(out, loop.times);
    out->push_back(char(loop.scalars));
    PutSigned(out, loop.condition);
    Put(out, loop.sources.size());
    for (const Loop::Source& s : loop.sources) {
      out->push_back(char(s.kind));
      for (const int64_t word : {int64_t{s.operand}, s.start, s.step, int64_t{s.next}})
        PutSigned(out, word);
    }
    Put(out, loop.body.origins.size());
    for (const std::string& origin : loop.body.origins) {
      const auto at = std::find(graph.origins.begin(), graph.origins.end(), origin);
      Put(out, uint64_t(at - graph.origins.begin()));
    }
    *out += Packer().Run(loop.body);
  }

  void PutNode(const Graph& graph, const Node& node) {
    const uint32_t type = TypeOf(node);
    const bool next = node.origin == origin_ + 1, same = node.origin == origin_;
    nodes_.push_back(char(kInput * node.input | kImmediate * node.immediate |
                          kView * (node.view || node.zero) | kHasAttrs * !node.attrs.empty() |
                          kSameType * (type == type_) | kOfLoop * (node.role != Role::kOp) |
                          kNextOrigin * next | kSameOrigin * same));
    if (type != type_) Put(&nodes_, type);
    if (!next && !same) Put(&nodes_, uint64_t(node.origin + 1));
    if (!node.input) PutOp(node);
    if (node.view) PutSigned(&nodes_, node.offset);
    if (node.role != Role::kOp) nodes_.push_back(char(node.role));
    if (node.loop) PutLoop(graph, *node.loop, &nodes_);
    type_ = type;
    origin_ = node.origin;
    ++id_;
  }

  void PutOp(const Node& node) {
    nodes_.push_back(char(node.op));
    Put(&nodes_, node.operands.size());
    for (const int32_t operand : node.operands) {
      FZ_CHECK(operand < id_);
      Put(&nodes_, uint64_t(id_ - 1 - operand));
    }
    if (node.attrs.empty()) return;
    Put(&nodes_, node.attrs.size());
    for (const int64_t attr : node.attrs) PutSigned(&nodes_, attr);
  }

  uint32_t TypeOf(const Node& node) {
    const Key key{node.dtype, node.device.word, node.layout.get()};
    if (type_ != kNoType && key == last_) return type_;
    last_ = key;
    const auto [at, added] = index_.emplace(key, num_types_);
    if (added) {
      ++num_types_;
      types_.push_back(char(node.dtype));
      types_.push_back(char(node.device.word));
      Put(&types_, uint64_t(node.layout->rank));
      for (const int64_t extent : node.layout->dims()) Put(&types_, uint64_t(extent));
      types_.push_back(char(node.layout->dense));
      if (!node.layout->dense) {
        for (const int64_t stride : node.layout->strides()) PutSigned(&types_, stride);
      }
    }
    return at->second;
  }

  using Key = std::tuple<DType, uint8_t, const Layout*>;
  static constexpr uint32_t kNoType = UINT32_MAX;

  std::string types_, nodes_;
  uint32_t num_types_ = 0, type_ = kNoType;
  int32_t id_ = 0, origin_ = -1;
  Key last_;
  absl::flat_hash_map<Key, uint32_t> index_;
};

std::vector<Type> TakeTypes(Unpacker* in) {
  std::vector<Type> types(in->TakeCount());
  for (Type& type : types) {
    type.dtype = static_cast<DType>(in->TakeByte());
    type.device.word = in->TakeByte();
    in->Need(int(type.dtype) < kNumDTypes && IsRegistered(type.device.kind()));
    const auto rank = size_t(in->TakeBelow(kMaxRank + 1));
    std::array<int64_t, kMaxRank> extents{}, strides{};
    for (size_t i = 0; i < rank; ++i) extents[i] = int64_t(in->Take());
    const bool dense = in->TakeByte() != 0;
    for (size_t i = 0; i < rank && !dense; ++i) strides[i] = in->TakeSigned();
    const Dims dims(extents.data(), rank);
    in->Need(in->good() && CheckDims("unpack", dims, 8).ok());
    if (!in->good()) return {};
    type.layout = dense ? Dense(dims) : Intern(dims, {strides.data(), rank});
  }
  return types;
}

}  // namespace

std::string Pack(const Graph& graph) { return Packer().Run(graph); }

std::string Pack(const Grouping& grouping) {
  std::string out;
  Put(&out, grouping.groups.size());
  for (const Group& group : grouping.groups) {
    out.push_back(char(group.kind));
    for (const std::vector<int32_t>* ids : {&group.nodes, &group.outputs}) {
      Put(&out, ids->size());
      int32_t last = 0;
      for (const int32_t id : *ids) PutSigned(&out, id - std::exchange(last, id));
    }
  }
  return out;
}

namespace {

constexpr int kMaxDepth = 16;  // of loops in each other

std::optional<Graph> Unpack(std::string_view* bytes, const std::vector<std::string>& origins,
                            int depth);

LoopRef TakeLoop(Unpacker* in, const std::vector<std::string>& origins, int depth) {
  Loop loop;
  loop.times = in->TakeSigned();
  loop.scalars = in->TakeByte() != 0;
  loop.condition = int32_t(in->TakeSigned());
  loop.sources.resize(in->TakeCount());
  for (Loop::Source& s : loop.sources) {
    s.kind = static_cast<Loop::Source::Kind>(in->TakeByte());
    in->Need(s.kind <= Loop::Source::Kind::kState);
    s.operand = int32_t(in->TakeSigned());
    s.start = in->TakeSigned();
    s.step = in->TakeSigned();
    s.next = int32_t(in->TakeSigned());
  }
  std::vector<std::string> own(in->TakeCount());
  for (std::string& origin : own) {
    const int32_t at = in->TakeBelow(origins.size());
    if (in->good()) origin = origins[size_t(at)];
  }
  in->Need(depth < kMaxDepth);
  if (!in->good()) return {};
  std::string_view rest = in->rest();
  std::optional<Graph> body = Unpack(&rest, own, depth + 1);
  in->Need(body.has_value());
  if (!body) return {};
  *in = Unpacker(rest);
  loop.body = *std::move(body);
  loop.body.origins = std::move(own);
  return LoopRef(new Loop(std::move(loop)));
}

class NodeUnpacker {
 public:
  NodeUnpacker(Unpacker* in, const std::vector<Type>& types,
               const std::vector<std::string>& origins, int depth)
      : in_(*in), types_(types), origins_(origins), depth_(depth) {}

  Node Take(int32_t id) {
    Node node;
    const uint8_t flags = in_.TakeByte();
    node.input = flags & kInput;
    node.immediate = flags & kImmediate;
    (node.input ? node.zero : node.view) = flags & kView;
    if (!(flags & kSameType)) type_ = size_t(in_.TakeBelow(types_.size()));
    if (flags & kNextOrigin) {
      ++origin_;
    } else if (!(flags & kSameOrigin)) {
      origin_ = in_.TakeBelow(origins_.size() + 1) - 1;
    }
    in_.Need(type_ < types_.size() && origin_ < int64_t(origins_.size()));
    if (!in_.good()) return node;
    node.origin = origin_;
    node.dtype = types_[type_].dtype;
    node.device = types_[type_].device;
    node.layout = types_[type_].layout;
    if (!node.input) TakeOp(flags, id, &node);
    if (node.view) node.offset = in_.TakeSigned();
    in_.Need((!node.view || !node.operands.empty()) && (!node.zero || node.immediate));
    if (flags & kOfLoop) node.role = static_cast<Role>(in_.TakeBelow(uint64_t(Role::kEvery) + 1));
    if (node.role == Role::kLoop) node.loop = TakeLoop(&in_, origins_, depth_);
    return node;
  }

 private:
  void TakeOp(uint8_t flags, int32_t id, Node* node) {
    const int op = in_.TakeByte();
    in_.Need(op < kNumOps);
    node->op = static_cast<OpId>(op);
    for (size_t n = in_.TakeCount(); n > 0; --n)
      node->operands.push_back(id - 1 - in_.TakeBelow(uint64_t(id)));
    if (!(flags & kHasAttrs)) return;
    for (size_t n = in_.TakeCount(); n > 0; --n) node->attrs.push_back(in_.TakeSigned());
  }

  Unpacker& in_;
  const std::vector<Type>& types_;
  const std::vector<std::string>& origins_;
  const int depth_;
  size_t type_ = SIZE_MAX;
  int32_t origin_ = -1;
};

std::optional<Graph> Unpack(std::string_view* bytes, const std::vector<std::string>& origins,
                            int depth) {
  Unpacker in(*bytes);
  Graph graph;
  const std::vector<Type> types = TakeTypes(&in);
  const uint64_t inputs = in.Take();
  graph.nodes.resize(in.TakeCount());
  in.Need(inputs <= graph.nodes.size());
  graph.num_inputs = int(in.good() ? inputs : 0);
  NodeUnpacker nodes(&in, types, origins, depth);
  for (size_t id = 0; id < graph.nodes.size() && in.good(); ++id) {
    graph.nodes[id] = nodes.Take(int32_t(id));
    in.Need(graph.nodes[id].input == (id < inputs));
  }
  graph.outputs.resize(in.TakeCount());
  for (int32_t& id : graph.outputs) id = in.TakeBelow(graph.nodes.size());
  if (!in.good()) return std::nullopt;
  // Whoever runs a loop relies on it.
  if (depth == 0 && HasLoops(graph)) {
    graph.origins = origins;
    if (!Verify(graph).ok()) return std::nullopt;
    graph.origins.clear();
  }
  *bytes = in.rest();
  return graph;
}

}  // namespace

std::optional<Graph> UnpackGraph(std::string_view* bytes, const std::vector<std::string>& origins) {
  return Unpack(bytes, origins, 0);
}

std::optional<Grouping> UnpackGrouping(std::string_view* bytes, const Graph& graph) {
  Unpacker in(*bytes);
  Grouping grouping;
  grouping.groups.resize(in.TakeCount());
  for (Group& group : grouping.groups) {
    const uint8_t kind = in.TakeByte();
    in.Need(kind <= uint8_t(Group::Kind::kScalars));
    group.kind = static_cast<Group::Kind>(kind);
    for (std::vector<int32_t>* ids : {&group.nodes, &group.outputs}) {
      ids->resize(in.TakeCount());
      in.Need(!ids->empty());
      int64_t last = 0;
      for (int32_t& id : *ids) {
        const int64_t step = in.TakeSigned(), most = int64_t(graph.nodes.size());
        in.Need(-last <= step && step < most - last);
        if (in.good()) last += step;
        id = int32_t(last);
      }
    }
    if (!in.good()) return std::nullopt;
    const int32_t first = group.nodes[0];
    const LoopRef& loop = graph.nodes[first].loop;
    const bool scalars = loop && loop->scalars,
               steps = loop && !scalars && !IsOneKernel(graph, first);
    in.Need(steps == (group.kind == Group::Kind::kSteps));
    in.Need(scalars == (group.kind == Group::Kind::kScalars));
  }
  if (!in.good()) return std::nullopt;
  *bytes = in.rest();
  return grouping;
}

}  // namespace frazil::jit
