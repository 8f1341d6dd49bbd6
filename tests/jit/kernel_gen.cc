#include "tests/jit/kernel_gen.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/check.h"
#include "core/str.h"
#include "jit/kir/builder.h"
#include "jit/kir/const.h"
#include "jit/kir/fn_table.h"

namespace frazil::jit {
namespace {

using kir::Builder;
using kir::Kernel;
using kir::Op;
using kir::ReduceKind;
using kir::Stride;
using kir::V;
using kir::VecAxis;

int64_t Below(Rng& rng, int64_t n) { return int64_t(rng() % uint64_t(n)); }
bool Chance(Rng& rng, int percent) { return Below(rng, 100) < percent; }
template <typename T>
T Choose(Rng& rng, std::initializer_list<T> list) {
  return list.begin()[Below(rng, int64_t(list.size()))];
}

bool IsWideFloat(DType t) { return t == DType::kF32 || t == DType::kF64; }

// A value of `type` as bits: plain numbers mostly, the special ones often enough.
uint64_t RandomBits(DType type, Rng& rng) {
  if (IsBool(type)) return rng() & 1;
  if (!IsFloat(type)) {
    const uint64_t top = uint64_t{1} << (BitsOf(type) - 1);
    switch (Below(rng, 4)) {
      case 0:
        return kir::TruncateBits(type, rng());
      case 1:
        return kir::TruncateBits(
            type, Choose<uint64_t>(rng, {0, 1, ~uint64_t{0}, top, top - 1, 2, 31, 32, 63, 64}));
      default:
        return kir::TruncateBits(type, uint64_t(Below(rng, 40) - (IsSigned(type) ? 20 : 0)));
    }
  }
  switch (Below(rng, 12)) {
    case 0:
      return kir::TruncateBits(type, rng());
    case 1:
      return kir::BitsFromDouble(
          type, Choose<double>(rng, {0.0,        -0.0,   INFINITY, -INFINITY, NAN,    0x1p-149,
                                     -0x1p-1074, 1e-40,  65504,    65520,     3e38,   -1e300,
                                     0x1p31,     0x1p63, -0x1p31,  0x1p32,    0x1p64, 2147483647.5,
                                     255.5,      0.5,    1.5,      2.5}));
    case 2:
      return kir::BitsFromDouble(type, double(Below(rng, 64) - 32) / 2);
    default:
      return kir::BitsFromDouble(
          type, std::ldexp(double(Below(rng, 1 << 24)) - (1 << 23), int(Below(rng, 12)) - 26));
  }
}

constexpr int kMostRepeats = 8;
constexpr int kReach = 8;  // element offsets of loads and stores lie in [0, kReach)

// Strides of one buffer: inputs anyhow within their class, outputs so that no two indices meet.
void FillStrides(const Kernel& kernel, size_t b, const std::vector<int64_t>& extents, Rng& rng,
                 int64_t* strides) {
  const kir::Buffer& buffer = kernel.buffers[b];
  const int64_t size = SizeOf(buffer.dtype);
  std::vector<int> open;
  int64_t span = size;
  for (int axis = 0; axis < kernel.axes(); ++axis) {
    strides[axis] = buffer.strides[axis] == Stride::kOne ? size : 0;
    if (buffer.strides[axis] == Stride::kOne)
      span += std::max<int64_t>(0, extents[axis] - 1) * size;
    if (buffer.strides[axis] == Stride::kAny) open.push_back(axis);
  }
  std::shuffle(open.begin(), open.end(), rng);
  for (int axis : open) {
    if (!buffer.out && Chance(rng, 20)) {
      strides[axis] = (Below(rng, 7) - 3) * size;
      continue;
    }
    if (buffer.out || Chance(rng, 50)) span += Below(rng, 3) * size;
    strides[axis] = !kernel.stream && Chance(rng, 20) ? -span : span;
    if (kernel.stream) strides[axis] = span = (span + 63) / 64 * 64;
    span += std::max<int64_t>(0, extents[axis] - 1) * std::abs(strides[axis]);
  }
}

TestBuffer MakeBuffer(const Kernel& kernel, size_t b, const std::vector<int64_t>& extents,
                      const int64_t* strides, Rng& rng) {
  const DType dtype = kernel.buffers[b].dtype;
  const int64_t size = SizeOf(dtype);
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < kernel.axes(); ++axis) {
    const int64_t reach = std::max<int64_t>(0, extents[axis] - 1) * strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  TestBuffer buffer;
  buffer.base = (64 - low + 63) / 64 * 64 + (kernel.stream ? 0 : Below(rng, 16) * size);
  buffer.lines.resize((buffer.base + high + (kReach + 1) * size + 64 + 63) / 64);
  for (int64_t at = 0; at < buffer.size(); at += size) {
    const uint64_t bits = RandomBits(dtype, rng);
    std::memcpy(buffer.data() + at, &bits, size);
  }
  return buffer;
}

// Builds one random kernel.
class Generator {
 public:
  Generator(Rng& rng, const GenOptions& options) : rng_(rng), options_(options), b_(&k_) {}

