// The kernel IR as text, its rules, and the builder.
#include "jit/kir/kir.h"

#include <cmath>

#include "gtest/gtest.h"
#include "jit/kir/builder.h"
#include "jit/kir/const.h"
#include "jit/kir/dead.h"
#include "jit/kir/tighten.h"

namespace frazil::kir {
namespace {

constexpr const char* kChain = R"(kernel k7(x: buf f32 [1], w: scalar f32, o: out f32 [1]) space 1
  %0 = load x : f32
  %1 = param w : f32
  %2 = mul %0, %1 : f32
  store o, %2
)";
constexpr const char* kRowSum =
    R"(kernel row_sum(x: buf f32 [s,1], o: out f32 [1,0]) space 1 loop vec loop
  loop
    %1 = load x : f32
    %2 = reduce sum.64 %1 : f32
  end
  store o, %2
)";
constexpr const char* kEverything =
    R"(kernel all(x: buf f16 [0,0,1], y: buf i64 [s,s,s], p: scalar bool, o: out u8 [s,1,1], q: out f64 [1,1,0]) space 2 loop chunked stream
  %0 = const -0x1.8p+3 : f64
  %1 = const nan : f32
  %2 = const nan:0xffc00001 : f32
  %3 = const -inf : f16
  %4 = const -9223372036854775808 : i64
  %5 = const 18446744073709551615 : u64
  %6 = const true : bool
  %7 = const -0x0p+0 : bf16
  %8 = param p : bool
  %9 = not %8 : bool
  loop
    %11 = index 2 : i64
    %12 = load y[%11] ? %8 : i64
    %13 = load x ? %6 : f16
    %14 = cast %12 : u8
    %15 = cast %13 : f64
    %16 = fma %15, %0, %15 : f64
    %17 = call pow %16, %0 : f64
    %18 = lt %17, %0 : bool
    %19 = select %18, %17, %0 : f64
    %20 = reduce prod.8 %19 : f64
    %21 = reduce max %12 : i64
    %22 = reduce and %18 : bool
    store o[%11], %14 ? %18
  end
  store q, %20 ? %22
  barrier
  %27 = load q : f64
  %28 = neg %27 : f64
  store q, %28
)";

constexpr const char* kRepeats =
    R"(kernel r(x: buf f32 [1], n: scalar i64, w: each f32, b: each bool, o: out f32 [1], p: out bool [1]) space 1
  %0 = load x : f32
  %1 = const true : bool
  %2 = param n : i64
  repeat %2
    %4 = carry %0 : f32
    %5 = carry %0 : f32
    %6 = carry %1 : bool
    %7 = param w : f32
    %8 = param b : bool
    %9 = select %6, %7, %4 : f32
    %10 = xor %6, %8 : bool
    next %5, %9
    next %6, %10
    next %4, %5
  done
  %15 = add %4, %5 : f32
  store o, %15
  store p, %6
)";

TEST(KirText, RoundTrips) {
  for (const char* text : {kChain, kRowSum, kEverything, kRepeats}) {
    const auto kernel = Parse(text);
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    EXPECT_EQ(Print(*kernel), text);
    const auto again = Parse(Print(*kernel));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->body, kernel->body);
    EXPECT_EQ(again->buffers, kernel->buffers);
    EXPECT_EQ(again->scalars, kernel->scalars);
    EXPECT_EQ(ContentKey(*again), ContentKey(*kernel));
  }
}

TEST(KirText, TakesAnyNamesAndComments) {
  const auto kernel = Parse(
      "# one add\nkernel f(a: buf f32 [1], o: out f32 [1]) space 1\n\n %in = load a : f32 # the "
      "input\n"
      " %sum = add %in, %in : f32\n store o, %sum\n");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  EXPECT_EQ(Print(*kernel),
            "kernel f(a: buf f32 [1], o: out f32 [1]) space 1\n  %0 = load a : f32\n"
            "  %1 = add %0, %0 : f32\n  store o, %1\n");
}

