// The corpus of emitted programs: right under every schedule, and every small mistake in them is
// found. FRAZIL_NIGHTLY runs all of it, otherwise a sample.
#include "tests/npu/corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "core/str.h"
#include "npu/asm.h"
#include "npu/lint.h"
#include "tests/npu/mutants.h"

namespace frazil::npu {
namespace {

bool Nightly() { return std::getenv("FRAZIL_NIGHTLY") != nullptr; }

const std::vector<CorpusProgram>& Corpus() {
  static const auto* corpus = new std::vector<CorpusProgram>(MakeCorpus());
  return *corpus;
}

LaunchOptions Check(Schedule schedule = Schedule::kProgram, uint64_t seed = 0) {
  LaunchOptions options;
  options.mode = Mode::kCheck;
  options.schedule = schedule;
  options.seed = seed;
  return options;
}

TEST(NpuCorpus, HasTwoHundredPrograms) {
  EXPECT_GE(Corpus().size(), 200u);
  std::set<std::string> names, classes;
  size_t instructions = 0;
  for (const CorpusProgram& c : Corpus()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    classes.insert(c.program.meta.kernel_class);
    instructions += c.program.code.size();
  }
  EXPECT_EQ(classes, (std::set<std::string>{"COL", "EW", "GEMM", "ROW"}));
  std::printf("%zu programs, %zu instructions\n", Corpus().size(), instructions);
}

TEST(NpuCorpus, IsRightUnderEverySchedule) {
  for (const CorpusProgram& c : Corpus()) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(Errors(c.program, c.preset), "");
    const CorpusResult want = RunCorpus(c, c.program, Check());
    ASSERT_FALSE(want.fault) << want.fault->Text();
    std::vector<LaunchOptions> runs = {Check(Schedule::kTiming), Check(Schedule::kEager),
                                       Check(Schedule::kLazy)};
    for (uint64_t seed = 1; seed <= (Nightly() ? 10 : 2); ++seed)
      runs.push_back(Check(Schedule::kRandom, seed));
    for (const LaunchOptions& options : runs) {
      const CorpusResult have = RunCorpus(c, c.program, options);
      ASSERT_FALSE(have.fault) << have.fault->Text() << Disassemble(c.program);
      ASSERT_EQ(have.bytes, want.bytes);
    }
    LaunchOptions bare = Check(Schedule::kRandom, 7);
    bare.mode = Mode::kRun;
    ASSERT_EQ(RunCorpus(c, c.program, bare).bytes, want.bytes);
  }
}

// --- mutants
// ---------------------------------------------------------------------------------------

struct Tally {
  int64_t mutants = 0, faults = 0, lint = 0, results = 0, equivalent = 0, unseen = 0;
  std::map<std::string_view, int64_t> codes;
  std::vector<std::string> survivors;

  int64_t judged() const { return mutants - equivalent - unseen; }
  std::string Text(MutantKind kind) const {
    std::string text =
        StrCat(Name(kind), ": ", mutants, " mutants, ", equivalent, " equivalent, ", unseen,
               " without effect on any input, by fault ", faults, ", by result ", results,
               ", by lint ", lint, ", survivors ", survivors.size(), " [");
    for (const auto& [code, n] : codes) StrAppend(&text, " ", code, " ", n);
    return text + " ]";
  }
};

// A flag less is never equivalent: no flag stands where the order follows from others.
bool IsOther(MutantKind kind) {
  return kind == MutantKind::kBuffer || kind == MutantKind::kShift || kind == MutantKind::kRows ||
         kind == MutantKind::kFunction;
}

// Runs on the corpus's inputs, and on others if nothing is found there.
class Judge {
 public:
  explicit Judge(const CorpusProgram& c) {
    for (uint64_t seed = 0; seed < 8; ++seed) {
      inputs_.push_back(c);
      FillMemory(seed, &inputs_.back());
      want_.push_back(RunCorpus(inputs_.back(), c.program, Check()).bytes);
    }
  }

