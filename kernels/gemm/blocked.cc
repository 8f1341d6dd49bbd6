#include "kernels/gemm/blocked.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "core/caches.h"
#include "core/threads/long_work.h"
#include "core/tuned.h"
#include "kernels/gemm/codegen.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/resident.h"
#include "kernels/gemm/row_dots.h"
#include "kernels/gemm/scratch.h"

namespace frazil::gemm {
namespace {

constexpr int64_t kWidestVector = 64;
// Rows of C that what takes them as they are made finds in the cache: so many bytes or panels.
constexpr int64_t kToldBytes = 64 << 10, kToldPanels = 8;
constexpr int64_t kRowPadding = 64;  // keeps rows of a packed block in different cache sets

// k steps between visits to C: a panel of B takes a sixteenth of the second-level cache.
int64_t StepsOfK(int64_t panel_row) {
  return std::clamp<int64_t>(SecondLevelCacheBytes() / 16 / panel_row, tuned::kFewestSteps, 1024);
}
int64_t BlockOfA() { return SecondLevelCacheBytes() / 2; }
// Of one that is widened on the way and read once or twice.
int64_t BlockOfStored() { return SecondLevelCacheBytes() / 8; }
int64_t BlockOfB() { return std::clamp<int64_t>(LastLevelCacheBytes() / 4, 1 << 20, 16 << 20); }

// Of numbers above 0. A small product has no time for divisions.
int64_t PartsOf(int64_t a, int64_t b) { return a <= b ? 1 : (a + b - 1) / b; }

// A range cut into parts whose sizes differ by one at most.
struct EvenParts {
  EvenParts() = default;
  EvenParts(int64_t total, int64_t parts)
      : count(parts),
        smaller(parts == 1 ? total : total / parts),
        larger_parts(total - smaller * parts) {}
  int64_t Start(int64_t i) const { return smaller * i + std::min(i, larger_parts); }
  int64_t Size(int64_t i) const { return smaller + (i < larger_parts); }

  int64_t count = 0, smaller = 0, larger_parts = 0;
};

// S and SB are what A and B are stored as.
template <typename S, typename SB = S>
class Blocked {
 public:
  using T = Acc<S>;
  static_assert(std::is_same_v<T, Acc<SB>>);
  static constexpr bool kF64 = std::is_same_v<T, double>;

  Blocked(Isa isa, View<S> a, View<SB> b, int64_t k, const Block<T>& c, const Team& team,
          bool continues, Step step = Step::kFma, bool turned = false)
      : isa_(isa),
        step_(step),
        a_(a),
        b_(b),
        k_(k),
        c_(c),
        team_(team),
        continues_(continues),
        turned_(turned),
        lanes_(Lanes(isa, kF64)),
        lane_bits_(std::countr_zero(uint32_t(lanes_))) {
    ChooseTile();
    ChooseReading();
    ChooseBlocks();
  }

  // False where the kernels cannot be generated.
  bool FindKernels() {
    for (int size = 0; size < 2; ++size) {
      int64_t mr = rows_.smaller + size;
      if (size == 1 && rows_.larger_parts == 0) break;
      shape_ = KernelShape{kF64, isa_, int(mr), int(nv_), false, a_layout_, LooksAhead(), step_};
      kernels_[size][0] = GetKernel(shape_);
      shape_.nv = int((tail_ + lanes_ - 1) >> lane_bits_);
      shape_.masked = (tail_ & (lanes_ - 1)) != 0;
      if (tail_ != 0) kernels_[size][1] = GetKernel(shape_);
      if (kernels_[size][0] == nullptr) return false;
      if (tail_ != 0 && kernels_[size][1] == nullptr) return false;
    }
    return true;
  }

  // Other operands of the same shape.
  void Move(const S* a, const SB* b, T* c, bool continues) {
    a_.data = a, b_.data = b, c_.data = c, continues_ = continues;
  }

