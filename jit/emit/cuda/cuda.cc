#include "jit/emit/cuda/cuda.h"

#include "core/check.h"
#include "core/str.h"
#include "jit/emit/cuda/expr.h"
#include "jit/kir/legalize.h"

namespace frazil::jit {
namespace {

using kir::Id;
using kir::Inst;
using kir::Kernel;
using kir::kNone;
using kir::Op;
using kir::ReduceKind;
using kir::Stride;

// Prints one legal kernel.
class Printer {
 public:
  explicit Printer(const Kernel& kernel)
      : k_(kernel),
        by_block_(kernel.vec == kir::VecAxis::kLoop),
        name_(StrCat("frazil_", kernel.name)) {}

  std::unique_ptr<CudaText> Run() {
    Struct();
    Id begin = 0;
    for (Id end = 0; end <= Id(k_.body.size()); ++end) {
      if (end < Id(k_.body.size()) && k_.body[end].op != Op::kBarrier) continue;
      Entry(begin, end);
      begin = end + 1;
    }
    return std::make_unique<CudaText>(std::move(text_), std::move(entries_), by_block_);
  }

 private:
  template <typename... Args>
  void Line(const Args&... args) {
    text_.append(2 * depth_, ' ');
    StrAppend(&text_, args..., "\n");
  }
  template <typename... Args>
  void Open(const Args&... args) {
    Line(args..., " {");
    ++depth_;
  }
  void Close() {
    --depth_;
    Line("}");
  }

  void Struct() {
    Open("struct ", name_, "_args");
    for (const kir::Buffer& b : k_.buffers)
      Line(b.out ? "" : "const ", cuda::TypeText(b.dtype), "* p_", b.name, ";");
    Line("i64 n[", k_.axes(), "];");
    for (const kir::Buffer& b : k_.buffers) Line("i64 st_", b.name, "[", k_.axes(), "];");
    for (const kir::Scalar& s : k_.scalars) Line("u64 s_", s.name, ";");
    Line("i64 row_begin, row_end, col_begin, col_end;");
    --depth_;
    Line("};");
  }

  // One phase as one function.
  void Entry(Id begin, Id end) {
    const std::string entry = entries_.empty() ? name_ : StrCat(name_, "_phase", entries_.size());
    entries_.push_back(entry);
    Open("extern \"C\" __global__ void ", entry, "(", name_, "_args args)");
    Point();
    for (Id i = begin; i < end; ++i) {
      if (k_.body[i].op == Op::kLoop)
        i = Loop(i);
      else
        Step(i);
    }
    Close();
  }

  // i0 .. i(rank-1) from the number of the block or thread.
  void Point() {
    Line("const i64 cols = args.col_end - args.col_begin;");
    if (by_block_) {
      Line("const i64 point = blockIdx.x;");
    } else {
      Line("const i64 point = (i64)blockIdx.x * blockDim.x + threadIdx.x;");
      Line("if (point >= (args.row_end - args.row_begin) * cols) return;");
    }
    Line("const i64 i", k_.rank - 1, " = args.col_begin + point % cols;");
    if (k_.rank == 1) return;
    Line("i64 row = args.row_begin + point / cols;");
    for (int axis = k_.rank - 2; axis >= 0; --axis) {
      Line("const i64 i", axis, " = row % args.n[", axis, "];");
      if (axis) Line("row /= args.n[", axis, "];");
    }
  }

  Id Loop(Id loop) {
    Id end = loop;
    while (k_.body[end].op != Op::kEnd) ++end;
    std::vector<Id> reduces;
    for (Id i = loop; i < end; ++i) {
      if (k_.body[i].op == Op::kReduce) reduces.push_back(i);
    }
    Bounds(loop);
    if (by_block_)
      LoopOfBlock(loop, end, reduces);
    else
      LoopOfThread(loop, end, reduces);
    return end;
  }

  void Bounds(Id loop) {
    const std::string extent = StrCat("args.n[", k_.rank, "]");
    if (!k_.chunked) {
      Line("const i64 first", loop, " = 0, last", loop, " = ", extent, ";");
      return;
    }
    Line("const i64 first", loop, " = i0 * ", kir::kChunk, ";");
    Line("const i64 last", loop, " = fz_min(first", loop, " + ", kir::kChunk, ", ", extent, ");");
  }

  void Body(Id loop, Id end) {
    for (Id i = loop + 1; i < end; ++i) {
      if (k_.body[i].op != Op::kReduce) Step(i);
    }
  }

