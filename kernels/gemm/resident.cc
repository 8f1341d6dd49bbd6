#include "kernels/gemm/resident.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "core/caches.h"
#include "core/ceil_div.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

// The tile has eight rows: those of A may lie a power of two apart, where each takes a way of the
// same sets of the first-level cache. Of tiles that fit the registers it reads least.
constexpr int64_t kRows = 8, kVectors = 3;
constexpr int64_t kVectorBytes = 64, kLine = 64;
constexpr int64_t kHugePage = 2 << 20;

// k steps of a block: two of its size, one that is used and one that is packed meanwhile, take
// three quarters of the cache, most of which what passes by leaves alone. C is read and written
// once for every part of k.
int64_t StepsOfBlock() {
  const int64_t row = tuned::kResidentVectors * kVectorBytes;
  return std::clamp<int64_t>(SecondLevelCacheBytes() * 3 / 8 / row, 128, 512);
}

// Where part i of `parts` begins.
int64_t Cut(int64_t total, int64_t parts, int64_t i) { return total * i / parts; }

}  // namespace

template <typename T>
struct ResidentPlan {
  static constexpr int64_t kLanes = kVectorBytes / int64_t(sizeof(T));
  static constexpr int64_t kLineElements = kLine / int64_t(sizeof(T));

  View<T> a, b;
  int64_t k = 0;
  Block<T> c{};
  int64_t vectors = 0, row_parts = 1, column_parts = 1, k_parts = 1;
  bool by_columns = false;                  // A is: it is read so
  Kernel kernels[2][kVectors + 1][2] = {};  // by rows (7, 8), vectors, and whether one is partial

  int64_t Tasks() const { return row_parts * column_parts; }
  int64_t Tiles() const { return CeilDiv(c.rows, kRows); }
};

namespace {

// Tiles of rows, columns and k steps that are worked on at a time.
struct Piece {
  int64_t tile0, tile1, vector0, vector1, k0, k1;
  int64_t steps() const { return k1 - k0; }
  int64_t vectors() const { return vector1 - vector0; }
};

// One thread's work: it takes tasks, and packs the next block of B, a few k steps after each row of
// tiles, while it multiplies by this one. Meanwhile the kernels fetch what comes next: steps of B
// that are to be packed, rows of A, and tiles of C.
template <typename T>
class Worker {
 public:
  using Plan = ResidentPlan<T>;
  static constexpr int64_t kLanes = Plan::kLanes, kLineElements = Plan::kLineElements;
  // Rows of tiles that share the lines of an A by columns.
  static constexpr int64_t kLineTiles = kLineElements / kRows;

  Worker(const Plan& plan, bool continues, std::atomic<int64_t>* next, const RowsDone* rows_done)
      : p_(plan), continues_(continues), next_(*next), rows_done_(rows_done) {
    const int64_t steps = CeilDiv(p_.k, p_.k_parts),
                  size = tuned::kResidentVectors * kLanes * steps;
    const int64_t bytes = std::max<int64_t>(kHugePage, 2 * size * int64_t(sizeof(T)));
    T* memory = Scratch::ThisThread().Get<T>(Scratch::kPackedB, bytes / int64_t(sizeof(T)));
    packed_[0] = memory, packed_[1] = memory + size;
  }

  void Run() {
    if (!Take()) return;
    Pack(next_piece_, 0, next_piece_.steps());
    for (bool more = true; more;) {
      piece_ = next_piece_;
      again_ = piece_.vector0 != task_start_;
      const int64_t task = task_;
      const bool last = piece_.vector1 == task_end_ && part_ + 1 == p_.k_parts;
      std::swap(packed_[0], packed_[1]);
      more = Take();
      if (!Multiply(more)) return;
      if (last && rows_done_) {
        const int64_t part = task % p_.row_parts, tiles = p_.Tiles();
        (*rows_done_)(RowOf(Cut(tiles, p_.row_parts, part)),
                      RowOf(Cut(tiles, p_.row_parts, part + 1)));
      }
    }
  }

 private:
  int64_t RowOf(int64_t tile) const { return Cut(p_.c.rows, p_.Tiles(), tile); }

