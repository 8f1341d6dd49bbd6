#include "jit/npu_sim/fault.h"

#include "absl/strings/str_format.h"
#include "jit/npu_sim/asm.h"
#include "jit/npu_sim/json.h"

namespace frazil::npu {
namespace {

constexpr std::string_view kNames[] = {
#define NPU_FAULT(E, NAME, sentence) #NAME,
#include "jit/npu_sim/faults.def"
#undef NPU_FAULT
};
constexpr std::string_view kSentences[] = {
#define NPU_FAULT(E, NAME, sentence) sentence,
#include "jit/npu_sim/faults.def"
#undef NPU_FAULT
};

// "dst" of the instruction's operand; empty if there is none.
std::string OperandOf(const Fault& fault) {
  const std::string_view text = fault.instruction;
  const std::optional<Op> op = FindOp(text.substr(0, text.find_first_of(". ")));
  if (!op || fault.operand < 0 || fault.operand >= Info(*op).num_operands) return {};
  return OperandName(Info(*op), fault.operand);
}

// "operand 0 (dst), bytes ub:0x100 to ub:0x180": what is known.
std::string PlaceOf(const Fault& fault) {
  std::string text;
  const std::string name = OperandOf(fault);
  if (!name.empty()) StrAppend(&text, "operand ", fault.operand, " (", name, ")");
  if (!fault.address && !fault.address_end) return text;
  if (!text.empty()) StrAppend(&text, ", ");
  StrAppend(&text, fault.address_end ? "bytes " : "address ", AddressText(fault.address));
  if (fault.address_end) StrAppend(&text, " to ", AddressText(fault.address_end));
  return text;
}

class Object {
 public:
  void Text(std::string_view key, std::string_view value) {
    if (!value.empty()) Raw(key, JsonQuote(value));
  }
  void Number(std::string_view key, int64_t value) { Raw(key, StrCat(value)); }
  // JSON numbers hold 53 bits for many readers.
  void Hex(std::string_view key, uint64_t value) {
    Raw(key, absl::StrFormat("\"0x%016x\"", value));
  }
  std::string Finish() { return text_ + "}"; }

 private:
  void Raw(std::string_view key, const std::string& value) {
    StrAppend(&text_, text_.size() > 1 ? ", " : "", JsonQuote(key), ": ", value);
  }
  std::string text_ = "{";
};

}  // namespace

std::string_view Name(FaultCode code) { return kNames[size_t(code)]; }
std::string_view Sentence(FaultCode code) { return kSentences[size_t(code)]; }

std::string Fault::Text() const {
  std::string text = StrCat(Name(code), ": ", Sentence(code));
  if (!detail.empty()) StrAppend(&text, ": ", detail);
  StrAppend(&text, "\n  at pc ", pc, ", queue ", Name(queue), ", block ", block);
  if (cycle >= 0) StrAppend(&text, ", cycle ", cycle);
  if (!instruction.empty()) StrAppend(&text, ": ", instruction);
  if (const std::string place = PlaceOf(*this); !place.empty()) StrAppend(&text, "\n  ", place);
  if (!source.op.empty() || !source.file.empty()) {
    StrAppend(&text, "\n  from ", source.op.empty() ? "an op" : source.op);
    if (!source.file.empty()) StrAppend(&text, ", ", source.file, ":", source.line);
  }
  if (other_pc) StrAppend(&text, "\n  other access: pc ", *other_pc, ": ", other_instruction);
  if (!graph.empty()) StrAppend(&text, "\n", graph);
  return text;
}

std::string Fault::Json() const {
  Object object;
  object.Text("code", Name(code));
  object.Text("sentence", Sentence(code));
  object.Text("detail", detail);
  object.Number("block", block);
  object.Number("pc", pc);
  object.Text("queue", Name(queue));
  object.Text("instruction", instruction);
  if (operand >= 0) object.Number("operand", operand);
  object.Text("operand_name", OperandOf(*this));
  if (address || address_end) object.Hex("address", address);
  if (address_end) object.Hex("address_end", address_end);
  if (cycle >= 0) object.Number("cycle", cycle);
  object.Text("op", source.op);
  object.Text("file", source.file);
  if (!source.file.empty()) object.Number("line", source.line);
  if (other_pc) object.Number("other_pc", *other_pc);
  object.Text("other_instruction", other_instruction);
  object.Text("graph", graph);
  return object.Finish();
}

}  // namespace frazil::npu
