// Runs a frozen program: makes its calls again, through core::Apply. So they are eager, recorded,
// taped or batched as those of any other function are. Called by frozen/loaded.cc and the tests.
// Invariants: nothing is written before all that is written has been computed; a result is let go
// of behind the last call that takes it.
#pragma once

#include <string>
#include <vector>

#include "core/tensor.h"
#include "frozen/program.h"
#include "tracer/script_builder.h"

namespace frazil::frozen {

// What a program runs on: cells in the order of its inputs and of its tensors.
struct Cells {
  absl::Span<Tensor*const> inputs, tensors;
};

// What calls of one line took, of the program itself, bodies and loops included.
struct CallTime {
  std::string name, origin;
  double seconds = 0;
  int64_t times = 0;
};

// `name`: of the program, for errors. `times` (may be null): each call is waited for and counted.
// `builder` (may be null) learns from it.
Status Run(const Program& program, std::string_view name, const Cells& cells,
           std::vector<Tensor>* outputs, std::vector<CallTime>* times = nullptr,
           tracer::ScriptBuilder* builder = nullptr);

// Of a number that asks for it.
bool AreOne(const Number& number, const Cells& cells);

// "f32[batch,64]".
std::string Describe(const Program& program, const Program::Named& named);
// "batch is from 1 to 64, a multiple of 8"; without an end "batch is at least 1".
std::string Describe(const Program::Symbol& symbol);

}  // namespace frazil::frozen
