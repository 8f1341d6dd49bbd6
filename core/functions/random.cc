// Random numbers: Philox 4x32-10 (Salmon et al. 2011) over a state {key, counter}. Every element
// takes a fixed number of 32-bit words, so traced and eager code draw the same stream
// (core/SEMANTICS.md).
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "core/functions/distributions.h"
#include "core/functions/draws.h"
#include "core/kept.h"

namespace frazil::ops {
namespace {

using DimVec = absl::InlinedVector<int64_t, 8>;

// Words of shape dims (+ [words] if more than one), and the generator moved past them.
Tensor Draw(std::string_view op, Tensor* generator, Dims dims, int words) {
  if (Status s = CheckDims(op, dims, 4 * words); !s.ok()) return Tensor(std::move(s));
  DimVec shape(dims.begin(), dims.end());
  if (words > 1) shape.push_back(words);
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  const auto drawn = DrawScope::Next(*generator);
  if (!drawn.ok()) return Tensor(drawn.status());
  const Tensor bits = random_bits(drawn->first, shape);
  if (!drawn->second) return bits;
  const KeepScope::Pause pause;
  const Tensor second = equal(iota(2, DType::kU64), int64_t{1});
  const Tensor moved = *generator + where(second, scalar(Scalar::Int((n + 3) / 4), DType::kU64),
                                          scalar(Scalar::Int(0), DType::kU64));
  if (!bits.ok()) return bits;
  if (!moved.ok()) return moved;
  generator->SetValue(moved.value_ref());
  return bits;
}

// Word number i of the last axis.
Tensor Word(const Tensor& bits, int64_t i) {
  if (!bits.ok()) return bits;
  DimVec s, dims;
  for (int a = 0; a < bits.rank(); ++a) {
    const bool last = a == bits.rank() - 1;
    s.insert(s.end(), {last ? i : 0, 1, last ? 1 : bits.dims()[a]});
    if (!last) dims.push_back(bits.dims()[a]);
  }
  if (bits.size() == 0) return reshape(bits, dims);
  return reshape(slice(bits, s), dims);
}

// The top `kept` bits of a word as a number in [0, 1).
Tensor Unit(const Tensor& word, int kept, DType dtype) {
  return astype(bitwise_right_shift(word, int64_t{32 - kept}), dtype) * std::ldexp(1.0, -kept);
}

Tensor Wide(const Tensor& bits) {
  const Tensor high = astype(Word(bits, 0), DType::kU64), low = astype(Word(bits, 1), DType::kU64);
  return bitwise_or(bitwise_left_shift(high, int64_t{32}), low);
}

Status CheckFloat(const char* op, DType dtype) {
  if (IsFloat(dtype)) return absl::OkStatus();
  return TypeError("[random.", op, "] needs a floating-point dtype, got ", std::string(Name(dtype)),
                   ".");
}

}  // namespace

Tensor random_state(uint64_t seed) {
  auto value = Value::Allocate(DType::kU64, Device(), Dense({2}));
  if (!value.ok()) return Tensor(std::move(value).status());
  const uint64_t words[2] = {seed, 0};
  std::memcpy((*value)->data, words, sizeof words);
  return Tensor(*std::move(value));
}

Tensor random_uniform(Tensor* generator, Dims dims, DType dtype) {
  if (Status s = CheckFloat("uniform", dtype); !s.ok()) return Tensor(std::move(s));
  if (dtype == DType::kF64) {
    const Tensor wide = Wide(Draw("random.uniform", generator, dims, 2));
    return astype(bitwise_right_shift(wide, int64_t{11}), dtype) * 0x1p-53;
  }
  // As many bits as the mantissa holds: rounding up to 1 cannot happen.
  const Tensor bits = Draw("random.uniform", generator, dims, 1);
  const int kept = dtype == DType::kF32 ? 24 : dtype == DType::kF16 ? 11 : 8;
  return astype(Unit(bits, kept, DType::kF32), dtype);
}

Tensor random_normal(Tensor* generator, Dims dims, DType dtype) {
  if (Status s = CheckFloat("normal", dtype); !s.ok()) return Tensor(std::move(s));
  const bool wide = dtype == DType::kF64;
  const Tensor bits = Draw("random.normal", generator, dims, wide ? 4 : 2);
  if (!bits.ok()) return bits;
  Tensor u1, u2;
  if (wide) {
    DimVec pair(dims.begin(), dims.end());
    pair.insert(pair.end(), {2, 2});
    const Tensor words =
        Wide(reshape(bits, pair));  // two 64-bit words an element, on the last axis
    u1 = astype(bitwise_right_shift(Word(words, 0), int64_t{11}), dtype) * 0x1p-53;
    u2 = astype(bitwise_right_shift(Word(words, 1), int64_t{11}), dtype) * 0x1p-53;
  } else {
    u1 = Unit(Word(bits, 0), 24, DType::kF32);
    u2 = Unit(Word(bits, 1), 24, DType::kF32);
  }
  // 1 - u1 lies in (0, 1]: the logarithm is finite.
  const Tensor radius = sqrt(log(1.0 - u1) * -2.0);
  return astype(radius * cos(u2 * (2 * M_PI)), dtype);
}

namespace {

std::string Text(absl::int128 v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

}  // namespace

Tensor random_integers(Tensor* generator, int64_t low, int64_t high, Dims dims, DType dtype) {
  return Generator(generator).integers(low, high, dims, dtype);
}

Tensor Generator::integers(absl::int128 low, absl::int128 high, Dims shape, DType dtype) {
  if (low >= high) {
    return ValueError("[random.integers] low must be below high: ", Text(low), " and ", Text(high),
                      ".");
  }
  if (!IsInt(dtype))
    return TypeError("[random.integers] dtype must be an integer, got ", std::string(Name(dtype)),
                     ".");
  for (const absl::int128 edge : {low, high - 1}) {
    const bool big = edge > std::numeric_limits<int64_t>::max();
    const Scalar number =
        big ? Scalar::Big(static_cast<uint64_t>(edge)) : Scalar::Int(static_cast<int64_t>(edge));
    if (Status s = ToImmediate("random.integers", number, dtype).status(); !s.ok())
      return Tensor(std::move(s));
  }
  const auto range = static_cast<uint64_t>(high - low);  // 0: all there are
  // The bias of the remainder is below range / 2^64.
  Tensor rest = Wide(Draw("random.integers", state_, shape, 2));
  if (range) rest = remainder(rest, Scalar::Big(range));
  const auto first = static_cast<int64_t>(static_cast<uint64_t>(low));
  return astype(astype(rest, DType::kI64) + Arg(first), dtype);
}

}  // namespace frazil::ops
