#include "frozen/run.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_join.h"
#include "core/backend.h"
#include "core/functions/composite.h"
#include "core/functions/indices.h"
#include "core/functions/ops.h"
#include "core/infer.h"
#include "frozen/check.h"
#include "tracer/learning.h"

namespace frazil::frozen {
namespace {

using Sizes = absl::InlinedVector<int64_t, 4>;
using Parameters = absl::Span<const Tensor>;

constexpr absl::string_view kLocated = "frazil/located";  // an error that tells its line

std::string TextOf(const Program& program, const Expression& dim) {
  return dim.is_constant() ? StrCat(dim.constant()) : program.symbols[dim.symbol()].name;
}

StatusOr<uint64_t> NumberIn(const Tensor& t) {
  if (t.size() != 1 || IsInexact(t.dtype()))
    return ValueError("[program] it reads one integer or bool, not ", frazil::Describe(t), ".");
  FZ_RETURN_IF_ERROR(Read(*t.value(), Reading::kNumber));
  FZ_ASSIGN_OR_RETURN(const ValueRef host, OnHost(*t.value()));
  uint64_t bits = 0;
  std::memcpy(&bits, host->data, SizeOf(t.dtype()));
  return bits;
}

class Runner final : public tracer::StateObserver {
 public:
  Runner(const Program& program, std::string_view name, const Cells& cells,
         std::vector<CallTime>* times)
      : program_(program), name_(name), cells_(cells), times_(times) {}

  // `builder` (may be null) writes down what it does: loops of any length, too.
  Status Run(std::vector<Tensor>* outputs, tracer::ScriptBuilder* builder) {
    FZ_RETURN_IF_ERROR(Bind());
    FZ_RETURN_IF_ERROR(MakeNumbers());
    const Precision before = frazil::State().precision;
    const absl::Cleanup restore = [&] { frazil::State().precision = before; };
    for (const Tensor* t : cells_.inputs) inputs_.push_back(*t);
    if (builder) builder->Observe(this);
    const absl::Cleanup end_observing = [&] {
      if (builder) builder->Observe(nullptr);
    };
    std::vector<Tensor> results;
    FZ_ASSIGN_OR_RETURN(const Block* end, RunBlock(program_.block, inputs_, &results));
    std::vector<Tensor> written;
    for (const auto& [cell, value] : end->writes) written.push_back(At(value, inputs_, results));
    FZ_RETURN_IF_ERROR(CheckWrites(*end, written));
    for (const Ref& ref : end->outputs) outputs->push_back(At(ref, inputs_, results));
    for (size_t i = 0; i < written.size(); ++i) Write(CellOf(end->writes[i].first), written[i]);
    return absl::OkStatus();
  }

  // Where blocks and loops stand, and what they hold.
  bool Look(State* state) override {
    for (const Frame& frame : frames_) {
      state->words.push_back(reinterpret_cast<uint64_t>(frame.at));
      AddTensors(frame.parameters, state);
      AddTensors(frame.results ? absl::MakeConstSpan(*frame.results) : Parameters(), state);
    }
    return true;
  }

 private:
  struct Frame {
    const void* at;  // a call, or the block whose number is read
    Parameters parameters;
    const std::vector<Tensor>* results;
  };

  // What is known of their values decides what is checked.
  void AddTensors(Parameters tensors, State* state) const {
    state->words.push_back(tensors.size());
    for (const Tensor& t : tensors) {
      state->words.push_back(t.defined());
      if (!t.defined()) continue;
      state->tensors.push_back(&t);
      const auto range = RangeOf(t);
      state->words.push_back(range.has_value() + 2 * factors_.contains(t.value()));
      if (!range) continue;
      state->words.push_back(static_cast<uint64_t>(range->low));
      state->words.push_back(static_cast<uint64_t>(range->high));
    }
  }

  // Where it computes: where its tensors are, without any where its inputs are.
  Device Where() const {
    if (!cells_.tensors.empty()) return cells_.tensors[0]->device();
    for (const Tensor* t : cells_.inputs) {
      if (t->ok() && !(t->device() == Device())) return t->device();
    }
    return Device();
  }