  Kernel Run() {
    Header();
    Values();
    const int loops = k_.has_loop ? int(1 + Below(rng_, 2)) : 0;
    for (int i = 0; i < loops; ++i) Loop();
    if (loops) Values();
    const bool each = k_.plain_scalars() < int(k_.scalars.size());
    const int repeats = !options_.repeats || k_.has_loop ? 0
                        : each || k_.moves               ? 1
                                                         : int(1 + Below(rng_, 2));
    for (int i = 0; i < repeats; ++i) Repeat();
    if (repeats && Chance(rng_, 50)) Values();
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      if (k_.buffers[i].out && !InLoop(i)) StoreTo(int(i));
    }
    const Status status = Verify(k_);
    if (!status.ok())
      std::fprintf(stderr, "%s\n%s", Print(k_).c_str(), std::string(status.message()).c_str());
    FZ_CHECK(status.ok());
    return k_;
  }

 private:
  void Header() {
    k_.name = "random";
    k_.rank = int(1 + Below(rng_, 3));
    k_.has_loop = options_.loops && Chance(rng_, 60);
    if (k_.has_loop && Chance(rng_, 50)) k_.vec = VecAxis::kLoop;
    if (k_.has_loop && (k_.vec == VecAxis::kLoop || k_.rank > 1)) k_.chunked = Chance(rng_, 25);
    lanes_ = k_.vec == VecAxis::kLoop || (options_.down && Chance(rng_, 60)) ? 64 : 8;
    k_.stream = !k_.has_loop && !options_.moves && Chance(rng_, 15);
    if (options_.moves && options_.repeats && !k_.has_loop) {
      k_.moves = Chance(rng_, 80);
      if (Chance(rng_, 60)) k_.vec = VecAxis::kNone;
    }
    const int inputs = int(1 + Below(rng_, 4)), outputs = int(1 + Below(rng_, 3));
    for (int i = 0; i < inputs; ++i) k_.buffers.push_back(Input(i));
    for (int i = 0; i < outputs; ++i) k_.buffers.push_back(Output(i));
    for (int64_t i = Below(rng_, 3); i > 0; --i) k_.scalars.push_back({StrCat("s", i), AnyType()});
    if (!options_.repeats || k_.has_loop) return;
    count_ = int(k_.scalars.size());
    k_.scalars.push_back({"n", DType::kI64});
    for (int64_t i = Below(rng_, 3); i > 0; --i)
      k_.scalars.push_back({StrCat("t", i), AnyType(), true});
  }

  DType AnyType() {
    if (!options_.types.empty()) return options_.types[Below(rng_, int64_t(options_.types.size()))];
    if (options_.small_types) return DType(Below(rng_, kNumRealDTypes));
    return Chance(rng_, 10) ? DType::kBool : WideType();
  }
  DType WideType() {
    // f32 is what most kernels are about.
    if (!options_.types.empty())
      return Choose(rng_, {DType::kF32, DType::kF32, DType::kI32, DType::kU32});
    return Choose(rng_, {DType::kF32, DType::kF32, DType::kF32, DType::kF64, DType::kF64,
                         DType::kI32, DType::kI64, DType::kU32, DType::kU64});
  }