TEST(KirText, ConstantsKeepTheirBits) {
  for (int t = 0; t < kNumRealDTypes; ++t) {
    const DType type = static_cast<DType>(t);
    for (uint64_t bits :
         {0ull, 1ull, 0x7full, 0x80ull, 0xffull, 0x7c01ull, 0xfe00ull, 0x7fc0ull, 0xffffull,
          0x7fc00000ull, 0xff800001ull, 0x80000000ull, 0x3f800001ull, 0x7ff8000000000000ull,
          0xfff0000000000001ull, 0x8000000000000000ull, 0x7fffffffffffffffull, ~0ull}) {
      Kernel kernel{.name = "c"};
      kernel.buffers.push_back({"o", type, true, {Stride::kOne}});
      Builder b(&kernel);
      b.Store(0, b.ConstBits(type, bits));
      const auto parsed = Parse(Print(kernel));
      ASSERT_TRUE(parsed.ok()) << parsed.status();
      EXPECT_EQ(parsed->body, kernel.body) << Print(kernel);
    }
  }
}

TEST(KirText, ContentKeyIgnoresNamesOnly) {
  Kernel a = *Parse(kRowSum), b = a;
  b.name = "other";
  b.buffers[0].name = "input";
  EXPECT_EQ(ContentKey(a), ContentKey(b));
  for (auto change : std::initializer_list<void (*)(Kernel&)>{
           [](Kernel& k) { k.stream = true; }, [](Kernel& k) { k.chunked = true; },
           [](Kernel& k) { k.vec = VecAxis::kSpace; }, [](Kernel& k) { k.rank = 2; },
           [](Kernel& k) { k.buffers[0].strides[1] = Stride::kAny; },
           [](Kernel& k) { k.buffers[0].dtype = DType::kF64; },
           [](Kernel& k) { k.buffers[1].out = false; }, [](Kernel& k) { k.body[2].lanes = 8; },
           [](Kernel& k) { k.body[2].imm = 1; }, [](Kernel& k) { k.body.pop_back(); },
           [](Kernel& k) {
             k.scalars.push_back({"s", DType::kI8});
           }}) {
    Kernel changed = a;
    change(changed);
    EXPECT_NE(ContentKey(a), ContentKey(changed));
  }
  a.scalars.push_back({"s", DType::kI8});
  b.scalars.push_back({"s", DType::kI8, true});
  EXPECT_NE(ContentKey(a), ContentKey(b));
}

struct Wrong {
  const char* text;
  const char* message;
};

TEST(KirText, ParseErrorsNameTheLine) {
  const Wrong cases[] = {
      {"", "[kir] the text holds no kernel."},
      {"kernl k", "[kir] line 1: 'kernel' is needed, not 'kernl'."},
      {"kernel k(", "[kir] line 1: ':' is missing at the end."},
      {"kernel k() space x", "[kir] line 1: 'x' is not a rank."},
      {"kernel k() space 1 lop", "[kir] line 1: 'lop' is not a kernel flag."},
      {"kernel k(a: buf f31 [1]) space 1", "[kir] line 1: 'f31' is not a type."},
      {"kernel k(a: in f32 [1]) space 1", "[kir] line 1: 'in' is not buf, out, scalar or each."},
      {"kernel k(a: buf f32 [2]) space 1", "[kir] line 1: '2' is not a stride 0, 1 or s."},
      {"kernel k() space 1\n%0 = ad %1 : f32", "[kir] line 2: 'ad' is not an instruction."},
      {"kernel k() space 1\n%0 = neg %1 : f32", "[kir] line 2: '%1' is not defined."},
      {"kernel k() space 1\n%0 = load a : f32", "[kir] line 2: there is no buffer 'a'."},
      {"kernel k() space 1\n%0 = param a : f32", "[kir] line 2: there is no scalar 'a'."},
      {"kernel k() space 1\nindex 0 : i64", "[kir] line 2: index needs a result name."},
      {"kernel k() space 1\n%0 = barrier", "[kir] line 2: barrier has no result."},
      {"kernel k() space 1\n%0 = const 300 : u8",
       "[kir] line 2: '300' is not a constant of type u8."},
      {"kernel k() space 1\n%0 = const 1 : i32\n%0 = const 1 : i32",
       "[kir] line 3: %0 is defined twice."},
      {"kernel k() space 1\n%0 = const 1 : i32 x", "[kir] line 2: 'x' is left over."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = call foo %0 : f32",
       "[kir] line 3: 'foo' is not a function."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = reduce mean %0 : f32",
       "[kir] line 3: 'mean' is not a reduction."},
  };
  for (const Wrong& wrong : cases) {
    const auto kernel = Parse(wrong.text);
    ASSERT_FALSE(kernel.ok()) << wrong.text;
    EXPECT_EQ(kernel.status().message(), wrong.message);
  }
}