  bool IsHere(const Tensor& t) const {
    return t.device() == device_ || IsNumber({t.dtype(), t.device(), t.layout()});
  }

  // The sizes of the symbols, from the inputs.
  Status Bind() {
    device_ = Where();
    sizes_.assign(program_.symbols.size(), -1);
    for (size_t i = 0; i < program_.inputs.size(); ++i) {
      const Program::Named& wanted = program_.inputs[i];
      const Tensor& given = *cells_.inputs[i];
      FZ_RETURN_IF_ERROR(given.status());
      bool good =
          given.dtype() == wanted.dtype && given.rank() == static_cast<int>(wanted.dims.size());
      for (size_t axis = 0; good && axis < wanted.dims.size(); ++axis) {
        const int64_t extent = given.dims()[axis];
        const int symbol = wanted.dims[axis].symbol();
        if (symbol < 0) {
          good = extent == wanted.dims[axis].constant();
        } else if (sizes_[symbol] < 0) {
          FZ_RETURN_IF_ERROR(InRange(symbol, extent, wanted.name));
          sizes_[symbol] = extent;
        } else if (sizes_[symbol] != extent) {
          return ValueError("[", name_, "] ", program_.symbols[symbol].name, " is ", sizes_[symbol],
                            " in one input and ", extent, " in '", wanted.name, "', which is ",
                            Describe(program_, wanted), ".");
        }
      }
      if (!good) {
        const std::string text =
            StrCat("[", name_, "] '", wanted.name, "' must be ", Describe(program_, wanted),
                   ", got ", frazil::Describe(given), ".");
        return given.dtype() == wanted.dtype ? ValueError(text) : TypeError(text);
      }
      if (!IsHere(given))
        return ValueError("[", name_, "] '", wanted.name, "' is on ", Name(given.device()),
                          ", and the program on ", Name(device_),
                          ": move it by to_device, or load the program there.");
    }
    return absl::OkStatus();
  }

  Status InRange(int symbol, int64_t extent, std::string_view input) const {
    const Program::Symbol& s = program_.symbols[symbol];
    if (extent >= s.low && extent <= s.high && extent % s.multiple_of == 0) return absl::OkStatus();
    return ValueError("[", name_, "] ", frazil::frozen::Describe(s), ", got ", extent, " in '",
                      input, "': export it with another range.");
  }

  Status MakeNumbers() {
    for (const Number& number : program_.numbers) {
      if (number.of == Number::Of::kBits) {
        numbers_.push_back(Tensor(Value::Immediate(number.dtype, number.bits)));
        continue;
      }
      if (number.of == Number::Of::kSame) {
        numbers_.push_back(Tensor(Value::Immediate(number.dtype, AreOne(number, cells_))));
        continue;
      }
      FZ_ASSIGN_OR_RETURN(const int64_t size, Size(number.size));
      const auto v = static_cast<double>(size);
      const bool whole = number.of == Number::Of::kValue;
      const double value = number.of == Number::Of::kInverse       ? 1 / v
                           : number.of == Number::Of::kRoot        ? std::sqrt(v)
                           : number.of == Number::Of::kInverseRoot ? 1 / std::sqrt(v)
                                                                   : v / (v - 1);
      numbers_.push_back(
          ops::scalar(whole ? Scalar::Int(size) : Scalar::Float(value), number.dtype));
      FZ_RETURN_IF_ERROR(numbers_.back().status());
    }
    return absl::OkStatus();
  }

  StatusOr<int64_t> Size(const Expression& e) const {
    auto size = e.At(sizes_);
    if (!size.ok()) return ValueError("[", name_, "] ", std::string(size.status().message()), ".");
    return size;
  }

