#include "npu/l0_tags.h"

#include "core/ceil_div.h"
#include "core/str.h"

namespace frazil::npu {
namespace {

Type Accumulator(Type operand) { return IsFloat(operand) ? kF32 : kI32; }

std::string Describe(int type, int64_t row, int64_t col) {
  if (type == kNumTypes) return "nothing";
  return StrCat("fractal (", row, ", ", col, ") of ", Name(Type(type)));
}

}  // namespace

L0Tags::Tag* L0Tags::Fractals(const Tile& tile) {
  const uint64_t size = tile.space == kL0C ? 1024 : 512;
  const uint64_t first = Offset(tile.address) / size;
  std::vector<Tag>& tags = tags_[tile.space];
  const size_t end = size_t(first + uint64_t(tile.rows * tile.cols));
  if (tags.size() < end) tags.resize(end);
  return tags.data() + first;
}

void L0Tags::Write(const Tile& tile) {
  Tag* tag = Fractals(tile);
  for (int64_t i = 0; i < tile.rows * tile.cols; ++i) {
    const int64_t row = tile.by_column ? i % tile.rows : i / tile.cols;
    const int64_t col = tile.by_column ? i / tile.rows : i % tile.cols;
    tag[i] = {uint8_t(tile.type), uint16_t(row), uint16_t(col)};
  }
}

// Parts of a tile may be read: all fractals must lie as far from the first as they were written.
bool L0Tags::Read(const Tile& tile, Fault* fault) {
  const Tag* tag = Fractals(tile);
  const Tag first = tag[0];
  for (int64_t i = 0; i < tile.rows * tile.cols; ++i) {
    if (tag[i].type == kNumTypes && first.type == kNumTypes) continue;  // uninitialised: not here
    const int64_t row = tile.by_column ? i % tile.rows : i / tile.cols;
    const int64_t col = tile.by_column ? i / tile.rows : i % tile.cols;
    if (tag[i].type == tile.type && tag[i].row == first.row + row && tag[i].col == first.col + col)
      continue;
    const uint64_t size = tile.space == kL0C ? 1024 : 512;
    fault->code = FaultCode::kL0Layout;
    fault->operand = tile.operand;
    fault->address = tile.address + uint64_t(i) * size;
    fault->address_end = fault->address + size;
    fault->detail = StrCat("read as ", Describe(tile.type, first.row + row, first.col + col),
                           ", written as ", Describe(tag[i].type, tag[i].row, tag[i].col));
    return false;
  }
  return true;
}

bool L0Tags::On(const Issue& issue, Fault* fault) {
  const auto& v = issue.v;
  const auto fractals = [&](int operand, int64_t unit) {
    return CeilDiv(int64_t(v[size_t(operand)]), unit);
  };
  switch (issue.op) {
    case Op::kXA:
      Write({kL0A, 0, v[0], issue.type(), fractals(2, 16), fractals(3, FractalK(issue.type())),
             false});
      return true;
    case Op::kXB:
      Write({kL0B, 0, v[0], issue.type(), fractals(2, FractalK(issue.type())), fractals(3, 16),
             false});
      return true;
    case Op::kMMUL: {
      const int64_t m = fractals(3, 16), k = fractals(4, FractalK(issue.type())),
                    n = fractals(5, 16);
      const Tile c{kL0C, 0, v[0], Accumulator(issue.type()), m, n, true};
      if (!Read({kL0A, 1, v[1], issue.type(), m, k, false}, fault) ||
          !Read({kL0B, 2, v[2], issue.type(), k, n, false}, fault))
        return false;
      if ((issue.fn & kMatrixAcc) && !Read(c, fault)) return false;
      Write(c);
      return true;
    }
    case Op::kDR:
      return Read({kL0C, 1, v[1], issue.fn & kDrainI32 ? kI32 : kF32, fractals(2, 16),
                   fractals(3, 16), true},
                  fault);
    default:
      return true;
  }
}

}  // namespace frazil::npu
