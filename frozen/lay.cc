#include "frozen/lay.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "core/memory/storage.h"

namespace frazil::frozen {
namespace {

// Larger ones come from memory, which takes as long either way (a row of 1024 times 1024 x 1024),
// and to turn them while loading would be felt.
constexpr int64_t kMostBytes = 1 << 20;

// What a program does with its tensors.
class Uses {
 public:
  explicit Uses(const Program& program)
      : turned_(program.tensors.size()), otherwise_(program.tensors.size()) {
    Walk(program.block);
    for (const Number& number : program.numbers) {
      for (const Ref& ref : number.cells) Otherwise(ref);
    }
  }

  bool OnlyTurned(size_t tensor) const { return turned_[tensor] && !otherwise_[tensor]; }

 private:
  void Otherwise(const Ref& ref) {
    if (ref.kind == Ref::Kind::kTensor) otherwise_[size_t(ref.index)] = true;
  }

  void Walk(const Block& block) {
    for (const Call& call : block.calls) {
      if (Turns(call)) {
        turned_[size_t(call.operands[0].index)] = true;
        continue;
      }
      for (const Ref& ref : call.operands) Otherwise(ref);
      if (call.body) Walk(*call.body);
    }
    Otherwise(block.read);
    for (const Ref& ref : block.outputs) Otherwise(ref);
    for (const auto& [cell, value] : block.writes) Otherwise(cell), Otherwise(value);
    for (const Block::Case& one : block.cases) Walk(*one.block);
  }

  static bool Turns(const Call& call) {
    return call.kind == Call::Kind::kOp && static_cast<OpId>(call.op) == OpId::k_permute_dims &&
           call.operands[0].kind == Ref::Kind::kTensor && call.attrs.size() == 2 &&
           call.attrs[0].is_constant() && call.attrs[0].constant() == 1;
  }

  std::vector<bool> turned_, otherwise_;
};

// Blocks of which both sides stay in the first-level cache.
constexpr int64_t kBlock = 16;

template <typename T>
void Turn(const char* from, int64_t rows, int64_t cols, char* to) {
  for (int64_t r = 0; r < rows; r += kBlock) {
    for (int64_t c = 0; c < cols; c += kBlock) {
      for (int64_t i = r; i < std::min(r + kBlock, rows); ++i) {
        for (int64_t j = c; j < std::min(c + kBlock, cols); ++j)
          std::memcpy(to + (j * rows + i) * sizeof(T), from + (i * cols + j) * sizeof(T),
                      sizeof(T));
      }
    }
  }
}

void Turn(int64_t size, const char* from, int64_t rows, int64_t cols, char* to) {
  switch (size) {
    case 1:
      return Turn<char[1]>(from, rows, cols, to);
    case 2:
      return Turn<char[2]>(from, rows, cols, to);
    case 4:
      return Turn<char[4]>(from, rows, cols, to);
    case 8:
      return Turn<char[8]>(from, rows, cols, to);
    default:
      return Turn<char[16]>(from, rows, cols, to);
  }
}

}  // namespace

Status LayWeights(const Program& program, absl::Span<Tensor> tensors) {
  const Uses uses(program);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Value& v = *tensors[i].value();
    if (!uses.OnlyTurned(i) || !(v.device == Device()) || !v.ready() || v.layout->rank != 2 ||
        !v.layout->dense || v.immediate)
      continue;
    const int64_t rows = v.dims()[0], cols = v.dims()[1], size = SizeOf(v.dtype);
    const int64_t bytes = rows * cols * size;
    if (rows < 2 || cols < 2 || bytes > kMostBytes) continue;
    FZ_ASSIGN_OR_RETURN(StorageRef memory, Allocate(size_t(bytes)));
    char* const data = memory->data;
    Turn(size, v.data, rows, cols, data);
    const LayoutRef layout = Intern({rows, cols}, {1, rows});
    tensors[i].SetValue(Value::Make(v.dtype, v.device, layout.get(), std::move(memory), data));
  }
  return absl::OkStatus();
}

}  // namespace frazil::frozen
