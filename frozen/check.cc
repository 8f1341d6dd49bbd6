#include "frozen/check.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "core/functions/composites.h"
#include "core/matrix_parts.h"

namespace frazil::frozen {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;  // of a place along an axis

Status Wrong(const OpCall& call, std::string_view what) {
  std::string operands;
  for (const Tensor* t : call.inputs)
    StrAppend(&operands, operands.empty() ? "" : ", ", Describe(*t));
  return ValueError("[", Info(call.op).name, "] the program gives it ", what, ": attributes ",
                    ToString(call.attrs), " for ", operands, ".");
}

bool IsDType(int64_t word) { return word >= 0 && word < kNumDTypes; }
bool IsFlag(int64_t word) { return word == 0 || word == 1; }

bool Fits(const OpCall& call, size_t attrs) { return call.attrs.size() == attrs; }
bool HasAxis(const OpCall& call, size_t at) {
  return call.attrs[at] >= 0 && call.attrs[at] < call.inputs[0]->rank();
}

bool IsReduction(const OpCall& call) {
  if (!Fits(call, 2) || !IsFlag(call.attrs[1])) return false;
  const int rank = call.inputs[0]->rank();
  const auto mask = static_cast<uint64_t>(call.attrs[0]);
  const uint64_t all = (uint64_t{1} << rank) - 1;
  if (mask != ~uint64_t{0} && (mask & ~all)) return false;
  return !Has(call.op, traits::kIndex) || (mask & all) == all || std::popcount(mask & all) == 1;
}

bool IsView(const OpCall& call) {
  if (call.op == OpId::k_real || call.op == OpId::k_imag) return Fits(call, 0);
  if (call.op != OpId::k_slice) return call.attrs.size() <= static_cast<size_t>(kMaxRank);
  if (!Fits(call, 3 * static_cast<size_t>(call.inputs[0]->rank()))) return false;
  for (size_t i = 0; i < call.attrs.size(); i += 3) {
    const int64_t n = call.attrs[i + 2];
    // (n - 1) * step stays in 64 bits; what is no part of the axis inference refuses.
    if (n < 0 || n > std::max<int64_t>(call.inputs[0]->dims()[i / 3], 0)) return false;
    for (const int64_t v : {call.attrs[i], call.attrs[i + 1]}) {
      if (v > kMost || v < -kMost) return false;
    }
    if (n > (int64_t{1} << 20) && std::abs(call.attrs[i + 1]) > (int64_t{1} << 20)) return false;
  }
  return true;
}

bool IsPut(const OpCall& call) {
  return Fits(call, 3) && HasAxis(call, 0) && IsFlag(call.attrs[1]) && call.attrs[2] >= 1 &&
         call.attrs[2] <= call.inputs[0]->rank() - call.attrs[0];
}

bool IsFourier(const OpCall& call) {
  if (!Fits(call, kFourierAttrs)) return false;
  const auto axes = static_cast<uint64_t>(call.attrs[kFourierAxes]);
  const int64_t norm = call.attrs[kFourierNorm], extent = call.attrs[kFourierExtent];
  return axes != 0 && axes >> call.inputs[0]->rank() == 0 && IsFlag(call.attrs[kFourierForward]) &&
         norm >= 0 && norm < kFourierNorms && extent >= 0 && extent < kMost &&
         (call.op == OpId::k_fft_c2c || std::popcount(axes) == 1);
}

bool IsConvolution(const OpCall& call, size_t attrs) {
  if (!Fits(call, attrs)) return false;
  for (const int64_t v : call.attrs) {
    if (v > kMost || v < -kMost) return false;
  }
  return true;
}

bool IsLapackOption(OpId op, int64_t option) {
  switch (op) {
    case OpId::k_svd_factors:
      return option == kSingularValues || option == kReduced || option == kFull;
    case OpId::k_eigh_factors:
      return (option & ~(kUpper | kValuesOnly)) == 0;
    case OpId::k_eig_factors:
      return (option & ~kValuesOnly) == 0;
    case OpId::k_triangular_solve:
      return option >= 0 && option <= kMostLapackOption;
    default:
      return IsFlag(option);
  }
}

}  // namespace

