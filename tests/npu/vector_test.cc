// Every vector instruction against tests/npu/model.h: random shapes, strides and values, and all
// numbers of 16 bits.
#include <random>

#include "tests/npu/harness.h"
#include "tests/npu/model.h"

namespace frazil::npu {
namespace {

constexpr int64_t kImage = 65536;  // bytes of UB that a test loads and stores

// An instruction whose operands are in the registers s10, s11, ... .
Program Around(const Issue& issue) {
  Program program;
  program.name = "one";
  program.params = {{"in", ParamKind::kGmRead}, {"out", ParamKind::kGmWrite}};
  const auto add = [&](Op op, std::initializer_list<int> a, int32_t imm = 0) {
    Instr instr;
    instr.op = op;
    instr.imm = imm;
    std::copy(a.begin(), a.end(), instr.a.begin());
    program.code.push_back(instr);
  };
  const auto set = [&](int reg, uint64_t value) {
    add(Op::kSLI, {reg}, int32_t(uint32_t(value)));
    add(Op::kSLIH, {reg}, int32_t(value >> 32));
  };
  add(Op::kSLDP, {1, Imm(0)});
  add(Op::kSLDP, {2, Imm(1)});
  set(3, kImage);
  set(4, Address(kUB, 0));
  add(Op::kLD, {4, 1, Imm(1), 3, Imm(0), Imm(0), Imm(0)});
  add(Op::kBAR, {Imm(kAllQueues)});
  Instr instr;
  instr.op = issue.op;
  instr.dt = issue.dt;
  instr.fn = issue.fn;
  const OpInfo& info = Info(issue.op);
  for (int i = 0; i < info.num_operands; ++i) {
    const OperandKind kind = info.operands[i].kind;
    const bool address = kind == OperandKind::kWrite || kind == OperandKind::kRead;
    set(10 + i, address ? Address(kUB, issue.v[size_t(i)]) : issue.v[size_t(i)]);
    instr.a[size_t(i)] = uint8_t(10 + i);
  }
  program.code.push_back(instr);
  add(Op::kBAR, {Imm(kAllQueues)});
  add(Op::kST, {2, 4, Imm(1), 3, Imm(0), Imm(0)});
  add(Op::kHALT, {});
  return program;
}

// The image after the instruction; a fault is an error of the test.
std::vector<uint8_t> After(const Issue& issue, const std::vector<uint8_t>& image) {
  Harness h;
  h.Input(image);
  const int out = h.Output(image.size());
  LaunchOptions options;
  options.mode = Mode::kCheck;
  const Program program = Around(issue);
  const StatusOr<LaunchResult> result = h.Launch(program, options);
  EXPECT_TRUE(result.ok()) << result.status().ToString();
  if (result.ok()) {
    EXPECT_FALSE(result->fault) << result->fault->Text();
  }
  return h.Get<uint8_t>(out);
}

class Values {
 public:
  explicit Values(uint64_t seed) : random_(seed) {}

  int64_t In(int64_t low, int64_t high) {
    return low + int64_t(random_() % uint64_t(high - low + 1));
  }
  // Bits that make trouble, or any.
  uint32_t Element(Type type) {
    static constexpr double kFloats[] = {0,    -0.0, 1,      -1,    0.5,   1.5,   2.5,
                                         -2.5, 100,  1e-40,  6e-8,  3e4,   7e4,   3e38,
                                         -9e9, 1e-7, -65504, 127.5, 255.5, -128.5};
    static constexpr int64_t kInts[] = {0,  1,   -1,  2,    7,   8,         31,
                                        32, 127, 128, -128, 255, INT32_MAX, INT32_MIN};
    switch (In(0, 3)) {
      case 0:
        return uint32_t(random_());
      case 1:
        if (!IsFloat(type)) return uint32_t(kInts[In(0, std::size(kInts) - 1)]);
        return model::Encode(type, kFloats[In(0, std::size(kFloats) - 1)]);
      case 2:
        if (IsFloat(type) && In(0, 20) == 0)
          return model::Encode(type, In(0, 1) ? 1.0 / 0.0 : 0.0 / 0.0);
        [[fallthrough]];
      default:
        return IsFloat(type) ? model::Encode(type, double(In(-4000, 4000)) / 256)
                             : uint32_t(In(-40, 40));
    }
  }
  std::vector<uint8_t> Image(Type type) {
    std::vector<uint8_t> image(kImage);
    for (int64_t i = 0; i < kImage; i += SizeOf(type)) model::Put(type, Element(type), &image[i]);
    return image;
  }