  // Thread t takes the elements of lane t; the halving tree runs through shared memory.
  void LoopOfBlock(Id loop, Id end, const std::vector<Id>& reduces) {
    const std::string j = StrCat("i", k_.rank);
    for (Id r : reduces) Line("__shared__ ", Type(r), " lane", r, "[", kCudaThreads, "];");
    Open("FZ_THREADS");
    for (Id r : reduces) Line(Type(r), " r", r, " = ", cuda::IdentityText(k_.body[r]), ";");
    Open("for (i64 ", j, " = first", loop, " + thread; ", j, " < last", loop, "; ", j,
         " += ", kCudaThreads, ")");
    Body(loop, end);
    for (Id r : reduces) Combine(r, StrCat("r", r), StrCat("v", k_.body[r].a));
    Close();
    for (Id r : reduces) Line("lane", r, "[thread] = r", r, ";");
    Close();
    Line("FZ_SYNC;");
    if (reduces.empty()) return;
    Open("for (int h = ", kCudaThreads / 2, "; h > 0; h /= 2)");
    Open("FZ_THREADS if (thread < h)");
    for (Id r : reduces)
      Combine(r, StrCat("lane", r, "[thread]"), StrCat("lane", r, "[thread + h]"));
    Close();
    Line("FZ_SYNC;");
    Close();
    for (Id r : reduces) Result(loop, r, StrCat("lane", r, "[0]"));
  }

  // One thread does it all; its 8 lanes become registers once the inner loop is unrolled.
  void LoopOfThread(Id loop, Id end, const std::vector<Id>& reduces) {
    bool laned = false;
    for (Id r : reduces) laned |= k_.body[r].lanes != 0;
    for (Id r : reduces) {
      const std::string identity = cuda::IdentityText(k_.body[r]);
      if (!k_.body[r].lanes)
        Line(Type(r), " r", r, " = ", identity, ";");
      else
        Line(Type(r), " r", r, "[8] = {", Repeat(identity, 8), "};");
    }
    const std::string j = StrCat("i", k_.rank);
    if (laned) {
      Open("for (i64 base = first", loop, "; base < last", loop, "; base += 8)");
      Line("#pragma unroll");
      Open("for (int lane = 0; lane < 8; ++lane)");
      Line("const i64 ", j, " = base + lane;");
      Line("if (", j, " >= last", loop, ") break;");
    } else {
      Open("for (i64 ", j, " = first", loop, "; ", j, " < last", loop, "; ++", j, ")");
    }
    Body(loop, end);
    for (Id r : reduces)
      Combine(r, StrCat("r", r, k_.body[r].lanes ? "[lane]" : ""), StrCat("v", k_.body[r].a));
    if (laned) Close();
    Close();
    if (laned) {
      Open("for (int h = 4; h > 0; h /= 2)");
      Open("for (int lane = 0; lane < h; ++lane)");
      for (Id r : reduces) {
        if (k_.body[r].lanes) Combine(r, StrCat("r", r, "[lane]"), StrCat("r", r, "[lane + h]"));
      }
      Close();
      Close();
    }
    for (Id r : reduces) Result(loop, r, StrCat("r", r, k_.body[r].lanes ? "[0]" : ""));
  }

  static std::string Repeat(const std::string& item, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) StrAppend(&text, i ? ", " : "", item);
    return text;
  }

  void Combine(Id r, const std::string& target, const std::string& element) {
    Line(target, " = ", cuda::CombineText(k_.body[r], target, element), ";");
  }

  // The identity of a float sum is -0, an empty sum is +0.
  void Result(Id loop, Id r, const std::string& value) {
    const Inst& inst = k_.body[r];
    const bool float_sum = IsFloat(inst.type) && ReduceKind(inst.imm) == ReduceKind::kSum;
    const std::string full = float_sum ? StrCat("last", loop, " > first", loop, " ? ", value, " : ",
                                                cuda::ConstText(inst.type, 0))
                                       : value;
    Line("const ", Type(r), " v", r, " = ", full, ";");
  }

  std::string_view Type(Id id) const { return cuda::TypeText(k_.body[id].type); }
  static std::string Value(Id id) { return id == kNone ? "" : StrCat("v", id); }

  void Step(Id i) {
    const Inst& inst = k_.body[i];
    if (inst.op == Op::kStore) return Store(inst);
    Line("const ", Type(i), " v", i, " = ", Expression(inst), ";");
  }

