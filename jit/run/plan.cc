#include "jit/run/plan.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "core/backend.h"
#include "core/check.h"
#include "core/cost.h"
#include "core/profile.h"
#include "core/small_stack.h"
#include "core/threads/fp_mode.h"
#include "core/threads/long_work.h"
#include "distributed/collectives.h"
#include "jit/cuda/compiler.h"
#include "jit/run/counters.h"

namespace frazil::jit {

FZ_HOT_TLS int64_t t_kernels_run = 0;

namespace {

// Filled one by one: setting so few words to zero first would take longer than the rest.
template <typename T>
using Small = SmallStack<T, 16>;

constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

// Which values are several inputs. Looked for when it is first asked, once for all.
class Repeated {
 public:
  explicit Repeated(absl::Span<Value* const> inputs) : inputs_(inputs) {}

  bool Is(int32_t input) {
    if (inputs_.size() > kScanned) {
      if (table_.empty()) Find();
      return absl::c_linear_search(repeated_, inputs_[input]);
    }
    return absl::c_count(inputs_, inputs_[input]) > 1;
  }

 private:
  static constexpr size_t kScanned = 16;

  void Find() {
    const int bits = std::bit_width(inputs_.size()) + 1;
    table_.resize(size_t{1} << bits);
    for (Value* v : inputs_) {
      if (!v->storage) continue;
      size_t at = reinterpret_cast<uintptr_t>(v) * 0x9E3779B97F4A7C15u >> (64 - bits);
      while (table_[at] && table_[at] != v) at = (at + 1) % table_.size();
      if (table_[at]) repeated_.push_back(v);
      table_[at] = v;
    }
  }