  Tensor At(const Ref& ref, Parameters parameters, const std::vector<Tensor>& results) const {
    switch (ref.kind) {
      case Ref::Kind::kParameter:
        return parameters[ref.index];
      case Ref::Kind::kTensor:
        return *cells_.tensors[ref.index];
      case Ref::Kind::kNumber:
        return numbers_[ref.index];
      case Ref::Kind::kResult:
        return results[ref.index];
      case Ref::Kind::kNone:
        break;
    }
    return Tensor();
  }

  Tensor* CellOf(const Ref& ref) const {
    return (ref.kind == Ref::Kind::kParameter ? cells_.inputs : cells_.tensors)[ref.index];
  }

  // What is written has the shape and dtype of what was there: the next call takes it.
  Status CheckWrites(const Block& end, absl::Span<const Tensor> written) const {
    for (size_t i = 0; i < written.size(); ++i) {
      const Tensor& before = *CellOf(end.writes[i].first);
      if (before.dtype() != written[i].dtype() || before.shape() != written[i].shape())
        return ValueError("[", name_, "] the program writes ", frazil::Describe(written[i]), " to ",
                          frazil::Describe(before), ".");
    }
    return absl::OkStatus();
  }

  static void Write(Tensor* cell, const Tensor& value) {
    tracer::Learning::Write(cell);
    // A leaf stays one.
    if (cell->node() && cell->node()->leaf())
      cell->SetValue(value.value_ref());
    else
      cell->Set(value.value_ref(), value.node_ref());
  }

  // The block in which it ended, whose values are `results`.
  StatusOr<const Block*> RunBlock(const Block& begin, Parameters parameters,
                                  std::vector<Tensor>* results) {
    const size_t depth = frames_.size();
    frames_.push_back({&begin, parameters, results});
    const absl::Cleanup pop = [&] { frames_.pop_back(); };
    for (const Block* block = &begin;;) {
      for (const Call& call : block->calls) {
        frames_[depth].at = &call;
        const Status made = times_ && parameters.data() == inputs_.data()
                                ? MakeTimed(call, parameters, results)
                                : Make(call, parameters, results);
        if (!made.ok()) return Located(made, call.origin);
      }
      frames_[depth].at = block;
      if (block->end != Block::End::kRead) return block;
      const Tensor read = At(block->read, parameters, *results);
      FZ_ASSIGN_OR_RETURN(const uint64_t outcome, NumberIn(read));
      const auto known = absl::c_find_if(
          block->cases, [&](const Block::Case& one) { return one.outcome == outcome; });
      if (known == block->cases.end()) return Unknown(begin, *block, read, outcome);
      for (const int32_t r : known->dies) (*results)[r] = Tensor();
      block = known->block.get();
    }
  }