  std::string Expression(const Inst& inst) const {
    switch (inst.op) {
      case Op::kParam:
        return ParamText(inst);
      case Op::kConst:
        return cuda::ConstText(inst.type, inst.imm);
      case Op::kIndex:
        return StrCat("i", inst.imm);
      case Op::kLoad: {
        const std::string element = ElementText(inst.imm, inst.a);
        return inst.b == kNone
                   ? element
                   : StrCat(Value(inst.b), " ? ", element, " : (", cuda::TypeText(inst.type), ")0");
      }
      default:
        return cuda::OpText(inst, k_.body[inst.a].type, Value(inst.a), Value(inst.b),
                            Value(inst.c));
    }
  }

  // A scalar is the low bytes of its word.
  std::string ParamText(const Inst& inst) const {
    const std::string word = StrCat("args.s_", k_.scalars[inst.imm].name);
    if (IsBool(inst.type)) return StrCat("(", word, " & 1) != 0");
    if (inst.type == DType::kF32) return StrCat("fz_bitcast<f32>((u32)", word, ")");
    if (inst.type == DType::kF64) return StrCat("fz_bitcast<f64>(", word, ")");
    return StrCat("(", cuda::TypeText(inst.type), ")", word);
  }

  // Outside loops the threads of a block compute the same: one of them stores.
  void Store(const Inst& inst) {
    std::string condition = Value(inst.c);
    if (by_block_ && !in_loop()) StrAppend(&condition, condition.empty() ? "" : " && ", "FZ_FIRST");
    const std::string guard = condition.empty() ? "" : StrCat("if (", condition, ") ");
    Line(guard, ElementText(inst.imm, inst.b), " = ", Value(inst.a), ";");
  }
  bool in_loop() const { return depth_ > 1; }  // an entry opens no other braces

  // The element of a buffer at the current indices.
  std::string ElementText(uint64_t buffer, Id offset) const {
    const kir::Buffer& b = k_.buffers[buffer];
    std::string bytes, elements;
    for (int axis = 0; axis < (in_loop() ? k_.axes() : k_.rank); ++axis) {
      if (b.strides[axis] == Stride::kAny) {
        StrAppend(&bytes, bytes.empty() ? "" : " + ", "i", axis, " * args.st_", b.name, "[", axis,
                  "]");
      } else if (b.strides[axis] == Stride::kOne) {
        StrAppend(&elements, elements.empty() ? "" : " + ", "i", axis);
      }
    }
    if (offset != kNone) StrAppend(&elements, elements.empty() ? "" : " + ", Value(offset));
    if (elements.empty()) elements = "0";
    const std::string pointer = StrCat("args.p_", b.name);
    return StrCat(bytes.empty() ? pointer : StrCat("fz_at(", pointer, ", ", bytes, ")"), "[",
                  elements, "]");
  }

  const Kernel& k_;
  const bool by_block_;  // one block for each point
  const std::string name_;
  std::string text_;
  std::vector<std::string> entries_;
  int depth_ = 0;
};

class CudaEmitter : public Emitter {
 public:
  const Caps& caps() const override {
    static constexpr Caps kCaps{.name = "cuda", .scratch_bytes = 48 << 10};
    return kCaps;
  }

  StatusOr<std::unique_ptr<Compiled>> Emit(const Kernel& kernel) override {
    FZ_RETURN_IF_ERROR(Verify(kernel));
    FZ_ASSIGN_OR_RETURN(const Kernel legal, kir::Legalize(kernel, caps().legal));
    int64_t lanes = 0;
    for (const Inst& inst : legal.body) {
      if (inst.op == Op::kReduce) lanes += kCudaThreads * SizeOf(inst.type);
    }
    if (kernel.vec == kir::VecAxis::kLoop && lanes > caps().scratch_bytes) {
      return NotImplementedError("[cuda] ", kernel.name, " reduces through ", lanes,
                                 " bytes of shared memory, ", caps().scratch_bytes, " are there.");
    }
    return Printer(legal).Run();
  }
};

}  // namespace

void CudaText::Run(const kir::KernelArgs&, int64_t, int64_t, int64_t, int64_t) const {
  FZ_CHECK(!"CUDA text does not run in this process");
}

std::unique_ptr<Emitter> NewCudaEmitter() { return std::make_unique<CudaEmitter>(); }

}  // namespace frazil::jit