  // The calls of Run, where nothing is packed, each with all of k.
  std::optional<SmallCalls> List() {
    if (!direct_a_ || !direct_b_) return std::nullopt;
    if (c_.rows == 1 && c_.cols * k_ * int64_t(sizeof(T)) > tuned::kWholeB) return std::nullopt;
    CallList<KernelCall> list;
    bool fits = true;
    const Part all{0, c_.cols, 0, k_, nullptr};
    ForTiles(all, 0, rows_.count, [&](Kernel kernel, const KernelCall& call) {
      fits = fits && list.Add(kernel, call, a_.data, b_.data, c_.data);
    });
    if (!fits) return std::nullopt;
    return list;
  }

  void Run() {
    for (int64_t j0 = 0; j0 < c_.cols; j0 += columns_) {
      for (int64_t p = 0; p < ks_.count; ++p) {
        const int64_t k0 = ks_.Start(p) * grain_;
        Part part{j0, std::min(c_.cols, j0 + columns_), k0, std::min(k_ - k0, ks_.Size(p) * grain_),
                  nullptr};
        if (!direct_b_) PackB(&part);
        const bool last = part.j1 == c_.cols && p + 1 == ks_.count;
        team_.Run(a_blocks_.count, [&](int64_t i) {
          if (Abandoned()) return;
          DoBlock(part, a_blocks_.Start(i), a_blocks_.Start(i + 1));
          if (last && team_.rows_done()) TellRows(a_blocks_.Start(i), a_blocks_.Start(i + 1));
        });
        if (Abandoned()) return;
      }
    }
  }

 private:
  void TellRows(int64_t panel0, int64_t panel1) const {
    if (!Abandoned()) (*team_.rows_done())(rows_.Start(panel0), rows_.Start(panel1));
  }

  Ahead LooksAhead() const {
    return far_rows_ ? Ahead::kFarRows : ahead_ ? Ahead::kNear : Ahead::kNone;
  }

  // Columns and k steps of B that are worked on at a time.
  struct Part {
    int64_t j0, j1, k0, steps;
    T* packed_b;
  };

  void ChooseTile() {
    nv_ = 2;
    while (nv_ < kMaxVectors && MaxRows(isa_, nv_ + 1, step_) >= c_.rows) ++nv_;
    const int64_t b_bytes = c_.cols * k_ * int64_t(sizeof(T));
    if (step_ == Step::kFma && c_.rows == 1 && b_bytes > tuned::kSmallB &&
        b_bytes <= tuned::kWholeB)
      nv_ = tuned::kVectorsOfRow;
    nv_ = std::min(nv_, (c_.cols + lanes_ - 1) >> lane_bits_);
    nr_ = nv_ * lanes_;
    tail_ = c_.cols < nr_ ? c_.cols : c_.cols == nr_ ? 0 : c_.cols % nr_;
    int64_t most = MaxRows(isa_, nv_, step_);
    rows_ = EvenParts(c_.rows, PartsOf(c_.rows, most));
    mr_ = rows_.Size(0);
  }

  // Which operands are read in place, and how A is walked.
  void ChooseReading() {
    ahead_ = step_ != Step::kPairs &&
             double(c_.rows) * double(c_.cols) * double(k_) >= tuned::kWorthLookingAhead;
    a_layout_ = a_.rs == 1 && a_.cs != 1 ? ALayout::kColumns : ALayout::kRows;
    const bool a_walks = std::is_same_v<S, T> && (a_.cs == 1 || a_.rs == 1);
    const int64_t a_bytes = c_.rows * k_ * int64_t(sizeof(T));
    const bool a_small = a_bytes <= tuned::kDirectA ||
                         a_bytes <= SecondLevelCacheBytes() / (a_layout_ == ALayout::kRows ? 2 : 4);
    const int64_t few = a_layout_ == ALayout::kRows ? tuned::kFewColumnPanels : 2;
    direct_a_ = a_walks && (a_small || c_.cols <= few * nr_);
    if (!std::is_same_v<SB, T>) return;
    const int64_t b_bytes = c_.cols * k_ * int64_t(sizeof(T));
    // Short rows are as near together as packed ones, and a B that stays in the cache, whole or in
    // parts, is not worth packing for some panels.
    const bool near = b_bytes <= tuned::kDirectB || (b_.rs > 0 && b_.rs <= 2 * nr_);
    direct_b_ = b_.cs == 1 && (near || rows_.count <= 2);
    far_rows_ = ahead_ && direct_b_ && b_.rs > 2 * nr_ && b_bytes > SecondLevelCacheBytes() / 4 * 3;
    if (direct_b_ || b_.cs != 1 || rows_.count > tuned::kFewPanels) return;
    const int64_t stay = StepsThatStay();
    if (stay < k_ && (stay < tuned::kFewestPartSteps || rows_.count > tuned::kFewPanelsInParts))
      return;
    direct_b_ = true;
    steps_that_stay_ = stay;
  }

