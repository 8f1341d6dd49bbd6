#include "core/layout.h"

#include <algorithm>
#include <array>
#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_join.h"
#include "core/check.h"
#include "core/settings.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "core/threads/tls.h"

namespace frazil {
namespace {

// What a layout is found by.
struct Key {
  Dims dims, strides;

  template <typename H>
  friend H AbslHashValue(H h, const Key& k) {
    return H::combine(std::move(h), k.dims, k.strides);
  }
};
Key KeyOf(const Layout* l) { return {l->dims(), l->strides()}; }
const Key& KeyOf(const Key& k) { return k; }
struct HashKey {
  using is_transparent = void;
  template <typename T>
  size_t operator()(const T& x) const {
    return absl::HashOf(KeyOf(x));
  }
};
struct EqualKeys {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const A& a, const B& b) const {
    const Key &x = KeyOf(a), &y = KeyOf(b);
    return x.dims == y.dims && x.strides == y.strides;
  }
};

// Process-wide and never destroyed: layouts outlive every value.
struct Table {
  Mutex mutex;
  absl::flat_hash_set<Layout*, HashKey, EqualKeys> records ABSL_GUARDED_BY(mutex);
  uint64_t made ABSL_GUARDED_BY(mutex) = 0;
  int64_t kept_for_ever ABSL_GUARDED_BY(mutex) = 0, bytes ABSL_GUARDED_BY(mutex) = 0;
};
Table& GlobalTable() {
  static Table* table = [] {
    auto* made = new Table;
    HoldAcrossFork(ForkOrder::kMemory, &made->mutex);
    return made;
  }();
  return *table;
}

std::array<int64_t, kMaxRank> DenseStrides(Dims dims) {
  std::array<int64_t, kMaxRank> strides{};
  uint64_t step = 1;  // which may wrap: shapes that are too large are refused later
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = dims[i] == 1 ? 0 : static_cast<int64_t>(step);
    step *= dims[i] == 0 ? 1 : static_cast<uint64_t>(dims[i]);
  }
  return strides;
}

int64_t BytesOf(int rank) { return static_cast<int64_t>(sizeof(Layout)) + 16 * rank; }

Layout* Make(Dims dims, Dims strides, const Layout* shape) {
  const int rank = static_cast<int>(dims.size());
  char* memory = static_cast<char*>(::operator new(BytesOf(rank)));
  auto* numbers = reinterpret_cast<int64_t*>(memory + sizeof(Layout));
  std::copy(dims.begin(), dims.end(), numbers);
  std::copy(strides.begin(), strides.end(), numbers + rank);
  auto* l = new (memory) Layout{};
  l->rank = rank;
  l->dense = shape == nullptr;
  uint64_t size = 1;
  for (const int64_t d : dims) size *= static_cast<uint64_t>(d);
  l->size = static_cast<int64_t>(size);
  l->shape = shape ? shape : l;
  l->extents = numbers;
  l->strides_ = numbers + rank;
  return l;
}

void Free(Table* table, const Layout* layout) ABSL_EXCLUSIVE_LOCKS_REQUIRED(table->mutex) {
  table->records.erase(const_cast<Layout*>(layout));
  table->bytes -= BytesOf(layout->rank);
  layout->~Layout();
  ::operator delete(const_cast<Layout*>(layout));
}

// Ends a hold for good.
void Drop(const Layout* layout) {
  int32_t n = layout->holders.load(std::memory_order_acquire);
  while (n > 1) {
    if (layout->holders.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) return;
  }
  // The last hold ends under the lock, where nobody can find the layout meanwhile.
  Table& table = GlobalTable();
  MutexLock lock(&table.mutex);
  while (layout->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    const Layout* shape = layout->shape;
    const bool more = shape != layout && shape->counted;
    Free(&table, layout);
    if (!more) break;
    layout = shape;
  }
}

// What a thread was given or let go last: it holds these for a while, so that plain pointers stay
// good.
constexpr size_t kRecent = 8192;
struct Recent {
  std::array<const Layout*, kRecent> layouts{};
  size_t at = 0;

  // Takes over a hold.
  void Push(const Layout* layout) {
    const Layout* old = std::exchange(layouts[at], layout);
    at = (at + 1) % kRecent;
    if (old) Drop(old);
  }
  ~Recent();
};
FZ_HOT_TLS Recent* t_recent = nullptr;
FZ_HOT_TLS bool t_recent_ended = false;

Recent::~Recent() {
  t_recent = nullptr;
  t_recent_ended = true;
  for (const Layout* l : layouts) {
    if (l) Drop(l);
  }
}

void KeepForAWhile(const Layout* layout) {
  if (!t_recent) {
    if (t_recent_ended) return Drop(layout);  // the thread ends
    static thread_local std::unique_ptr<Recent> recent = std::make_unique<Recent>();
    t_recent = recent.get();
  }
  t_recent->Push(layout);
}

const Layout* Find(Dims dims, Dims strides, const Layout* shape) {
  Table& table = GlobalTable();
  const Layout* found;
  {
    MutexLock lock(&table.mutex);
    const auto it = table.records.find(Key{dims, strides});
    if (it != table.records.end()) {
      found = *it;
      if (!found->counted) return found;
      found->holders.fetch_add(1, std::memory_order_relaxed);
    } else {
      Layout* made = Make(dims, strides, shape);
      made->id = ++table.made;
      made->counted = made->rank > 0 && table.kept_for_ever >= Get(Setting::k_layout_entries);
      table.bytes += BytesOf(made->rank);
      table.records.insert(made);
      if (shape) Retain(shape);
      if (!made->counted) {
        ++table.kept_for_ever;
        return made;
      }
      made->holders.store(1, std::memory_order_relaxed);
      found = made;
    }
  }
  KeepForAWhile(found);
  return found;
}

}  // namespace

void RetainCounted(const Layout* layout) {
  layout->holders.fetch_add(1, std::memory_order_relaxed);
}

void ReleaseCounted(const Layout* layout) {
  int32_t n = layout->holders.load(std::memory_order_acquire);
  while (n > 1) {
    if (layout->holders.compare_exchange_weak(n, n - 1, std::memory_order_acq_rel)) return;
  }
  KeepForAWhile(layout);
}

LayoutStats GetLayoutStats() {
  Table& table = GlobalTable();
  MutexLock lock(&table.mutex);
  return {static_cast<int64_t>(table.records.size()), table.bytes};
}

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

Reach ReachOf(const Layout& layout) {
  Reach reach;
  if (layout.size == 0) return reach;
  reach.high = 1;
  for (int i = 0; i < layout.rank; ++i) {
    const int64_t way = layout.strides_[i] * (layout.extents[i] - 1);
    (way < 0 ? reach.low : reach.high) += way;
  }
  return reach;
}

std::string ToString(Dims dims) { return absl::StrCat("[", absl::StrJoin(dims, ","), "]"); }

}  // namespace frazil