  // Numbers between -16 and 16 with all their digits, whose sums tell one order from another; from
  // kPlaces[1] on they are of the type of accumulators.
  std::vector<uint8_t> Digits(Type type) {
    std::vector<uint8_t> image(kImage);
    const Type lanes = IsFloat(type) ? kF32 : kI32;
    for (int64_t i = 0; i < kImage;) {
      const Type at = i < 0x4000 ? type : lanes;
      model::Put(at, model::Encode(at, double(In(-(1 << 28), 1 << 28)) / (1 << 24)), &image[i]);
      i += SizeOf(at);
    }
    return image;
  }

 private:
  std::mt19937_64 random_;
};

// Elements of `type` in the ranges that the instruction writes, bytes elsewhere.
void ExpectSame(const Issue& issue, Type type, const std::vector<uint8_t>& want,
                const std::vector<uint8_t>& got) {
  ASSERT_EQ(want.size(), got.size());
  if (want == got) return;
  for (int64_t i = 0; i < kImage; i += SizeOf(type)) {
    const uint32_t w = model::Get(type, &want[i]), g = model::Get(type, &got[i]);
    ASSERT_TRUE(model::Same(type, w, g))
        << Info(issue.op).name << " fn " << int(issue.fn) << " " << Name(issue.type())
        << " at byte " << i << ": want " << w << " got " << g << " (" << model::Decode(type, w)
        << ", " << model::Decode(type, g) << ")";
  }
}

constexpr uint64_t kPlaces[] = {0, 0x4000, 0x8000, 0xC000};

// Rows and columns that fit 16 KiB with the stride.
struct Shape {
  int64_t rows, cols;
};
Shape RandomShape(Values* values, int64_t bytes) {
  Shape s{values->In(1, 9), values->In(1, 70)};
  if (values->In(0, 5) == 0) s = {1, values->In(1, 16384 / bytes)};
  if (values->In(0, 5) == 0) s = {values->In(1, 30), values->In(1, 3)};
  return s;
}
// Packed (0), or a multiple of 32 that holds the row.
uint64_t RandomStride(Values* values, const Shape& s, int64_t element) {
  const int64_t row = s.cols * element, least = (row + 31) / 32 * 32;
  if (s.rows * (least + 64) > 16384) return 0;
  return values->In(0, 1) ? 0 : uint64_t(least + 32 * values->In(0, 2));
}
uint64_t RandomSource(Values* values, const Shape& s, int64_t element) {
  const uint64_t ld = RandomStride(values, s, element);
  if (ld || values->In(0, 3) == 0) return ld;  // 0: the first row again
  const int64_t row = s.cols * element;
  return uint64_t(row);  // packed
}

Issue Make(Op op, Type type, int fn) {
  Issue issue;
  issue.op = op;
  issue.dt = type;
  issue.fn = uint8_t(fn);
  issue.queue = kVE;
  return issue;
}

void Try(const Issue& issue, Type out, const std::vector<uint8_t>& image) {
  std::vector<uint8_t> want = image;
  model::Run(issue, &want);
  ExpectSame(issue, out, want, After(issue, image));
}

class Vector : public testing::TestWithParam<Type> {
 protected:
  Values values_{uint64_t(GetParam()) + 1};
  const std::vector<uint8_t> image_ = values_.Image(GetParam());
};
class VectorOfFloats : public Vector {};
class VectorOfHalves : public Vector {};
std::string NameOf(const testing::TestParamInfo<Type>& info) {
  return std::string(Name(info.param));
}
INSTANTIATE_TEST_SUITE_P(Types, Vector, testing::Values(kF32, kF16, kBF16, kI8, kU8, kI32, kU32),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Types, VectorOfFloats, testing::Values(kF32, kF16, kBF16), NameOf);
INSTANTIATE_TEST_SUITE_P(Types, VectorOfHalves, testing::Values(kF16, kBF16), NameOf);

TEST_P(Vector, Binary) {
  const Type type = GetParam();
  const int64_t es = SizeOf(type);
  for (int fn = 0; fn <= kBinRem; ++fn) {
    if (!model::Supports(Bin(fn), type)) continue;
    for (int i = 0; i < 6; ++i) {
      Issue issue = Make(i % 2 ? Op::kVBINC : Op::kVBIN, type, fn);
      const Shape s = RandomShape(&values_, es);
      const uint64_t d_ld = RandomStride(&values_, s, es);
      const bool in_place = d_ld && values_.In(0, 1);
      issue.v = {kPlaces[0],
                 in_place ? kPlaces[0] : kPlaces[1],
                 kPlaces[2],
                 uint64_t(s.rows),
                 uint64_t(s.cols),
                 d_ld,
                 in_place ? d_ld : RandomSource(&values_, s, es),
                 i % 2 ? RandomStride(&values_, {s.rows, 1}, es) : RandomSource(&values_, s, es)};
      Try(issue, type, image_);
    }
  }
}

TEST_P(Vector, BinaryScalar) {
  const Type type = GetParam();
  for (int fn = 0; fn < 16; ++fn) {
    if (!model::Supports(Bin(fn % 8), type)) continue;
    for (int i = 0; i < 4; ++i) {
      Issue issue = Make(Op::kVBINS, type, fn);
      const Shape s = RandomShape(&values_, SizeOf(type));
      // High bits of the register do not count.
      const uint64_t scalar = values_.Element(type) | uint64_t(values_.In(0, 9)) << 32;
      issue.v = {kPlaces[1],
                 kPlaces[0],
                 scalar,
                 uint64_t(s.rows),
                 uint64_t(s.cols),
                 RandomStride(&values_, s, SizeOf(type)),
                 RandomSource(&values_, s, SizeOf(type))};
      Try(issue, type, image_);
    }
  }
}

TEST_P(Vector, Unary) {
  const Type type = GetParam();
  for (int fn = 0; fn < 16; ++fn) {
    if (!model::Supports(Un(fn), type)) continue;
    for (int i = 0; i < 4; ++i) {
      Issue issue = Make(Op::kVUN, type, fn);
      const Shape s = RandomShape(&values_, SizeOf(type));
      issue.v = {kPlaces[i % 2],
                 kPlaces[0],
                 uint64_t(s.rows),
                 uint64_t(s.cols),
                 0,
                 i % 2 ? RandomSource(&values_, s, SizeOf(type)) : uint64_t(s.cols * SizeOf(type))};
      Try(issue, type, image_);
    }
  }
}

// All numbers of 16 bits, in one instruction of 128 KiB.
TEST_P(VectorOfHalves, UnaryOnAllNumbers) {
  const Type type = GetParam();
  std::vector<uint16_t> x(65536);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint16_t(i);
  for (int fn = 0; fn < 16; ++fn) {
    Harness h;
    h.Input(x);
    const int out = h.Output(131072);
    h.Run(StrCat("SLDP s1, #0\nSLDP s2, #1\nSLI s3, 0x20000\nSLI s4, 0x10000\nLA s5, ub:0x0\n",
                 "LD s5, s1, #1, s3, #0, #0, #0\nBAR all\nVUN.", Info(Op::kVUN).functions[fn], ".",
                 Name(type), " s5, s5, #1, s4, #0, #0\nBAR all\nST s2, s5, #1, s3, #0, #0"));
    const std::vector<uint16_t> got = h.Get<uint16_t>(out);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint32_t want = model::Unary(Un(fn), type, uint32_t(i));
      ASSERT_TRUE(model::Same(type, want, got[i]))
          << Info(Op::kVUN).functions[fn] << " of " << model::Decode(type, uint32_t(i)) << ": want "
          << model::Decode(type, want) << " got " << model::Decode(type, got[i]);
    }
  }
}

// 65536 numbers from all over f32.
TEST(VectorOfF32, UnaryOnSpreadNumbers) {
  std::vector<uint32_t> x(65536);
  for (size_t i = 0; i < x.size(); ++i) x[i] = uint32_t(i) * 65537;
  for (int fn = 0; fn < 16; ++fn) {
    Harness h;
    h.Input(x);
    const int out = h.Output(262144);
    h.Run(StrCat("SLDP s1, #0\nSLDP s2, #1\nSLI s3, 0x40000\nSLI s4, 0x10000\nLA s5, ub:0x0\n",
                 "LD s5, s1, #1, s3, #0, #0, #0\nVUN.", Info(Op::kVUN).functions[fn],
                 ".f32 s5, s5, #1, s4, #0, #0\nST s2, s5, #1, s3, #0, #0"));
    const std::vector<uint32_t> got = h.Get<uint32_t>(out);
    for (size_t i = 0; i < x.size(); ++i) {
      const uint32_t want = model::Unary(Un(fn), kF32, x[i]);
      ASSERT_TRUE(model::Same(kF32, want, got[i]))
          << Info(Op::kVUN).functions[fn] << " of " << model::Decode(kF32, x[i]) << ": want "
          << model::Decode(kF32, want) << " got " << model::Decode(kF32, got[i]);
    }
  }
}

// The functions are near those of <cmath>, whatever the templates say.
TEST(VectorAccuracy, FunctionsOfAllHalves) {
  const std::pair<Un, double (*)(double)> functions[] = {
      {kUnExp, std::exp},
      {kUnLog, std::log},
      {kUnTanh, std::tanh},
      {kUnErf, std::erf},
      {kUnSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }}};
  for (const auto& [fn, f] : functions) {
    for (uint32_t i = 0; i < 65536; ++i) {
      const double x = model::Decode(kF16, i);
      const uint32_t got = model::Unary(fn, kF16, i), want = model::Encode(kF16, f(x));
      if (model::Same(kF16, got, want)) continue;
      // Sigmoid rounds four times.
      const double error = std::fabs(model::Decode(kF16, got) - f(x));
      ASSERT_LE(error, std::max(std::fabs(f(x)) * 0x1p-10, fn == kUnSigmoid ? 0x1p-10 : 0x1p-24))
          << "function " << int(fn) << " of " << x;
    }
  }
}