  kir::Buffer Input(int i) {
    kir::Buffer buffer{StrCat("x", i), AnyType(), false, {}};
    for (int axis = 0; axis < k_.axes(); ++axis) {
      const bool last = axis == k_.axes() - 1 || axis == k_.rank - 1;
      buffer.strides.push_back(last && Chance(rng_, 50) ? Stride::kOne
                               : Chance(rng_, 30)       ? Stride::kZero
                                                        : Stride::kAny);
    }
    return buffer;
  }

  // At most one axis has stride one: the loop axis or the last of the space.
  kir::Buffer Output(int i) {
    kir::Buffer buffer{StrCat("o", i), AnyType(), true, {}};
    buffer.strides.assign(k_.axes(), Stride::kAny);
    const bool axis = k_.has_loop || k_.moves, in_loop = axis && Chance(rng_, 40);
    if (axis && !in_loop) buffer.strides.back() = Stride::kZero;
    if (Chance(rng_, 75))
      buffer.strides[in_loop && Chance(rng_, 70) ? k_.rank : k_.rank - 1] = Stride::kOne;
    return buffer;
  }
  bool InLoop(size_t buffer) const {
    return (k_.has_loop || k_.moves) && k_.buffers[buffer].strides.back() != Stride::kZero;
  }

  void StoreInLoop() {
    for (size_t i = 0; i < k_.buffers.size(); ++i) {
      if (!k_.buffers[i].out || !InLoop(i) || stored_[i]) continue;
      StoreTo(int(i));
      stored_[i] = true;
    }
  }

  void Loop() {
    // Values of the loop leave with it; its reduces stay.
    const std::vector<V> outside = pool_;
    std::vector<V> reduced;
    b_.Loop();
    in_loop_ = true;
    Values();
    for (int64_t i = 1 + Below(rng_, 2); i > 0; --i) reduced.push_back(RandomReduce());
    StoreInLoop();
    in_loop_ = false;
    b_.End();
    pool_ = outside;
    pool_.insert(pool_.end(), reduced.begin(), reduced.end());
  }

  // Carries that start from anything, and go on as anything of their type, another carry often.
  void Repeat() {
    const std::vector<V> outside = pool_;
    const V count = Chance(rng_, 70) ? b_.Param(count_) : b_.Const(DType::kI64, 1);
    std::vector<V> inits, carries, nexts;
    for (int64_t i = 1 + Below(rng_, 4); i > 0; --i)
      inits.push_back(Pick(Chance(rng_, 20) ? DType::kBool : WideType()));
    b_.Repeat(count);
    in_repeat_ = true;
    for (const V& init : inits) carries.push_back(b_.Carry(init));
    for (const V& carry : carries) pool_.insert(pool_.end(), 3, carry);
    Values();
    if (k_.moves) StoreInLoop();
    for (const V& carry : carries) nexts.push_back(Pick(carry.type));
    for (size_t i = carries.size(); i-- > 0;) b_.Next(carries[i], nexts[i]);
    b_.Done();
    in_repeat_ = false;
    pool_ = outside;
    for (const V& carry : carries) pool_.insert(pool_.end(), 3, carry);
  }

  V RandomReduce() {
    const DType type = Chance(rng_, 15) ? DType::kBool : WideType();
    if (IsBool(type))
      return b_.Reduce(Choose(rng_, {ReduceKind::kAnd, ReduceKind::kOr}), Pick(type), 0);
    const ReduceKind kind = Choose(rng_, {ReduceKind::kSum, ReduceKind::kSum, ReduceKind::kProd,
                                          ReduceKind::kMax, ReduceKind::kMin});
    const bool laned = IsWideFloat(type) && (kind == ReduceKind::kSum || kind == ReduceKind::kProd);
    return b_.Reduce(kind, Pick(type), !laned ? 0 : lanes_);
  }

  void Values() {
    const int64_t count = 1 + Below(rng_, options_.max_values);
    for (int64_t i = 0; i < count; ++i) pool_.push_back(Chance(rng_, 25) ? Leaf() : Operation());
  }

  V Leaf() {
    switch (Below(rng_, 8)) {
      case 0:
        if (!options_.index) return RandomLoad();
        return b_.Index(int(Below(rng_, in_loop_ ? k_.axes() : k_.rank)));
      case 1: {
        const DType type = AnyType();
        return b_.ConstBits(type, RandomBits(type, rng_));
      }
      case 2:
        if (const size_t n = in_repeat_ ? k_.scalars.size() : size_t(k_.plain_scalars()))
          return b_.Param(int(Below(rng_, int64_t(n))));
        [[fallthrough]];
      default:
        return RandomLoad();
    }
  }

