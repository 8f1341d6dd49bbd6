// Frozen programs: what fz.export writes into a .frz file and frozen/run.cc does again, on any
// machine, device and size. A recorded program (tracer/program.h) holds layouts and values; a frozen
// one holds neither: calls of ops and composites by name, with attributes that may be expressions
// over symbolic sizes (frozen/expression.h), over parameters, tensors of the file and numbers. So
// calls are made again through core::Apply, where everything is inferred anew.
//
//   frazil-program 1
//   symbol batch from 1 to 1024
//   symbol width from 8 to 64 by 8
//   input "x" f32[batch,64]
//   weight "fc1.weight" f32[64,32]
//   constant "constant.0" i64[3]
//   number f32 bits 3f800000
//   number f32 value batch * 32
//   number bool same p0, p1
//   program {
//     %0 = matmul p0, t0  # mlp.py:12
//     %1 = call relu %0 with {
//       %0 = less_equal p0, n0
//       return %0
//     }
//     read %1 at "mlp.py:13" {
//       case 1 {
//         write t0 = %0
//         return %1
//       }
//       case 0 {
//         %2, %3, %4 = while 1 of 1 states %0, t1 { ... read %4 at "" { case 1 { next %5 reads %6 } } }
//         %5 = repeat 100 of 1 states %2 { ... return %0 }
//         check %3 from 0 to 10 for "cross_entropy" of "classes"
//         return %5
//       }
//     }
//   }
//
// p0, p1, ... are parameters: of the program its inputs, of a body the operands of its call. t0 ...
// are the tensors of the file, weights and constants in their order, n0 ... the numbers, %0 ...
// results, numbered from the root of the block to where it ends. A block ends with what it returns,
// with a number that is read, behind which its value tells how it goes on, or, in a loop, with its
// next states and the number that asks for another iteration. The results of a loop that tests it
// (while) are the states behind the last iteration, that number, and a bool: false. A result lives until the last call
// that takes it (`dies`), so that a trace may fuse what only other calls take.
//
// Parsed by ParseProgram, which owes nothing to the text: whatever it says, the program that comes
// out names only what is there and is within limits. What attributes say is checked at each call
// (frozen/check.h), for that depends on the operands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/op.h"
#include "core/precision.h"
#include "frozen/expression.h"

namespace frazil::frozen {

struct Ref {
  enum class Kind : uint8_t { kNone, kParameter, kTensor, kNumber, kResult };
  Kind kind = Kind::kNone;
  int32_t index = 0;
};

struct Block;

// In the place of a composite's number: of one that this frazil does not know. Its body is run.
inline constexpr uint32_t kUnknownComposite = ~uint32_t{0};

struct Call {
  enum class Kind : uint8_t { kOp, kComposite, kWhile, kRepeat, kCheck };
  Kind kind = Kind::kOp;
  uint32_t op = 0;  // OpId or CompositeId
  Precision precision = Precision::kDefault;
  std::vector<Ref> operands;
  std::vector<Expression> attrs;          // kCheck: from, to; kRepeat: how often
  int32_t first_result = 0, results = 0;  // their numbers
  std::unique_ptr<Block> body;            // of an iteration; null for a composite that is known
  int32_t states = 0;                     // of a loop: so many first operands, which change
  uint64_t goes_on = 1;                   // kWhile: the outcome that asks for another iteration
  std::string origin, check, of;          // "train.py:12"; kCheck: who asks, of what
  std::vector<int32_t> dies;              // results that nothing behind it takes
};

struct Block {
  enum class End : uint8_t { kReturn, kRead, kNext };
  struct Case {
    uint64_t outcome;
    std::unique_ptr<Block> block;
    std::vector<int32_t> dies;  // what only other cases take
  };
  std::vector<Call> calls;
  End end = End::kReturn;
  Ref read;  // kRead, kNext
  std::string origin;
  std::vector<Case> cases;
  std::vector<Ref> outputs;  // kReturn, kNext: the states
  std::vector<std::pair<Ref, Ref>> writes;
  int32_t results = 0;  // that have numbers at its end
};

// An immediate operand: its bits, a function of a size, rounded to the dtype, or whether two of some
// inputs and tensors are one cell.
struct Number {
  enum class Of : uint8_t { kBits, kValue, kInverse, kRoot, kInverseRoot, kUnbiased, kSame };
  DType dtype{};
  Of of = Of::kBits;
  uint64_t bits = 0;
  Expression size;
  std::vector<Ref> cells;  // kSame
};
// unbiased is n / (n - 1), by which the variance of n samples becomes that of what they are of.
inline constexpr std::string_view kNumberOf[] = {"bits",         "value",    "inverse", "root",
                                                 "inverse_root", "unbiased", "same"};

struct Program {
  struct Symbol {
    std::string name;
    int64_t low, high;
    int64_t multiple_of = 1;
  };
  struct Named {
    std::string name;
    DType dtype{};
    std::vector<Expression> dims;  // of an input symbols or numbers, of a tensor numbers
    bool constant = false;
  };
  std::vector<Symbol> symbols;
  std::vector<Named> inputs, tensors;
  std::vector<Number> numbers;
  Block block;
  int32_t outputs = 0;  // of each end
};

inline constexpr int kFormatVersion = 1;

StatusOr<Program> ParseProgram(std::string_view text);

}  // namespace frazil::frozen
