// frazil-npu, called as a function.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "bindings/cli/npu.h"
#include "core/str.h"

namespace frazil::cli {
namespace {

namespace fs = std::filesystem;

class Cli : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / StrCat("frazil_npu_cli_", ::getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string Path(std::string_view name) const { return (folder_ / name).string(); }
  std::string Write(std::string_view name, std::string_view bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  std::string Read(std::string_view name) const {
    std::ifstream file(Path(name), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
  static Outcome Run(std::vector<std::string> args) { return RunNpu(args); }
  // Of a command that works and says nothing on the standard error.
  static std::string Output(std::vector<std::string> args) {
    const Outcome outcome = RunNpu(args);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    return outcome.out;
  }
  // The message of a command line that is wrong.
  static std::string UsageError(std::vector<std::string> args) {
    const Outcome outcome = RunNpu(args);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    return outcome.err.substr(0, outcome.err.find('\n'));
  }
  static std::string Failure(std::vector<std::string> args) {
    const Outcome outcome = RunNpu(args);
    EXPECT_EQ(outcome.status, 1);
    return outcome.err;
  }

  const std::string listing_ = StrCat(FRAZIL_NPU_GOLDENS, "/relu_axpb.snpu.s");
  fs::path folder_;
};

TEST_F(Cli, AssemblesAndDisassembles) {
  const std::string file = Path("a.snpu");
  EXPECT_EQ(Output({"as", listing_, "-o", file}), "");
  EXPECT_EQ(Read("a.snpu").substr(0, 4), "SNPU");
  const std::string text = Output({"dis", file});
  EXPECT_EQ(text, Output({"dis", listing_}));
  EXPECT_EQ(Output({"as", Write("b.s", text)}), Read("a.snpu"));
  const std::string words = Output({"dis", "--words", file});
  EXPECT_NE(words.find("; 5 0x0200100000008000\n"), words.npos);
  EXPECT_EQ(Output({"as", Write("c.s", words)}), Read("a.snpu"));
}

TEST_F(Cli, Lints) {
  EXPECT_EQ(Output({"lint", listing_}), "");
  const Outcome outcome = Run({"lint", Write("a.s", "SET VE>LD, #0\nHALT")});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out,
            "error at pc 1, HALT: FLAG_LEAK: a flag is still set at the end of the block: VE>LD "
            "#0\n");
  // A smaller machine has less memory.
  const std::string small = Write("b.s", "LA s1, ub:0x20000\nVDUP.f32 s1, #0, #1, #8, #0\nHALT");
  EXPECT_EQ(Output({"lint", small}), "");
  EXPECT_NE(Run({"lint", small, "--preset", "edge16"}).out.find("LOCAL_OOB"), std::string::npos);
}

TEST_F(Cli, Runs) {
  std::vector<float> x(2 * 8192);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i % 100) - 50;
  std::string bytes(x.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), x.data(), bytes.size());
  const std::string y = Path("y.bin");
  const Outcome outcome =
      Run({"run", listing_, "--gm", StrCat("x=", Write("x.bin", bytes)), "--gm", "y=zeros:0x10000",
           "--set", "ntiles=2", "--set", "w=2.5", "--set", "b=-1", "--dump", StrCat("y=", y)});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::string got = Read("y.bin");
  ASSERT_EQ(got.size(), bytes.size());
  for (size_t i = 0; i < x.size(); ++i) {
    float value;
    std::memcpy(&value, got.data() + i * sizeof value, sizeof value);
    ASSERT_EQ(value, std::max(0.0f, x[i] * 2.5f - 1)) << i;
  }
}

TEST_F(Cli, RandomDataIsTheSameEveryTime) {
  const auto run = [&](std::string_view seed, std::string_view data) {
    return Run({"run", listing_, "--gm", StrCat("x=", data), "--gm", "y=zeros:32768", "--set",
                "ntiles=1", "--set", "w=1", "--set", "b=0", "--seed", std::string(seed), "--dump",
                "x=-"})
        .out;
  };
  EXPECT_EQ(run("1", "random:32768"), run("1", "random:32768"));
  EXPECT_NE(run("1", "random:32768"), run("2", "random:32768"));
  const std::string floats = run("1", "random.f32:32768");
  ASSERT_EQ(floats.size(), 32768);
  float least = 1, greatest = -1;
  for (size_t i = 0; i < floats.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, floats.data() + i, sizeof value);
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  EXPECT_GE(least, -1);
  EXPECT_LT(least, -0.99);
  EXPECT_GT(greatest, 0.99);
  EXPECT_LT(greatest, 1);
}

TEST_F(Cli, MemoryOfTwoParameters) {
  const std::string copy = Write("copy.s",
                                 ".kernel copy params x:gm.r y:gm.w\nSLDP s1, #0\nSLDP s2, #1\n"
                                 "LA s3, ub:0\nLD s3, s1, #1, #16, #0, #0, #0\nSET LD>ST, #0\n"
                                 "SALU.add s2, s2, #16\nWAIT LD>ST, #0\n"
                                 "ST s2, s3, #1, #16, #0, #0\nHALT");
  const std::string out =
      Run({"run", copy, "--gm", StrCat("x=", Write("x.bin", "0123456789abcdef................")),
           "--gm", "y=@x", "--dump", "y=-"})
          .out;
  EXPECT_EQ(out, "0123456789abcdef0123456789abcdef");
}

TEST_F(Cli, FaultsAreTold) {
  const std::string error =
      Failure({"run", listing_, "--gm", "x=zeros:4096", "--gm", "y=zeros:4096", "--set", "ntiles=1",
               "--set", "w=1", "--set", "b=0"});
  EXPECT_EQ(error.substr(0, error.find(':')), "GM_OOB");
  EXPECT_NE(error.find("at pc 16, queue LD, block 0: LD s6, s1, #1, s4, #0, #0, #0\n"), error.npos);
}

TEST_F(Cli, RunsInEveryMode) {
  const std::vector<std::string> base = {"run",   listing_,        "--gm",  "x=random.f32:65536",
                                         "--gm",  "y=zeros:65536", "--set", "ntiles=2",
                                         "--set", "w=2",           "--set", "b=1"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return Run(more);
  };
  EXPECT_EQ(with({}).err, "72 instructions\n");
  EXPECT_EQ(with({"--mode", "check"}).err, "72 instructions\n");
  const std::string want = with({"--dump", "y=-"}).out;
  EXPECT_EQ(want.size(), 65536);
  for (const std::string order : {"timing", "eager", "lazy", "random"}) {
    EXPECT_EQ(with({"--schedule", order, "--dump", "y=-"}).out, want) << order;
    EXPECT_EQ(with({"--mode", "check", "--schedule", order}).status, 0) << order;
  }
  EXPECT_EQ(with({"--any-flag-order", "--dump", "y=-"}).out, want);
  for (const std::string mode : {"time", "time-only"}) {
    const std::string text = with({"--mode", mode}).err;
    EXPECT_EQ(text.substr(0, 17), "72 instructions, ");
    EXPECT_NE(text.find(" cycles on dc16 (cycle-approximate)\n"), text.npos) << text;
  }
  EXPECT_EQ(with({"--format", "json"}).out, "{\"instructions\":72,\"fault\":null}\n");
}

TEST_F(Cli, Reports) {
  const auto report = [&](const std::string& format, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"report",        listing_, "--gm",     "x=zeros:65536", "--gm",
                                     "y=zeros:65536", "--set",  "ntiles=2", "--set",         "w=2",
                                     "--set",         "b=1",    "--format", format};
    args.insert(args.end(), more.begin(), more.end());
    return Output(args);
  };
  const auto holds = [](const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  EXPECT_TRUE(report("text").starts_with("kernel relu_axpb_f32 #"));
  EXPECT_TRUE(holds(report("text"), "cycle-approximate"));
  EXPECT_TRUE(holds(report("json"), "\"kernel\": \"relu_axpb_f32\""));
  EXPECT_TRUE(holds(report("csv"), "\"VBINS.mul.f32 s15, s14, s20, #1, s5, #0, #0\",VE,2,"));
  EXPECT_TRUE(holds(report("perfetto"), "\"traceEvents\""));
  EXPECT_TRUE(holds(report("roofline"), "relu_axpb_f32"));
  EXPECT_TRUE(holds(report("svg"), "<svg"));
  EXPECT_EQ(report("json"), report("json", {"--mode", "time-only"}));
  EXPECT_NE(report("text"), report("text", {"--cold"}));
  EXPECT_EQ(report("json", {"-o", Path("report.json")}), "");
  EXPECT_EQ(Read("report.json"), report("json"));
  EXPECT_NE(Failure({"report", listing_, "--gm", "x=zeros:16", "--gm", "y=zeros:16", "--set",
                     "ntiles=1", "--set", "w=1", "--set", "b=0"})
                .find("GM_OOB"),
            std::string::npos);
}

TEST_F(Cli, FaultsAsJson) {
  const std::string file = Write("a.s", "NOP\nWAIT VE>LD, #0\nSET VE>LD, #0\nHALT");
  const Outcome outcome = Run({"run", file, "--format", "json"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out.substr(0, 46), "{\"instructions\":2,\"fault\":{\"code\":\"FLAG_ORDER\"");
  EXPECT_EQ(Run({"run", file, "--any-flag-order"}).status, 0);
}

TEST_F(Cli, WrongCommandLines) {
  EXPECT_EQ(UsageError({"fly"}), "[frazil-npu] there is no command 'fly'.");
  EXPECT_EQ(UsageError({"as"}), "[frazil-npu] as needs a program.");
  EXPECT_EQ(UsageError({"manual", "x"}), "[frazil-npu] manual takes no program.");
  EXPECT_EQ(UsageError({"dis", "a", "b"}), "[frazil-npu] 'b' is a second program, after 'a'.");
  EXPECT_EQ(UsageError({"dis", "a", "--cold"}), "[frazil-npu] dis has no option '--cold'.");
  EXPECT_EQ(UsageError({"dis", "a", "-o"}), "[frazil-npu] -o needs FILE.");
  EXPECT_EQ(UsageError({"run", "a", "--gm", "x"}), "[frazil-npu] 'x', expected NAME=DATA.");
  EXPECT_EQ(UsageError({"run", "a", "--blocks", "0"}),
            "[frazil-npu] --blocks '0', expected a number above 0.");
  EXPECT_EQ(UsageError({"run", "a", "--mode", "fast"}),
            "[frazil-npu] 'fast', expected one of run, check, time, time-only.");
  EXPECT_EQ(UsageError({"report", "a", "--mode", "check"}),
            "[frazil-npu] report --mode 'check', expected time or time-only.");
  EXPECT_EQ(UsageError({"run", "a", "--format", "csv"}),
            "[frazil-npu] 'csv', expected one of text, json.");
  EXPECT_EQ(Run({}).status, 2);
  EXPECT_EQ(Run({"help"}).status, 0);
}

TEST_F(Cli, WrongArgumentsOfALaunch) {
  const std::vector<std::string> base = {"run", listing_, "--gm", "x=zeros:32768"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), base.begin(), base.end());
    return Failure(more);
  };
  EXPECT_EQ(with({}), "[frazil-npu] parameter 'y' (gm.w) is missing: add --gm y=...\n");
  EXPECT_EQ(with({"--gm", "z=zeros:1"}),
            "[frazil-npu] --gm z: kernel 'relu_axpb_f32' has no such parameter that is memory.\n");
  EXPECT_EQ(with({"--gm", "w=zeros:1"}),
            "[frazil-npu] --gm w: kernel 'relu_axpb_f32' has no such parameter that is memory.\n");
  EXPECT_EQ(with({"--set", "x=1"}),
            "[frazil-npu] --set x: kernel 'relu_axpb_f32' has no such parameter that is a "
            "number.\n");
  EXPECT_EQ(with({"--gm", "x=zeros:1"}), "[frazil-npu] --gm x stands twice.\n");
  EXPECT_EQ(with({"--gm", "y=@z"}),
            "[frazil-npu] --gm y=@z: no parameter of that name has memory before this one.\n");
  EXPECT_EQ(with({"--gm", "y=random.f64:8"}),
            "[frazil-npu] random.f64, expected a type: one of f32, f16, bf16, i8, u8, i32, u32.\n");
  EXPECT_EQ(with({"--gm", "y=zeros:many"}),
            "[frazil-npu] bytes 'many', expected a number of 64 bits.\n");
  EXPECT_EQ(with({"--gm", "y=zeros:8", "--set", "ntiles=x"}),
            "[frazil-npu] --set ntiles 'x', expected a number of 64 bits.\n");
  EXPECT_EQ(with({"--gm", "y=zeros:8", "--set", "ntiles=1", "--set", "w=x"}),
            "[frazil-npu] --set w 'x', expected a number.\n");
  EXPECT_EQ(
      with({"--gm", StrCat("y=", Path("missing"))}),
      StrCat("[frazil-npu] cannot open '", Path("missing"), "': No such file or directory.\n"));
}

TEST_F(Cli, WrongPrograms) {
  EXPECT_EQ(Failure({"as", Write("a.s", "FLY")}),
            "[as] line 1: 'FLY', expected an instruction, a directive or a label with ':' (the "
            "manual lists them).\n");
  EXPECT_EQ(Failure({"dis", Write("b.snpu", "SNPU")}),
            "[load] this is no .snpu file or it is damaged: the file ends too early: 64 bytes are "
            "due, 4 are left.\n");
  EXPECT_EQ(Failure({"lint", Write("c.s", "SBR.always 9")}),
            "[npu] kernel '', pc 0, SBR.always 9: jumps to pc 9 of a program of 1 instructions.\n");
  EXPECT_EQ(Failure({"lint", Path("none.s")}), StrCat("[frazil-npu] cannot open '", Path("none.s"),
                                                      "': No such file or directory.\n"));
}

TEST_F(Cli, AFileOfAnotherMachine) {
  const std::string json = Write("mine.json", R"({"base": "dc16", "name": "mine"})");
  const std::string text = Write("a.s", "HALT"), file = Path("a.snpu");
  EXPECT_EQ(Output({"as", text, "--preset", "dc16", "-o", file}), "");
  EXPECT_EQ(Output({"lint", file}), "");
  std::string bytes = Read("a.snpu");
  EXPECT_EQ(Output({"as", text, "--preset", json, "-o", file}), "");
  EXPECT_NE(Read("a.snpu"), bytes);
  EXPECT_EQ(Output({"lint", file, "--preset", json}), "");
  EXPECT_EQ(Run({"lint", file}).status, 1);  // nobody knows that machine
}

}  // namespace
}  // namespace frazil::cli
