#include "tests/jit/op_cases.h"

#include <cmath>
#include <cstring>

#include "jit/kir/const.h"

namespace frazil::jit {
namespace {

using kir::Inst;
using kir::Kernel;
using kir::Op;
using kir::Stride;

// Values around which something happens. Around halfway points of the 16-bit floats too.
std::vector<uint64_t> Specials(DType type, Rng& rng) {
  std::vector<uint64_t> bits;
  if (IsBool(type)) return {0, 1};
  if (!IsFloat(type)) {
    const uint64_t top = uint64_t{1} << (BitsOf(type) - 1);
    for (uint64_t base :
         {uint64_t{0}, top, uint64_t{7}, uint64_t{127}, uint64_t{255}, uint64_t{65535},
          uint64_t(BitsOf(type)), uint64_t{1} << 53, uint64_t{1} << 24}) {
      for (int64_t d = -1; d <= 1; ++d) bits.push_back(kir::TruncateBits(type, base + uint64_t(d)));
    }
  } else {
    for (double x : {0.0,
                     0.5,
                     1.0,
                     1.5,
                     2.5,
                     3.0,
                     127.5,
                     255.5,
                     32767.5,
                     65535.5,
                     65504.0,
                     65519.999,
                     65520.0,
                     0x1p31,
                     2147483647.5,
                     0x1p32,
                     0x1p52 + 0.5,
                     0x1p53,
                     0x1p63,
                     0x1p64,
                     3.4e38,
                     0x1.ffffffp127,
                     1e308,
                     0x1p-14,
                     0x1p-24,
                     0x1p-25,
                     0x1.8p-25,
                     0x1p-126,
                     0x1p-133,
                     0x1p-134,
                     0x1p-149,
                     0x1p-150,
                     0x1p-1074,
                     1e-40,
                     1 + 0x1p-11,
                     1 + 0x1p-11 + 0x1p-40,
                     1 + 0x1p-11 - 0x1p-40,
                     1 + 0x1p-8,
                     1 + 0x1p-8 + 0x1p-40,
                     1 + 0x3p-8 - 0x1p-40,
                     1 + 0x1p-24,
                     1 + 0x1p-24 + 0x1p-50,
                     double(INFINITY)}) {
      bits.push_back(kir::BitsFromDouble(type, x));
      bits.push_back(kir::BitsFromDouble(type, -x));
    }
    bits.push_back(kir::BitsFromDouble(type, NAN));
  }
  for (int i = 0; i < 6; ++i) bits.push_back(kir::TruncateBits(type, rng()));
  return bits;
}

// o = op(a, b, c) with the given operand types.
Kernel OneOp(Inst inst, const std::vector<DType>& operands) {
  Kernel kernel{.name = std::string(Name(inst.op))};
  kir::Id* const slots[3] = {&inst.a, &inst.b, &inst.c};
  for (size_t i = 0; i < operands.size(); ++i) {
    kernel.buffers.push_back({std::string(1, char('a' + i)), operands[i], false, {Stride::kOne}});
    kernel.body.push_back({.op = Op::kLoad, .type = operands[i], .imm = i});
    *slots[i] = kir::Id(i);
  }
  kernel.buffers.push_back({"o", inst.type, true, {Stride::kOne}});
  kernel.body.push_back(inst);
  kernel.body.push_back(
      {.op = Op::kStore, .type = inst.type, .a = kir::Id(operands.size()), .imm = operands.size()});
  return kernel;
}

// Every pair of specials; the third operand runs along.
Case Grid(Kernel kernel, Rng& rng) {
  const size_t inputs = kernel.buffers.size() - 1;
  std::vector<std::vector<uint64_t>> specials;
  for (size_t i = 0; i < inputs; ++i) specials.push_back(Specials(kernel.buffers[i].dtype, rng));
  const size_t n =
      specials[0].size() * (inputs > 1 ? specials[1].size() : 1) * (inputs > 2 ? 3 : 1);
  Case c = MakeCase(std::move(kernel), {int64_t(n)}, rng);
  for (size_t i = 0; i < inputs; ++i) {
    const int size = SizeOf(c.kernel.buffers[i].dtype);
    for (size_t at = 0; at < n; ++at) {
      const size_t which = i == 0 ? at : i == 1 ? at / specials[0].size() : rng();
      std::memcpy(c.buffers[i].data() + c.buffers[i].base + at * size,
                  &specials[i][which % specials[i].size()], size);
    }
  }
  return c;
}

}  // namespace

std::vector<Case> OpCases() {
  Rng rng(7);
  std::vector<Case> cases;
  const auto add = [&](const Inst& inst, const std::vector<DType>& operands) {
    Kernel kernel = OneOp(inst, operands);
    if (Verify(kernel).ok()) cases.push_back(Grid(std::move(kernel), rng));
  };
  for (int i = int(Op::kCast); i <= int(Op::kSelect); ++i) {
    const Op op = Op(i);
    for (int t = 0; t < kNumRealDTypes; ++t) {
      const DType type = DType(t);
      if (op == Op::kCast || op == Op::kBitcast) {
        for (int from = 0; from < kNumRealDTypes; ++from)
          add({.op = op, .type = type}, {DType(from)});
      } else if (op == Op::kSelect) {
        add({.op = op, .type = type}, {DType::kBool, type, type});
      } else {
        const bool compares = op >= Op::kLt && op <= Op::kNe;
        add({.op = op, .type = compares ? DType::kBool : type},
            std::vector<DType>(kir::NumOperands(op), type));
      }
    }
  }
  return cases;
}

}  // namespace frazil::jit
