// What steps of each kind say of themselves, and how groups of them run.
#include "jit/run/step.h"

#include "core/threads/parallel.h"
#include "jit/plan/branches.h"
#include "jit/run/epilogue_step.h"
#include "jit/run/list_step.h"
#include "jit/run/loop_step.h"
#include "tests/jit/pending_testing.h"

namespace frazil::jit {
namespace {

using Pointers = std::vector<Pointer>;

class Capturable final : public DeviceKernel {
 public:
  Status Run(const kir::KernelArgs&) const override { return absl::OkStatus(); }
  bool capturable() const override { return true; }
  std::string text() const override { return "made"; }
  int64_t bytes() const override { return 1000; }
  std::string refusal() const override { return ""; }
};

// Counts its runs, and fails if it is to.
class Counted final : public LibraryCall {
 public:
  Counted(int* runs, bool fails) : runs_(runs), fails_(fails) {}
  Status Run(absl::Span<char* const>, char*) const override {
    ++*runs_;
    return fails_ ? RuntimeError("[counted] it fails.") : absl::OkStatus();
  }
  int64_t work() const override { return 1; }
  std::string text() const override { return "counted"; }

 private:
  int* const runs_;
  const bool fails_;
};

std::unique_ptr<KernelStep> Kernel(Pointers buffers, int64_t work) {
  auto step = std::make_unique<KernelStep>();
  step->buffers = std::move(buffers);
  step->own_work = work;
  return step;
}

std::unique_ptr<LibraryStep> Library(std::unique_ptr<const LibraryCall> call,
                                     Pointers operands = {}, Pointer result = {}) {
  auto step = std::make_unique<LibraryStep>();
  step->call = std::move(call);
  step->operands = std::move(operands);
  step->result = result;
  return step;
}

template <typename... Some>
Steps StepsWith(Some... some) {
  Steps steps;
  (steps.push_back(std::move(some)), ...);
  return steps;
}

TEST(Step, AKernel) {
  const auto step = Kernel({{0, 8}, {2, 0}}, 70);
  EXPECT_EQ(step->touches(), Pointers({{0, 8}, {2, 0}}));
  EXPECT_EQ(step->work(), 70);
  EXPECT_FALSE(step->capturable());
  const int64_t bytes = step->bytes();
  EXPECT_GE(bytes, int64_t(sizeof(KernelStep) + 2 * sizeof(Pointer)));
  step->device = std::make_unique<Capturable>();
  EXPECT_EQ(step->text(), "made");
  EXPECT_TRUE(step->capturable());
  EXPECT_EQ(step->bytes(), bytes + 1000);
}

TEST(Step, ACallOfALibraryTouchesOperandsAndThenItsResult) {
  const auto step = Library(std::make_unique<SaidCall>(30), {{0, 0}, {1, 16}}, {2, 8});
  EXPECT_EQ(step->touches(), Pointers({{0, 0}, {1, 16}, {2, 8}}));
  EXPECT_EQ(step->work(), 30);
  EXPECT_EQ(step->text(), "said");
  EXPECT_FALSE(step->capturable());
}

TEST(Step, GroupsAreWhatTheirStepsAre) {
  const EpilogueStep group(StepsWith(Library(std::make_unique<SaidCall>(30), {{0, 0}}, {1, 8}),
                                     Kernel({{1, 8}, {2, 0}}, 12)));
  EXPECT_EQ(group.touches(), Pointers({{0, 0}, {1, 8}, {1, 8}, {2, 0}}));
  EXPECT_EQ(group.work(), 42);
  EXPECT_EQ(group.text(), "said kernel");
  EXPECT_GT(group.bytes(), int64_t(sizeof(KernelStep) + sizeof(LibraryStep)));
  EXPECT_EQ(ListStep(StepsWith(Kernel({}, 1), Kernel({}, 2))).work(), 3);
}

TEST(Step, ALoopIsItsBodySoManyTimes) {
  LoopStep loop;
  loop.times = 5;
  loop.body.stats.work = 100;
  loop.body.steps = StepsWith(Kernel({}, 100));
  loop.slots.push_back({{0, 8}, {1, 0}, {2, 0}});
  loop.slots.push_back({{3, 0}, {3, 0}, {3, 0}, 0, {{4, 0}, {4, 8}}});
  EXPECT_EQ(loop.work(), 500);
  EXPECT_EQ(loop.text(), "loop of 5");
  EXPECT_EQ(loop.touches(),
            Pointers({{0, 8}, {1, 0}, {2, 0}, {3, 0}, {3, 0}, {3, 0}, {4, 0}, {4, 8}}));
  EXPECT_GT(loop.bytes(), int64_t(sizeof(LoopStep) + 2 * sizeof(LoopSlot) + sizeof(KernelStep)));
}

TEST(LoopSlot, MovesIfAnyIterationHasItElsewhere) {
  const Pointer here{1, 8}, there{1, 16};
  EXPECT_FALSE((LoopSlot{here, here, here}).moves());
  EXPECT_TRUE((LoopSlot{here, there, here}).moves());
  EXPECT_TRUE((LoopSlot{here, here, there}).moves());
  EXPECT_TRUE((LoopSlot{here, here, here, 8}).moves());
  EXPECT_TRUE((LoopSlot{here, here, here, 0, {here, there}}).moves());
  EXPECT_FALSE((LoopSlot{here, here, here, 0, {}, {1}}).moves());
  EXPECT_TRUE((LoopSlot{here, here, here, 0, {}, {1, 2}}).moves());
}

TEST(JoinedSteps, SayWhatEachIsAPartOf) {
  JoinedSteps joined;
  joined.Add(2, Kernel({}, 1));
  joined.Add(1, Kernel({}, 1));
  EXPECT_EQ(joined.now, std::vector<int32_t>({0, 0, 1}));
  EXPECT_EQ(joined.steps.size(), 2u);
}

// Branches of steps 3 and 4, on so many threads of which two pay.
TEST(Branches, AFailureIsTold) {
  const int threads = NumThreads();
  for (const int on : {1, 2, 3}) {
    SetNumThreads(on);
    int first = 0, second = 0;
    char* const slots[] = {nullptr};
    const auto group = MakeBranches({3, 5, {{3}, {4}}, 2},
                                    StepsWith(Library(std::make_unique<Counted>(&first, 1)),
                                              Library(std::make_unique<Counted>(&second, 0))));
    EXPECT_EQ(KindOf(group->Run(slots, {})), ErrorKind::kRuntime) << on;
    EXPECT_EQ(first, 1) << on;
    if (on != 2) {
      EXPECT_EQ(second, 0) << "one after another, nothing runs behind a failure";
    }
  }
  SetNumThreads(threads);
}

}  // namespace
}  // namespace frazil::jit
