// Small arrays: value, storage and elements in one block, and what may happen to each of them.
#include "core/value.h"

#include <cstring>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace frazil {
namespace {

ValueRef Floats(int64_t n) {
  ValueRef v = *Value::Allocate(DType::kF32, Device(), Dense({n}));
  std::memset(v->data, 0x5a, static_cast<size_t>(4 * n));
  return v;
}

bool Inside(const Value& v) {
  return reinterpret_cast<const char*>(v.storage) == reinterpret_cast<const char*>(&v + 1);
}

TEST(ValueTest, SmallArraysAreOneBlock) {
  for (const int64_t n : {0, 1, 16, 48, 500, 2032}) {
    const ValueRef v = Floats(n);
    EXPECT_TRUE(Inside(*v)) << n;
    EXPECT_EQ(v->data, reinterpret_cast<char*>(v.get()) + 64);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(v->data) % 64, 0u);
    EXPECT_EQ(v->storage->holders(), 1);
    EXPECT_EQ(v->kind(), Value::KindOf(DType::kF32, Device(), false));
  }
  const ValueRef large = Floats(2033);
  EXPECT_FALSE(Inside(*large));
  EXPECT_LT(large->storage->block_class, 0);
}

TEST(ValueTest, QuickWayMakesTheSame) {
  const Layout* layout = Dense({16});
  const uint32_t kind = Value::KindOf(DType::kI32, Device(), false);
  const ValueRef v = ValueRef::Adopt(Value::NewSmall(kind, layout, BlockClass(64 + kSmallHeader)));
  EXPECT_TRUE(Inside(*v));
  EXPECT_TRUE(v->ready());
  EXPECT_FALSE(v->immediate);
  EXPECT_EQ(v->dtype, DType::kI32);
  EXPECT_EQ(v->device, Device());
  EXPECT_EQ(v->layout, layout);
  EXPECT_EQ(v->data, v->storage->data);
}

TEST(ValueTest, ViewsHoldTheBlock) {
  ValueRef base = Floats(16);
  ValueRef view = Value::Make(DType::kF32, Device(), Dense({4}), StorageRef::Share(base->storage),
                              base->data + 16);
  EXPECT_FALSE(Inside(*view));  // the place is taken
  const void* block = base.get();
  base.Reset();
  // The place of a value that is gone is not given to another while the block lives.
  const ValueRef other = Floats(16);
  EXPECT_NE(other.get(), block);
  const ValueRef again =
      Value::Make(DType::kF32, Device(), Dense({4}), StorageRef::Share(view->storage), view->data);
  EXPECT_FALSE(Inside(*again));
  EXPECT_EQ(view->data[0], 0x5a);
  EXPECT_EQ(view->data[15], 0x5a);
}

TEST(ValueTest, OnlyTheFirstAndSoleHolderTakesThePlace) {
  StorageRef storage = *Allocate(64);
  const StorageRef held = storage;
  const ValueRef shared =
      Value::Make(DType::kF32, Device(), Dense({16}), std::move(storage), held->data);
  EXPECT_FALSE(Inside(*shared));
  StorageRef alone = *Allocate(64);
  char* const data = alone->data;
  const ValueRef first = Value::Make(DType::kF32, Device(), Dense({16}), std::move(alone), data);
  EXPECT_TRUE(Inside(*first));
}

TEST(ValueTest, DeferredValuesTakeAStorageOver) {
  struct Owner : Pending {
    Status Force(const Value*) override { return absl::OkStatus(); }
    bool LetGo(const Value*) override { return false; }
  } owner;
  Value* const v =
      Value::Deferred(Value::KindOf(DType::kF32, Device(), false), Dense({16}), &owner, 3);
  const ValueRef both[] = {ValueRef::Adopt(v), ValueRef::Adopt(v)};
  EXPECT_FALSE(v->ready());
  StorageRef storage = *Allocate(64);
  char* const data = storage->data;
  v->Fill(std::move(storage), data);
  EXPECT_TRUE(v->ready());
  EXPECT_FALSE(Inside(*v));
  std::memset(v->data, 1, 64);
}

TEST(ValueTest, Statistics) {
  const ValueRef warm = Floats(16);
  const MemoryStats before = GetMemoryStats();
  {
    const ValueRef a = Floats(16), b = Floats(500);
    const MemoryStats now = GetMemoryStats();
    EXPECT_EQ(now.allocations - before.allocations, 2);
    EXPECT_EQ(now.live_bytes - before.live_bytes, 128 + 4096);
  }
  EXPECT_EQ(GetMemoryStats().live_bytes, before.live_bytes);
}

// Blocks wander from the threads that make arrays to those that drop them, views first or last.
TEST(ValueTest, OtherThreadsDropThem) {
  const int64_t live = GetMemoryStats().live_bytes;
  for (int round = 0; round < 20; ++round) {
    std::vector<ValueRef> values, views;
    std::thread([&] {
      for (int64_t i = 0; i < 400; ++i) {
        values.push_back(Floats(1 + i % 40));
        views.push_back(Value::Make(DType::kF32, Device(), Dense({1}),
                                    StorageRef::Share(values.back()->storage),
                                    values.back()->data));
      }
    }).join();
    std::thread first([&] { values.clear(); }), second([&] {
      for (const ValueRef& v : views) EXPECT_EQ(v->data[3], 0x5a);
      views.clear();
    });
    first.join();
    second.join();
  }
  EXPECT_EQ(GetMemoryStats().live_bytes, live);
}

}  // namespace
}  // namespace frazil