  V RandomLoad() {
    int buffer = 0;
    do buffer = int(Below(rng_, int64_t(k_.buffers.size())));
    while (k_.buffers[buffer].out);
    V offset, pred;
    if (options_.offsets && Chance(rng_, 20))
      offset = Pick(DType::kI64) & K(Pick(DType::kI64), kReach - 1);
    if (options_.predicates && Chance(rng_, 20)) pred = Pick(DType::kBool);
    return b_.Load(buffer, Guarded(offset, pred), pred);
  }

  // Where the predicate is false the address is far outside: an access there does not go unnoticed.
  V Guarded(V offset, V pred) {
    if (offset.builder == nullptr || pred.builder == nullptr) return offset;
    return select(pred, offset, b_.Const(DType::kI64, 0x1p44));
  }

  void StoreTo(int buffer) {
    V offset, pred;
    // One offset for all points: two of them never write the same element.
    if (options_.offsets && !k_.stream && Chance(rng_, 15))
      offset = b_.Const(DType::kI64, double(Below(rng_, kReach)));
    if (options_.predicates && Chance(rng_, 20)) pred = Pick(DType::kBool);
    const V value = Pick(k_.buffers[buffer].dtype);
    b_.Store(buffer, value, Guarded(offset, pred), pred);
  }

  // A visible value of `type`, made from another one if there is none (or for variety).
  V Pick(DType type) {
    std::vector<V> fitting;
    for (const V& v : pool_) {
      if (v.type == type) fitting.push_back(v);
    }
    if (!fitting.empty() && Chance(rng_, 90)) return fitting[Below(rng_, int64_t(fitting.size()))];
    if (pool_.empty() || Chance(rng_, 10)) return b_.ConstBits(type, RandomBits(type, rng_));
    return b_.Cast(type, pool_[Below(rng_, int64_t(pool_.size()))]);
  }

  V Operation() {
    switch (Below(rng_, 10)) {
      case 0:
        return b_.Cast(AnyType(), Pick(AnyType()));
      case 1:
        return RandomBitcast();
      case 2:
        return Compare();
      case 3:
        return Logic();
      case 4: {
        const DType type = Chance(rng_, 20) ? DType::kBool : WideType();
        const V cond = Pick(DType::kBool), yes = Pick(type);
        return select(cond, yes, Pick(type));
      }
      default:
        return Arithmetic(WideType());
    }
  }

  bool Allowed(DType type) const {
    return options_.types.empty() ||
           std::find(options_.types.begin(), options_.types.end(), type) != options_.types.end();
  }

  V RandomBitcast() {
    const DType to = options_.small_types && options_.types.empty()
                         ? DType(1 + Below(rng_, kNumRealDTypes - 1))
                         : WideType();
    std::vector<DType> same;
    for (int t = 1; t < kNumRealDTypes; ++t) {
      if (SizeOf(DType(t)) == SizeOf(to) && Allowed(DType(t))) same.push_back(DType(t));
    }
    V from = Pick(same[Below(rng_, int64_t(same.size()))]);
    if (!IsFloat(from.type)) return b_.Bitcast(to, from);
    // The payload of a NaN may differ between executors: it is taken out before its bits are looked
    // at.
    const V number = b_.Cast(IsHalf(from.type) ? DType::kF32 : from.type, from);
    const V clean = select(number == number, number, K(number, 1));
    return b_.Bitcast(to, b_.Cast(from.type, clean));
  }

  V Compare() {
    const DType type = WideType();
    const V a = Pick(type);
    return b_.Binary(Choose(rng_, {Op::kLt, Op::kLe, Op::kEq, Op::kNe}), a, Pick(type));
  }

  V Logic() {
    const V a = Pick(DType::kBool);
    if (Chance(rng_, 20)) return ~a;
    return b_.Binary(Choose(rng_, {Op::kAnd, Op::kOr, Op::kXor, Op::kEq, Op::kNe}), a,
                     Pick(DType::kBool));
  }