TEST_P(VectorOfFloats, FusedMultiplyAdd) {
  const Type type = GetParam();
  for (int i = 0; i < 8; ++i) {
    Issue issue = Make(Op::kVFMA, type, 0);
    const Shape s = RandomShape(&values_, SizeOf(type));
    issue.v = {kPlaces[0],
               kPlaces[1],
               kPlaces[2],
               uint64_t(s.rows),
               uint64_t(s.cols),
               RandomStride(&values_, s, SizeOf(type)),
               RandomSource(&values_, s, SizeOf(type)),
               RandomSource(&values_, s, SizeOf(type))};
    Try(issue, type, image_);
  }
}

TEST_P(Vector, Compare) {
  const Type type = GetParam();
  const int64_t es = SizeOf(type);
  for (int cc = 0; cc <= kCmpGe; ++cc) {
    for (int i = 0; i < 4; ++i) {
      const Shape s = RandomShape(&values_, es);
      Issue issue = Make(i % 2 ? Op::kVCMPS : Op::kVCMP, type, cc);
      issue.v = {kPlaces[0],
                 kPlaces[1],
                 i % 2 ? uint64_t(values_.Element(type)) : kPlaces[2],
                 uint64_t(s.rows),
                 uint64_t(s.cols),
                 RandomStride(&values_, s, 1),
                 RandomSource(&values_, s, es),
                 i % 2 ? 0 : RandomSource(&values_, s, es)};
      Try(issue, kU8, image_);
    }
  }
}