  // The piece that comes next, of this task or of another; false where there is none. Blocks of a
  // task are as wide as they may be: panels narrower than the others are slower.
  bool Take() {
    Piece& next = next_piece_;
    if (task_ >= 0 && ++part_ == p_.k_parts) part_ = 0, next.vector0 = next.vector1;
    if (task_ < 0 || next.vector0 == task_end_) {
      task_ = next_.fetch_add(1, std::memory_order_relaxed);
      if (task_ >= p_.Tasks()) return false;
      part_ = 0;
      const int64_t rows = task_ % p_.row_parts, columns = task_ / p_.row_parts;
      next.tile0 = Cut(p_.Tiles(), p_.row_parts, rows);
      next.tile1 = Cut(p_.Tiles(), p_.row_parts, rows + 1);
      next.vector0 = task_start_ = Cut(p_.vectors, p_.column_parts, columns);
      task_end_ = Cut(p_.vectors, p_.column_parts, columns + 1);
      width_ = FirstVectors(task_end_ - next.vector0);
    } else if (part_ == 0) {
      width_ = tuned::kResidentVectors;
    }
    next.vector1 = std::min(task_end_, next.vector0 + width_);
    next.k0 = Cut(p_.k, p_.k_parts, part_);
    next.k1 = Cut(p_.k, p_.k_parts, part_ + 1);
    return true;
  }

  // Columns of a task that fill no block come first: until a thread's first block is packed it does
  // nothing else. One vector is never left over: it would be a panel of its own.
  static int64_t FirstVectors(int64_t all) {
    if (all <= tuned::kResidentVectors) return all;
    const int64_t rest = all % tuned::kResidentVectors;
    return rest == 0 ? tuned::kResidentVectors / 2 : std::max<int64_t>(rest, 2);
  }

  // Vectors of the panel that starts there: three, or two where one would be left.
  static int64_t PanelVectors(int64_t left) { return left == 4 ? 2 : std::min(left, kVectors); }
  int64_t Columns(const Piece& piece) const {
    return std::min(p_.c.cols, piece.vector1 * kLanes) - piece.vector0 * kLanes;
  }

  // Steps [s0, s1) of a piece's B, into the panels of the other block.
  void Pack(const Piece& piece, int64_t s0, int64_t s1) const {
    const int64_t columns = Columns(piece);
    const View<T> from{p_.b.At(piece.k0 + s0, piece.vector0 * kLanes), p_.b.rs, p_.b.cs};
    for (int64_t v = 0; v < piece.vectors();) {
      const int64_t width = PanelVectors(piece.vectors() - v) * kLanes;
      int64_t starts[tuned::kResidentVectors + 1], count = 0;
      for (starts[0] = 0; v < piece.vectors(); ++count) {
        const int64_t next = PanelVectors(piece.vectors() - v);
        if (next * kLanes != width) break;
        starts[count + 1] = starts[count] + width;
        v += next;
      }
      const int64_t first = v * kLanes - starts[count];
      starts[count] = std::min(starts[count], columns - first);
      PackStrips(View<T>{from.At(0, first), from.rs, from.cs}, s1 - s0, starts, count,
                 columns - first, width, piece.steps() * width,
                 packed_[1] + first * piece.steps() + s0 * width);
    }
  }

  // Bytes from one element to another, for a list.
  static int32_t Bytes(int64_t elements) { return int32_t(elements * int64_t(sizeof(T))); }

  // Lines that the kernels of a row of tiles fetch, in this order. `turn`: of the rows of tiles
  // that share A's lines, each fetches a part of those that come next.
  std::vector<AheadLine> List(bool more, int64_t steps_packed, int64_t turn) const {
    std::vector<AheadLine> list;
    const int64_t turns = piece_.steps() / kAheadSteps;
    const int64_t most = turns * CeilDiv(piece_.vectors(), 2);
    if (more && p_.b.cs == 1) {
      for (int64_t s = 0; s < steps_packed; ++s) {
        for (int64_t j = 0; j < Columns(next_piece_); j += kLineElements)
          list.push_back({Bytes(s * p_.b.rs + j), 0});
      }
    } else if (more) {
      for (int64_t j = 0; j < Columns(next_piece_); ++j) {
        for (int64_t s = 0; s < steps_packed; s += kLineElements)
          list.push_back({Bytes(j * p_.b.cs + s), 0});
      }
    }
    if (!p_.by_columns) {
      for (int64_t s = 0; s < piece_.steps(); s += kLineElements) {
        for (int64_t r = 0; r < kRows; ++r) list.push_back({Bytes(r * p_.a.rs + s), 8});
      }
    } else if (!again_) {
      const int64_t end = Cut(piece_.steps(), kLineTiles, turn + 1);
      for (int64_t s = Cut(piece_.steps(), kLineTiles, turn); s < end; ++s)
        list.push_back({Bytes(s * p_.a.cs), 8});
    }
    for (int64_t j = 0; j < Columns(piece_); j += kLineElements) {
      for (int64_t r = 0; r < kRows; ++r) list.push_back({Bytes(r * p_.c.ld + j), 16});
    }
    list.resize(size_t(most), AheadLine{0, 24});
    return list;
  }