  V Arithmetic(DType type) {
    const V a = Pick(type);
    if (Chance(rng_, 15)) return b_.Unary(Choose(rng_, {Op::kNeg, Op::kAbs}), a);
    if (IsFloat(type)) {
      if (options_.calls && Chance(rng_, 25)) {
        const int fn = int(Below(rng_, kir::kNumFns));
        return kir::kFns[fn].operands == 2 ? b_.Call(fn, a, Pick(type)) : b_.Call(fn, a);
      }
      if (Chance(rng_, 20)) {
        return b_.Unary(Choose(rng_, {Op::kSqrt, Op::kFloor, Op::kCeil, Op::kTrunc, Op::kRint}), a);
      }
      const V b = Pick(type);
      if (Chance(rng_, 15)) return fma(a, b, Pick(type));
      return b_.Binary(Choose(rng_, {Op::kAdd, Op::kSub, Op::kMul, Op::kDiv, Op::kMin, Op::kMax}),
                       a, b);
    }
    if (Chance(rng_, 5)) return ~a;
    return b_.Binary(
        Choose(rng_, {Op::kAdd, Op::kSub, Op::kMul, Op::kMulhi, Op::kDiv, Op::kRem, Op::kMin,
                      Op::kMax, Op::kAnd, Op::kOr, Op::kXor, Op::kShl, Op::kShr}),
        a, Pick(type));
  }

  Rng& rng_;
  const GenOptions options_;
  Kernel k_;
  Builder b_;
  std::vector<V> pool_;  // values visible here
  std::vector<bool> stored_ = std::vector<bool>(16, false);
  bool in_loop_ = false;
  bool in_repeat_ = false;
  int lanes_ = 8;
  int count_ = 0;  // the scalar that counts repeats
};

bool SameElement(DType type, uint64_t a, uint64_t b) {
  if (a == b) return true;
  return IsFloat(type) && std::isnan(kir::FloatFromBits(type, a)) &&
         std::isnan(kir::FloatFromBits(type, b));
}

}  // namespace

int64_t Case::rows() const {
  int64_t rows = 1;
  for (int axis = 0; axis < kernel.rank - 1; ++axis) rows *= extents[axis];
  return rows;
}

std::vector<int64_t> RandomExtents(const Kernel& kernel, Rng& rng) {
  std::vector<int64_t> extents;
  for (int axis = 0; axis < kernel.rank; ++axis) {
    const bool last = axis == kernel.rank - 1;
    extents.push_back(!last ? Choose<int64_t>(rng, {1, 2, 3, 4})
                      : kernel.has_loop
                          ? Choose<int64_t>(rng, {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33})
                          : Choose<int64_t>(rng, {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64,
                                                  65, 100, 257, 600}));
  }
  if (kernel.moves) {
    extents.push_back(kMostRepeats);
  } else if (kernel.chunked) {
    extents.push_back(Choose<int64_t>(rng, {1, 64, 4095, 4096, 4097, 4200, 8192, 8200}));
    extents[0] = (extents.back() + kir::kChunk - 1) / kir::kChunk;
    for (int axis = 1; axis < kernel.rank; ++axis)
      extents[axis] = std::min<int64_t>(extents[axis], 3);
  } else if (kernel.has_loop) {
    extents.push_back(
        Choose<int64_t>(rng, {0, 1, 2, 5, 7, 8, 9, 17, 63, 64, 65, 100, 128, 255, 257, 300}));
  }
  return extents;
}

Case MakeCase(Kernel kernel, std::vector<int64_t> extents, Rng& rng) {
  Case c{std::move(kernel), std::move(extents), {}, {}, {}};
  const size_t axes = c.kernel.axes();
  c.strides.resize(c.kernel.buffers.size() * axes);
  for (size_t b = 0; b < c.kernel.buffers.size(); ++b) {
    FillStrides(c.kernel, b, c.extents, rng, &c.strides[b * axes]);
    c.buffers.push_back(MakeBuffer(c.kernel, b, c.extents, &c.strides[b * axes], rng));
  }
  for (const kir::Scalar& scalar : c.kernel.scalars) {
    const bool counts = scalar.name == "n" && scalar.dtype == DType::kI64;
    if (!scalar.each)
      c.scalars.push_back(counts ? uint64_t(1 + Below(rng, kMostRepeats - 1))
                                 : RandomBits(scalar.dtype, rng));
  }
  for (int i = 0; i < kMostRepeats; ++i) {
    for (const kir::Scalar& scalar : c.kernel.scalars)
      if (scalar.each) c.scalars.push_back(RandomBits(scalar.dtype, rng));
  }
  return c;
}