  // Rows of B that the second-level cache holds beside other things. Those a power of two apart use
  // a part of its sets only.
  int64_t StepsThatStay() const {
    const int64_t row = c_.cols * int64_t(sizeof(T)), apart = b_.rs * int64_t(sizeof(T));
    const int64_t power = apart & -apart, steps = SecondLevelCacheBytes() / 8 * 5 / row;
    return power < tuned::kFewSets ? steps : std::min(steps, SecondLevelCacheBytes() / 2 / power);
  }

  // Bytes of one row or column over the steps of a part.
  int64_t StepBytes() const {
    return std::max<int64_t>(1, ks_.Size(0) * grain_) * int64_t(sizeof(T));
  }

  // Blocks of A; as many for each thread, all of one size or nearly.
  void ChooseBlocks() {
    int64_t steps =
        k_ <= tuned::kFewestSteps ? tuned::kFewestSteps : StepsOfK(nr_ * int64_t(sizeof(T)));
    // Rows of B that come from far are better read in long runs, and those a power of two apart do
    // not stay in the caches for the next panel of A.
    if (steps_that_stay_ != 0) steps = std::min(steps, steps_that_stay_);
    if (far_rows_) steps = tuned::kStepsOfFarRows;
    if (c_.rows == 1 || (far_rows_ && rows_.count == 1)) steps = tuned::kStepsOfOnePanel;
    if (turned_) steps = k_;
    grain_ = step_ == Step::kPairs ? kPairsBlock : 1;
    ks_ = EvenParts(grain_ == 1 ? k_ : PartsOf(k_, grain_), k_ <= steps ? 1 : PartsOf(k_, steps));
    int64_t blocks = 1;
    const int64_t most = turned_ && !std::is_same_v<S, T> ? BlockOfStored() : BlockOfA();
    if (StepBytes() * mr_ * rows_.count > most) {
      blocks = PartsOf(rows_.count, std::max<int64_t>(1, most / (StepBytes() * mr_)));
    }
    if (team_.rows_done()) {
      const int64_t panel = mr_ * c_.cols * int64_t(sizeof(T));
      const int64_t told = std::max<int64_t>(kToldPanels, kToldBytes / panel);
      blocks = std::max(blocks, PartsOf(rows_.count, told));
    }
    columns_ = c_.cols;
    if (c_.cols * StepBytes() > BlockOfB()) {
      columns_ = std::max(nr_, BlockOfB() / StepBytes() / nr_ * nr_);
    }
    if (team_.threads() > 1) {
      blocks = PartsOf(blocks, team_.threads()) * team_.threads();
      if (const int64_t even = PartsOf(rows_.count, blocks) * blocks; even <= c_.rows) {
        rows_ = EvenParts(c_.rows, even);
        mr_ = rows_.Size(0);
      }
    }
    a_blocks_ = EvenParts(rows_.count, blocks);
  }

  void PackB(Part* part) const {
    const int64_t panels = PartsOf(part->j1 - part->j0, nr_);
    part->packed_b = Scratch::ThisThread().Get<T>(Scratch::kPackedB, panels * nr_ * part->steps);
    const EvenParts groups(panels, PartsOf(panels, tuned::kPackedPanels));
    team_.Run(groups.count,
              [&](int64_t i) { PackPanelsOfB(*part, groups.Start(i), groups.Start(i + 1)); });
  }