  // k steps of the next block that are packed after each row of tiles.
  int64_t StepsPacked(bool more) const {
    if (!more) return 0;
    const int64_t steps = CeilDiv(next_piece_.steps(), piece_.tile1 - piece_.tile0);
    return p_.b.cs == 1 ? steps : CeilDiv(steps, tuned::kTransposedSteps) * tuned::kTransposedSteps;
  }

  // The piece, and with `more` packs the next one. False where it was abandoned.
  bool Multiply(bool more) {
    const int64_t steps_packed = StepsPacked(more);
    for (int64_t turn = 0; turn < (p_.by_columns ? kLineTiles : 1); ++turn)
      lists_[turn] = List(more, steps_packed, turn);
    ListedCall listed{};
    KernelCall& call = listed.call;
    call.lda = (p_.by_columns ? p_.a.cs : p_.a.rs) * int64_t(sizeof(T));
    call.ldc = p_.c.ld * int64_t(sizeof(T));
    call.k = piece_.steps();
    call.accumulate = continues_ || piece_.k0 != 0;
    if (const int64_t part = p_.c.cols % kLanes; part != 0)
      call.mask_bits = (uint64_t{1} << part) - 1;
    int64_t packed = 0;
    for (int64_t tile = piece_.tile0; tile < piece_.tile1; ++tile) {
      if (Abandoned()) return false;
      LookAhead(tile, more, packed + steps_packed, &listed);
      RowOfTiles(tile, &listed);
      if (packed < (more ? next_piece_.steps() : 0)) {
        const int64_t end = std::min(next_piece_.steps(), packed + steps_packed);
        Pack(next_piece_, packed, end);
        packed = end;
      }
    }
    return true;
  }

  // What the lists start from: the steps of B that are packed after the next row of tiles, and
  // that row, which may be the first of the next piece. Of an A by columns, the next lines.
  void LookAhead(int64_t tile, bool more, int64_t step, ListedCall* call) const {
    const bool same = tile + 1 < piece_.tile1;
    const Piece& after = more ? next_piece_ : piece_;
    const Piece& next = same ? piece_ : after;
    const int64_t row = RowOf(same ? tile + 1 : next.tile0);
    call->from[1] = p_.a.At(row, next.k0);
    if (p_.by_columns) {
      const int64_t later = tile - Turn(tile) + kLineTiles;
      call->from[1] = later < piece_.tile1 ? p_.a.At(RowOf(later), piece_.k0)
                                           : p_.a.At(RowOf(after.tile0), after.k0);
    }
    call->from[2] = p_.c.data + row * p_.c.ld + next.vector0 * kLanes;
    call->from[0] = call->from[1];
    if (more && step < next_piece_.steps())
      call->from[0] = p_.b.At(next_piece_.k0 + step, next_piece_.vector0 * kLanes);
  }

  // Which of the rows of tiles that share A's lines this one is.
  int64_t Turn(int64_t tile) const {
    return p_.by_columns ? (tile - piece_.tile0) % kLineTiles : 0;
  }

  void RowOfTiles(int64_t tile, ListedCall* listed) const {
    KernelCall& call = listed->call;
    const int64_t row = RowOf(tile), rows = RowOf(tile + 1) - row;
    call.a = p_.a.At(row, piece_.k0);
    listed->list = lists_[Turn(tile)].data();
    listed->from[3] = listed->list;  // what is near anyway, where there is nothing to fetch
    T* const c = p_.c.data + row * p_.c.ld;
    for (int64_t v = piece_.vector0; v < piece_.vector1;) {
      const int64_t vectors = PanelVectors(piece_.vector1 - v), j = v * kLanes;
      v += vectors;
      call.b = packed_[0] + (j - piece_.vector0 * kLanes) * call.k;
      call.c = c + j;
      p_.kernels[rows - kRows + 1][vectors][v * kLanes > p_.c.cols](&call);
      listed->list += call.k / kAheadSteps;
    }
  }