Kernel RandomKernel(Rng& rng, const GenOptions& options) { return Generator(rng, options).Run(); }

std::vector<TestBuffer> Execute(const Case& c, const Compiled& compiled, Rng* split) {
  std::vector<TestBuffer> buffers = c.buffers;
  std::vector<void*> pointers;
  for (TestBuffer& buffer : buffers) pointers.push_back(buffer.data() + buffer.base);
  const kir::KernelArgs args{pointers.data(), c.extents.data(), c.strides.data(), c.scalars.data()};
  int64_t row = c.rows(), col = c.cols();
  if (split != nullptr) {
    row = Below(*split, row + 1);
    col = Below(*split, col + 1);
    if (c.kernel.stream) col = col / 64 * 64;  // pieces stay aligned
  }
  for (auto [row_begin, row_end] : {std::pair(int64_t{0}, row), std::pair(row, c.rows())}) {
    for (auto [col_begin, col_end] : {std::pair(int64_t{0}, col), std::pair(col, c.cols())}) {
      if (row_begin == row_end || col_begin == col_end) continue;
      compiled.Run(args, row_begin, row_end, col_begin, col_end);
    }
  }
  return buffers;
}

std::string Difference(const Case& c, std::vector<TestBuffer>& expected,
                       std::vector<TestBuffer>& actual) {
  for (size_t b = 0; b < c.kernel.buffers.size(); ++b) {
    const DType type = c.kernel.buffers[b].dtype;
    const int size = SizeOf(type);
    for (int64_t at = 0; at < expected[b].size(); at += size) {
      uint64_t want = 0, have = 0;
      std::memcpy(&want, expected[b].data() + at, size);
      std::memcpy(&have, actual[b].data() + at, size);
      if (SameElement(type, want, have)) continue;
      return StrCat("buffer ", c.kernel.buffers[b].name, " at element ",
                    (at - expected[b].base) / size, ": expected 0x", absl::Hex(want), ", got 0x",
                    absl::Hex(have));
    }
  }
  return {};
}

Comparison CompareOn(const Case& c, Emitter& expected, Emitter& actual, uint64_t seed) {
  const auto report = [&](const std::string& what) {
    std::string extents, strides;
    for (int64_t e : c.extents) StrAppend(&extents, " ", e);
    for (int64_t s : c.strides) StrAppend(&strides, " ", s);
    return Comparison{.difference =
                          StrCat("seed ", seed, ", ", actual.caps().name, ": ", what, "\nextents",
                                 extents, "\nstrides", strides, "\n", Print(c.kernel))};
  };
  const auto reference = expected.Emit(c.kernel);
  if (!reference.ok())
    return report(StrCat("the reference refuses: ", reference.status().message()));
  const auto compiled = actual.Emit(c.kernel);
  if (!compiled.ok()) {
    if (KindOf(compiled.status()) == ErrorKind::kNotImplemented) return {.refused = true};
    return report(StrCat("fails: ", compiled.status().message()));
  }
  std::vector<TestBuffer> want = Execute(c, **reference, nullptr);
  for (const bool in_pieces : {false, true}) {
    Rng rng(seed);
    std::vector<TestBuffer> have = Execute(c, **compiled, in_pieces ? &rng : nullptr);
    const std::string difference = Difference(c, want, have);
    if (!difference.empty()) return report(StrCat(difference, in_pieces ? " (in pieces)" : ""));
  }
  return {};
}

Comparison CompareEmitters(Emitter& expected, Emitter& actual, uint64_t seed,
                           const GenOptions& options) {
  Rng rng(seed);
  Kernel kernel = RandomKernel(rng, options);
  std::vector<int64_t> extents = RandomExtents(kernel, rng);
  const Case c = MakeCase(std::move(kernel), std::move(extents), rng);
  return CompareOn(c, expected, actual, seed);
}

}  // namespace frazil::jit
