#include "core/layout.h"

#include <array>
#include <limits>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "core/check.h"

namespace frazil {
namespace {

using Key = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

// Process-wide and never destroyed: layouts outlive every value.
struct Table {
  absl::Mutex mutex;
  absl::flat_hash_map<Key, std::unique_ptr<Layout>> records ABSL_GUARDED_BY(mutex);
};
Table& GlobalTable() {
  static Table* table = new Table;
  return *table;
}

std::array<int64_t, kMaxRank> DenseStrides(Dims dims) {
  std::array<int64_t, kMaxRank> strides{};
  int64_t step = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = dims[i] == 1 ? 0 : step;
    step *= dims[i] == 0 ? 1 : dims[i];
  }
  return strides;
}

const Layout* Find(Dims dims, Dims strides, const Layout* shape) {
  Table& table = GlobalTable();
  absl::MutexLock lock(&table.mutex);
  auto& slot = table.records[Key({dims.begin(), dims.end()}, {strides.begin(), strides.end()})];
  if (!slot) {
    slot = std::make_unique<Layout>();
    slot->rank = static_cast<int>(dims.size());
    slot->dense = shape == nullptr;
    slot->size = 1;
    slot->id = static_cast<uint32_t>(table.records.size());
    slot->shape = shape ? shape : slot.get();
    for (int i = 0; i < slot->rank; ++i) {
      slot->extents[i] = dims[i];
      slot->strides_[i] = strides[i];
      slot->size *= dims[i];
    }
  }
  return slot.get();
}

}  // namespace

const Layout* Dense(Dims dims) {
  FZ_CHECK(dims.size() <= kMaxRank);
  const auto strides = DenseStrides(dims);
  return Find(dims, {strides.data(), dims.size()}, nullptr);
}

const Layout* Intern(Dims dims, Dims strides) {
  const Layout* dense = Dense(dims);
  if (dense->size == 0) return dense;
  std::array<int64_t, kMaxRank> fixed{};
  bool same = true;
  for (size_t i = 0; i < dims.size(); ++i) {
    fixed[i] = dims[i] == 1 ? 0 : strides[i];
    same &= fixed[i] == dense->strides_[i];
  }
  return same ? dense : Find(dims, {fixed.data(), dims.size()}, dense);
}

const Layout* Scalar0d() {
  static const Layout* layout = Dense({});
  return layout;
}

Status CheckDims(std::string_view op, Dims dims, int item_size) {
  const std::string name(op);
  if (dims.size() > kMaxRank) {
    return ValueError("[", name, "] rank ", dims.size(), " is over the limit of ", kMaxRank,
                      ": shape ", ToString(dims), ".");
  }
  int64_t bytes = item_size;
  bool empty = false, overflow = false;
  for (int64_t d : dims) {
    if (d < 0)
      return ValueError("[", name, "] negative extent ", d, " in shape ", ToString(dims), ".");
    empty |= d == 0;
    overflow |= __builtin_mul_overflow(bytes, d == 0 ? 1 : d, &bytes);
  }
  if (overflow && !empty) {
    return MemoryError("[", name, "] shape ", ToString(dims),
                       " has more bytes than an address can count.");
  }
  return absl::OkStatus();
}

StatusOr<const Layout*> BroadcastShapes(std::string_view op, const Layout* a, const Layout* b) {
  a = a->shape;
  b = b->shape;
  if (a == b) return a;
  const int rank = std::max(a->rank, b->rank);
  std::array<int64_t, kMaxRank> out{};
  for (int i = 0; i < rank; ++i) {
    const int ia = i - (rank - a->rank), ib = i - (rank - b->rank);
    const int64_t da = ia < 0 ? 1 : a->extents[ia], db = ib < 0 ? 1 : b->extents[ib];
    if (da != db && da != 1 && db != 1) {
      return ValueError("[", std::string(op), "] shapes do not broadcast: ", ToString(a->dims()),
                        " and ", ToString(b->dims()), " (", da, " vs ", db, ").");
    }
    out[i] = da == 1 ? db : da;
  }
  return Dense({out.data(), static_cast<size_t>(rank)});
}

StatusOr<int> CheckAxis(std::string_view op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) {
    return IndexError("[", std::string(op), "] axis ", axis, " is out of range for rank ", rank,
                      ".");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

const Layout* BroadcastLayout(const Layout* from, const Layout* to) {
  if (from->shape == to->shape) return from;
  std::array<int64_t, kMaxRank> strides{};
  const int shift = to->rank - from->rank;
  for (int i = 0; i < from->rank; ++i) {
    strides[i + shift] = from->extents[i] == 1 ? 0 : from->strides_[i];
  }
  return Intern(to->dims(), {strides.data(), static_cast<size_t>(to->rank)});
}

const Layout* ReshapeView(const Layout* from, Dims dims) {
  if (from->dense) return Dense(dims);
  // Walk both shapes in groups of equal element count; inside a group the old axes must be one run.
  std::array<int64_t, kMaxRank> strides{};
  int i = 0;
  size_t j = 0;
  while (i < from->rank || j < dims.size()) {
    int64_t old_n = i < from->rank ? from->extents[i] : 1, new_n = j < dims.size() ? dims[j] : 1;
    const int i0 = i++;
    const size_t j0 = j++;
    while (old_n != new_n) {
      if (old_n < new_n) {
        if (i >= from->rank) return nullptr;
        old_n *= from->extents[i++];
      } else {
        if (j >= dims.size()) return nullptr;
        new_n *= dims[j++];
      }
    }
    int64_t step = 0;  // stride of the innermost axis of the group that is not of extent 1
    int64_t expect = 0;
    for (int k = std::min(i, from->rank) - 1; k >= i0; --k) {
      if (from->extents[k] == 1) continue;
      if (expect == 0) {
        step = from->strides_[k];
      } else if (from->strides_[k] != expect) {
        return nullptr;
      }
      expect = from->strides_[k] * from->extents[k];
      if (expect == 0) {  // broadcast axis: only other broadcast axes may join it
        for (int m = k - 1; m >= i0; --m) {
          if (from->extents[m] != 1 && from->strides_[m] != 0) return nullptr;
        }
        break;
      }
    }
    for (size_t k = std::min(j, dims.size()); k-- > j0;) {
      strides[k] = dims[k] == 1 ? 0 : step;
      step *= dims[k];
    }
  }
  return Intern(dims, {strides.data(), dims.size()});
}

std::string ToString(Dims dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

}  // namespace frazil