TEST(KirVerify, NamesWhatIsWrong) {
  const Wrong cases[] = {
      {"kernel k() space 0", "[kir] k: the space has rank 0, at least 1 is needed."},
      {"kernel 7() space 1", "[kir] the kernel name '7' is not an identifier."},
      {"kernel k() space 1 chunked", "[kir] k: chunked without a loop axis."},
      {"kernel k() space 1 vec loop", "[kir] k: vec loop without a loop axis."},
      {"kernel k() space 1 loop chunked",
       "[kir] k: chunked with vec space needs rank 2, the chunk axis has no lanes."},
      {"kernel k() space 1\n%0 = const 1 : f32\nbarrier\n%1 = neg %0 : f32",
       "[kir] k at %2 neg: operand %0 was made before the barrier at %1."},
      {"kernel k(x: buf f32 [1,1]) space 1", "[kir] k: buffer x has 2 strides, the kernel 1 axes."},
      {"kernel k(x: buf f32 [1], x: scalar i8) space 1", "[kir] k: the name x is used twice."},
      {"kernel k() space 1\n%0 = index 1 : i64", "[kir] k at %0 index: axis 1 of 1."},
      {"kernel k() space 1 loop\n%0 = index 1 : i64",
       "[kir] k at %0 index: the loop axis outside a loop."},
      {"kernel k() space 1\n%0 = index 0 : i32", "[kir] k at %0 index: an index is i64, not i32."},
      {"kernel k(w: scalar f32) space 1\n%0 = param w : f64",
       "[kir] k at %0 param: scalar w is f32, not f64."},
      {"kernel k(o: out f32 [1]) space 1\n%0 = load o : f32",
       "[kir] k at %0 load: output o is loaded before a barrier."},
      {"kernel k(x: buf f32 [1]) space 1\n%0 = load x : f64",
       "[kir] k at %0 load: buffer x is f32, not f64."},
      {"kernel k(o: out f32 [1]) space 1\n%0 = const 1 : i32\nstore o, %0",
       "[kir] k at %1 store: operand %0 is i32, f32 is needed."},
      {"kernel k() space 1\n%0 = const 1 : i32\n%1 = const 1 : f32\n%2 = add %0, %1 : f32",
       "[kir] k at %2 add: operand %0 is i32, f32 is needed."},
      {"kernel k() space 1\n%0 = const 1 : f16\n%1 = neg %0 : f16",
       "[kir] k at %1 neg: not defined for f16."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = rem %0, %0 : f32",
       "[kir] k at %1 rem: not defined for f32."},
      {"kernel k() space 1\n%0 = const 1 : i32\n%1 = sqrt %0 : i32",
       "[kir] k at %1 sqrt: not defined for i32."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = lt %0, %0 : f32",
       "[kir] k at %1 lt: a comparison gives bool, not f32."},
      {"kernel k() space 1\n%0 = const true : bool\n%1 = lt %0, %0 : bool",
       "[kir] k at %1 lt: not defined for bool."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = add %0 : f32",
       "[kir] k at %1 add: operand 1 is missing."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = neg %0, %0 : f32",
       "[kir] k at %1 neg: operand 1 is not allowed."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = cast %0 : f32",
       "[kir] k at %1 cast: the operand is f32 already."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = bitcast %0 : i64",
       "[kir] k at %1 bitcast: f32 has no bits to read as i64."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = select %0, %0, %0 : f32",
       "[kir] k at %1 select: operand %0 is f32, bool is needed."},
      {"kernel k() space 1\n%0 = const 1 : f32\n%1 = call pow %0 : f32",
       "[kir] k at %1 call: operand 1 is missing."},
      {"kernel k() space 1\nloop", "[kir] k at %0 loop: the kernel has no loop axis."},
      {"kernel k() space 1 loop\nend", "[kir] k at %0 end: no loop is open."},
      {"kernel k() space 1 loop\nloop", "[kir] k: the loop at %0 has no end."},
      {"kernel k() space 1 loop\nloop\nloop", "[kir] k at %1 loop: inside the loop at %0."},
      {"kernel k() space 1 loop\nloop\nbarrier", "[kir] k at %1 barrier: inside the loop at %0."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : f32\nend\n%3 = neg %1 : f32",
       "[kir] k at %3 neg: operand %1 is visible inside its loop only."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : i32\n%2 = reduce sum %1 : i32\n%3 = neg %2 : "
       "i32\nend",
       "[kir] k at %3 neg: operand %2 is a reduce of this loop, visible after its end only."},
      {"kernel k() space 1 loop\n%0 = const 1 : i32\n%1 = reduce sum %0 : i32",
       "[kir] k at %1 reduce: outside a loop."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : f32\n%2 = reduce sum %1 : f32\nend",
       "[kir] k at %2 reduce: a float sum has 64 or 8 lanes, not 0."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : f32\n%2 = reduce sum.64 %1 : f32\n%3 = "
       "reduce "
       "sum.8 %1 : f32\nend",
       "[kir] k at %3 reduce: another reduce has 64 lanes, not 8."},
      {"kernel k() space 1 loop vec loop\nloop\n%1 = const 1 : f32\n%2 = reduce sum.8 %1 : "
       "f32\nend",
       "[kir] k at %2 reduce: 8 lanes need vec space."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : i32\n%2 = reduce max.8 %1 : i32\nend",
       "[kir] k at %2 reduce: lanes are for float sum and prod, this is max of i32."},
      {"kernel k() space 1 loop\nloop\n%1 = const 1 : i32\n%2 = reduce and %1 : i32\nend",
       "[kir] k at %2 reduce: not defined for i32."},
      {"kernel k(o: out i32 [1,0]) space 1 loop\nloop\n%1 = const 1 : i32\nstore o, %1\nend",
       "[kir] k at %2 store: every pass of the loop would write the same element of o."},
  };
  for (const Wrong& wrong : cases) {
    const auto kernel = Parse(wrong.text);
    ASSERT_FALSE(kernel.ok()) << wrong.text;
    EXPECT_EQ(kernel.status().message(), wrong.message);
    EXPECT_EQ(KindOf(kernel.status()), ErrorKind::kValue);
  }
}