TEST_P(Vector, Select) {
  const Type type = GetParam();
  for (int i = 0; i < 8; ++i) {
    const Shape s = RandomShape(&values_, SizeOf(type));
    Issue issue = Make(Op::kVSEL, type, 0);
    issue.v = {kPlaces[0],
               kPlaces[1],
               kPlaces[2],
               kPlaces[3],
               uint64_t(s.rows),
               uint64_t(s.cols),
               RandomStride(&values_, s, SizeOf(type)),
               RandomSource(&values_, s, 1)};
    Try(issue, type, image_);
  }
}

TEST_P(Vector, Convert) {
  const Type type = GetParam();
  for (int to = 0; to < kNumTypes; ++to) {
    for (uint64_t mode = 0; mode < 8; ++mode) {
      const int64_t widest = std::max(SizeOf(type), SizeOf(Type(to)));
      const Shape s = RandomShape(&values_, widest);
      Issue issue = Make(Op::kVCVT, type, to);
      issue.v = {kPlaces[1],
                 kPlaces[0],
                 uint64_t(s.rows),
                 uint64_t(s.cols),
                 RandomStride(&values_, s, SizeOf(Type(to))),
                 RandomSource(&values_, s, SizeOf(type)),
                 mode};
      Try(issue, Type(to), image_);
    }
  }
}

