// The checker: the example program passes and none of its mutants does; every conflict has a case.
#include "npu/checker.h"

#include <fstream>
#include <map>
#include <sstream>

#include "tests/npu/harness.h"

namespace frazil::npu {
namespace {

constexpr int kTile = 8192;
LaunchOptions Check() {
  LaunchOptions options;
  options.mode = Mode::kCheck;
  return options;
}

Program Example() {
  std::ifstream file(FRAZIL_NPU_GOLDENS "/relu_axpb.snpu.s");
  std::stringstream text;
  text << file.rdbuf();
  return *Assemble(text.str());
}

// relu(x * 2 + 1) over `tiles` tiles.
struct ExampleRun {
  explicit ExampleRun(int tiles) : x(size_t(tiles * kTile)) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(int(i % 19) - 9) / 4;
    h.Input(x);
    y = h.Output(x.size() * 4);
    h.Number(uint64_t(tiles));
    h.Number(0x40000000);
    h.Number(0x3F800000);
  }
  std::vector<float> Want() const {
    std::vector<float> want;
    for (float v : x) want.push_back(v * 2 + 1 <= 0 ? 0 : v * 2 + 1);
    return want;
  }
  Harness h;
  std::vector<float> x;
  int y;
};

TEST(Checker, ExamplePasses) {
  for (int tiles = 1; tiles <= 6; ++tiles) {
    ExampleRun run(tiles);
    const StatusOr<LaunchResult> result = run.h.Launch(Example(), Check());
    ASSERT_TRUE(result.ok()) << result.status().ToString();
    ASSERT_FALSE(result->fault) << result->fault->Text();
    EXPECT_EQ(run.h.Get<float>(run.y), run.Want());
  }
}

TEST(Checker, SchedulesLeaveTheSameMemory) {
  for (const Schedule schedule :
       {Schedule::kTiming, Schedule::kEager, Schedule::kLazy, Schedule::kRandom}) {
    for (const Mode mode : {Mode::kRun, Mode::kCheck}) {
      ExampleRun run(5);
      LaunchOptions options;
      options.mode = mode;
      options.schedule = schedule;
      const StatusOr<LaunchResult> result = run.h.Launch(Example(), options);
      ASSERT_TRUE(result.ok()) << result.status().ToString();
      ASSERT_FALSE(result->fault) << result->fault->Text();
      EXPECT_EQ(run.h.Get<float>(run.y), run.Want());
    }
  }
}

// Each flag instruction in turn becomes a NOP.
TEST(Checker, CatchesEveryLostFlag) {
  const Program program = Example();
  std::map<FaultCode, int> codes;
  int mutants = 0;
  for (size_t pc = 0; pc < program.code.size(); ++pc) {
    if (program.code[pc].op != Op::kSET && program.code[pc].op != Op::kWAIT) continue;
    Program mutant = program;
    mutant.code[pc] = Instr{};
    ++mutants;
    std::optional<FaultCode> code;
    for (int tiles = 1; tiles <= 6 && !code; ++tiles) {
      ExampleRun run(tiles);
      const StatusOr<LaunchResult> result = run.h.Launch(mutant, Check());
      if (result->fault) code = result->fault->code;
    }
    ASSERT_TRUE(code) << "pc " << pc << ": " << Text(program.code[pc]);
    ++codes[*code];
  }
  EXPECT_EQ(mutants, 18);
  EXPECT_EQ(codes, (std::map<FaultCode, int>{{FaultCode::kFlagOrder, 9},
                                             {FaultCode::kFlagOverflow, 3},
                                             {FaultCode::kFlagLeak, 4},
                                             {FaultCode::kRaceRaw, 2}}));
}

}  // namespace
}  // namespace frazil::npu
