#include "tracer/causes.h"

#include "absl/strings/str_replace.h"
#include "core/check.h"
#include "core/str.h"

namespace frazil::tracer {

const CauseRow& Info(Cause cause) {
  static constexpr CauseRow kRows[] = {
#define FZ_CAUSE(Id, name, kind, sentence) {name, CauseKind::k##kind, sentence},
#include "tracer/causes.def"
#undef FZ_CAUSE
  };
  return kRows[static_cast<int>(cause)];
}

std::string Sentence(const Explanation& explanation) {
  std::vector<std::pair<std::string, std::string>> replacements;
  for (const auto& [name, text] : explanation.fields) {
    replacements.emplace_back(StrCat("{", name, "}"), text);
  }
  return absl::StrReplaceAll(AbslView(Info(explanation.cause).sentence), replacements);
}

}  // namespace frazil::tracer
