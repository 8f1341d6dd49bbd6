// Which neighbouring steps become a list that threads share out.
#include "core/cost.h"
#include "jit/run/list_step.h"
#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

class NoCode final : public Compiled {
 public:
  void Run(const kir::KernelArgs&, int64_t, int64_t, int64_t, int64_t) const override {}
  size_t code_bytes() const override { return 0; }
};

class NoDevice final : public DeviceKernel {
 public:
  Status Run(const kir::KernelArgs&) const override { return absl::OkStatus(); }
  std::string text() const override { return ""; }
  int64_t bytes() const override { return 0; }
  std::string refusal() const override { return ""; }
};

// Steps with what they touch, and the lists that they become.
class Lists {
 public:
  KernelStep& Add(std::vector<Touch> touches, int64_t work = 100) {
    touches_.push_back(std::move(touches));
    auto step = std::make_unique<KernelStep>();
    step->code = std::make_shared<NoCode>();
    step->own_work = work;
    KernelStep& made = *step;
    steps_.push_back(std::move(step));
    return made;
  }
  void AddCall() {
    touches_.push_back({});
    auto step = std::make_unique<LibraryStep>();
    step->call = std::make_unique<SaidCall>(1);
    steps_.push_back(std::move(step));
  }
  // The new number of each step.
  std::vector<int32_t> Make() {
    JoinedSteps joined = MakeLists(std::move(steps_), [&](size_t i) { return touches_[i]; });
    made = std::move(joined.steps);
    return joined.now;
  }
  const ListStep& list(size_t i) const { return dynamic_cast<ListStep&>(*made.at(i)); }

  Steps made;

 private:
  Steps steps_;
  std::vector<std::vector<Touch>> touches_;
};

using Numbers = std::vector<int32_t>;
Touch Read(int32_t block, int64_t begin, int64_t end) { return {block, false, begin, end}; }
Touch Write(int32_t block, int64_t begin, int64_t end) { return {block, true, begin, end}; }

TEST(MakeLists, NeighboursThatDoNotMeet) {
  Lists lists;
  lists.Add({Read(0, 0, 8), Write(1, 0, 8)}, 100);
  lists.Add({Read(0, 0, 8), Write(1, 8, 16)}, 50);
  EXPECT_EQ(lists.Make(), Numbers({0, 0}));
  EXPECT_EQ(lists.list(0).entries().size(), 2u);
  EXPECT_EQ(lists.list(0).work(), 150);
}

TEST(MakeLists, OneAloneStaysAsItIs) {
  Lists lists;
  lists.Add({Write(0, 0, 8)});
  EXPECT_EQ(lists.Make(), Numbers({0}));
  EXPECT_NE(dynamic_cast<KernelStep*>(lists.made[0].get()), nullptr);
}

TEST(MakeLists, AReaderWaitsForTheWriter) {
  Lists lists;
  lists.Add({Write(0, 0, 8)});
  lists.Add({Read(0, 4, 12)});
  lists.Add({Read(0, 4, 12)});
  EXPECT_EQ(lists.Make(), Numbers({0, 1, 1}));
}

TEST(MakeLists, AWriterWaitsForReadersAndWriters) {
  Lists reader;
  reader.Add({Read(0, 0, 8)});
  reader.Add({Write(0, 7, 8)});
  EXPECT_EQ(reader.Make(), Numbers({0, 1}));
  Lists writer;
  writer.Add({Write(0, 0, 8)});
  writer.Add({Write(0, 0, 8)});
  EXPECT_EQ(writer.Make(), Numbers({0, 1}));
}

TEST(MakeLists, AllBeforeInTheListCount) {
  Lists lists;
  lists.Add({Write(0, 0, 8)});
  lists.Add({Write(0, 8, 16)});
  lists.Add({Write(0, 16, 24)});
  lists.Add({Read(0, 0, 8)});
  EXPECT_EQ(lists.Make(), Numbers({0, 0, 0, 1}));
}

TEST(MakeLists, OtherBlocksDoNotMeet) {
  Lists lists;
  lists.Add({Write(0, 0, 8)});
  lists.Add({Read(1, 0, 8)});
  EXPECT_EQ(lists.Make(), Numbers({0, 0}));
}

TEST(MakeLists, NotWhatThreadsShareByItself) {
  Lists lists;
  lists.Add({}, cost::kWorthSharing - 1);
  lists.Add({}, cost::kWorthSharing - 1);
  lists.Add({}, cost::kWorthSharing);
  lists.Add({});
  EXPECT_EQ(lists.Make(), Numbers({0, 0, 1, 2}));
}

TEST(MakeLists, NotWhatRunsElsewhere) {
  Lists lists;
  lists.Add({});
  lists.Add({}).device = std::make_unique<NoDevice>();
  lists.Add({}).code = nullptr;
  lists.AddCall();
  lists.Add({});
  EXPECT_EQ(lists.Make(), Numbers({0, 1, 2, 3, 4}));
}

TEST(MakeLists, OfSoManyEntries) {
  Lists lists;
  for (int i = 0; i < 300; ++i) lists.Add({});
  lists.Make();
  ASSERT_EQ(lists.made.size(), 2u);
  EXPECT_EQ(lists.list(0).entries().size(), 256u);
  EXPECT_EQ(lists.list(1).entries().size(), 44u);
}

}  // namespace
}  // namespace frazil::jit