  const absl::Span<Value* const> inputs_;
  std::vector<const Value*> table_;  // by hash; at most half of it is used
  absl::InlinedVector<const Value*, 1> repeated_;
};

// True if nobody but the caller can see the memory of `inputs[donor]`. Another input that shares it
// is another value that holds the storage, or the same one.
bool MayReuse(absl::Span<Value* const> inputs, int32_t donor, Repeated* repeated) {
  const Value& value = *inputs[donor];
  const Storage* storage = value.storage;
  if (!storage || storage->foreign || value.holders() != 1 || storage->holders() != 1) return false;
  if (reinterpret_cast<uintptr_t>(value.data) % 64 != 0)
    return false;  // what kernels expect of results
  return !repeated->Is(donor);
}

bool MayTake(const Result& result, absl::Span<Value* const> inputs, Repeated* repeated) {
  return result.donor >= 0 && !(result.work_from_there > cost::kUninterrupted && HasHost()) &&
         MayReuse(inputs, result.donor, repeated);
}

Status FindMemory(const Result& result, absl::Span<Value* const> inputs, Repeated* repeated,
                  Memory* memory) {
  if (MayTake(result, inputs, repeated)) {
    const Value& donor = *inputs[result.donor];
    *memory = {StorageRef::Share(donor.storage), donor.data};
    return absl::OkStatus();
  }
  const size_t bytes = static_cast<size_t>(result.layout->size) * SizeOf(result.dtype);
  FZ_ASSIGN_OR_RETURN(memory->storage, Allocate(result.device, bytes));
  memory->data = memory->storage->data;
  return absl::OkStatus();
}

// What takes the memory of a value that nobody else can see may as well take the value.
bool IsWhole(const Result& result, const Value& donor) {
  return donor.dtype == result.dtype && donor.layout == result.layout->shape;
}

ValueRef ValueOver(const Result& result, Memory memory) {
  return Value::Make(result.dtype, result.device, result.layout->shape, std::move(memory.storage),
                     memory.data);
}

// Collectives that end beside other steps, if need be in the body of a loop.
bool Starts(const Graph& graph) {
  return absl::c_any_of(graph.nodes, [](const Node& node) {
    return (!node.input && node.op == OpId::k_collective_wait) ||
           (node.loop && Starts(node.loop->body));
  });
}

}  // namespace

Plan::Plan(Schedule schedule, Graph graph, Grouping grouping, const BuildOptions& options)
    : schedule_(MarkLast(std::move(schedule))),
      simple_(Simple(schedule_)),
      has_head_(options.compile.lent_by_cell && HasHead(schedule_)),
      quick_(Quick()),
      graph_(std::move(graph)),
      grouping_(std::move(grouping)),
      options_(options),
      starts_(Starts(graph_)),
      waits_(absl::c_any_of(graph_.nodes,
                            [](const Node& node) { return !CpuAddresses(node.device); })),
      bytes_(CountBytes()) {}

// A plan of several steps in two parts: what comes before the first step that overwrites the
// content of a cell, without the host's lock, and the rest, with it, since no other thread may see
// the cell half-way. What is overwritten is decided in between.
Status Plan::Run(absl::Span<Value* const> inputs, absl::Span<ValueRef> outputs,
                 tracer::StillLent still_lent) const {
  const Schedule& p = schedule_;
  FZ_CHECK(static_cast<int32_t>(inputs.size()) == p.num_inputs &&
           outputs.size() == p.outputs.size());
  if (simple_) {
    Memory memory;
    FZ_RETURN_IF_ERROR(RunSimple(inputs, &memory));
    outputs[0] = ValueOver(p.results[0], std::move(memory));
    return absl::OkStatus();
  }
  Small<char*> slots;
  for (const Value* v : inputs) slots.push_back(v->data);
  absl::InlinedVector<StorageRef, 2> arenas;
  for (const Arena& arena : p.arenas) {
    slots.push_back(nullptr);
    if (arena.bytes == 0) continue;
    FZ_ASSIGN_OR_RETURN(StorageRef memory, Allocate(arena.device, size_t(arena.bytes)));
    slots[slots.size() - 1] = memory->data;
    arenas.push_back(std::move(memory));
  }
  const bool takes_long = TakesLong();
  const int32_t last = static_cast<int32_t>(p.steps.size());
  const int32_t first = has_head_ && takes_long ? FirstOverwrite(inputs) : kNever;
  const int32_t head = first < last ? first : 0;
  absl::InlinedVector<ValueRef, 4> results(p.results.size());
  Repeated repeated(inputs);
  int32_t overwrites = kNever;  // the first step that writes over an input
  const auto find = [&](size_t i) {
    const Result& result = p.results[i];
    Memory memory;
    FZ_RETURN_IF_ERROR(FindMemory(result, inputs, &repeated, &memory));
    slots[p.result_slot(i)] = memory.data;
    Value* const donor = result.donor >= 0 ? inputs[result.donor] : nullptr;
    const bool taken = donor && memory.data == donor->data;
    if (taken) overwrites = std::min(overwrites, result.first_step);
    results[i] = taken && IsWhole(result, *donor) ? ValueRef::Share(donor)
                                                  : ValueOver(result, std::move(memory));
    return absl::OkStatus();
  };
  const auto later = [&](const Result& r) {
    return head > 0 && r.donor >= 0 && r.first_step >= head;
  };
  for (size_t i = 0; i < p.results.size(); ++i) {
    slots.push_back(nullptr);
    if (!later(p.results[i])) FZ_RETURN_IF_ERROR(find(i));
  }
  // Before the memory goes that a collective may still write to, if a step failed.
  const absl::Cleanup drain = [this] {
    if (starts_) distributed::Drain();
  };
  const DefaultFpMode mode;
  KernelsRun() += p.stats.kernels + p.stats.library_calls;
  // Other threads, and the host's signal handlers, may let go of what this run needs.
  std::shared_ptr<const Plan> self;
  absl::InlinedVector<ValueRef, 16> held;
  const auto hold = [&] {
    self = shared_from_this();
    for (Value* v : inputs) held.push_back(ValueRef::Share(v));
  };
  if (head > 0) {
    hold();
    FZ_RETURN_IF_ERROR(RunLong(slots.begin(), inputs, 0, head, kNever));
    for (size_t i = 0; i < p.results.size(); ++i) {
      if (!later(p.results[i])) continue;
      const int32_t donor = p.results[i].donor;
      if (still_lent(donor)) held[donor] = ValueRef();
      FZ_RETURN_IF_ERROR(find(i));
      if (results[i]->data != inputs[donor]->data) held[donor] = ValueRef::Share(inputs[donor]);
    }
  }
  if (takes_long && !(overwrites != kNever && lent_by_cell())) {
    if (held.empty()) hold();
    FZ_RETURN_IF_ERROR(RunLong(slots.begin(), inputs, head, last, overwrites));
  } else {
    FZ_RETURN_IF_ERROR(RunSteps(slots.begin(), inputs, head));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    FZ_ASSIGN_OR_RETURN(outputs[i], MakeOutput(p.outputs[i], inputs, absl::MakeSpan(results)));
  }
  return absl::OkStatus();
}

Status Plan::Fill(absl::Span<Value* const> inputs, absl::Span<Value* const> deferred) const {
  if (quick_.fn && quick_.Fill(inputs.data(), deferred[0])) return absl::OkStatus();
  if (simple_ && !deferred[0]->ready()) {
    Memory memory;
    FZ_RETURN_IF_ERROR(RunSimple(inputs, &memory));
    FZ_CHECK(deferred[0]->layout == schedule_.results[0].layout->shape);
    deferred[0]->Fill(std::move(memory.storage), memory.data);
    return absl::OkStatus();
  }
  absl::InlinedVector<ValueRef, 16> outputs(deferred.size());
  FZ_RETURN_IF_ERROR(Run(inputs, absl::MakeSpan(outputs)));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!deferred[i]->ready()) FZ_RETURN_IF_ERROR(deferred[i]->FillFrom(*outputs[i]));
  }
  return absl::OkStatus();
}