TEST(KirVerify, KnowsTheRulesOfRepeats) {
  const std::string plain = "kernel k(n: scalar i64, x: buf f32 [1], o: out f32 [1]) space 1\n";
  const std::string each = "kernel k(n: scalar i64, t: each f32, x: buf f32 [1]) space 1\n";
  const std::string open =
      "%0 = param n : i64\n%1 = load x : f32\nrepeat %0\n%3 = carry %1 : f32\n";
  const struct {
    std::string text, message;
  } cases[] = {
      {"kernel k(t: each f32, n: scalar i64) space 1",
       "[kir] k: the plain scalar n stands behind t, which has a value for each iteration."},
      {"kernel k() space 1 loop\n%0 = const 1 : i64\nrepeat %0",
       "[kir] k at %1 repeat: the kernel has a loop axis."},
      {"kernel k() space 1\nbarrier\n%1 = const 1 : i64\nrepeat %1\n%3 = carry %1 : i64\n"
       "next %3, %3\ndone",
       "[kir] k at %2 repeat: the kernel has the barrier at %0."},
      {plain + open + "next %3, %3\ndone\nbarrier",
       "[kir] k at %6 barrier: the kernel has the repeat at %2."},
      {"kernel k() space 1\n%0 = const 1 : i32\nrepeat %0",
       "[kir] k at %1 repeat: operand %0 is i32, i64 is needed."},
      {"kernel k() space 1\n%0 = index 0 : i64\n%1 = neg %0 : i64\nrepeat %1\n"
       "%3 = carry %1 : i64\nnext %3, %3\ndone",
       "[kir] k at %2 repeat: the count %1 is not made of scalars and constants alone."},
      {plain + open, "[kir] k: the repeat at %2 has no done."},
      {plain + open + "repeat %0", "[kir] k at %4 repeat: inside the repeat at %2."},
      {plain + open + "barrier", "[kir] k at %4 barrier: inside the repeat at %2."},
      {plain + open + "store o, %3",
       "[kir] k at %4 store: inside the repeat at %2, where o does not move."},
      {plain + open + "end", "[kir] k at %4 end: no loop is open."},
      {plain + "done", "[kir] k at %0 done: no repeat is open."},
      {plain + open + "%4 = load x : f32\n%5 = carry %1 : f32\nnext %3, %4\nnext %5, %4\ndone",
       "[kir] k at %5 carry: not directly behind a repeat and its carries."},
      {plain + "%0 = const 1 : f32\n%1 = carry %0 : f32",
       "[kir] k at %1 carry: not directly behind a repeat and its carries."},
      {plain + open + "%4 = carry %3 : f32\nnext %3, %3\nnext %4, %4\ndone",
       "[kir] k at %4 carry: starts from the carry %3 of the same repeat."},
      {"kernel k() space 1\n%0 = const 1 : i64\n%1 = const 1 : i8\nrepeat %0\n%3 = carry %1 : i8",
       "[kir] k at %3 carry: not defined for i8."},
      {plain + open + "%4 = carry %1 : f64",
       "[kir] k at %4 carry: operand %1 is f32, f64 is needed."},
      {plain + open + "next %3, %0\ndone", "[kir] k at %4 next: operand %0 is i64, f32 is needed."},
      {plain + "%0 = const 1 : f32\nnext %0, %0", "[kir] k at %1 next: no repeat is open."},
      {plain + open + "next %1, %3\ndone",
       "[kir] k at %4 next: operand %1 is not a carry of the repeat at %2."},
      {plain + open + "next %3, %3\ndone\n" + "repeat %0\n%7 = carry %1 : f32\nnext %3, %7\ndone",
       "[kir] k at %8 next: operand %3 is not a carry of the repeat at %6."},
      {plain + open + "next %3, %3\nnext %3, %1\ndone",
       "[kir] k at %5 next: the carry %3 has a next already, at %4."},
      {plain + open + "%4 = carry %1 : f32\nnext %4, %3\ndone",
       "[kir] k at %6 done: the carry %3 has no next."},
      {plain + open + "next %3, %3\n%5 = neg %3 : f32\ndone",
       "[kir] k at %5 neg: between the nexts of a repeat and its done."},
      {plain + "%0 = param n : i64\nrepeat %0\ndone",
       "[kir] k at %2 done: the repeat at %1 has no carry."},
      {plain + open + "%4 = neg %3 : f32\nnext %3, %4\ndone\nstore o, %4",
       "[kir] k at %7 store: operand %4 is visible inside its repeat only."},
      {plain + open + "next %3, %3\ndone %3",
       "[kir] k at %5 done: ends early, where points have lanes."},
      {"kernel k() space 1 vec none\n%0 = const 1 : i64\n%1 = const 1 : i32\nrepeat %0\n"
       "%3 = carry %1 : i32\nnext %3, %3\ndone %1",
       "[kir] k at %5 done: operand %1 is not a carry of the repeat at %2."},
      {"kernel k() space 1 vec none\n%0 = const 1 : i64\nrepeat %0\n"
       "%2 = carry %0 : i64\nnext %2, %2\ndone %2",
       "[kir] k at %4 done: operand %2 is i64, i32 is needed."},
      {each + "%0 = param t : f32",
       "[kir] k at %0 param: scalar t has a value for each iteration, there is none outside a "
       "repeat."},
      {each + open + "next %3, %3\ndone\nrepeat %0\n%7 = carry %1 : f32\nnext %7, %7\ndone",
       "[kir] k at %6 repeat: scalar t has a value for each iteration, of the repeat at %2 "
       "already."},
      {each + open + "%4 = cast %3 : i64\nnext %3, %3\ndone\nrepeat %4",
       "[kir] k at %7 repeat: operand %4 is visible inside its repeat only."},
  };
  for (const auto& wrong : cases) {
    const auto kernel = Parse(wrong.text);
    ASSERT_FALSE(kernel.ok()) << wrong.text;
    EXPECT_EQ(kernel.status().message(), wrong.message);
  }
}

