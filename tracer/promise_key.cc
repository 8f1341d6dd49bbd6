#include "tracer/promise_key.h"

namespace frazil::tracer {
namespace {

uint64_t Pointer(const void* p) { return reinterpret_cast<uintptr_t>(p); }

// For each cell the first cell with the same value, where there are many cells.
class FirstWith {
 public:
  explicit FirstWith(Cells cells) : cells_(cells) {
    size_t size = 32;
    while (size < 2 * cells.size()) size *= 2;
    table_.resize(size);
  }
  uint32_t Index(uint32_t i) {
    const Value* v = cells_[i]->value();
    for (size_t at = (Pointer(v) * 0x9E3779B97F4A7C15u) >> 20;; ++at) {
      uint32_t& slot = table_[at & (table_.size() - 1)];
      if (slot == 0) slot = i + 1;
      if (cells_[slot - 1]->value() == v) return slot - 1;
    }
  }

 private:
  Cells cells_;
  absl::InlinedVector<uint32_t, 256> table_;  // index + 1; 0: empty
};

// Values that are one in this call were one in the recording, and the reverse: the words of a cell
// name the first with its value, and the first that is the same cell.
template <typename Index>
void AddCells(Cells cells, Words* words, const Index& first) {
  for (uint32_t i = 0; i < cells.size(); ++i) {
    const Tensor& t = *cells[i];
    if (!t.defined()) {
      words->push_back(0);
      continue;
    }
    const Value& v = *t.value();
    const uint32_t same = first(i);
    uint32_t cell = i;
    if (__builtin_expect(same != i, 0)) {
      for (cell = same; cells[cell] != cells[i]; ++cell) {
      }
    }
    const uint64_t node = t.node() ? static_cast<uint64_t>(t.node()->kind) + 1 : 0;
    const uint64_t level = t.node() ? static_cast<uint64_t>(t.node()->level) : 0;
    // The id, not the pointer: layouts come and go, ids are never used twice.
    words->push_back(v.layout->id ^ static_cast<uint64_t>(v.dtype) << 56);
    words->push_back(static_cast<uint64_t>(same) << 40 | uint64_t{cell} << 16 |
                     uint64_t{v.device.word} << 8 | uint64_t{level > 0} << 7 | node << 1 |
                     v.immediate);
    if (level > 0) words->push_back(level);
  }
}

void AddAllCells(Cells cells, Words* words) {
  if (cells.size() > 8) {
    FirstWith first(cells);
    return AddCells(cells, words, [&](uint32_t i) { return first.Index(i); });
  }
  const Value* values[8];
  for (size_t i = 0; i < cells.size(); ++i) values[i] = cells[i]->value();
  AddCells(cells, words, [&](uint32_t i) {
    uint32_t j = 0;
    while (values[j] != values[i]) ++j;
    return j;
  });
}

}  // namespace

void AddGuards(Cells cells, Words* words) {
  AddAllCells(cells, words);
  words->push_back(ThreadWord());
}

size_t HashWords::operator()(absl::Span<const uint64_t> words) const {
  uint64_t h = words.size();
  for (uint64_t w : words) {
    h = (h ^ w) * 0x9E3779B97F4A7C15u;
    h ^= h >> 32;
  }
  return h;
}

}  // namespace frazil::tracer
