// Straight-line instructions on one or several elements of a thread.
#include "jit/emit/cuda/expr.h"
#include "jit/emit/cuda/printer.h"

namespace frazil::jit::cuda {
namespace {

using kir::kNone;
using kir::Op;
using kir::Stride;

std::string Value(kir::Id id) { return id == kNone ? "" : StrCat("v", id); }

}  // namespace

// Vectors are read before and written after all elements: what stands between touches no buffer
// that a vector does. The elements of a vector exist together.
void Printer::EmitPass(const Pass& pass) {
  if (pass.elements == 1) return Element(pass, "");
  const bool vector = pass.step == 1, all = pass.end_index.empty() || (vector && pass.first_exists);
  const std::string in = all ? "" : "exists", index = StrCat("i", pass.axis);
  index_used_[pass.axis] = true;
  const std::string before = t_.Capture([&] { VectorLoads(pass, in); });
  const std::string after = t_.Capture([&] { VectorStores(pass, in); });
  const std::string body = t_.Capture([&] { Element(pass, in); }, 1);
  const auto asks = [&](const std::string& text) { return !all && HasWord(text, in); };
  // Names that are not used would be warned of.
  if (vector && asks(before + body + after))
    t_.Line("const bool exists = ", pass.base, " < ", pass.end_index, ";");
  t_.Append(before);
  t_.Open("FZ_UNROLL for (int e = 0; e < ", pass.elements, "; ++e)");
  const bool asked = !vector && asks(body);
  if (asked || HasWord(body, index)) {
    t_.Line("const ", Index(), " ", index, " = ", pass.base, " + e",
            vector ? "" : StrCat(" * ", pass.step), ";");
  }
  if (asked) {
    t_.Line("const bool exists = ", pass.first_exists ? "e == 0 || " : "", index, " < ",
            pass.end_index, ";");
  }
  t_.Append(body);
  t_.Close();
  t_.Append(after);
}

void Printer::VectorLoads(const Pass& pass, const std::string& in) {
  for (Id i = pass.begin; i < pass.end; ++i) {
    const Inst& inst = k_.body[i];
    if (!needed_[i] || !IsVector(inst, pass)) continue;
    const std::string type = StrCat("fz_vec<", TypeText(inst.type), ", ", pass.elements, ">");
    if (inst.op == Op::kStore) {
      if (!pass.fill) t_.Line(type, " w", i, ";");
      continue;
    }
    if (pass.fill ? made_[i] < 0 : IsHeld(i)) continue;
    MarkLine(i);
    const std::string load =
        StrCat("fz_load<", IsReadOnly(inst), ", ", pass.elements, ">(",
               Pointer(inst.imm, kNone, pass.in_loop, pass.base, pass.axis), ")");
    t_.Line("const ", type, " q", i, " = ",
            in.empty() ? load : StrCat(in, " ? ", load, " : ", type, "{}"), ";");
  }
}

void Printer::VectorStores(const Pass& pass, const std::string& in) {
  if (pass.fill) return;
  for (Id i = pass.begin; i < pass.end; ++i) {
    const Inst& inst = k_.body[i];
    if (inst.op != Op::kStore || !IsVector(inst, pass)) continue;
    MarkLine(i);
    t_.Line(in.empty() ? "" : StrCat("if (", in, ") "), "fz_store(",
            Pointer(inst.imm, kNone, pass.in_loop, pass.base, pass.axis), ", w", i, ");");
  }
}

void Printer::Element(const Pass& pass, const std::string& in) {
  for (Id i = pass.begin; i < pass.end; ++i) {
    if (!needed_[i] || !IsHeld(i)) continue;
    MarkLine(i);
    const int array = used_[i] >= 0 ? used_[i] : made_[i];
    const std::string slot = StrCat("h", arrays_[array].made, "[", pass.slot, "]");
    if (!pass.fill) {
      if (read_[i]) t_.Line("const ", Type(i), " v", i, " = ", slot, ";");
    } else if (used_[i] < 0) {
      t_.Line(slot, " = ", LoadText(i, pass, in), ";");
    }
  }
  if (pass.fill) return;
  for (Id i = pass.begin; i < pass.end; ++i) {
    if (needed_[i] && !IsHeld(i)) Step(i, pass, in);
  }
}

void Printer::Step(Id i, const Pass& pass, const std::string& in) {
  const Inst& inst = k_.body[i];
  MarkLine(i);
  switch (inst.op) {
    case Op::kStore:
      return Store(i, pass, in);
    case Op::kReduce: {
      const std::string target = StrCat("r", i, row_ ? "[e]" : "");
      const std::string step = cuda::CombineText(inst, target, Value(inst.a));
      return t_.Line(in.empty() ? "" : StrCat("if (", in, ") "), target, " = ", step, ";");
    }
    case Op::kLoad:
      t_.Line("const ", Type(i), " v", i, " = ", LoadText(i, pass, in), ";");
      break;
    default:
      t_.Line("const ", Type(i), " v", i, " = ", Expression(inst), ";");
  }
  if (made_[i] >= 0) t_.Line("h", i, "[", pass.slot, "] = v", i, ";");
}

// An element that does not exist is read as 0; so is one whose predicate is false.
std::string Printer::LoadText(Id i, const Pass& pass, const std::string& in) {
  const Inst& inst = k_.body[i];
  if (pass.elements > 1 && IsVector(inst, pass)) return StrCat("q", i, ".v[e]");
  const bool fixed = inst.a == kNone && k_.buffers[inst.imm].strides[pass.axis] == Stride::kZero;
  std::string condition = fixed ? "" : in;
  if (inst.b != kNone) StrAppend(&condition, condition.empty() ? "" : " && ", Value(inst.b));
  const std::string at = Pointer(inst.imm, inst.a, pass.in_loop, "", 0);
  const std::string element = IsReadOnly(inst) ? StrCat("fz_fetch(", at, ")") : StrCat("*", at);
  return condition.empty() ? element
                           : StrCat(condition, " ? ", element, " : (", TypeText(inst.type), ")0");
}

// Outside loops the threads of a team compute the same: one of them stores.
void Printer::Store(Id i, const Pass& pass, const std::string& in) {
  const Inst& inst = k_.body[i];
  if (pass.elements > 1 && IsVector(inst, pass))
    return t_.Line("w", i, ".v[e] = ", Value(inst.a), ";");
  std::string condition;
  const auto demand = [&](const std::string& what) {
    if (!what.empty()) StrAppend(&condition, condition.empty() ? "" : " && ", what);
  };
  if (column_) demand("live");
  if ((row_ || column_) && !pass.in_loop) {
    lane_used_ = true;
    demand("lane == 0");
    if (v_.warps > 1) {
      warp_used_ = true;
      demand("warp == 0");
    }
  }
  demand(in);
  demand(Value(inst.c));
  t_.Line(condition.empty() ? "" : StrCat("if (", condition, ") "), "*",
          Pointer(inst.imm, inst.b, pass.in_loop, "", 0), " = ", Value(inst.a), ";");
}

bool Printer::IsVector(const Inst& inst, const Pass& pass) const {
  const bool load = inst.op == Op::kLoad, store = inst.op == Op::kStore;
  if (!load && !store) return false;
  if ((store ? inst.b : inst.a) != kNone || (store ? inst.c : inst.b) != kNone) return false;
  return pass.step == 1 && !mixed_[inst.imm] &&
         k_.buffers[inst.imm].strides[pass.axis] == Stride::kOne;
}

bool Printer::IsReadOnly(const Inst& inst) const {
  return v_.apart && inst.a == kNone && !k_.buffers[inst.imm].out;
}

std::string Printer::Expression(const Inst& inst) {
  switch (inst.op) {
    case Op::kParam:
      return ParamText(inst);
    case Op::kConst:
      return ConstText(inst.type, inst.imm);
    case Op::kIndex:
      return IndexName(int(inst.imm));
    default:
      return OpText(inst, k_.body[inst.a].type, Value(inst.a), Value(inst.b), Value(inst.c));
  }
}

// A scalar is the low bytes of its word.
std::string Printer::ParamText(const Inst& inst) {
  const std::string word = Arg(CudaArg::kScalar, int(inst.imm));
  if (IsBool(inst.type)) return StrCat("(", word, " & 1) != 0");
  if (inst.type == DType::kF32 || inst.type == DType::kF64)
    return StrCat("fz_bitcast<", TypeText(inst.type), ">(", word, ")");
  return StrCat("(", TypeText(inst.type), ")", word);
}

// The address of a buffer's element at the current indices; `axis_index`, if given, stands for the
// index of `axis`.
std::string Printer::Pointer(uint64_t buffer, Id offset, bool in_loop,
                             const std::string& axis_index, int axis) {
  const kir::Buffer& b = k_.buffers[buffer];
  std::string bytes, elements;
  for (int a = 0; a < (in_loop ? k_.axes() : k_.rank); ++a) {
    if (b.strides[a] == Stride::kZero) continue;
    const std::string index = !axis_index.empty() && a == axis ? axis_index : IndexName(a);
    if (b.strides[a] == Stride::kAny) {
      StrAppend(&bytes, bytes.empty() ? "" : " + ", index, " * ",
                Arg(CudaArg::kStride, int(buffer), a));
    } else {
      StrAppend(&elements, elements.empty() ? "" : " + ", index);
    }
  }
  std::string at = Arg(CudaArg::kAddress, int(buffer));
  if (!bytes.empty()) at = StrCat("fz_at(", at, ", ", bytes, ")");
  if (!elements.empty()) at = StrCat(at, " + ", elements);
  if (offset != kNone) at = StrCat(at, " + ", Value(offset));
  return elements.empty() && offset == kNone ? at : StrCat("(", at, ")");
}

}  // namespace frazil::jit::cuda