  void PackPanelsOfB(const Part& part, int64_t panel0, int64_t panel1) const {
    int64_t starts[tuned::kPackedPanels + 1];
    const int64_t first = part.j0 + panel0 * nr_;
    const int64_t end = std::min(part.j1 - first, (panel1 - panel0) * nr_);
    const int64_t whole = end / nr_;
    for (int64_t i = 0; i <= whole; ++i) starts[i] = i * nr_;
    View<SB> from{b_.At(part.k0, first), b_.rs, b_.cs};
    T* to = part.packed_b + panel0 * nr_ * part.steps;
    PackStrips(from, part.steps, starts, whole, end, nr_, nr_ * part.steps, to);
    if (const int64_t used = end - whole * nr_; used != 0) {
      View<SB> rest{b_.At(part.k0, first + whole * nr_), b_.rs, b_.cs};
      PackPanel(rest, part.steps, used, PartsOf(used, lanes_) * lanes_,
                to + whole * nr_ * part.steps);
    }
  }

  // Elements from a row of packed A to the next, or from a k step to the next, and those of a
  // panel.
  int64_t RowOfA(int64_t steps) const {
    return a_layout_ == ALayout::kRows ? steps + kRowPadding / int64_t(sizeof(T))
                                       : PartsOf(mr_, lanes_) * lanes_;
  }
  int64_t PanelOfA(int64_t steps) const {
    return RowOfA(steps) * (a_layout_ == ALayout::kRows ? mr_ : steps);
  }

  const T* PackA(const Part& part, int64_t panel0, int64_t panel1) const {
    const int64_t row = RowOfA(part.steps), size = PanelOfA(part.steps);
    T* packed = Scratch::ThisThread().Get<T>(Scratch::kPackedA, (panel1 - panel0) * size);
    if (a_layout_ == ALayout::kRows) {
      for (int64_t p = panel0; p < panel1; ++p) {
        View<S> panel{a_.At(rows_.Start(p), part.k0), a_.rs, a_.cs};
        PackRows(panel, rows_.Size(p), part.steps, packed + (p - panel0) * size, row);
      }
      return packed;
    }
    int64_t starts[tuned::kPackedPanels + 1];
    for (int64_t p = panel0; p < panel1; p += tuned::kPackedPanels) {
      const int64_t first = rows_.Start(p), count = std::min(tuned::kPackedPanels, panel1 - p);
      for (int64_t i = 0; i <= count; ++i) starts[i] = rows_.Start(p + i) - first;
      View<S> from{a_.At(first, part.k0), a_.rs, a_.cs};
      PackStrips(from.Transposed(), part.steps, starts, count, c_.rows - first, row,
                 row * part.steps, packed + (p - panel0) * size);
    }
    return packed;
  }

  void SetB(const Part& part, int64_t j, KernelCall* call) const {
    if (direct_b_) {
      call->b = b_.At(part.k0, j);
      call->ldb = b_.rs * int64_t(sizeof(T));
      call->ahead = b_.At(part.k0 + tuned::kFarRowsAhead, j);
      return;
    }
    const int64_t used = std::min(nr_, part.j1 - j);
    call->b = part.packed_b + (j - part.j0) * part.steps;
    call->ldb = PartsOf(used, lanes_) * lanes_ * int64_t(sizeof(T));
    call->ahead = j + nr_ < part.j1 ? part.packed_b + (j + nr_ - part.j0) * part.steps : call->b;
  }

  // Row panels [panel0, panel1) against the columns of a part. While a panel of B is multiplied,
  // the one that comes next is read, some of it in each kernel's time.
  void DoBlock(const Part& part, int64_t panel0, int64_t panel1) const {
    ForTiles(part, panel0, panel1, [](Kernel kernel, const KernelCall& call) { kernel(&call); });
  }