Status CheckCall(const OpCall& call) {
  const OpInfo& info = Info(call.op);
  if (info.arity >= 0 ? call.inputs.size() != static_cast<size_t>(info.arity) : call.inputs.empty())
    return Wrong(call, StrCat(call.inputs.size(), " operands"));
  bool good = true;
  switch (info.klass) {
    case OpClass::kElementwise:
    case OpClass::kComplex:
    case OpClass::kMatmul:
      good = Fits(call, 0);
      break;
    case OpClass::kCast:
      good = Fits(call, 1) && IsDType(call.attrs[0]) &&
             (IsComplex(call.inputs[0]->dtype()) || call.attrs[0] < kNumRealDTypes);
      break;
    case OpClass::kReduce:
      good = IsReduction(call);
      break;
    case OpClass::kView:
      good = IsView(call);
      break;
    case OpClass::kConcat:
      good = Fits(call, 1) && HasAxis(call, 0);
      break;
    case OpClass::kPad:
      good = Fits(call, 2 * static_cast<size_t>(call.inputs[0]->rank())) &&
             call.inputs[1]->rank() == 0;
      break;
    case OpClass::kTake:
      good = Fits(call, 1) && HasAxis(call, 0);
      break;
    case OpClass::kPut:
      good = IsPut(call);
      break;
    case OpClass::kPositions:
      good = Fits(call, 2) && call.attrs[0] >= 0 && call.attrs[0] <= call.inputs[0]->size() &&
             IsFlag(call.attrs[1]);
      break;
    case OpClass::kSort:
      good = Fits(call, 1) && IsFlag(call.attrs[0]) && call.inputs[0]->rank() > 0;
      break;
    case OpClass::kScan:
      good = Fits(call, 1) && HasAxis(call, 0);
      break;
    case OpClass::kFourier:
      good = IsFourier(call);
      break;
    case OpClass::kCollective:  // ranks and groups are the process's own
    case OpClass::kCollectiveWait:
      good = false;
      break;
    case OpClass::kAttention:
    case OpClass::kAttentionGrad:
      good = Fits(call, 1) && IsFlag(call.attrs[0]);
      break;
    case OpClass::kConv:
      good = IsConvolution(call, kConvAttrs);
      break;
    case OpClass::kConvWeights:
      good = IsConvolution(call, kConvAttrs + 2);
      break;
    case OpClass::kLapack:
      good = Fits(call, 1) && IsLapackOption(call.op, call.attrs[0]);
      break;
    case OpClass::kIota:
      good = Fits(call, 2) && IsDType(call.attrs[0]) && call.attrs[0] < kNumRealDTypes &&
             !IsBool(static_cast<DType>(call.attrs[0])) && call.attrs[1] >= 0;
      break;
    case OpClass::kRandomBits:
      break;
    case OpClass::kSparse:
      return NotImplementedError("[", info.name,
                                 "] products with sparse matrices cannot be in a "
                                 "saved program: make the matrix dense before.");
    case OpClass::kTransfer:
      return NotImplementedError("[", info.name,
                                 "] a saved program computes where its inputs are: "
                                 "move them before the call.");
  }
  return good ? absl::OkStatus() : Wrong(call, "what it cannot take");
}

Status CheckComposite(const CompositeCall& call, bool has_body) {
  const auto id = static_cast<CompositeId>(call.id);
  const size_t operands = call.inputs.size(), attrs = call.attrs.size();
  bool good = has_body;
  switch (id) {  // whose bodies are made of operands and attributes again, for gradients
    case CompositeId::k_silu:
      good = operands == 1;
      break;
    case CompositeId::k_gelu:
    case CompositeId::k_softmax:
    case CompositeId::k_log_softmax:
      good = operands == 1 && attrs == 1;
      break;
    case CompositeId::k_layer_norm:
      good =
          attrs == 1 && call.attrs[0] >= 0 && call.attrs[0] < 4 &&
          operands == 2 + static_cast<size_t>(std::popcount(static_cast<uint64_t>(call.attrs[0])));
      break;
    case CompositeId::k_on_parts:  // an op's number, which names it
      good = has_body && attrs > 0 && call.attrs[0] >= 0 && call.attrs[0] < kNumOps;
      break;
    case CompositeId::k_positions_of:  // an extent and a flag of each operand
      good = operands > 0 && attrs == 2 * operands;
      for (size_t i = 0; good && i < attrs; i += 2)
        good = call.attrs[i] >= 0 && IsFlag(call.attrs[i + 1]);
      break;
    default:
      break;
  }
  if (good) return absl::OkStatus();
  return ValueError("[", NameOf(id), "] the program calls it with ", operands, " operands and ",
                    attrs, " attributes", has_body ? "" : ", and without its body", ".");
}

}  // namespace frazil::frozen