TEST_P(Vector, Reduce) {
  const Type type = GetParam();
  const std::vector<uint8_t> digits = values_.Digits(type);
  for (int fn = 0; fn <= kRedAll; ++fn) {
    for (int i = 0; i < 24; ++i) {
      const bool arg = fn == kRedArgmax || fn == kRedArgmin;
      const uint64_t mode = arg ? 0 : uint64_t(i % 4);
      Issue issue = Make(Op::kVRED, type, fn);
      const int64_t rows = values_.In(1, 5), cols = values_.In(1, 700);
      const uint64_t row = uint64_t((cols * SizeOf(type) + 31) / 32 * 32);
      issue.v = {kPlaces[1],
                 kPlaces[0],
                 uint64_t(rows),
                 uint64_t(cols),
                 uint64_t(i % 3 ? 0 : 512),
                 mode == kRedFinal ? 0 : row,
                 mode};
      // The lanes of a final part are accumulators.
      if (mode == kRedFinal) std::swap(issue.v[0], issue.v[1]);
      const Type out = fn >= kRedAny                           ? kU8
                       : arg                                   ? kI32
                       : mode == kRedFirst || mode == kRedMore ? (IsFloat(type) ? kF32 : kI32)
                                                               : type;
      Try(issue, out, i % 5 < 3 ? digits : image_);
    }
  }
}

TEST_P(Vector, FillAndTranspose) {
  const Type type = GetParam();
  for (int i = 0; i < 8; ++i) {
    const Shape s = RandomShape(&values_, SizeOf(type));
    Issue fill = Make(Op::kVDUP, type, 0);
    fill.v = {kPlaces[0], values_.Element(type) | uint64_t{7} << 40, uint64_t(s.rows),
              uint64_t(s.cols), RandomStride(&values_, s, SizeOf(type))};
    Try(fill, type, image_);
    Issue turn = Make(Op::kVTR, type, 0);
    turn.v = {kPlaces[1],
              kPlaces[0],
              uint64_t(s.rows),
              uint64_t(s.cols),
              RandomStride(&values_, {s.cols, s.rows}, SizeOf(type)),
              RandomSource(&values_, s, SizeOf(type))};
    Try(turn, type, image_);
  }
  Issue square = Make(Op::kVTR, type, 0);  // in place
  square.v = {kPlaces[0], kPlaces[0], 37, 37, 0, uint64_t(37 * SizeOf(type))};
  Try(square, type, image_);
}

TEST(VectorRamp, Wraps) {
  Values values(99);
  const std::vector<uint8_t> image = values.Image(kI32);
  for (int i = 0; i < 8; ++i) {
    const Shape s = RandomShape(&values, 4);
    Issue issue = Make(Op::kVIOTA, kI32, 0);
    issue.v = {kPlaces[0],
               uint64_t(values.In(-5, 5)) << 28,
               uint64_t(values.In(-3, 1 << 28)),
               uint64_t(s.rows),
               uint64_t(s.cols),
               RandomStride(&values, s, 4)};
    Try(issue, kI32, image);
  }
}

}  // namespace
}  // namespace frazil::npu