size_t BytesOf(const Graph& graph) {
  size_t bytes = 0;
  for (const Node& node : graph.nodes) {
    bytes += sizeof(node) + 8 * node.attrs.size();
    if (node.loop) bytes += sizeof(Loop) + BytesOf(node.loop->body);
  }
  for (const std::string& origin : graph.origins) bytes += sizeof(origin) + origin.capacity();
  return bytes;
}

int64_t Plan::CountBytes() const {
  size_t bytes = sizeof(*this) + schedule_.results.size() * sizeof(Result) +
                 schedule_.outputs.size() * sizeof(Output) + BytesOf(graph_);
  for (const Group& group : grouping_.groups) bytes += sizeof(group) + 4 * group.nodes.size();
  return static_cast<int64_t>(bytes) + BytesOf(schedule_.steps);
}

bool Plan::TakesLong() const {
  // A plan on a GPU may have to wait for a compiler.
  return schedule_.stats.work >= cost::kLong || (waits_ && cuda::PendingCompilations() > 0);
}

bool Plan::HasHead(const Schedule& p) {
  int64_t tail = 0;
  for (const Result& result : p.results) {
    if (result.donor >= 0) tail = std::max(tail, result.work_from_there);
  }
  return tail > 0 && p.stats.work - tail >= cost::kLong;
}

int32_t Plan::FirstOverwrite(absl::Span<Value* const> inputs) const {
  Repeated repeated(inputs);
  int32_t first = kNever;
  for (const Result& result : schedule_.results) {
    if (result.first_step < first && MayTake(result, inputs, &repeated)) first = result.first_step;
  }
  return first;
}

Status Plan::RunSteps(char* const* slots, absl::Span<Value* const> inputs, int32_t begin) const {
  const std::string line = LineOfProfile();
  for (size_t i = size_t(begin); i < schedule_.steps.size(); ++i)
    FZ_RETURN_IF_ERROR(RunStep(i, slots, inputs, line));
  return absl::OkStatus();
}

