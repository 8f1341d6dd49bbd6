// Every fault code, raised by a program, with its message: tests/npu/goldens/faults.txt.
// FRAZIL_UPDATE_GOLDENS=1 rewrites it.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "npu/machine.h"
#include "tests/npu/harness.h"

namespace frazil::npu {
namespace {

struct Case {
  std::string_view code, what;
  std::string_view body;
  LaunchOptions options = {};
};

constexpr std::string_view kSetup = R"(
  SLDP s1, #0         ; 4096 bytes that may be read
  SLDP s2, #1         ; 4096 bytes that may be written
  SLI s3, 1024
  LA s4, ub:0x0
  LA s5, ub:0x1000
  LA s6, l1:0x0
  LA s7, l0a:0x0
  LA s8, l0b:0x0
  LA s9, l0c:0x0
  .op "matmul" model.py:12
)";

const LaunchOptions kCheck{.mode = Mode::kCheck};
const LaunchOptions kQueues{.flag_order = false};
const LaunchOptions kTwoBlocks{.mode = Mode::kCheck, .blocks = 2};

const Case kCases[] = {
    {"PC_RANGE", "a jump behind the end", "SBR.always s0, s0, 100"},
    {"ILLEGAL_SPACE", "the matrix unit reads UB", "MMUL.f32 s9, s4, s8, #1, #1, #1"},
    {"ILLEGAL_SPACE", "a tag of no memory", "SLIH s10, 0x70000000\nLD s10, s1, #1, #4, #0, #0, #0"},
    {"MISALIGNED", "a local address", "SALU.add s10, s4, #4\nLD s10, s1, #1, #4, #0, #0, #0"},
    {"MISALIGNED", "a fractal",
     "SALU.add s10, s7, s3\nSALU.sub s10, s10, #16\n"
     "XA.f32 s10, s6, #1, #1, #0"},
    {"MISALIGNED", "a row stride", "VUN.copy.f32 s4, s5, #2, #3, #16, #0"},
    {"LOCAL_OOB", "behind UB",
     "SLI s10, 0x3FFF0\nSALU.add s10, s10, s4\nSALU.add s10, s10, #16\n"
     "SALU.sub s10, s10, s3\nVDUP.f32 s10, s0, #1, s3, #0"},
    {"GM_OOB", "behind a window",
     "SLI s11, 4064\nSALU.add s10, s1, s11\n"
     "SLI s12, 33\nLD s4, s10, #1, s12, #0, #0, #0"},
    {"GM_OOB", "no window", "LD s4, s0, #1, #4, #0, #0, #0"},
    {"GM_PERM", "a store to an input", "ST s1, s4, #1, #4, #0, #0"},
    {"UNINIT_READ", "UB that nothing wrote",
     "LD s4, s1, #1, #12, #0, #0, #0\nSET LD>VE, #0\n"
     "WAIT LD>VE, #0\nVUN.exp.f32 s5, s4, #1, #4, #0, #0",
     kCheck},
    {"UNINIT_READ", "SLD without data", "SLD s10, s4", {.mode = Mode::kTimeOnly}},
    {"RACE_RAW", "a load and its reader",
     "LD s4, s1, #1, s3, #0, #0, #0\n"
     "VUN.exp.f32 s5, s4, #1, #8, #0, #0",
     kCheck},
    {"RACE_RAW", "the scalar unit reads too early", "VDUP.f32 s4, s0, #1, #8, #0\nSLD s10, s4",
     kCheck},
    {"RACE_RAW", "through device memory",
     "VDUP.f32 s4, s0, #1, #8, #0\nBAR all\n"
     "ST s2, s4, #1, #16, #0, #0\nLD s5, s2, #1, #16, #0, #0, #0",
     kCheck},
    {"RACE_WAR", "a buffer filled again",
     "LD s4, s1, #1, s3, #0, #0, #0\nSET LD>VE, #0\n"
     "WAIT LD>VE, #0\nVUN.exp.f32 s5, s4, #1, #8, #0, #0\nLD s4, s1, #1, s3, #0, #0, #0",
     kCheck},
    {"RACE_WAW", "two writers", "LD s4, s1, #1, s3, #0, #0, #0\nVDUP.f32 s4, s0, #1, #8, #0",
     kCheck},
    {"RACE_WAW", "two blocks", "VDUP.f32 s4, s0, #1, #8, #0\nBAR all\nST s2, s4, #1, #16, #0, #0",
     kTwoBlocks},
    {"RACE_WAR", "a block reads what another writes",
     "SCSR s10, #0\nSBR.eq s10, #0, reads\nVDUP.f32 s4, s0, #1, #8, #0\nBAR all\n"
     "ST s2, s4, #1, #16, #0, #0\nHALT\nreads: LD s4, s2, #1, #4, #0, #0, #0",
     kTwoBlocks},
    {"FLAG_ORDER", "in run", "WAIT LD>VE, #3\nSET LD>VE, #3"},
    {"FLAG_ORDER", "in check, where the queues would stand still",
     "WAIT LD>VE, #3\nWAIT VE>LD, #0\nSET VE>LD, #0\nSET LD>VE, #3", kCheck},
    {"FLAG_OVERFLOW", "two SETs", "SET LD>VE, #3\nSET LD>VE, #3"},
    {"FLAG_OVERFLOW", "no order between WAIT and the next SET",
     "SET LD>VE, #3\nWAIT LD>VE, #3\nSET LD>VE, #3\nWAIT LD>VE, #3", kCheck},
    {"FLAG_LEAK", "a SET alone", "SET LD>VE, #3"},
    {"FLAG_LEAK", "at the end of the queues", "SET LD>VE, #3", kQueues},
    {"DEADLOCK", "queues that wait for each other",
     "WAIT LD>VE, #3\nWAIT VE>LD, #0\nSET VE>LD, #0\nSET LD>VE, #3", kQueues},
    {"DEADLOCK", "a full queue",
     "SLI s10, 17\nloop: WAIT LD>VE, #3\nSALU.sub s10, s10, #1\n"
     "SBR.ne s10, #0, loop\nSET LD>VE, #3",
     kQueues},
    {"DEADLOCK", "the scalar unit", "WAIT LD>S, #1\nSET LD>S, #1", kQueues},
    {"SHAPE_LIMIT", "no rows", "VDUP.f32 s4, s0, #0, #1, #0"},
    {"SHAPE_LIMIT", "a large matrix", "SLI s10, 4097\nMMUL.f32 s9, s7, s8, #1, s10, #1"},
    {"SHAPE_LIMIT", "parts of argmax", "VRED.argmax.f32 s4, s5, #1, #1, #0, #0, #1"},
    {"L0_LAYOUT", "another type",
     "LD s6, s1, #1, s3, #0, #0, #0\nXA.f16 s7, s6, #1, #1, #0\n"
     "XB.f32 s8, s6, #1, #1, #0\nMMUL.f32 s9, s7, s8, #1, #1, #1"},
    {"L0_LAYOUT", "another geometry",
     "SLI s10, 32\nLD s6, s1, #1, s3, #0, #0, #0\n"
     "XA.f16 s7, s6, s10, s10, #0\nXB.f16 s8, s6, #16, #1, #0\n"
     "MMUL.f16 s9, s7, s8, s10, #16, #1"},
    {"L0_LAYOUT", "integers drained as floats",
     "LD s6, s1, #1, s3, #0, #0, #0\n"
     "XA.i8 s7, s6, #1, #1, #0\nXB.i8 s8, s6, #1, #1, #0\nMMUL.i8 s9, s7, s8, #1, #1, #1\n"
     "DR.f32 s4, s9, #1, #1, #0, #0"},
    {"OVERLAP", "half of the source",
     "SALU.add s10, s4, #16\nSALU.add s10, s10, #16\n"
     "VUN.neg.f32 s10, s4, #1, #16, #0, #0"},
    {"DTYPE_UNSUPPORTED", "bits of floats", "VBIN.xor.f32 s4, s5, s5, #1, #1, #0, #0, #0"},
    {"DTYPE_UNSUPPORTED", "functions of integers", "VUN.exp.i32 s4, s5, #1, #1, #0, #0"},
    {"INDEX_RANGE", "a parameter", "SLDP s10, #7"},
    {"INDEX_RANGE", "a control register", "SCSR s10, #9"},
    {"TRAP", "the kernel's own", "TRAP #12"},
    {"WATCHDOG", "an endless loop", "loop: SBR.always s0, s0, loop", {.budget = 1000}},
};

std::string Raise(const Case& c) {
  Harness h;
  h.Input(std::vector<char>(4096));
  h.Output(4096);
  return h.FaultOf(StrCat(kSetup, c.body), c.options);
}

// What no text says: instructions that only a program made by hand can hold.
std::string RaiseBy(Instr instr) {
  Program program;
  program.code = {instr, Instr{.op = Op::kHALT}};
  const StatusOr<LaunchResult> result = Launch(program, *FindPreset("dc16"), {}, {}, {});
  return result.ok() && result->fault ? result->fault->Text() : "no fault";
}

std::string RaiseInternal() {
  const Preset preset = *FindPreset("dc16");
  const Windows windows = *Windows::Make({});
  Machine machine(preset, windows);
  Issue issue;
  issue.queue = kVE;  // of NOP, which is not its own
  Fault fault;
  machine.On(issue, false, &fault);
  return fault.Text();
}

TEST(FaultCases, EveryCode) {
  std::string text;
  std::set<std::string> seen;
  const auto add = [&](std::string_view code, std::string_view what, const std::string& fault) {
    EXPECT_EQ(fault.substr(0, fault.find(':')), code) << what << "\n" << fault;
    StrAppend(&text, "# ", what, "\n", fault, fault.back() == '\n' ? "\n" : "\n\n");
    seen.insert(std::string(code));
  };
  for (const Case& c : kCases) add(c.code, c.what, Raise(c));
  add("ILLEGAL_OPCODE", "an operation that does not exist", RaiseBy({.op = Op(200)}));
  add("ILLEGAL_ENCODING", "a flag from a queue to itself",
      RaiseBy({.op = Op::kSET, .a = {Imm(1), Imm(1), Imm(0)}}));
  add("ILLEGAL_ENCODING", "a ninth flag", RaiseBy({.op = Op::kSET, .a = {Imm(1), Imm(2), Imm(8)}}));
  add("ILLEGAL_ENCODING", "BAR of no queue", RaiseBy({.op = Op::kBAR, .a = {Imm(9)}}));
  add("SIM_INTERNAL", "an instruction in the wrong queue", RaiseInternal());
  for (int code = 0; code <= int(FaultCode::kSimInternal); ++code)
    EXPECT_TRUE(seen.contains(std::string(Name(FaultCode(code))))) << Name(FaultCode(code));

  const std::string path = FRAZIL_NPU_GOLDENS "/faults.txt";
  if (std::getenv("FRAZIL_UPDATE_GOLDENS")) {
    std::ofstream(path) << text;
    return;
  }
  std::ifstream file(path);
  std::stringstream want;
  want << file.rdbuf();
  EXPECT_EQ(text, want.str()) << "FRAZIL_UPDATE_GOLDENS=1 rewrites it";
}

}  // namespace
}  // namespace frazil::npu