  const Plan& p_;
  const bool continues_;
  std::atomic<int64_t>& next_;
  const RowsDone* const rows_done_;
  T* packed_[2];  // the block that is used, and the one that is packed
  int64_t task_ = -1, task_start_ = 0, task_end_ = 0, width_ = 0, part_ = 0;
  Piece piece_{}, next_piece_{};
  bool again_ = false;                        // the rows of A passed by another block
  std::vector<AheadLine> lists_[kLineTiles];  // of each turn
};

// Whether an A by columns stays in the second-level cache, where its lines share few sets the
// farther its steps are apart: some rows of tiles for the panels of one block, or whole, less of
// it beside a B that is transposed.
template <typename T>
bool SuitsByColumns(View<T> a, View<T> b, int64_t k, const Block<T>& c) {
  constexpr int64_t kSize = sizeof(T);
  const int64_t apart = std::abs(a.cs) * kSize;
  if (c.cols * kSize <= tuned::kResidentVectors * kVectorBytes)
    return apart <= tuned::kStepsApartOnce;
  return apart <= tuned::kStepsApart &&
         c.rows * k * kSize <= SecondLevelCacheBytes() / (b.cs == 1 ? 2 : 4);
}

// Whether this way is worth it, and distances fit the lists.
template <typename T>
bool Suits(Isa isa, View<T> a, View<T> b, int64_t k, const Block<T>& c) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max() / int64_t(sizeof(T)) / 1024;
  if (isa != Isa::kAvx512 || (a.cs != 1 && a.rs != 1) || (b.cs != 1 && b.rs != 1)) return false;
  // Beside a B that is larger than the cache fewer rows are worth it, and less work.
  const bool far = c.cols * k * int64_t(sizeof(T)) > SecondLevelCacheBytes();
  if (c.rows < (kRows - 1) * CeilDiv(c.rows, kRows)) return false;  // tiles of other sizes
  if (c.rows < tuned::kResidentFewestRows / (far ? 2 : 1) || k < tuned::kResidentFewestSteps)
    return false;
  if (c.cols * int64_t(sizeof(T)) < tuned::kResidentFewestVectors * kVectorBytes) return false;
  if (!far && double(c.rows) * double(c.cols) * double(k) <= tuned::kResidentWork) return false;

  if (a.cs != 1 && !SuitsByColumns(a, b, k, c)) return false;
  return std::max({std::abs(a.rs), std::abs(a.cs), std::abs(b.rs), std::abs(b.cs), c.ld}) < kFar;
}

}  // namespace

template <typename T>
Resident<T>::Resident(std::unique_ptr<ResidentPlan<T>> plan) : plan_(std::move(plan)) {}
template <typename T>
Resident<T>::~Resident() = default;

template <typename T>
std::unique_ptr<Resident<T>> Resident<T>::Make(Isa isa, View<T> a, View<T> b, int64_t k,
                                               const Block<T>& c, const Team& team) {
  if (!Suits(isa, a, b, k, c)) return nullptr;
  auto plan = std::make_unique<ResidentPlan<T>>();
  ResidentPlan<T>& p = *plan;
  p.a = a, p.b = b, p.k = k, p.c = c;
  p.vectors = CeilDiv(c.cols, p.kLanes);
  p.by_columns = a.cs != 1;
  p.k_parts = CeilDiv(k, StepsOfBlock());
  // As many tasks for each thread, of one size or nearly. Where rows are told of, a task has all
  // columns.
  const int64_t threads = team.threads();
  if (team.rows_done()) {
    p.row_parts = CeilDiv(CeilDiv(c.rows, tuned::kResidentToldRows), threads) * threads;
  } else if (p.vectors >= tuned::kResidentFewestVectors * threads) {
    p.column_parts =
        threads * std::clamp<int64_t>(p.vectors / threads / tuned::kResidentTaskVectors, 1, 4);
    if (threads == 1) p.column_parts = 1;
  } else {
    p.row_parts = threads;
  }
  // Each part of the rows packs B for itself.
  if (p.row_parts > 1 && c.rows < tuned::kResidentFewestRows * p.row_parts) return nullptr;
  const bool partial = c.cols % p.kLanes != 0;
  for (int size = 0; size < 2; ++size) {
    for (int vectors = 1; vectors <= kVectors; ++vectors) {
      for (int masked = 0; masked <= partial; ++masked) {
        const KernelShape shape{
            sizeof(T) == 8, isa,         int(kRows) - 1 + size,
            vectors,        masked != 0, p.by_columns ? ALayout::kColumns : ALayout::kRows,
            Ahead::kListed};
        p.kernels[size][vectors][masked] = GetKernel(shape);
        if (p.kernels[size][vectors][masked] == nullptr) return nullptr;
      }
    }
  }
  return std::unique_ptr<Resident>(new Resident(std::move(plan)));
}

template <typename T>
void Resident<T>::Run(const T* a, const T* b, T* c, const Team& team, bool continues) {
  plan_->a.data = a, plan_->b.data = b, plan_->c.data = c;
  std::atomic<int64_t> next{0};
  team.Run(team.threads(),
           [&](int64_t) { Worker<T>(*plan_, continues, &next, team.rows_done()).Run(); });
}

template class Resident<float>;
template class Resident<double>;

}  // namespace frazil::gemm
