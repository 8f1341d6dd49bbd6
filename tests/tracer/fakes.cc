#include "tests/tracer/fakes.h"

#include <cstring>

#include "core/check.h"
#include "core/infer.h"

namespace frazil::tracer {
namespace {

double Load(const Value& v, int64_t i) {
  if (v.size() == 1) i = 0;
  switch (v.dtype) {
    case DType::kF32: {
      float x;
      std::memcpy(&x, v.data + 4 * i, 4);
      return x;
    }
    case DType::kI32: {
      int32_t x;
      std::memcpy(&x, v.data + 4 * i, 4);
      return x;
    }
    default:
      return v.data[i] != 0;
  }
}

void Store(Value* v, int64_t i, double x) {
  if (v->dtype == DType::kF32) {
    const auto element = static_cast<float>(x);
    std::memcpy(v->data + 4 * i, &element, 4);
  } else if (v->dtype == DType::kI32) {
    const auto element = static_cast<int32_t>(x);
    std::memcpy(v->data + 4 * i, &element, 4);
  } else {
    v->data[i] = x != 0;
  }
}

double Compute(OpId op, double a, double b) {
  switch (op) {
    case OpId::k_add:
      return a + b;
    case OpId::k_subtract:
      return a - b;
    case OpId::k_multiply:
    case OpId::k_matmul:
      return a * b;
    case OpId::k_negative:
      return -a;
    case OpId::k_greater:
      return a > b;
    default:
      break;
  }
  FZ_CHECK(false);
  return 0;
}

ValueRef Run(OpId op, DType dtype, const Layout* layout, absl::Span<Value* const> operands) {
  ValueRef out = *Value::Allocate(dtype, Device(), layout);
  for (int64_t i = 0; i < layout->size; ++i) {
    Store(out.get(), i,
          Compute(op, Load(*operands[0], i), operands.size() > 1 ? Load(*operands[1], i) : 0));
  }
  return out;
}

class FakePlan final : public SegmentPlan {
 public:
  FakePlan(const Program& program, LiveMask live, FakeCompiler* made_by)
      : program_(program), live_(std::move(live)), made_by_(made_by), bytes_(made_by->bytes) {}

  Status Run(absl::Span<Value* const> slots, absl::Span<ValueRef> outputs,
             StillLent /*still_lent*/) const override {
    ++made_by_->runs;
    std::vector<ValueRef> results;
    for (const Program::Call& call : program_.calls) {
      std::vector<Value*> operands;
      for (const ValueId id : call.operands)
        operands.push_back(id >= 0 ? results[id].get() : slots[~id]);
      results.push_back(tracer::Run(call->primitive(), call->results[0].dtype,
                                    call->results[0].layout, operands));
    }
    size_t next = 0;
    for (size_t i = 0; i < results.size(); ++i) {
      if (IsLive(live_, i)) outputs[next++] = results[i];
    }
    FZ_CHECK(next == outputs.size());
    return absl::OkStatus();
  }
  Status Fill(absl::Span<Value* const> slots, absl::Span<Value* const> deferred) const override {
    std::vector<ValueRef> made(deferred.size());
    FZ_RETURN_IF_ERROR(Run(slots, absl::MakeSpan(made), [](int32_t) { return false; }));
    for (size_t i = 0; i < made.size(); ++i) {
      if (!deferred[i]->ready()) FZ_RETURN_IF_ERROR(deferred[i]->FillFrom(*made[i]));
    }
    return absl::OkStatus();
  }
  bool FillQuick(const ValueRef*, Value*) const override { return false; }
  bool is_quick() const override { return false; }
  Value* MakeQuick(Value* const*) const override { return nullptr; }
  bool unlocks() const override { return false; }
  int kernels() const override { return 1; }
  int compiled() const override { return 1; }
  int interpreted() const override { return 0; }
  absl::Span<const std::string> elsewhere() const override { return {}; }
  int64_t bytes() const override { return bytes_; }
  PlanReport report() const override { return {}; }

 private:
  Program program_;
  LiveMask live_;
  FakeCompiler* made_by_;
  int64_t bytes_;
};

template <typename T>
Tensor Made(DType dtype, std::initializer_list<T> elements, const Layout* layout) {
  ValueRef v = *Value::Allocate(dtype, Device(), layout);
  std::memcpy(v->data, elements.begin(), elements.size() * sizeof(T));
  return Tensor(std::move(v));
}

}  // namespace

Tensor FakeDoor::Call(const OpCall& call) {
  ++calls;
  auto inferred = Infer(call);
  if (!inferred.ok()) return Tensor(inferred.status());
  std::vector<Value*> operands;
  for (const Tensor* t : call.inputs) operands.push_back(t->value());
  return Tensor(Run(call.op, inferred->dtype, inferred->layout, operands));
}

StatusOr<std::shared_ptr<const SegmentPlan>> FakeCompiler::Compile(const Program& program,
                                                                   const LiveMask& live,
                                                                   Precision /*precision*/,
                                                                   const Overwritable& overwritable,
                                                                   const SegmentPlan* like) {
  requests.push_back({program.calls.size(), live, overwritable, like});
  if (refuses) return RuntimeError("[fake] it refuses.");
  return std::shared_ptr<const SegmentPlan>(new FakePlan(program, live, this));
}

Fakes::Fakes() : door_before_(GlobalRuntime().eager), compiler_before_(GetSegmentCompiler()) {
  GlobalRuntime().eager = &door;
  SetSegmentCompiler(&compiler);
}

Fakes::~Fakes() {
  GlobalRuntime().eager = door_before_;
  SetSegmentCompiler(compiler_before_);
}

Tensor Ints(std::initializer_list<int32_t> elements) {
  return Made(DType::kI32, elements, Dense({static_cast<int64_t>(elements.size())}));
}
Tensor Int(int32_t element) { return Made(DType::kI32, {element}, Scalar0d()); }
Tensor Floats(std::initializer_list<float> elements) {
  return Made(DType::kF32, elements, Dense({static_cast<int64_t>(elements.size())}));
}

std::vector<int32_t> ElementsOf(const Tensor& t) {
  FZ_CHECK(Read(*t.value(), Reading::kInside).ok());
  std::vector<int32_t> elements(static_cast<size_t>(t.size()));
  std::memcpy(elements.data(), t.value()->data, 4 * elements.size());
  return elements;
}

const Layout* Pair() { return Dense({2}); }

CallRecord MadeCall(OpId op, Attrs attrs) {
  CallRecord call;
  call.op = static_cast<uint32_t>(op);
  call.results.push_back({DType::kI32, Device(), Pair()});
  call.attrs = std::move(attrs);
  return call;
}

NodeOperands Taking(Operands operands, int fresh) {
  NodeOperands taken{std::move(operands), {}};
  taken.slots.assign(static_cast<size_t>(fresh), {DType::kI32, Device(), false, false, Pair()});
  return taken;
}

}  // namespace frazil::tracer