  // One that stands in the program itself.
  Status MakeTimed(const Call& call, Parameters parameters, std::vector<Tensor>* results) {
    const auto start = std::chrono::steady_clock::now();
    FZ_RETURN_IF_ERROR(Make(call, parameters, results));
    for (int32_t r = call.first_result; r < call.first_result + call.results; ++r) {
      if ((*results)[r].defined())
        FZ_RETURN_IF_ERROR(Read(*(*results)[r].value(), Reading::kInside));
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    const std::string name = NameOf(call);
    auto row = absl::c_find_if(
        *times_, [&](const CallTime& t) { return t.name == name && t.origin == call.origin; });
    if (row == times_->end()) row = times_->insert(row, {name, call.origin});
    row->seconds += took.count();
    ++row->times;
    return absl::OkStatus();
  }

  static std::string NameOf(const Call& call) {
    switch (call.kind) {
      case Call::Kind::kOp:
        return std::string(Info(static_cast<OpId>(call.op)).name);
      case Call::Kind::kComposite:
        return call.op == kUnknownComposite
                   ? "call"
                   : std::string(frazil::NameOf(static_cast<CompositeId>(call.op)));
      case Call::Kind::kWhile:
        return "while";
      case Call::Kind::kRepeat:
        return "repeat";
      case Call::Kind::kCheck:
        return "check";
    }
    return "";
  }

  static std::string OutcomeText(const Tensor& read, uint64_t outcome) {
    if (IsBool(read.dtype())) return outcome ? "True" : "False";
    const int unused = 64 - BitsOf(read.dtype());
    return IsSigned(read.dtype()) ? StrCat(static_cast<int64_t>(outcome << unused) >> unused)
                                  : StrCat(outcome);
  }

  // Whether the way to a block reads at its line before: in a loop that was written round by round.
  static bool ComesAgain(const Block& from, const Block& block, bool* found) {
    if (&from == &block) return *found = true, false;
    for (const Block::Case& one : from.cases) {
      const bool again = ComesAgain(*one.block, block, found);
      if (*found) return again || from.origin == block.origin;
    }
    return false;
  }

  Status Unknown(const Block& begin, const Block& block, const Tensor& read,
                 uint64_t outcome) const {
    if (block.read.kind == Ref::Kind::kNumber) {
      const Number& number = program_.numbers[block.read.index];
      if (number.of == Number::Of::kSame) return UnknownSame(block, number, outcome);
    }
    const std::string seen =
        absl::StrJoin(block.cases, ", ", [&](std::string* out, const Block::Case& one) {
          out->append(OutcomeText(read, one.outcome));
        });
    bool found = false;
    const bool again = !block.origin.empty() && ComesAgain(begin, block, &found);
    return RuntimeError("[", name_, "] ", block.origin.empty() ? "in a loop" : "at ", block.origin,
                        " the program reads ", OutcomeText(read, outcome),
                        ", and was exported with ", seen.empty() ? "nothing" : seen,
                        " alone: export it with an example that takes this branch",
                        again ? ", or with one that goes round several times, where all that "
                                "changes is tensors (n = fz.asarray(0)): a loop of any length."
                              : ".");
  }

  Status UnknownSame(const Block& block, const Number& number, uint64_t outcome) const {
    std::vector<std::string> names;
    for (const Ref& ref : number.cells) {
      const bool input = ref.kind == Ref::Kind::kParameter;
      names.push_back(
          StrCat("'", (input ? program_.inputs : program_.tensors)[ref.index].name, "'"));
    }
    const std::string where = block.origin.empty() ? "" : StrCat(" at ", block.origin);
    const std::string_view two = names.size() > 2 ? "two of " : "";
    return RuntimeError("[", name_, "] ", outcome ? two : "", absl::StrJoin(names, " and "),
                        outcome ? " are one tensor" : " are different tensors",
                        ", which the program tells apart", where, ", and it was exported with ",
                        outcome ? "different ones alone: give it a copy, or export it with an "
                                  "example that passes one tensor twice."
                                : "one alone: export it with an example that passes different "
                                  "ones.");
  }

  static Status Located(const Status& status, std::string_view origin) {
    const std::string_view text(status.message().data(), status.message().size());
    // The innermost line is told, not those of the loops and composites around it.
    if (origin.empty() || IsInterruption(status) || status.GetPayload(kLocated)) return status;
    const bool stop = text.ends_with('.');
    Status located = MakeError(frazil::KindOf(status),
                               StrCat(text.substr(0, text.size() - stop), " (", origin, ")."));
    located.SetPayload(kLocated, absl::Cord());
    return located;
  }
  static bool IsInterruption(const Status& status) {
    const ErrorKind kind = frazil::KindOf(status);
    return kind == ErrorKind::kInterrupted || kind == ErrorKind::kRaised;
  }

  Status Make(const Call& call, Parameters parameters, std::vector<Tensor>* results) {
    frazil::State().precision = call.precision;
    absl::InlinedVector<Tensor, 4> operands;
    for (const Ref& ref : call.operands) operands.push_back(At(ref, parameters, *results));
    absl::InlinedVector<const Tensor*, 4> inputs;
    for (const Tensor& t : operands) inputs.push_back(&t);
    Attrs attrs;
    for (const Expression& e : call.attrs) {
      FZ_ASSIGN_OR_RETURN(const int64_t size, Size(e));
      attrs.push_back(size);
    }
    results->resize(static_cast<size_t>(call.first_result + call.results));
    const absl::Span<Tensor> made =
        absl::MakeSpan(*results).subspan(static_cast<size_t>(call.first_result));
    switch (call.kind) {
      case Call::Kind::kOp:
        FZ_RETURN_IF_ERROR(Apply({static_cast<OpId>(call.op), inputs, attrs}, &made[0]));
        break;
      case Call::Kind::kComposite:
        FZ_RETURN_IF_ERROR(Composite(call, {call.op, inputs, attrs}, made));
        break;
      case Call::Kind::kWhile:
        FZ_RETURN_IF_ERROR(While(call, &operands, made));
        break;
      case Call::Kind::kRepeat:
        FZ_RETURN_IF_ERROR(Repeat(call, attrs[0], &operands, made));
        break;
      case Call::Kind::kCheck:
        FZ_RETURN_IF_ERROR(Check(call, operands[0], {attrs[0], attrs[1]}));
        break;
    }
    for (const int32_t r : call.dies) (*results)[r] = Tensor();
    return absl::OkStatus();
  }

  // -- Ops

  Status Apply(OpCall call, Tensor* result) {
    FZ_RETURN_IF_ERROR(CheckCall(call));
    if (call.op == OpId::k_lu_solve && !factors_.contains(call.inputs[1]->value()))
      return ValueError("[lu_solve] the program gives it factors that lu_factor has not made.");
    if (MayFail(call.op)) call.indices_checked = AreInRange(call);
    *result = frazil::Apply(call);
    FZ_RETURN_IF_ERROR(result->status());
    // Of nothing: it has no operand that says where it is wanted.
    if (call.op == OpId::k_iota && !(device_ == Device())) {
      *result = ops::to_device(*result, device_);
      FZ_RETURN_IF_ERROR(result->status());
    }
    if (call.op == OpId::k_lu_factor || KeepsFactors(call)) factors_.insert(Keep(*result));
    NoteRange(call, *result);
    return absl::OkStatus();
  }

  // Whether it leaves the rows of an operand that lu_factor has made as they are: whole, and the
  // last axis.
  bool KeepsFactors(const OpCall& call) const {
    if (call.inputs.empty() || !factors_.contains(call.inputs[0]->value())) return false;
    const Tensor& x = *call.inputs[0];
    const int last = x.rank() - 1;
    const int64_t size = x.dims()[last];
    switch (call.op) {
      case OpId::k_copy:
        return true;
      case OpId::k_reshape:
        return !call.attrs.empty() && call.attrs.back() == size;
      case OpId::k_broadcast_to:
        return true;  // they are more than one number
      case OpId::k_permute_dims:
        return call.attrs[last] == last;
      case OpId::k_slice:
        return call.attrs[3 * last] == 0 && call.attrs[3 * last + 1] == 1 &&
               call.attrs[3 * last + 2] == size;
      default:
        return false;
    }
  }

  const Value* Keep(const Tensor& t) {
    kept_.push_back(t.value_ref());
    return t.value();
  }

  // Where integers are known to lie, so that nobody has to look at them again.
  std::optional<IndexRange> RangeOf(const Tensor& t) const {
    const auto it = ranges_.find(t.value());
    return it == ranges_.end() ? std::nullopt : std::optional(it->second);
  }
  bool AreInRange(const OpCall& call) const {
    const auto range = RangeOf(*call.inputs[1]);
    const int64_t axis = call.attrs[0], axes = call.op == OpId::k_put ? call.attrs[2] : 1;
    int64_t extent = 1;
    for (int64_t a = axis; a < axis + axes; ++a) extent *= call.inputs[0]->dims()[a];
    return range && range->low >= 0 && range->high <= extent;
  }
  void NoteRange(const OpCall& call, const Tensor& result) {
    const OpClass klass = Info(call.op).klass;
    std::optional<IndexRange> range;
    if (klass == OpClass::kView || call.op == OpId::k_copy ||
        (klass == OpClass::kCast && SizeOf(result.dtype()) == 8)) {
      if (IsInt(result.dtype())) range = RangeOf(*call.inputs[0]);
    } else if (klass == OpClass::kIota && result.dtype() == DType::kI64) {
      range = {0, call.attrs[1]};
    } else if (call.op == OpId::k_argsort) {
      range = {0, result.dims().back()};
    } else if (klass == OpClass::kPositions && !call.attrs[1]) {
      range = {0, call.inputs[0]->size()};
    }
    if (range) ranges_[Keep(result)] = *range;
  }

  Status Check(const Call& call, const Tensor& indices, IndexRange range) {
    FZ_RETURN_IF_ERROR(indices.status());
    if (indices.dtype() != DType::kI32 && indices.dtype() != DType::kI64)
      return TypeError("[", call.check, "] indices must be int32 or int64, got ",
                       frazil::Describe(indices), ".");
    FZ_RETURN_IF_ERROR(
        CheckIndexRange(call.check, indices, range, [&] { return call.of; }).status());
    ranges_[Keep(indices)] = range;
    return absl::OkStatus();
  }

  // -- Composites

  Status Composite(const Call& call, const CompositeCall& made, absl::Span<Tensor> results) {
    for (const Tensor* t : made.inputs) FZ_RETURN_IF_ERROR(t->status());
    std::vector<Tensor> operands;
    for (const Tensor* t : made.inputs) operands.push_back(*t);
    if (made.id == kUnknownComposite) return RunBody(call, operands, results);
    FZ_RETURN_IF_ERROR(CheckComposite(made, call.body != nullptr));
    const auto id = static_cast<CompositeId>(made.id);
    const ops::BodyOfOperands known = results.size() != 1                 ? nullptr
                                      : id == CompositeId::k_positions_of ? ops::JoinedPositions
                                                                          : ops::FindBody(id);
    Status status;
    ApplyComposite(
        made,
        [&](absl::Span<Tensor> outputs) {
          if (known) {
            outputs[0] = known(operands, made.attrs);
          } else if (status = RunBody(call, operands, outputs); !status.ok()) {
            for (Tensor& t : outputs) t = Tensor(status);
          }
        },
        results);
    FZ_RETURN_IF_ERROR(status);
    for (const Tensor& t : results) FZ_RETURN_IF_ERROR(t.status());
    if (id == CompositeId::k_positions_of && known) NotePositions(made, results[0]);
    return absl::OkStatus();
  }

  Status RunBody(const Call& call, Parameters operands, absl::Span<Tensor> results) {
    if (!call.body) return ValueError("[", name_, "] a call has no body.");
    std::vector<Tensor> inner;
    const Precision precision = frazil::State().precision;
    FZ_ASSIGN_OR_RETURN(const Block* end, RunBlock(*call.body, operands, &inner));
    frazil::State().precision = precision;
    for (size_t i = 0; i < results.size(); ++i) results[i] = At(end->outputs[i], operands, inner);
    return absl::OkStatus();
  }

  // Positions over axes are in range where the indices along each axis are: attributes are its
  // extent, and whether none counts from the end.
  void NotePositions(const CompositeCall& made, const Tensor& positions) {
    int64_t all = 1;
    for (size_t i = 0; i < made.inputs.size(); ++i) {
      const int64_t extent = made.attrs[2 * i], low = made.attrs[2 * i + 1] ? 0 : -extent;
      const auto range = RangeOf(*made.inputs[i]);
      if (!range || range->low < low || range->high > extent ||
          __builtin_mul_overflow(all, extent, &all))
        return;
    }
    ranges_[Keep(positions)] = {0, all};
  }

  // -- Loops

  Status While(const Call& call, absl::InlinedVector<Tensor, 4>* operands,
               absl::Span<Tensor> results) {
    while (true) {
      std::vector<Tensor> inner;
      FZ_ASSIGN_OR_RETURN(const Block* end, RunBlock(*call.body, *operands, &inner));
      const Tensor read = At(end->read, *operands, inner);
      FZ_RETURN_IF_ERROR(Step(*end, call.states, operands, inner));
      inner.assign(1, read);  // part of the state, whether the loop carries it or not
      frames_.push_back({&call, *operands, &inner});
      const auto outcome = NumberIn(read);
      frames_.pop_back();
      FZ_RETURN_IF_ERROR(outcome.status());
      if (*outcome == call.goes_on) continue;
      for (int32_t i = 0; i < call.states; ++i) results[i] = (*operands)[i];
      results[call.states] = read;
      results[call.states + 1] = Tensor(Value::Immediate(DType::kBool, 0));  // no more iterations
      return absl::OkStatus();
    }
  }

  Status Repeat(const Call& call, int64_t times, absl::InlinedVector<Tensor, 4>* operands,
                absl::Span<Tensor> results) {
    if (times < 1) return ValueError("[", name_, "] a loop runs ", times, " times.");
    for (int64_t i = 0; i < times; ++i) {
      std::vector<Tensor> inner;
      FZ_ASSIGN_OR_RETURN(const Block* end, RunBlock(*call.body, *operands, &inner));
      if (i + 1 == times) {
        for (size_t r = 0; r < results.size(); ++r)
          results[r] = At(end->outputs[r], *operands, inner);
      } else {
        FZ_RETURN_IF_ERROR(Step(*end, call.states, operands, inner));
      }
    }
    return absl::OkStatus();
  }

  Status Step(const Block& end, int32_t states, absl::InlinedVector<Tensor, 4>* operands,
              const std::vector<Tensor>& results) const {
    absl::InlinedVector<Tensor, 4> next;
    for (int32_t i = 0; i < states; ++i) next.push_back(At(end.outputs[i], *operands, results));
    for (int32_t i = 0; i < states; ++i) {
      FZ_RETURN_IF_ERROR(next[i].status());
      (*operands)[i] = std::move(next[i]);
    }
    return absl::OkStatus();
  }

  const Program& program_;
  const std::string_view name_;
  const Cells& cells_;
  std::vector<CallTime>* const times_;
  Device device_;
  Sizes sizes_;
  std::vector<Frame> frames_;
  std::vector<Tensor> inputs_, numbers_;
  // By values that are kept, so that their addresses stay theirs.
  absl::flat_hash_map<const Value*, IndexRange> ranges_;
  absl::flat_hash_set<const Value*> factors_;
  std::vector<ValueRef> kept_;
};

}  // namespace

std::string Describe(const Program& program, const Program::Named& named) {
  return StrCat(ShortName(named.dtype), "[",
                absl::StrJoin(named.dims, ",",
                              [&](std::string* out, const Expression& dim) {
                                out->append(TextOf(program, dim));
                              }),
                "]");
}

bool AreOne(const Number& number, const Cells& cells) {
  absl::InlinedVector<const Tensor*, 4> seen;
  for (const Ref& ref : number.cells) {
    const bool input = ref.kind == Ref::Kind::kParameter;
    const Tensor* cell = (input ? cells.inputs : cells.tensors)[ref.index];
    if (absl::c_linear_search(seen, cell)) return true;
    seen.push_back(cell);
  }
  return false;
}

std::string Describe(const Program::Symbol& symbol) {
  const bool ends = symbol.high < INT64_MAX / 2;
  return StrCat(symbol.name, ends ? " is from " : " is at least ", symbol.low, ends ? " to " : "",
                ends ? StrCat(symbol.high) : "",
                symbol.multiple_of == 1 ? "" : StrCat(", a multiple of ", symbol.multiple_of));
}

Status Run(const Program& program, std::string_view name, const Cells& cells,
           std::vector<Tensor>* outputs, std::vector<CallTime>* times,
           tracer::ScriptBuilder* builder) {
  return Runner(program, name, cells, times).Run(outputs, builder);
}

}  // namespace frazil::frozen