  template <typename Visit>
  void ForTiles(const Part& part, int64_t panel0, int64_t panel1, Visit visit) const {
    const char* a = nullptr;
    KernelCall call{};
    int64_t panel_bytes = 0;
    if (direct_a_) {
      call.lda = (a_layout_ == ALayout::kRows ? a_.rs : a_.cs) * int64_t(sizeof(T));
    } else {
      a = reinterpret_cast<const char*>(PackA(part, panel0, panel1));
      call.lda = RowOfA(part.steps) * int64_t(sizeof(T));
      panel_bytes = PanelOfA(part.steps) * int64_t(sizeof(T));
    }
    call.k = part.steps;
    call.accumulate = continues_ || part.k0 != 0;
    call.ldc = (turned_ ? nr_ : c_.ld) * int64_t(sizeof(T));
    T* const tiles = turned_ ? Tiles() : nullptr;
    if (tail_ != 0) SetMask(shape_, int((tail_ - 1) % lanes_ + 1), &call);
    const int64_t read_ahead = part.steps / kAheadSteps * kAheadBytes;
    for (int64_t j = part.j0; j < part.j1; j += nr_) {
      const bool tail = part.j1 - j < nr_;
      SetB(part, j, &call);
      const char* ahead = static_cast<const char*>(call.ahead);
      const char* const ahead_end = ahead + nr_ * part.steps * int64_t(sizeof(T));
      for (int64_t p = panel0; p < panel1; ++p) {
        call.a = direct_a_ ? static_cast<const void*>(a_.At(rows_.Start(p), part.k0))
                           : a + (p - panel0) * panel_bytes;
        const int64_t first = p - (p - panel0) % tuned::kTurnedPanels;
        if (turned_) {
          call.c = tiles + (rows_.Start(p) - rows_.Start(first)) * nr_;
          call.next_c = tiles;
        } else {
          call.c = c_.data + rows_.Start(p) * c_.ld + j;
          call.next_c = p + 1 < panel1 ? c_.data + rows_.Start(p + 1) * c_.ld + j
                                       : c_.data + rows_.Start(panel0) * c_.ld + j + nr_;
        }
        visit(kernels_[rows_.Size(p) - rows_.smaller][tail], call);
        if (turned_ && (p + 1 == panel1 || p + 1 == first + tuned::kTurnedPanels))
          TurnTiles(tiles, rows_.Start(first), rows_.Start(p + 1), j);
        if (direct_b_) continue;
        ahead += read_ahead;
        call.ahead = ahead < ahead_end ? ahead : static_cast<const char*>(call.b);
      }
    }
  }

  // Of a turned product, some tiles below each other, as wide as a panel.
  T* Tiles() const {
    return Scratch::ThisThread().Get<T>(Scratch::kTurned, tuned::kTurnedPanels * mr_ * nr_);
  }
  // Rows [row0, row1) of such tiles to where they belong, from column j on.
  void TurnTiles(const T* tiles, int64_t row0, int64_t row1, int64_t j) const {
    PackTransposed(View<T>{tiles, 1, nr_}, std::min(nr_, c_.cols - j), row1 - row0, c_.ld,
                   c_.data + j * c_.ld + row0);
  }

