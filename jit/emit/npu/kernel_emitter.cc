#include <algorithm>

#include "core/check.h"
#include "core/str.h"
#include "jit/emit/npu/estimate.h"
#include "jit/emit/npu/tile_program.h"
#include "jit/kir/dead.h"
#include "jit/kir/legalize.h"

namespace frazil::npu {
namespace {

using kir::Id;
using kir::Inst;
using kir::kNone;
using kir::ReduceKind;

constexpr int64_t kMaxInstructions = int64_t{1} << 20;
constexpr int64_t kMinTileElements = 64;
// The search for tiles times so many programs, if they are not longer than that.
constexpr int kCandidates = 6;
constexpr size_t kMaxTimed = 20000;

// One tiling of a kernel as a program, or why these tiles will not do.
StatusOr<Program> EmitTiles(const kir::Kernel& k, const SpacePlan& plan, const BodyInfo& info,
                            const Preset& preset, const EmitOptions& options, int64_t rows,
                            int64_t cols, int copies) {
  Stream stream(preset);
  const std::vector<int> params = AddParams(k, &stream);
  if (!options.op.empty()) stream.MarkSource(options.op, options.file, options.line);
  TileProgram tile_program(k, plan, info, &stream, params, copies);
  const auto too_large = [&] {
    return NotImplementedError("[npu] kernel ", k.name, " does not fit into ",
                               preset.bytes[kUB] / 1024, " KiB of vector memory.");
  };
  if (!tile_program.MakeSlots(rows, cols)) return too_large();
  const std::vector<Tile> tiles = plan.Cut(rows, cols);
  for (size_t t = 0; t < tiles.size(); ++t) {
    // The next tile's loads are issued before this tile's work.
    if (t == 0) tile_program.Loads(tiles[0]);
    if (t + 1 < tiles.size()) tile_program.Loads(tiles[t + 1]);
    tile_program.Compute(tiles[t]);
    if (stream.refusal()) break;
    if (tile_program.overflowed()) return too_large();
    if (stream.size() > kMaxInstructions)
      return NotImplementedError("[npu] kernel ", k.name, " needs more than ", kMaxInstructions,
                                 " instructions.");
  }
  return stream.Finish(k.name);
}

// What tiles must look like.
struct Limits {
  bool one_row = false;     // elements lie apart in memory
  bool whole_loop = false;  // several passes over the loop axis
};

Status FindLimits(const kir::Kernel& k, const SpacePlan& plan, const BodyInfo& info,
                  const LaunchShape& shape, Limits* limits) {
  FZ_ASSIGN_OR_RETURN(limits->one_row, LiesApart(k, plan, info));
  limits->whole_loop = info.regions > 1;
  if (limits->one_row && plan.loop_is_rows())
    return NotImplementedError("[npu] kernel ", k.name, ": reduces rows whose elements lie apart.");
  const int64_t loop = k.has_loop ? shape.extents[k.rank] : 0;
  if (k.long_rows)
    return NotImplementedError("[npu] kernel ", k.name, " has rows of several chunks.");
  if (k.chunked && shape.extents[0] != (loop + kir::kChunk - 1) / kir::kChunk)
    return NotImplementedError("[npu] kernel ", k.name, " has chunks without elements.");
  for (int64_t e : shape.extents) {
    if (e < 1) return NotImplementedError("[npu] kernel ", k.name, " has an empty axis.");
  }
  return absl::OkStatus();
}

// A tile of at most so many elements; false if there is none.
bool TileOf(const SpacePlan& plan, const Limits& limits, int64_t elements, int64_t* rows,
            int64_t* cols) {
  const bool fixed_rows = plan.loop_is_rows() && limits.whole_loop;
  const bool fixed_cols = plan.loop_is_cols() && limits.whole_loop;
  *cols = plan.cols();
  *rows = limits.one_row ? 1 : plan.rows();
  if (*rows * *cols <= elements) return true;
  if (fixed_cols) {
    *rows = std::max<int64_t>(1, elements / *cols);
    return *cols <= elements || *rows == 1;
  }
  if (fixed_rows) {
    *cols = std::max<int64_t>(8, elements / *rows / 8 * 8);
    *cols = std::min(*cols, plan.cols());
    return true;
  }
  // A loop over rows is cut into eights, one over columns into 64 lanes.
  const int64_t least_rows = plan.loop_is_rows() ? std::min<int64_t>(8, plan.rows()) : 1;
  if (*cols * least_rows > elements)
    *cols = std::min(*cols, std::max<int64_t>(64, elements / least_rows / 64 * 64));
  *rows = std::max<int64_t>(1, std::min(*rows, elements / *cols));
  if (plan.loop_is_rows() && *rows < plan.rows()) *rows = std::max<int64_t>(8, *rows / 8 * 8);
  return true;
}

struct Tiling {
  int64_t rows, cols;
  int copies;
};

// From large tiles to small ones, each once, with two and three copies of what is moved.
std::vector<Tiling> Tilings(const SpacePlan& plan, const Limits& limits,
                            const EmitOptions& options) {
  std::vector<Tiling> tilings;
  for (int64_t elements = options.max_tile_bytes / 4; elements >= kMinTileElements; elements /= 2) {
    int64_t rows, cols;
    if (!TileOf(plan, limits, elements, &rows, &cols)) continue;
    if (!tilings.empty() && tilings.back().rows == rows && tilings.back().cols == cols) continue;
    tilings.push_back({rows, cols, 2});
    if (rows < plan.rows() || cols < plan.cols()) tilings.push_back({rows, cols, 3});
  }
  return tilings;
}

}  // namespace

StatusOr<Program> EmitKernel(const kir::Kernel& kernel, const LaunchShape& shape,
                             const Preset& preset, const EmitOptions& options) {
  FZ_ASSIGN_OR_RETURN(const kir::Kernel whole, kir::Legalize(kernel, NpuLegalCaps()));
  const kir::Kernel legal = kir::RemoveDead(whole);
  const SpacePlan plan(legal, shape);
  FZ_ASSIGN_OR_RETURN(const BodyInfo info, Analyse(legal, plan));
  Limits limits;
  FZ_RETURN_IF_ERROR(FindLimits(legal, plan, info, shape, &limits));
  std::optional<Program> best;
  int64_t best_cycles = 0;
  int tried = 0;
  Status refusal;
  for (const Tiling& tiling : Tilings(plan, limits, options)) {
    StatusOr<Program> program =
        EmitTiles(legal, plan, info, preset, options, tiling.rows, tiling.cols, tiling.copies);
    if (!program.ok()) {
      refusal = program.status();
      continue;
    }
    program->meta.kernel_class = plan.loop_is_rows() ? "COL" : plan.loop_is_cols() ? "ROW" : "EW";
    program->meta.tile = StrCat(tiling.rows, "x", tiling.cols, " x", tiling.copies);
    // A long program is not worth timing several of: its tiles are as large as they get.
    if (!options.search || program->code.size() > kMaxTimed) return *std::move(program);
    const int64_t cycles = EstimateCycles(*program, preset, ReachOf(legal, shape));
    if (!best || cycles < best_cycles) {
      best = *std::move(program);
      best_cycles = cycles;
    }
    if (++tried == kCandidates) break;
  }
  if (best) return *std::move(best);
  return refusal.ok() ? NotImplementedError("[npu] kernel ", kernel.name, " has no tiles.")
                      : refusal;
}

}  // namespace frazil::npu
