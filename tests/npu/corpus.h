// Emitted programs with all it takes to launch them: random kernels, the kernels of real graphs and
// matrix products, on two presets. Called by the tests of the emitter and the checker. Invariant:
// deterministic; every program is what the emitter makes today, on inputs without special values.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "npu/simulator.h"

namespace frazil::npu {

struct CorpusProgram {
  struct Memory {
    uint64_t gm;
    DType dtype;
    bool writable;
    std::vector<char> bytes;
  };

  std::string name;
  Preset preset;
  Program program;
  std::vector<uint64_t> params;
  std::vector<Memory> memory;  // a window each, in the order of the parameters
};

std::vector<CorpusProgram> MakeCorpus();

// Other inputs for the same launch; 0: those of the corpus.
void FillMemory(uint64_t seed, CorpusProgram* program);

struct CorpusResult {
  std::optional<Fault> fault;
  std::vector<std::vector<char>> bytes;  // of each memory afterwards
};
// Launches `code` as the program.
CorpusResult RunCorpus(const CorpusProgram& c, const Program& code, const LaunchOptions& options);

}  // namespace frazil::npu