// Without the host's lock, and abandoned if the host wants it before step `overwrites`.
Status Plan::RunLong(char* const* slots, absl::Span<Value* const> inputs, int32_t begin,
                     int32_t end, int32_t overwrites) const {
  const std::string line = LineOfProfile();  // while this thread has the host's lock
  LongWork work;
  for (int32_t i = begin; i < end; ++i) {
    if (work.Stop()) return Interrupted();
    if (i == overwrites) work.Shield();
    FZ_RETURN_IF_ERROR(RunStep(size_t(i), slots, inputs, line));
  }
  return work.stopped() ? Interrupted() : absl::OkStatus();
}

Schedule Plan::MarkLast(Schedule p) {
  std::vector<bool> later(static_cast<size_t>(p.num_inputs) + p.arenas.size() + p.results.size());
  for (size_t i = p.outputs.size(); i-- > 0;) {
    Output& output = p.outputs[i];
    output.last = !later[output.slot];
    later[output.slot] = true;
  }
  return p;
}

const KernelStep* Plan::Simple(const Schedule& p) {
  if (p.steps.size() != 1 || p.results.size() != 1 || p.outputs.size() != 1 ||
      p.arenas.size() != 1 || p.arenas[0].bytes > 0)
    return nullptr;
  const auto* const step = dynamic_cast<const KernelStep*>(p.steps[0].get());
  const bool simple = step && step->fn && step->work() < cost::kWorthSharing &&
                      step->buffers.size() <= QuickCall::kArgs &&
                      step->scalars.size() <= QuickCall::kArgs && p.outputs[0].same &&
                      p.outputs[0].slot == p.result_slot(0);
  return simple ? step : nullptr;
}

QuickCall Plan::Quick() const {
  QuickCall quick;
  const Schedule& p = schedule_;
  if (!simple_ || p.num_inputs > int32_t(QuickCall::kArgs) || !(p.results[0].device == Device()))
    return quick;
  const KernelStep& step = *simple_;
  for (size_t i = 0; i < step.buffers.size(); ++i) {
    if (step.buffers[i].offset != 0) return quick;
    const int32_t slot = step.buffers[i].slot;
    quick.buffers[i] = slot < p.num_inputs ? uint8_t(slot) : QuickCall::kResult;
  }
  for (size_t i = 0; i < step.scalars.size(); ++i) {
    if (step.scalars[i] < 0) return quick;
    quick.scalars[i] = uint8_t(step.scalars[i]);
  }
  quick.num_operands = uint8_t(p.num_inputs);
  quick.num_buffers = uint8_t(step.buffers.size());
  quick.num_scalars = uint8_t(step.scalars.size());
  quick.in_order = step.scalars.empty() && quick.num_buffers == 3 && quick.buffers[0] == 0 &&
                   quick.buffers[1] == 1 && quick.buffers[2] == QuickCall::kResult;
  quick.extents = step.extents.data();
  quick.strides = step.strides.data();
  quick.rows = step.rows;
  quick.cols = step.cols;
  const Result& result = p.results[0];
  quick.donor = int8_t(result.donor);
  quick.dtype = result.dtype;
  quick.layout = result.layout->shape;
  quick.kind = Value::KindOf(result.dtype, result.device, false);
  quick.bytes = size_t(result.layout->size) * SizeOf(result.dtype);
  if (quick.bytes <= kSmallData) quick.block_class = int8_t(BlockClass(quick.bytes + kSmallHeader));
  quick.fn = step.fn;
  quick.plan = this;
  return quick;
}