TEST(KirVerify, RejectsBrokenBodies) {
  Kernel kernel = *Parse(kChain);
  kernel.body[2].b = 2;
  EXPECT_EQ(Verify(kernel).message(), "[kir] k7 at %2 mul: operand %2 does not precede its use.");
  kernel = *Parse(kChain);
  kernel.body[0].imm = 5;
  EXPECT_EQ(Verify(kernel).message(), "[kir] k7 at %0 load: there is no buffer number 5.");
  EXPECT_NE(Print(kernel).find("load <5>"), std::string::npos);
  kernel = *Parse(kChain);
  kernel.body.insert(kernel.body.begin(), Inst{.op = Op::kConst, .type = DType::kI8, .imm = 256});
  EXPECT_EQ(Verify(kernel).message(), "[kir] k7 at %0 const: the bits do not fit i8.");
}

TEST(KirDead, RemovesWhatNoStoreNeeds) {
  const auto kernel =
      Parse(R"(kernel k(x: buf f32 [s,1], y: buf f32 [s,1], o: out f32 [1,0]) space 1 loop vec loop
  %a = const 0x1p+1 : f32
  loop
    %b = load x : f32
    %c = load y : f32
    %d = mul %c, %a : f32
    %e = reduce sum.64 %b : f32
    %f = reduce max %d : f32
  end
  store o, %e
)");
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const Kernel live = RemoveDead(*kernel);
  EXPECT_TRUE(Verify(live).ok()) << Verify(live);
  EXPECT_EQ(Print(live),
            R"(kernel k(x: buf f32 [s,1], y: buf f32 [s,1], o: out f32 [1,0]) space 1 loop vec loop
  loop
    %1 = load x : f32
    %2 = reduce sum.64 %1 : f32
  end
  store o, %2
)");
  EXPECT_EQ(Print(RemoveDead(live)), Print(live));
}