  const Isa isa_;
  const Step step_;
  View<S> a_;
  View<SB> b_;
  const int64_t k_;
  Block<T> c_;  // of a turned product, the columns are `ld` apart
  const Team team_;
  bool continues_;
  const bool turned_;  // C lies by columns; k is in one part
  const int64_t lanes_;
  const int lane_bits_;
  int64_t nv_, nr_, mr_;         // the tile: vectors and columns, rows at most
  int64_t steps_that_stay_ = 0;  // of a B that is read in place again and again, or 0
  int64_t columns_;              // of C and B that are worked on at a time
  int64_t grain_;                // k steps of which parts of k are made
  int64_t tail_;                 // columns of the last panel if it is not whole, or 0
  EvenParts rows_;               // row panels
  EvenParts a_blocks_;           // blocks of row panels
  EvenParts ks_;                 // parts of k
  ALayout a_layout_ = ALayout::kRows;
  bool direct_a_ = false, direct_b_ = false, ahead_ = false, far_rows_ = false;
  KernelShape shape_;          // of the tail columns
  Kernel kernels_[2][2] = {};  // by rows (fewer, one more) and by columns (all, tail)
};

// Without generated code.
template <typename S>
void PlainChunk(View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out, bool continues) {
  for (int64_t i = 0; i < out.rows && !Abandoned(); ++i) {
    Acc<S>* row = out.data + i * out.ld;
    if (!continues) std::fill(row, row + out.cols, Acc<S>(0));
    for (int64_t p = 0; p < k; ++p) {
      Acc<S> x = Widen(*a.At(i, p));
      for (int64_t j = 0; j < out.cols; ++j) row[j] = std::fma(x, Widen(*b.At(p, j)), row[j]);
    }
  }
}

// A few rows of A against B whose columns are adjacent in memory.
template <typename S>
bool HasFewRows(View<S> b, const Block<Acc<S>>& out) {
  return std::is_same_v<S, Acc<S>> && out.rows <= tuned::kRowDotsRows && b.rs == 1 && b.cs != 1;
}

// Computes such a product. False, with nothing done, where it is another one.
template <typename S>
bool TryFewRows(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out,
                bool continues) {
  using T = Acc<S>;
  if constexpr (std::is_same_v<S, T>) {
    if (!HasFewRows(b, out)) return false;
    if (a.cs != 1) {
      T* copy = Scratch::ThisThread().Get<T>(Scratch::kPackedA, out.rows * k);
      if (a.rs == 1) {
        PackPanel(a, out.rows, k, k, copy);
      } else {
        PackRows(a, out.rows, k, copy, k);
      }
      a = {copy, k, 1};
    }
    return TryRowDots(isa, a.data, a.rs, b.data, b.cs, k, out, continues);
  }
  return false;
}

// Rows of A against B whose columns are adjacent in memory, as the weights of a layer are: the
// columns are the rows of the problem's transpose, which reads them as they lie; A alone is packed.
// Whether that suits: a panel of A stays in the second-level cache.
template <typename S>
bool SuitsTurned(View<S> b, int64_t k, const Block<Acc<S>>& out) {
  const int64_t panel = k * 2 * kWidestVector;
  return b.rs == 1 && b.cs != 1 && out.rows >= tuned::kTurnedFewestRows &&
         out.rows <= tuned::kTurnedRows && k >= tuned::kTurnedSteps &&
         out.cols >= tuned::kTurnedFewestColumns && panel <= SecondLevelCacheBytes() / 2;
}

// Computes such a product. False, with nothing done, where no code can be generated.
template <typename S, typename SB>
bool TryTurned(Isa isa, View<S> a, View<SB> b, int64_t k, const Block<Acc<S>>& out,
               const Team& team) {
  const Block<Acc<S>> turned{out.data, out.cols, out.rows, out.ld};
  Blocked<SB, S> blocked(isa, b.Transposed(), a.Transposed(), k, turned, team.Quiet(), false,
                         Step::kFma, true);
  if (!blocked.FindKernels()) return false;
  blocked.Run();
  return true;
}

}  // namespace

template <typename S>
void ChunkGemm(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out, const Team& team,
               bool continues) {
  if (isa == Isa::kScalar) return PlainChunk(a, b, k, out, continues);
  if constexpr (std::is_same_v<S, Acc<S>>) {
    if (!continues && SuitsTurned(b, k, out) && TryTurned(isa, a, b, k, out, team)) return;
  }
  if (TryFewRows(isa, a, b, k, out, continues)) return;
  if constexpr (std::is_same_v<S, Acc<S>>) {
    if (const auto large = Resident<S>::Make(isa, a, b, k, out, team))
      return large->Run(a.data, b.data, out.data, team, continues);
  }
  Blocked<S> blocked(isa, a, b, k, out, team, continues);
  if (!blocked.FindKernels()) return PlainChunk(a, b, k, out, continues);
  blocked.Run();
}

template <typename S>
bool TryTurnedStored(Isa isa, View<float> a, View<S> b, int64_t k, const Block<float>& out) {
  return isa != Isa::kScalar && SuitsTurned(b, k, out) && TryTurned(isa, a, b, k, out, Team());
}

template bool TryTurnedStored(Isa, View<float>, View<Half>, int64_t, const Block<float>&);
template bool TryTurnedStored(Isa, View<float>, View<BFloat16>, int64_t, const Block<float>&);

template <typename S>
std::optional<SmallCalls> ListCalls(Isa isa, View<S> a, View<S> b, int64_t k,
                                    const Block<Acc<S>>& out) {
  if (HasFewRows(b, out) && out.cols >= Lanes(isa, std::is_same_v<S, double>)) {
    CallList<DotsCall> dots;
    if (a.cs != 1 || !ListRowDots(isa, a.data, a.rs, b.data, b.cs, k, out, &dots))
      return std::nullopt;
    return dots;
  }
  Blocked<S> blocked(isa, a, b, k, out, Team(), false);
  if (!blocked.FindKernels()) return std::nullopt;
  return blocked.List();
}

template std::optional<SmallCalls> ListCalls(Isa, View<float>, View<float>, int64_t,
                                             const Block<float>&);
template std::optional<SmallCalls> ListCalls(Isa, View<double>, View<double>, int64_t,
                                             const Block<double>&);

template <typename S>
bool TryStepGemm(Isa isa, Step step, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out,
                 const Team& team, bool continues) {
  Blocked<S> blocked(isa, a, b, k, out, team, continues, step);
  if (!blocked.FindKernels()) return false;
  blocked.Run();
  return true;
}

template <typename S>
struct Repeated<S>::Impl {
  Impl(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out)
      : isa(isa),
        few(HasFewRows(b, out)),
        turned(SuitsTurned(b, k, out)),
        blocked(isa, a, b, k, out, Team(), false),
        a(a),
        b(b),
        k(k),
        out(out),
        generated(blocked.FindKernels()),
        large(Resident<S>::Make(isa, a, b, k, out, Team())) {}

