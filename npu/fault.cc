#include "npu/fault.h"

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "npu/asm.h"

namespace frazil::npu {
namespace {

constexpr std::string_view kNames[] = {
#define NPU_FAULT(E, NAME, sentence) #NAME,
#include "npu/faults.def"
#undef NPU_FAULT
};
constexpr std::string_view kSentences[] = {
#define NPU_FAULT(E, NAME, sentence) sentence,
#include "npu/faults.def"
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
  nlohmann::ordered_json json;
  const auto text = [&](const char* key, std::string_view value) {
    if (!value.empty()) json[key] = value;
  };
  // Numbers hold 53 bits for many readers.
  const auto hex = [&](const char* key, uint64_t value) {
    json[key] = absl::StrFormat("0x%016x", value);
  };
  text("code", Name(code));
  text("sentence", Sentence(code));
  text("detail", detail);
  json["block"] = block;
  json["pc"] = pc;
  text("queue", Name(queue));
  text("instruction", instruction);
  if (operand >= 0) json["operand"] = operand;
  text("operand_name", OperandOf(*this));
  if (address || address_end) hex("address", address);
  if (address_end) hex("address_end", address_end);
  if (cycle >= 0) json["cycle"] = cycle;
  text("op", source.op);
  text("file", source.file);
  if (!source.file.empty()) json["line"] = source.line;
  if (other_pc) json["other_pc"] = *other_pc;
  text("other_instruction", other_instruction);
  text("graph", graph);
  // Names come from users and need not be UTF-8.
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace frazil::npu