// What a later value takes last is taken as soon as it is known; what a carry is taken for comes
// before its successor.
TEST(KirTighten, ValuesDieEarly) {
  const auto kernel = [](std::string_view body) {
    return absl::StrCat("kernel k(x: buf f32 [1], n: scalar i64, o: out f32 [1]) space 1\n",
                        "  %0 = load x : f32\n  %1 = param n : i64\n  repeat %1\n",
                        "    %3 = carry %0 : f32\n", std::string(body), "  done\n  store o, %3\n");
  };
  const auto tightened = [&](std::string_view body) {
    auto k = Parse(kernel(body));
    EXPECT_TRUE(k.ok()) << k.status();
    const Kernel made = Tighten(*k);
    EXPECT_TRUE(Verify(made).ok()) << Print(made);
    return Print(made);
  };
  const auto printed = [&](std::string_view body) { return Print(*Parse(kernel(body))); };
  EXPECT_EQ(tightened("    %4 = mul %3, %3 : f32\n    %5 = mul %4, %3 : f32\n"
                      "    %6 = mul %5, %3 : f32\n    %7 = add %4, %5 : f32\n"
                      "    %8 = add %7, %6 : f32\n    next %3, %8\n"),
            printed("    %4 = mul %3, %3 : f32\n    %5 = mul %4, %3 : f32\n"
                    "    %6 = add %4, %5 : f32\n    %7 = mul %5, %3 : f32\n"
                    "    %8 = add %6, %7 : f32\n    next %3, %8\n"));
  const std::string_view second = "    %4 = carry %0 : f32\n";
  EXPECT_EQ(tightened(absl::StrCat(std::string(second),
                                   "    %5 = add %3, %0 : f32\n    %6 = mul %3, %3 : f32\n"
                                   "    %7 = add %6, %4 : f32\n    next %3, %5\n"
                                   "    next %4, %7\n")),
            printed(absl::StrCat(std::string(second),
                                 "    %5 = mul %3, %3 : f32\n    %6 = add %5, %4 : f32\n"
                                 "    %7 = add %3, %0 : f32\n    next %3, %7\n"
                                 "    next %4, %6\n")));
}