  const Isa isa;
  const bool few, turned;
  Blocked<S> blocked;
  View<S> a, b;
  int64_t k;
  Block<Acc<S>> out;
  bool generated;
  std::unique_ptr<Resident<S>> large;  // or null
};

template <typename S>
Repeated<S>::Repeated(Isa isa, View<S> a, View<S> b, int64_t k, const Block<Acc<S>>& out)
    : impl_(std::make_unique<Impl>(isa, a, b, k, out)) {}
template <typename S>
Repeated<S>::Repeated(Repeated&&) noexcept = default;
template <typename S>
Repeated<S>::~Repeated() = default;

template <typename S>
void Repeated<S>::Run(const S* a, const S* b, Acc<S>* out, bool continues) {
  Impl& of = *impl_;
  if (of.few || of.turned) {
    View<S> left{a, of.a.rs, of.a.cs}, right{b, of.b.rs, of.b.cs};
    const Block<Acc<S>> to{out, of.out.rows, of.out.cols, of.out.ld};
    if (of.turned && !continues && TryTurned(of.isa, left, right, of.k, to, Team())) return;
    if (of.few && TryFewRows(of.isa, left, right, of.k, to, continues)) return;
  }
  if (of.large) return of.large->Run(a, b, out, Team(), continues);
  if (of.generated) {
    of.blocked.Move(a, b, out, continues);
    return of.blocked.Run();
  }
  of.a.data = a, of.b.data = b, of.out.data = out;
  PlainChunk(of.a, of.b, of.k, of.out, continues);
}

template bool TryStepGemm(Isa, Step, View<float>, View<float>, int64_t, const Block<float>&,
                          const Team&, bool);
template bool TryStepGemm(Isa, Step, View<BFloat16>, View<BFloat16>, int64_t, const Block<float>&,
                          const Team&, bool);

template class Repeated<float>;
template class Repeated<double>;

template void ChunkGemm(Isa, View<float>, View<float>, int64_t, const Block<float>&, const Team&,
                        bool);
template void ChunkGemm(Isa, View<double>, View<double>, int64_t, const Block<double>&, const Team&,
                        bool);
template void ChunkGemm(Isa, View<Half>, View<Half>, int64_t, const Block<float>&, const Team&,
                        bool);
template void ChunkGemm(Isa, View<BFloat16>, View<BFloat16>, int64_t, const Block<float>&,
                        const Team&, bool);

}  // namespace frazil::gemm
