// Deferred values: handed out again by the next segment, let go without an atomic subtraction by
// the thread whose call it is, and counted all the same.
#include "tracer/deferred.h"

#include <optional>
#include <thread>

#include "bindings/cpp/frazil.h"
#include "gtest/gtest.h"

namespace frazil {
namespace {

using tracer::DeferredValues;
using tracer::LiveMask;

// Owns what it is asked for, as a session does.
class Owner final : public Pending {
 public:
  Status Force(const Value*) override { return absl::OkStatus(); }
  bool LetGo(const Value* value) override {
    ++asked;
    return mine && value->LeaveOne();
  }
  bool mine = true;
  int asked = 0;
};

constexpr uint32_t kF32 = static_cast<uint32_t>(DType::kF32);

ValueRef Add(DeferredValues* values, Owner* owner, const Layout* layout, uint64_t tag,
             uint32_t kind = kF32) {
  return ValueRef::Adopt(values->Add(kind, layout, owner, tag));
}

TEST(DeferredTest, NextSegmentHandsOutWhatNobodyWanted) {
  Owner owner;
  DeferredValues values;
  const Layout *four = Dense({4}), *five = Dense({5});
  const void* first = Add(&values, &owner, four, 1).get();
  ValueRef wanted = Add(&values, &owner, four, 2);
  const void* third = Add(&values, &owner, five, 3).get();
  const void* fourth = Add(&values, &owner, five, 4).get();
  LiveMask live;
  ASSERT_TRUE(values.FindLive(&live));
  EXPECT_EQ(live[0], 2u);
  EXPECT_TRUE(values.AnyWaitedFor());
  values.Recycle(live);
  EXPECT_TRUE(values.empty());
  EXPECT_EQ(wanted->holders(), 1);

  const ValueRef again = Add(&values, &owner, four, 5);
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(again->holders(), 2);
  EXPECT_EQ(again->tag, 5u);
  const ValueRef other = Add(&values, &owner, four, 6);
  EXPECT_NE(other.get(), wanted.get());  // somebody has it
  // Another layout, another dtype: another value.
  const ValueRef narrow = Add(&values, &owner, four, 7);
  EXPECT_NE(narrow.get(), third);
  EXPECT_EQ(narrow->layout, four);
  const ValueRef integers = Add(&values, &owner, five, 8, static_cast<uint32_t>(DType::kI32));
  EXPECT_NE(integers.get(), fourth);
  EXPECT_EQ(integers->dtype, DType::kI32);
  EXPECT_EQ(values.size(), 4u);
}

TEST(DeferredTest, TheOwnerIsAskedAtTheLastButOneHold) {
  Owner owner;
  DeferredValues values;
  ValueRef a = Add(&values, &owner, Dense({4}), 1);
  ValueRef b = a;
  EXPECT_EQ(a->holders(), 3);
  b.Reset();  // not one of two
  EXPECT_EQ(a->holders(), 2);
  const int asked = owner.asked;
  a.Reset();
  EXPECT_EQ(owner.asked, asked + 1);
  EXPECT_EQ(values[0]->holders(), 1);

  owner.mine = false;  // another thread's: counted the ordinary way
  a = Add(&values, &owner, Dense({4}), 2);
  a.Reset();
  EXPECT_EQ(values[1]->holders(), 1);
}

std::vector<float> Floats(const Tensor& t) { return to_vector<float>(t); }

// What a call makes is held here and there, in this thread and in another, and let go.
TEST(DeferredTest, HoldersAreExactWhoeverLetsGo) {
  std::vector<Tensor> kept;
  int round = 0;
  auto f = jit::trace([&](const Tensor& x) {
    Tensor a = x + 1.0;
    Tensor b = a * 2.0;
    Tensor c = b - 3.0;
    if (round % 3 == 1) kept = {a, c};
    if (round % 3 == 2) {
      std::optional<Tensor> elsewhere = b;
      b = Tensor(c);
      std::thread([&] { elsewhere.reset(); }).join();
    }
    return c + b;
  });
  for (round = 0; round < 30; ++round) {
    const Tensor x = tensor<float>({float(round), 1}, {2});
    const float v = float(round), c = (v + 1) * 2 - 3, b = round % 3 == 2 ? c : (v + 1) * 2;
    EXPECT_EQ(Floats(f(x))[0], c + b) << round;
    if (round % 3 != 1) continue;
    EXPECT_EQ(Floats(kept[0])[0], v + 1) << round;
    EXPECT_EQ(Floats(kept[1])[0], c) << round;
    EXPECT_EQ(kept[0].value()->holders(), 1) << round;
  }
}

}  // namespace
}  // namespace frazil
