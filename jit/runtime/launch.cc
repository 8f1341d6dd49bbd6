#include "jit/runtime/launch.h"

#include <algorithm>

#include "core/parallel.h"

namespace frazil::jit {
namespace {

constexpr int64_t kPartWork = kSerialWork / 4;  // a part is worth at least this much
constexpr int64_t kColumns =
    64;  // columns of a part: whole vectors, and whole cache lines for streams

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void RunLaunchParallel(const Compiled& code, const kir::KernelArgs& args, int64_t rows,
                       int64_t cols, int64_t work) {
  if (rows <= 0 || cols <= 0) return;
  const int threads = NumThreads();
  if (rows >= threads || cols == 1) {
    const int64_t grain = CeilDiv(kPartWork, std::max<int64_t>(1, work / rows));
    ParallelFor(rows, grain,
                [&](int64_t begin, int64_t end) { code.Run(args, begin, end, 0, cols); });
    return;
  }
  // Columns that each run a long loop are split one by one if there are few of them.
  const int64_t per_column = std::max<int64_t>(1, work / cols);
  int64_t grain = CeilDiv(kPartWork, per_column);
  if (grain > 8 || cols >= kColumns * threads) grain = CeilDiv(grain, kColumns) * kColumns;
  ParallelFor(cols, grain,
              [&](int64_t begin, int64_t end) { code.Run(args, 0, rows, begin, end); });
}

}  // namespace frazil::jit
