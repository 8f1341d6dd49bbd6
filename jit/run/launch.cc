#include "jit/run/launch.h"

#include <algorithm>
#include <cmath>

#include "core/threads/long_work.h"
#include "core/threads/parallel.h"
#include "core/tuned.h"

namespace frazil::jit {
namespace {

// How many of `n` equal pieces, which take `work` together, are worth handing to a thread.
int64_t Grain(int64_t n, int64_t work) {
  return static_cast<int64_t>(
      std::ceil(double(cost::kPart) * double(n) / double(std::max<int64_t>(1, work))));
}

// Ctrl-C waits for the end of a part, or for 2 MiB of memory that is touched for the first time.
int64_t PartsToInterrupt(int64_t rows, int64_t cols, int64_t work) {
  return std::max(work / cost::kInterrupted, rows * cols >> 19);
}

}  // namespace

void RunLaunchParallel(const Compiled& code, const kir::KernelArgs& args, int64_t rows,
                       int64_t cols, int64_t work) {
  if (rows <= 0 || cols <= 0) return;
  const int threads = NumThreads();
  if (rows >= threads || cols == 1) {
    const int64_t grain = Grain(rows, work);
    const auto run = [&](int64_t begin, int64_t end) {
      if (cols < tuned::kLongRow || !LongWork::Current())
        return code.Run(args, begin, end, 0, cols);
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t c = 0; c < cols && !Abandoned(); c += tuned::kLongRow / 2)
          code.Run(args, row, row + 1, c, std::min(cols, c + tuned::kLongRow / 2));
      }
    };
    ParallelFor(rows, grain, run, PartsToInterrupt(rows, cols, work));
    return;
  }
  // Columns that each run a long loop are split one by one if there are few of them.
  int64_t grain = Grain(cols, work);
  if (grain > 8 || cols >= tuned::kPartColumns * threads)
    grain = (grain + tuned::kPartColumns - 1) / tuned::kPartColumns * tuned::kPartColumns;
  ParallelFor(
      cols, grain, [&](int64_t begin, int64_t end) { code.Run(args, 0, rows, begin, end); },
      PartsToInterrupt(rows, cols, work));
}

}  // namespace frazil::jit
