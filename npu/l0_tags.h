// What the fractals of L0A, L0B and L0C hold: the type and the place in the tile they were written
// with. Called by the functional machine. Invariant: a tile that passes Read has the bytes of the
// elements it asks for.
#pragma once

#include <vector>

#include "npu/access.h"

namespace frazil::npu {

class L0Tags {
 public:
  void Reset() {
    for (auto& tags : tags_) tags.clear();
  }
  // Checks the tiles that the instruction reads and notes those that it writes. Only XA, XB, MMUL
  // and DR have any.
  bool On(const Issue& issue, Fault* fault);

 private:
  // Fractal (row, col) of a tile of elements of `type`; type kNumTypes: never written.
  struct Tag {
    uint8_t type = kNumTypes;
    uint16_t row = 0, col = 0;
  };
  struct Tile {
    Space space;
    int operand;
    uint64_t address;
    Type type;
    int64_t rows, cols;  // in fractals
    bool by_column;      // order of the fractals: columns of fractals follow each other (L0C)
  };
  void Write(const Tile& tile);
  bool Read(const Tile& tile, Fault* fault);
  Tag* Fractals(const Tile& tile);

  std::array<std::vector<Tag>, kNumSpaces> tags_;
};

}  // namespace frazil::npu
