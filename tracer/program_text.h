// Programs as text. Called by tests, dumps and whoever looks at what was recorded. Invariant:
// ParseProgram(Print(p)) is p, bit for bit; which calls share a record is not told.
//
//   program (f32[64,10], f32[10], scalar i64) {
//     constant c0 = scalar f32 3f800000
//     constant c1 = i32[2] "0100000002000000"
//     %0 = add p0, p1 : f32[64,10]  # train.py:12
//     %1 = call silu %0 : f32[64,10] = program (f32[64,10]) {
//       %0 = exp p0 : f32[64,10]
//       %1 = multiply p0, %0 : f32[64,10]
//       return %1
//     }
//     cut
//     %2 = sum %1 {2, 0} : f32[64]
//     number p2 is 7  # train.py:13
//     indices c1 from 0 to 64 for "take" of "rows"
//     cut with precision tf32
//     tape add (cell 1 f32[10], none f32[64,10]) saves (%0 by cell 1, none, none)
//     write p1 = %1
//     return %2 by made 0
//   }
//
// p0, p1, ... are the parameters (none: it may be undefined), c0, ... the constants with their bits
// or the bytes of their memory, %0, ... the results. Loops that test their condition, which scripts
// alone have, are printed (`call while`), not parsed.
#pragma once

#include <string>
#include <string_view>

#include "tracer/program.h"

#pragma GCC visibility push(default)
namespace frazil::tracer {

// An error only where a constant's device cannot be read.
StatusOr<std::string> Print(const Program& program);
StatusOr<Program> ParseProgram(std::string_view text);
// Into the folder that FRAZIL_DUMP names, if any: program0.txt, ... What cannot be written is told
// by the compiler, which writes there next.
void Dump(const Program& program);

}  // namespace frazil::tracer
#pragma GCC visibility pop
