// Pins: what is pinned outlives its Garbage, in this thread and in others.
#include "core/memory/pin.h"

#include <optional>
#include <thread>

#include "gtest/gtest.h"

namespace frazil {
namespace {

struct Counted {
  explicit Counted(std::atomic<int>* alive) : alive(alive) { ++*alive; }
  ~Counted() {
    content = 0;
    --*alive;
  }
  std::atomic<int>* const alive;
  std::atomic<int> content{7};
};

struct Source {
  std::atomic<int> alive{0};
  std::shared_ptr<Counted> owned;
  std::atomic<Counted*> at{nullptr};

  void Put() {
    owned = std::make_shared<Counted>(&alive);
    at = owned.get();
  }
  void Drop() {
    Garbage garbage;
    at = nullptr;
    garbage.Add(std::move(owned));
  }
};

TEST(Pin, KeepsWhatItPins) {
  Source source;
  source.Put();
  {
    Pin pin;
    Counted* object = pin.Take(source.at);
    ASSERT_NE(object, nullptr);
    source.Drop();
    EXPECT_EQ(source.alive, 1);
    EXPECT_EQ(object->content, 7);
    Pin another;
    EXPECT_EQ(another.Take(source.at), nullptr);
  }
  source.Put();
  source.Drop();  // with what was kept
  EXPECT_EQ(source.alive, 0);
}

TEST(Pin, BeyondTheirNumberNothingIsPinned) {
  Source source;
  source.Put();
  std::optional<Pin> pins[PinSlots::kCount];
  for (auto& pin : pins) pin.emplace();
  {
    Pin one_more;
    EXPECT_EQ(one_more.Take(source.at), nullptr);
    EXPECT_EQ(one_more.Hold(source.owned), source.owned.get());
  }
  for (int i = PinSlots::kCount; i-- > 0;) pins[i].reset();
}

TEST(Pin, ThreadsSeeWholeObjects) {
  Source source;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0}, met{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop) {
        Pin pin;
        const Counted* object = pin.Take(source.at);
        if (!object) continue;
        wrong += object->content != 7;
        ++met;
      }
    });
  }
  for (int i = 0; i < 2000 || met == 0; ++i) {
    source.Put();
    std::this_thread::yield();
    source.Drop();
  }
  stop = true;
  for (std::thread& t : readers) t.join();
  source.Put();
  source.Drop();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(source.alive, 0);
}

}  // namespace
}  // namespace frazil
