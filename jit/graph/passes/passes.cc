#include "jit/graph/passes/passes.h"

#include "absl/strings/str_split.h"
#include "core/check.h"
#include "core/str.h"

namespace frazil::jit {
namespace {

constexpr Pass kPasses[] = {
    {"parts", "the parts of complex numbers are what these were made of", TakeParts},
    {"fold", "values that need no work, chains of views made one", Fold},
    {"cse", "equal calls of equal operands become one node", Cse},
    {"channels", "sums that convolve each channel by itself become one call", Channels},
    {"assign", "arrays that are filled part by part become one", Assign},
    {"pads", "sums of parts padded with zeros are put together", Pads},
    {"join", "products of successive rows become one", JoinProducts, true},
    {"split", "what is read in slices is computed in slices", Split},
    {"reorder", "what is made of convolutions' results is computed as these lie", Reorder},
    {"lay_out", "a matrix that many products read across is copied once", LayOut, true},
    {"dce", "nodes that no output needs go", Dce},
    {"roll", "a repeated body becomes a loop", Roll},
    {"scalars", "loops over small arrays are written out element by element", WriteOut, true},
    {"wide", "products of int8 that was widened read it as it was", Wide},
    {"halves", "products by 16-bit floats that were widened read them as they were", Halves, true},
    {"overlap", "collectives begin early and are waited for late", Overlap},
    {"fuse", "several nodes in one kernel", nullptr},
    {"recompute", "cheap values computed again instead of kept for late readers", nullptr},
    {"duplicate", "what a kernel stores for others computed in each of them instead", nullptr},
    {"order", "steps in the order in which fewer bytes live at once", nullptr},
    {"branches", "steps that do not need each other side by side", nullptr},
    {"inplace", "results written over operands that are needed no more", nullptr},
};

int FindPass(std::string_view name) {
  for (size_t i = 0; i < std::size(kPasses); ++i) {
    if (kPasses[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

StatusOr<PassSwitches> PassSwitches::FromText(std::string_view text) {
  PassSwitches switches;
  for (const absl::string_view piece : absl::StrSplit(AbslView(text), ',', absl::SkipEmpty())) {
    if (piece == "none") {
      switches.off_ = ~0u;
      continue;
    }
    const std::string_view name(piece.data(), piece.size());
    const int pass = name[0] == '-' ? FindPass(name.substr(1)) : -1;
    if (pass < 0) {
      std::string known;
      for (const Pass& p : kPasses) StrAppend(&known, known.empty() ? "-" : ", -", p.name);
      return ValueError("[passes] FRAZIL_PASSES has '", name, "'; known are none, ", known, ".");
    }
    switches.off_ |= 1u << pass;
  }
  return switches;
}

bool PassSwitches::enabled(std::string_view name) const {
  const int pass = FindPass(name);
  FZ_CHECK(pass >= 0);
  return !(off_ >> pass & 1);
}

}  // namespace frazil::jit