Status Plan::RunSimple(absl::Span<Value* const> inputs, Memory* memory) const {
  const KernelStep& step = *simple_;
  const Result& result = schedule_.results[0];
  const size_t bytes = static_cast<size_t>(result.layout->size) * SizeOf(result.dtype);
  if (result.device == Device() && bytes <= kSmallData &&
      (result.donor < 0 || inputs[result.donor]->holders() > 1)) {
    memory->storage = StorageRef::Adopt(NewSmallStorage(BlockClass(bytes + kSmallHeader)));
    memory->data = memory->storage->data;
  } else {
    Repeated repeated(inputs);
    FZ_RETURN_IF_ERROR(FindMemory(result, inputs, &repeated, memory));
  }
  void* buffers[QuickCall::kArgs];
  for (size_t i = 0; i < step.buffers.size(); ++i) {
    const Pointer& p = step.buffers[i];
    buffers[i] = (p.slot < schedule_.num_inputs ? inputs[p.slot]->data : memory->data) + p.offset;
  }
  uint64_t scalars[QuickCall::kArgs];
  for (size_t i = 0; i < step.scalars.size(); ++i) {
    const int32_t input = step.scalars[i];
    scalars[i] = input >= 0 ? inputs[input]->imm : step.words[i];
  }
  const kir::KernelArgs args{buffers, step.extents.data(), step.strides.data(), scalars};
  const DefaultFpMode mode;
  ++KernelsRun();
  if (Profiling()) {
    const std::string line = LineOfProfile();
    const int64_t begin = ProfileClock();
    step.fn(&args, 0, step.rows, 0, step.cols);
    ProfileStep(shared_from_this(), 0, line, begin);
    return absl::OkStatus();
  }
  step.fn(&args, 0, step.rows, 0, step.cols);
  return absl::OkStatus();
}

tracer::PlanReport Plan::Report() const {
  tracer::PlanReport report;
  report.text = Print(graph_);
  const auto again = BuildSchedule(graph_, grouping_, options_, &report);
  FZ_CHECK(again.ok());
  return report;
}

// Plans of eager calls are shared by all lines that make such a call.
std::string Plan::LineOfProfile() const {
  const bool known = absl::c_any_of(graph_.origins, [](const auto& o) { return !o.empty(); });
  return Profiling() && !known ? ProfileLine() : std::string();
}

Status Plan::RunStep(size_t i, char* const* slots, absl::Span<Value* const> inputs,
                     const std::string& line) const {
  if (!Profiling()) return schedule_.steps[i]->Run(slots, inputs);
  const int64_t begin = ProfileClock();
  const Status status = schedule_.steps[i]->Run(slots, inputs);
  ProfileStep(shared_from_this(), static_cast<int32_t>(i), line, begin);
  return status;
}

void QuickCall::LaunchProfiled(const kir::KernelArgs& args) const {
  const std::string line = plan->LineOfProfile();
  const int64_t begin = ProfileClock();
  fn(&args, 0, rows, 0, cols);
  ProfileStep(plan->shared_from_this(), 0, line, begin);
}

StatusOr<ValueRef> Plan::MakeOutput(const Output& output, absl::Span<Value* const> inputs,
                                    absl::Span<ValueRef> results) const {
  const bool input = output.slot < schedule_.num_inputs;
  const int32_t result = output.slot - schedule_.result_slot(0);
  if (output.same && output.last && !input) return std::move(results[result]);
  Value* base = input ? inputs[output.slot] : results[result].get();
  if (output.same) return ValueRef::Share(base);
  return MakeView(*base, output.dtype, output.layout, output.offset);
}

StatusOr<ValueRef> MakeView(const Value& base, DType dtype, const Layout* layout, int64_t bytes) {
  if (base.storage) {
    return Value::Make(dtype, base.device, layout, StorageRef::Share(base.storage),
                       base.data + bytes);
  }
  // The word of an immediate lies inside its value: a view needs memory of its own.
  FZ_ASSIGN_OR_RETURN(StorageRef storage, Allocate(SizeOf(dtype)));
  std::memcpy(storage->data, base.data, SizeOf(dtype));
  char* data = storage->data;
  return Value::Make(dtype, base.device, layout, std::move(storage), data);
}

}  // namespace frazil::jit
