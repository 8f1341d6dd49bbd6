// The scalar unit and launches: arithmetic, branches, parameters, control registers, blocks, modes.
#include <limits>

#include "tests/npu/harness.h"

namespace frazil::npu {
namespace {

// The low 32 bits of s10 after the lines, for each block.
std::vector<uint32_t> Results(std::string_view lines, const LaunchOptions& options = {},
                              std::string_view preset = "dc16") {
  Harness h(preset);
  h.Input(std::vector<uint32_t>{7, 8, 9, 10, 11, 12, 13, 14});
  const int out = h.Output(4 * size_t(options.blocks));
  h.Number(0x123456789ABCDEF0);
  h.Run(StrCat(lines,
               "\nLA s20, ub:0x0\nSCSR s21, #0\nSALU.mul s21, s21, #4\nSLDP s22, #1\n"
               "SALU.add s22, s22, s21\nVDUP.i32 s20, s10, #1, #1, #0\nBAR all\n"
               "ST s22, s20, #1, #4, #0, #0\nBAR all"),
        options);
  return h.Get<uint32_t>(out);
}
uint32_t Result(std::string_view lines, const LaunchOptions& options = {}) {
  return Results(lines, options)[0];
}

std::string Load(int reg, uint64_t value) {
  return StrCat("SLI s", reg, ", ", int32_t(uint32_t(value)), "\nSLIH s", reg, ", ",
                int32_t(value >> 32), "\n");
}

TEST(ScalarUnit, Arithmetic) {
  constexpr uint64_t kMin = uint64_t{1} << 63, kOnes = ~uint64_t{0};
  struct Row {
    std::string_view fn;
    uint64_t a, b, want;
  };
  const Row rows[] = {
      {"add", kOnes, 5, 4},
      {"sub", 3, 5, kOnes - 1},
      {"mul", kMin + 3, 5, kMin + 15},
      {"divu", kOnes, 16, kOnes >> 4},
      {"divu", 5, 0, 0},
      {"remu", kOnes, 10, 5},
      {"remu", 5, 0, 0},
      {"min", kOnes, 1, kOnes},
      {"max", kOnes, 1, 1},
      {"and", 0xF0F0, 0xFF00, 0xF000},
      {"or", 0xF0F0, 0xFF00, 0xFFF0},
      {"xor", 0xF0F0, 0xFF00, 0x0FF0},
      {"shl", 3, 62, uint64_t{3} << 62},
      {"shl", 3, 64, 3},
      {"shru", kMin, 63, 1},
      {"sar", kMin, 63, kOnes},
      {"slt", kOnes, 0, 1},
      {"sltu", kOnes, 0, 0},
      {"cmov", 77, 1, 77},
      {"cmov", 77, 0, 99},
  };
  for (const Row& row : rows) {
    for (const int half : {0, 32}) {
      EXPECT_EQ(Result(StrCat(Load(8, row.a), Load(9, row.b), Load(10, 99), "SALU.", row.fn,
                              " s10, s8, s9\nSALU.shru s10, s10, ", half ? "s11" : "#0", "\n")
                           .insert(0, "SLI s11, 32\n")),
                uint32_t(row.want >> half))
          << row.fn << " " << row.a << " " << row.b;
    }
  }
}

TEST(ScalarUnit, Branches) {
  const std::map<std::string, std::array<bool, 3>> taken = {
      // -1 ? 1, 1 ? 1, 1 ? -1
      {"eq", {false, true, false}},  {"ne", {true, false, true}},   {"lt", {true, false, false}},
      {"ge", {false, true, true}},   {"ltu", {false, false, true}}, {"geu", {true, true, false}},
      {"always", {true, true, true}}};
  const std::pair<int, int> operands[] = {{-1, 1}, {1, 1}, {1, -1}};
  for (const auto& [cc, want] : taken) {
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(Result(StrCat("SLI s8, ", operands[i].first, "\nSLI s9, ", operands[i].second,
                              "\nSLI s10, 1\nSBR.", cc, " s8, s9, yes\nSLI s10, 0\nyes: NOP")),
                want[i])
          << cc << i;
    }
  }
  // Down a loop and out of it.
  EXPECT_EQ(Result("SLI s10, 0\nSLI s8, 10\nloop: SALU.add s10, s10, s8\nSALU.sub s8, s8, #1\n"
                   "SBR.ne s8, #0, loop"),
            55u);
}

TEST(ScalarUnit, RegistersParametersControl) {
  EXPECT_EQ(Result("SLI s0, 5\nSALU.add s10, s0, #1"), 1u);  // s0 reads 0
  EXPECT_EQ(Result("SLDP s10, #2"), 0x9ABCDEF0u);
  EXPECT_EQ(Result("SLI s8, 2\nSLDP s10, s8\nSALU.shru s10, s10, #31\nSALU.shru s10, s10, #1"),
            0x12345678u);
  EXPECT_EQ(Result("SLI s10, -1\nSLIH s10, 7\nSALU.shru s10, s10, #31\nSALU.shru s10, s10, #1"),
            7u);
  const Preset preset = *FindPreset("dc16");
  for (int space = kL1; space < kNumSpaces; ++space)
    EXPECT_EQ(Result(StrCat("SCSR s10, #", space + 1)), uint32_t(preset.bytes[size_t(space)]));
  EXPECT_EQ(Result("SCSR s10, #7"), uint32_t(preset.id));
  EXPECT_EQ(Result("SCSR s10, #8"), uint32_t(kIsaRevision));
}

TEST(ScalarUnit, ReadsUb) {
  EXPECT_EQ(Result("SLDP s1, #0\nLA s4, ub:0x20\nLD s4, s1, #1, #31, #0, #0, #0\nSET LD>S, #0\n"
                   "WAIT LD>S, #0\nSALU.add s4, s4, #4\nSLD s10, s4",
                   {.mode = Mode::kCheck}),
            8u);
}

TEST(Launches, BlocksAndTheirNumbers) {
  for (const Mode mode : {Mode::kRun, Mode::kCheck, Mode::kTime}) {
    LaunchOptions options;
    options.mode = mode;
    options.blocks = 5;
    EXPECT_EQ(Results("SCSR s8, #0\nSCSR s9, #1\nSALU.mul s10, s8, s9", options),
              (std::vector<uint32_t>{0, 5, 10, 15, 20}));
  }
}

// A block does not see what another left in local memory.
TEST(Launches, LocalMemoryIsNewForEachBlock) {
  EXPECT_EQ(
      Results("LA s8, ub:0x100\nSLD s10, s8\nVDUP.i32 s8, s0, #1, #1, #0\nBAR all", {.blocks = 2}),
      (std::vector<uint32_t>{0xA5A5A5A5, 0xA5A5A5A5}));
}

TEST(Launches, BudgetIsOfAllBlocks) {
  Harness h;
  StatusOr<LaunchResult> result = h.Launch("NOP\nNOP", {.blocks = 3, .budget = 8});
  ASSERT_TRUE(result->fault);
  EXPECT_EQ(result->fault->code, FaultCode::kWatchdog);
  EXPECT_EQ(result->fault->block, 2);
  result = h.Launch("NOP\nNOP", {.blocks = 3, .budget = 9});
  EXPECT_FALSE(result->fault);
  EXPECT_EQ(result->instructions, 9);
}

TEST(Launches, TimeIsKeptWithAndWithoutData) {
  const auto timing = [](Mode mode, int blocks, bool warm) {
    Harness h;
    h.Input(std::vector<float>(8192, 2.0f));
    const int out = h.Output(32768);
    const StatusOr<LaunchResult> result = h.Launch(
        "SLDP s1, #0\nSLDP s2, #1\nSLI s3, 32768\nSLI s4, 8192\nLA s5, ub:0x0\n"
        "LD s5, s1, #1, s3, #0, #0, #0\nSET LD>VE, #0\nWAIT LD>VE, #0\n"
        "VBIN.mul.f32 s5, s5, s5, #1, s4, #0, #0, #0\nSET VE>ST, #0\nWAIT VE>ST, #0\n"
        "ST s2, s5, #1, s3, #0, #0",
        {.mode = mode, .blocks = blocks, .l2_warm = warm});
    EXPECT_TRUE(result.ok() && !result->fault && result->timing);
    EXPECT_EQ(h.Get<float>(out)[100], mode == Mode::kTime ? 4.0f : 0.0f);
    return *result->timing;
  };
  const Timing with = timing(Mode::kTime, 1, true), without = timing(Mode::kTimeOnly, 1, true);
  EXPECT_EQ(with.cycles, without.cycles);
  EXPECT_GT(with.cycles, 32768 / 110);
  EXPECT_EQ(with.gm_read, 32768);
  EXPECT_GT(timing(Mode::kTimeOnly, 1, false).cycles, without.cycles);
  // More blocks than cores: a core runs several, one after another.
  const int cores = FindPreset("dc16")->cores;
  EXPECT_EQ(timing(Mode::kTimeOnly, 2 * cores, true).gm_read, 2 * cores * 32768);
  EXPECT_GT(timing(Mode::kTimeOnly, 2 * cores, true).cycles,
            timing(Mode::kTimeOnly, cores, true).cycles * 3 / 2);
}

TEST(Launches, RefusesWhatTheCallerGotWrong) {
  Harness h;
  h.Input(std::vector<char>(64));
  Program program;
  program.name = "k";
  program.code = {Instr{.op = Op::kHALT}};
  EXPECT_EQ(h.Launch(program).status().message(),
            "[npu launch] kernel k takes 0 parameters: 1 are given.");
  const Preset preset = *FindPreset("dc16");
  const auto refused = [&](absl::Span<const Window> windows, const LaunchOptions& options) {
    return std::string(Launch(program, preset, {}, windows, options).status().message());
  };
  char data[64];
  const Window a{kGmBase, 64, data, true}, b{kGmBase + 32, 32, data, true}, low{4096, 64, data};
  const Window bare{kGmBase, 64, nullptr, false};
  EXPECT_EQ(refused({a, b}, {}),
            "[npu launch] two windows share bytes: [0x100000000000, 0x100000000040) and "
            "[0x100000000020, 0x100000000040).");
  EXPECT_EQ(refused({low}, {}),
            "[npu launch] a window is outside of device memory: [0x1000, 0x1040).");
  EXPECT_EQ(refused({bare}, {}), "[npu launch] a window of 64 bytes has no memory.");
  EXPECT_EQ(refused({bare}, {.mode = Mode::kTimeOnly}), "");
  EXPECT_EQ(refused({}, {.blocks = 0}), "[npu launch] a launch has at least one block: 0.");
  EXPECT_EQ(refused({}, {.mode = Mode::kTime, .schedule = Schedule::kLazy}),
            "[npu launch] time is kept in program order only.");
  EXPECT_EQ(refused({}, {.mode = Mode::kCheck, .flag_order = false}),
            "[npu launch] check needs the order of flags.");
  program.preset = "edge16";
  EXPECT_EQ(refused({}, {}),
            "[npu launch] kernel k is made for preset edge16: this machine is dc16.");
}

// Programs that keep the order of flags do the same through bounded queues.
TEST(Launches, BoundedQueuesGiveTheSame) {
  EXPECT_EQ(Result("SLDP s1, #0\nLA s4, ub:0x20\nLD s4, s1, #1, #31, #0, #0, #0\nSET LD>S, #0\n"
                   "WAIT LD>S, #0\nSALU.add s4, s4, #4\nSLD s10, s4",
                   {.flag_order = false}),
            8u);
  // A WAIT before its SET is served late.
  EXPECT_EQ(Result("SLDP s1, #0\nLA s4, ub:0x20\nWAIT LD>VE, #0\nVBINS.add.i32 s4, s4, s1, #1, #7, "
                   "#0, #0\nLD s4, s1, #1, #28, #0, #0, #0\nSET LD>VE, #0\nBAR all\nSLD s10, s4",
                   {.flag_order = false}),
            7u);
}

}  // namespace
}  // namespace frazil::npu
