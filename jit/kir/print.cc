#include <bit>
#include <cmath>

#include "absl/strings/str_format.h"
#include "core/str.h"
#include "jit/kir/const.h"
#include "jit/kir/fn_table.h"
#include "jit/kir/kir.h"

namespace frazil::kir {
namespace {

std::string FloatText(DType type, uint64_t bits) {
  const double value = FloatFromBits(type, bits);
  if (std::isnan(value)) {
    if (bits == BitsFromDouble(type, std::nan(""))) return "nan";
    return absl::StrFormat("nan:0x%x", bits);
  }
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return absl::StrFormat("%a", value);
}

std::string ConstText(DType type, uint64_t bits) {
  if (IsBool(type)) return bits ? "true" : "false";
  if (IsFloat(type)) return FloatText(type, bits);
  if (IsSigned(type)) return StrCat(IntFromBits(type, bits));
  return StrCat(bits);
}

// A kernel that does not verify still prints, so that it can be looked at.
template <typename Table>
std::string EntryName(const Table& table, uint64_t index) {
  return index < table.size() ? table[index].name : StrCat("<", index, ">");
}

std::string Operands(const Inst& inst) {
  std::string text;
  for (Id id : {inst.a, inst.b, inst.c}) {
    if (id != kNone) StrAppend(&text, text.empty() ? " %" : ", %", id);
  }
  return text;
}

std::string Predicate(Id id) { return id == kNone ? "" : StrCat(" ? %", id); }
std::string Offset(Id id) { return id == kNone ? "" : StrCat("[%", id, "]"); }

// The part after "%n = ", without the type.
std::string InstText(const Kernel& kernel, const Inst& inst) {
  const std::string name(Name(inst.op));
  switch (inst.op) {
    case Op::kParam:
      return StrCat(name, " ", EntryName(kernel.scalars, inst.imm));
    case Op::kConst:
      return StrCat(name, " ", ConstText(inst.type, inst.imm));
    case Op::kIndex:
      return StrCat(name, " ", inst.imm);
    case Op::kLoad:
      return StrCat(name, " ", EntryName(kernel.buffers, inst.imm), Offset(inst.a),
                    Predicate(inst.b));
    case Op::kStore:
      return StrCat(name, " ", EntryName(kernel.buffers, inst.imm), Offset(inst.b), ", %", inst.a,
                    Predicate(inst.c));
    case Op::kCall:
      return StrCat(name, " ", FnName(inst.imm), Operands(inst));
    case Op::kLookup:
      return StrCat(name, " ", inst.imm, Operands(inst));
    case Op::kReduce: {
      const bool known = inst.imm <= uint64_t(ReduceKind::kOr);
      std::string text = StrCat(name, " ", known ? Name(ReduceKind(inst.imm)) : "<unknown>");
      if (inst.lanes) StrAppend(&text, ".", inst.lanes);
      return text + Operands(inst);
    }
    default:
      return name + Operands(inst);
  }
}

std::string BufferText(const Buffer& buffer) {
  std::string text =
      StrCat(buffer.name, ": ", buffer.out ? "out " : "buf ", ShortName(buffer.dtype), " [");
  for (size_t i = 0; i < buffer.strides.size(); ++i) {
    StrAppend(&text, i ? "," : "", std::string(1, "01s"[int(buffer.strides[i])]));
  }
  return text + "]";
}

// Scalars stand between the leading inputs and the first output; each list keeps its own order.
std::string HeaderText(const Kernel& kernel) {
  std::vector<std::string> parts;
  size_t i = 0;
  for (; i < kernel.buffers.size() && !kernel.buffers[i].out; ++i)
    parts.push_back(BufferText(kernel.buffers[i]));
  for (const Scalar& scalar : kernel.scalars) {
    parts.push_back(
        StrCat(scalar.name, scalar.each ? ": each " : ": scalar ", ShortName(scalar.dtype)));
  }
  for (; i < kernel.buffers.size(); ++i) parts.push_back(BufferText(kernel.buffers[i]));
  std::string text = StrCat("kernel ", kernel.name, "(");
  for (size_t p = 0; p < parts.size(); ++p) StrAppend(&text, p ? ", " : "", parts[p]);
  StrAppend(&text, ") space ", kernel.rank);
  if (kernel.has_loop) text += " loop";
  if (kernel.chunked) text += " chunked";
  if (kernel.long_rows) text += " long";
  if (kernel.stream) text += " stream";
  if (kernel.moves) text += " moves";
  if (kernel.vec == VecAxis::kLoop) text += " vec loop";
  if (kernel.vec == VecAxis::kNone) text += " vec none";
  return text;
}

}  // namespace

std::string Print(const Kernel& kernel) {
  std::string text = HeaderText(kernel) + "\n";
  int depth = 1;
  for (size_t i = 0; i < kernel.body.size(); ++i) {
    const Inst& inst = kernel.body[i];
    if ((inst.op == Op::kEnd || inst.op == Op::kDone) && depth > 1) --depth;
    text.append(2 * depth, ' ');
    if (HasValue(inst.op)) {
      StrAppend(&text, "%", i, " = ", InstText(kernel, inst), " : ", ShortName(inst.type));
    } else {
      text += InstText(kernel, inst);
    }
    text += '\n';
    if (inst.op == Op::kLoop || inst.op == Op::kRepeat) ++depth;
  }
  return text;
}

}  // namespace frazil::kir