// Each of the instructions ends the one before.
TEST(KirTighten, LongChains) {
  Kernel kernel{.name = "chain", .rank = 1};
  kernel.buffers.push_back({"x", DType::kF32, false, {Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kF32, true, {Stride::kOne}});
  Builder b(&kernel);
  const V x = b.Load(0);
  b.Repeat(b.Const(DType::kI64, 3));
  const V carry = b.Carry(x);
  V v = carry;
  for (int i = 0; i < 300'000; ++i) v = v + v;
  b.Next(carry, v);
  b.Done();
  b.Store(1, carry);
  const Kernel made = Tighten(kernel);
  EXPECT_TRUE(made.body == kernel.body);
}

TEST(KirBuilder, SharesEqualValuesPerRegion) {
  Kernel kernel{.name = "soft", .rank = 1, .has_loop = true, .vec = VecAxis::kLoop};
  kernel.buffers.push_back({"x", DType::kF32, false, {Stride::kAny, Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kF32, true, {Stride::kAny, Stride::kOne}});
  Builder b(&kernel);
  const V two = b.Const(DType::kF32, 2);
  b.Loop();
  const V x = b.Load(0);
  EXPECT_EQ(b.Load(0).id, x.id);
  EXPECT_EQ((x * 2.0).id, (x * two).id);
  const V top = b.Reduce(ReduceKind::kMax, x, 0);
  b.End();
  b.Loop();
  const V again = b.Load(0);
  EXPECT_NE(again.id, x.id);
  EXPECT_EQ(b.Const(DType::kF32, 2).id, two.id);
  // One statement each: C++ does not say which argument of a call is built first.
  const V above = again > top;
  const V difference = again - top;
  b.Store(1, select(above, difference, fma(again, two, top)));
  b.End();
  EXPECT_TRUE(Verify(kernel).ok()) << Verify(kernel);
  EXPECT_EQ(Print(kernel), R"(kernel soft(x: buf f32 [s,1], o: out f32 [s,1]) space 1 loop vec loop
  %0 = const 0x1p+1 : f32
  loop
    %2 = load x : f32
    %3 = mul %2, %0 : f32
    %4 = reduce max %2 : f32
  end
  loop
    %7 = load x : f32
    %8 = lt %4, %7 : bool
    %9 = sub %7, %4 : f32
    %10 = fma %7, %0, %4 : f32
    %11 = select %8, %9, %10 : f32
    store o, %11
  end
)");
}

TEST(KirBuilder, KeepsWhatIsMadeInARepeatInside) {
  Kernel kernel{.name = "rolled", .rank = 1};
  kernel.buffers.push_back({"x", DType::kF32, false, {Stride::kOne}});
  kernel.buffers.push_back({"o", DType::kF32, true, {Stride::kOne}});
  kernel.scalars = {{"n", DType::kI64}, {"t", DType::kF32, true}};
  Builder b(&kernel);
  const V x = b.Load(0);
  b.Repeat(b.Param(0));
  const V first = b.Carry(x), second = b.Carry(x);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(b.Load(0).id, x.id);
  const V t = b.Param(1);
  EXPECT_EQ(b.Param(1).id, t.id);
  const V inside = first * second;
  EXPECT_EQ((first * second).id, inside.id);
  b.Next(first, inside + t);
  b.Next(second, first);
  b.Done();
  const V outside = first * second;
  EXPECT_NE(outside.id, inside.id);
  b.Store(1, outside);
  EXPECT_TRUE(Verify(kernel).ok()) << Verify(kernel);
  EXPECT_EQ(Print(kernel),
            R"(kernel rolled(x: buf f32 [1], n: scalar i64, t: each f32, o: out f32 [1]) space 1
  %0 = load x : f32
  %1 = param n : i64
  repeat %1
    %3 = carry %0 : f32
    %4 = carry %0 : f32
    %5 = param t : f32
    %6 = mul %3, %4 : f32
    %7 = add %6, %5 : f32
    next %3, %7
    next %4, %3
  done
  %11 = mul %3, %4 : f32
  store o, %11
)");
}

TEST(KirBuilder, ConstantsSaturateLikeCast) {
  EXPECT_EQ(BitsFromDouble(DType::kI8, 300), 0x7fu);
  EXPECT_EQ(BitsFromDouble(DType::kI8, -300), 0x80u);
  EXPECT_EQ(BitsFromDouble(DType::kU16, -1), 0u);
  EXPECT_EQ(BitsFromDouble(DType::kU64, 1e30), ~uint64_t{0});
  EXPECT_EQ(BitsFromDouble(DType::kI64, 0x1p63), 0x7fffffffffffffffu);
  EXPECT_EQ(BitsFromDouble(DType::kI32, std::nan("")), 0u);
  EXPECT_EQ(BitsFromDouble(DType::kBool, 0.5), 1u);
}

}  // namespace
}  // namespace frazil::kir