  void Take(const Mutant& m, Tally* tally) {
    ++tally->mutants;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      CorpusProgram& c = inputs_[i];
      std::vector<char> whole;
      if (m.shorter >= 0) {
        auto& bytes = c.memory[size_t(m.shorter)].bytes;
        whole = bytes;
        bytes.resize(bytes.size() - size_t(SizeOf(c.memory[size_t(m.shorter)].dtype)));
      }
      CorpusResult have = RunCorpus(c, m.program, Check());
      if (m.shorter >= 0) {
        auto& bytes = have.bytes[size_t(m.shorter)];
        bytes.insert(bytes.end(), whole.begin() + int64_t(bytes.size()), whole.end());
        c.memory[size_t(m.shorter)].bytes = std::move(whole);
      }
      if (have.fault) {
        ++tally->faults;
        ++tally->codes[Name(have.fault->code)];
        return;
      }
      if (have.bytes != want_[i]) {
        ++tally->results;
        return;
      }
    }
    const CorpusProgram& c = inputs_[0];
    if (!Errors(m.program, c.preset).empty()) {
      ++tally->lint;
    } else if (m.kind == MutantKind::kId
                   ? OrdersAsMuch(c.program, m.program)
                   : m.shorter < 0 && IsOther(m.kind) && WritesNothingElse(c, m)) {
      ++tally->equivalent;
    } else if (IsOther(m.kind) && std::all_of(inputs_.begin(), inputs_.end(),
                                              [&](const auto& c) { return LeavesTheSame(c, m); })) {
      ++tally->unseen;
    } else {
      const std::string at = m.shorter < 0 ? Text(c.program.code[size_t(m.pc)]) : "window";
      tally->survivors.push_back(StrCat(c.name, " pc ", m.pc, ": ", at, ": ", m.text));
    }
  }

 private:
  std::vector<CorpusProgram> inputs_;
  std::vector<std::vector<std::vector<char>>> want_;
};

// Every `step`-th program from the `first` on, at most `limit` mutants of each.
Tally RunMutants(MutantKind kind, size_t step, int64_t limit) {
  Tally tally;
  for (size_t p = size_t(kind) % step; p < Corpus().size(); p += step) {
    Judge judge(Corpus()[p]);
    ForEachMutant(Corpus()[p], kind, limit, [&](const Mutant& m) { judge.Take(m, &tally); });
  }
  std::printf("%s\n", tally.Text(kind).c_str());
  for (const std::string& s : tally.survivors) std::printf("  survives: %s\n", s.c_str());
  std::fflush(stdout);
  return tally;
}

TEST(NpuMutants, EveryFlagIsNeeded) {
  for (const MutantKind kind : {MutantKind::kSet, MutantKind::kWait, MutantKind::kPair}) {
    const Tally tally = RunMutants(kind, Nightly() ? 1 : 3, Nightly() ? 0 : 20);
    EXPECT_GT(tally.mutants, 500);
    EXPECT_EQ(tally.faults, tally.mutants) << Name(kind);
    for (const auto& [code, n] : tally.codes) {
      EXPECT_TRUE(code.substr(0, 4) == "RACE" || code.substr(0, 4) == "FLAG" || code == "DEADLOCK")
          << code;
    }
  }
}

// What survives of all mutants, looked at: a maximum, any or all over many elements that a few
// other elements do not change; comparisons and clamps in random kernels that the mistake does not
// push over the edge; another buffer with the same elements (both halves of a block read the same
// right operand, blocks beside each other the same left one); a constant that is there from the
// last tile.
TEST(NpuMutants, OtherMistakesAreFound) {
  int64_t judged = 0, survivors = 0;
  for (int k = int(MutantKind::kId); k < int(MutantKind::kCount); ++k) {
    const Tally tally = RunMutants(MutantKind(k), Nightly() ? 1 : 3, Nightly() ? 100 : 6);
    judged += tally.judged();
    survivors += int64_t(tally.survivors.size());
    EXPECT_GT(tally.mutants, 100) << Name(MutantKind(k));
    // An instruction whose results nothing needs should not have been emitted.
    if (MutantKind(k) != MutantKind::kId && MutantKind(k) != MutantKind::kRows) {
      EXPECT_EQ(tally.equivalent, 0) << Name(MutantKind(k));
    }
  }
  EXPECT_GT(judged, 2000);
  EXPECT_LE(survivors * 100, judged);
}

}  // namespace
}  // namespace frazil::npu
