#include "jit/emit/cuda/matmul_text.h"

#include <algorithm>

#include "core/str.h"
#include "jit/emit/cuda/expr.h"

namespace frazil::jit::cuda {
namespace {

// Integers accumulate in an unsigned type of 32 bits at least, 16-bit floats in f32.
std::string_view SumType(DType dtype) {
  if (IsHalf(dtype)) return "f32";
  if (IsFloat(dtype)) return TypeText(dtype);
  return SizeOf(dtype) == 8 ? "u64" : "u32";
}

std::string Widen(DType dtype) {
  if (dtype == DType::kF16) return "fz_f16_to_f32(x)";
  if (dtype == DType::kBF16) return "fz_bf16_to_f32(x)";
  return "(sum_t)x";
}

std::string Narrow(DType dtype) {
  if (dtype == DType::kF16) return "fz_f32_to_f16(x)";
  if (dtype == DType::kBF16) return "fz_f32_to_bf16(x)";
  return "(item_t)x";
}

// kDepth steps of k lie in shared memory, twice: while one half is read, the other is written. A
// thread's elements stand in groups of up to 4 adjacent ones, so that reads of shared memory are
// wide.
constexpr std::string_view kBody = R"text(
#define THREADS 256
#define TILE (16 * PER)
#define GROUP (PER < 4 ? PER : 4)
#define LOADS (TILE * DEPTH / THREADS)
#define PITCH (TILE + 16 / (int)sizeof(sum_t))

// Element `i` of the PER that a thread has of a tile's rows or columns.
FZ_DEVICE int place(int thread, int i) { return i / GROUP * (16 * GROUP) + thread * GROUP + i % GROUP; }

// A tile's way from an operand to shared memory: LOADS elements a thread. Neighbouring threads take
// neighbouring elements along the axis whose stride is 1.
struct Side {
  const item_t* from;  // the thread's first element at k = 0
  i64 apart, step;     // between the thread's elements; along k
  int lines;           // there are from the thread's first one on
  bool along_k;

  FZ_DEVICE void start(const item_t* p, i64 line, i64 k_stride, i64 left) {
    along_k = k_stride == 1 || k_stride == -1;
    from = p + line_of(0) * line + k_of(0) * k_stride;
    apart = along_k ? THREADS / DEPTH * line : THREADS / TILE * k_stride;
    step = k_stride;
    lines = (int)fz_min(left, (i64)TILE) - line_of(0);
  }
  FZ_DEVICE int line_of(int i) const {
    return along_k ? (int)threadIdx.x / DEPTH + i * (THREADS / DEPTH) : (int)threadIdx.x % TILE;
  }
  FZ_DEVICE int k_of(int i) const {
    return along_k ? (int)threadIdx.x % DEPTH : (int)threadIdx.x / TILE + i * (THREADS / TILE);
  }

  // Of the DEPTH steps from `first` on, the first `count`.
  FZ_DEVICE void load(sum_t (&held)[LOADS], i64 first, int count) const {
    const item_t* p = from + first * step;
    const int ks = count - k_of(0);
#pragma unroll
    for (int i = 0; i < LOADS; ++i) {
      const bool there = along_k ? i * (THREADS / DEPTH) < lines && ks > 0 : lines > 0 && i * (THREADS / TILE) < ks;
      held[i] = there ? widen(*p) : (sum_t)0;
      p += apart;
    }
  }
  FZ_DEVICE void store(const sum_t (&held)[LOADS], sum_t (&shared)[DEPTH][PITCH]) const {
#pragma unroll
    for (int i = 0; i < LOADS; ++i) shared[k_of(i)][line_of(i)] = held[i];
  }
};

FZ_DEVICE void multiply(const sum_t (&a)[DEPTH][PITCH], const sum_t (&b)[DEPTH][PITCH], int k, sum_t (&sum)[PER][PER]) {
  const int row = threadIdx.x / 16, column = threadIdx.x % 16;
  sum_t x[PER], y[PER];
#pragma unroll
  for (int i = 0; i < PER; ++i) x[i] = a[k][place(row, i)];
#pragma unroll
  for (int i = 0; i < PER; ++i) y[i] = b[k][place(column, i)];
#pragma unroll
  for (int i = 0; i < PER; ++i) {
#pragma unroll
    for (int j = 0; j < PER; ++j) sum[i][j] = fused(x[i], y[j], sum[i][j]);
  }
}

// sum = the products of k in [first, past), ascending. Steps beyond the end are left out: adding
// the product of zeros would make +0 of -0.
FZ_DEVICE void sum_up(const Side& a, const Side& b, i64 first, i64 past, sum_t (&as)[2][DEPTH][PITCH],
                      sum_t (&bs)[2][DEPTH][PITCH], sum_t (&sum)[PER][PER]) {
#pragma unroll
  for (int i = 0; i < PER; ++i) {
#pragma unroll
    for (int j = 0; j < PER; ++j) sum[i][j] = (sum_t)0;
  }
  sum_t next_a[LOADS], next_b[LOADS];
  int count = (int)fz_min(past - first, (i64)DEPTH), half = 0;
  a.load(next_a, first, count);
  b.load(next_b, first, count);
  a.store(next_a, as[0]);
  b.store(next_b, bs[0]);
  __syncthreads();
  while (first < past) {
    first += DEPTH;
    const int next = (int)fz_min(past - first, (i64)DEPTH);
    if (next > 0) {
      a.load(next_a, first, next);
      b.load(next_b, first, next);
    }
    if (count == DEPTH) {
#pragma unroll 2
      for (int k = 0; k < DEPTH; ++k) multiply(as[half], bs[half], k, sum);
    } else {
      for (int k = 0; k < count; ++k) multiply(as[half], bs[half], k, sum);
    }
    count = next;
    half ^= 1;
    if (next > 0) {
      a.store(next_a, as[half]);
      b.store(next_b, bs[half]);
    }
    __syncthreads();
  }
}
)text";

// Lanes in the order in which the halving tree needs them: of 2^bits lanes, lane `reverse(s)` is
// the s-th, and after it as many sums are whole as s ends in ones.
constexpr std::string_view kChunks = R"text(
#define CHUNK 4096
#define EACH(i, j) _Pragma("unroll") for (int i = 0; i < PER; ++i) _Pragma("unroll") for (int j = 0; j < PER; ++j)

FZ_DEVICE int bits_of(i64 count) {
  int bits = 0;
  while (bits < 6 && (1 << bits) < count) ++bits;
  return bits;
}
FZ_DEVICE int reverse(int s, int bits) {
  int lane = 0;
  for (int i = 0; i < bits; ++i) lane |= (s >> i & 1) << (bits - 1 - i);
  return lane;
}

struct Sums {
  sum_t at[PER][PER];
};

// Lane s is whole: it joins those before it.
FZ_DEVICE void join(Sums* stack, int s, Sums* lane) {
  int level = 0;
  for (; s >> level & 1; ++level) {
    EACH(i, j) lane->at[i][j] = stack[level].at[i][j] + lane->at[i][j];
  }
  stack[level] = *lane;
}

FZ_DEVICE void sum_chunks(const Side& a, const Side& b, i64 k, sum_t (&as)[2][DEPTH][PITCH],
                          sum_t (&bs)[2][DEPTH][PITCH], sum_t (&sum)[PER][PER]) {
  const i64 chunks = (k + CHUNK - 1) / CHUNK, groups = (chunks + CHUNK - 1) / CHUNK;
  const int group_bits = bits_of(groups);
  // The lane that is being summed stands behind the whole ones: at a place that is not known here,
  // so that it takes no registers from sum_up.
  Sums outer[8], inner[8];
  for (int gs = 0; gs < 1 << group_bits; ++gs) {
    Sums* const group_lane = outer + group_bits + 1;
    EACH(i, j) group_lane->at[i][j] = -(sum_t)0;
    for (i64 g = reverse(gs, group_bits); g < groups; g += 64) {
      const i64 first = g * CHUNK, count = fz_min(chunks - first, (i64)CHUNK);
      const int bits = bits_of(count);
      for (int s = 0; s < 1 << bits; ++s) {
        Sums* const lane = inner + bits + 1;
        EACH(i, j) lane->at[i][j] = -(sum_t)0;
        for (i64 c = reverse(s, bits); c < count; c += 64) {
          const i64 begin = (first + c) * CHUNK;
          sum_up(a, b, begin, fz_min(k, begin + CHUNK), as, bs, sum);
          EACH(i, j) lane->at[i][j] = lane->at[i][j] + sum[i][j];
        }
        join(inner, s, lane);
      }
      EACH(i, j) group_lane->at[i][j] = group_lane->at[i][j] + inner[bits].at[i][j];
    }
    join(outer, gs, group_lane);
  }
  EACH(i, j) sum[i][j] = outer[group_bits].at[i][j];
}
)text";

constexpr std::string_view kArgs = R"text(
struct Args {
  const item_t* a;
  const item_t* b;
  item_t* c;
  i64 m, n, k;
  i64 a_row, a_col, b_row, b_col;
  i64 tiles_m, tiles_n;
  i64 batch_axes;
  i64 batch_extents[RANK], a_batch[RANK], b_batch[RANK];
};

// Tiles in strips of 8 rows, so that those that run at the same time share their operands in cache.
FZ_DEVICE void find_tile(const Args& args, i64 tile, i64* row, i64* column) {
  const i64 strip = tile / (8 * args.tiles_n), inside = tile % (8 * args.tiles_n);
  const i64 height = fz_min((i64)8, args.tiles_m - 8 * strip);
  *row = (8 * strip + inside % height) * TILE;
  *column = inside / height * TILE;
}

)text";

constexpr std::string_view kBlock = R"text((const Args args) {
  __shared__ __align__(16) sum_t as[2][DEPTH][PITCH];
  __shared__ __align__(16) sum_t bs[2][DEPTH][PITCH];
  const i64 tiles = args.tiles_m * args.tiles_n, batch = blockIdx.x / tiles;
  i64 row, column;
  find_tile(args, blockIdx.x % tiles, &row, &column);
  const item_t* a = args.a + row * args.a_row;
  const item_t* b = args.b + column * args.b_col;
  i64 rest = batch;
  for (int axis = (int)args.batch_axes - 1; axis >= 0; --axis) {
    const i64 at = rest % args.batch_extents[axis];
    rest /= args.batch_extents[axis];
    a += at * args.a_batch[axis];
    b += at * args.b_batch[axis];
  }
  Side a_side, b_side;
  a_side.start(a, args.a_row, args.a_col, args.m - row);
  b_side.start(b, args.b_col, args.b_row, args.n - column);
  sum_t sum[PER][PER];
  SUM;
  item_t* c = args.c + batch * args.m * args.n;
#pragma unroll
  for (int i = 0; i < PER; ++i) {
    const i64 to_row = row + place(threadIdx.x / 16, i);
#pragma unroll
    for (int j = 0; j < PER; ++j) {
      const i64 to_column = column + place(threadIdx.x % 16, j);
      if (to_row < args.m && to_column < args.n) c[to_row * args.n + to_column] = narrow(sum[i][j]);
    }
  }
}
)text";

}  // namespace

MatmulShape ChooseMatmul(DType dtype, int64_t batches, int64_t m, int64_t n, int64_t k,
                         int multiprocessors) {
  MatmulShape shape{dtype, SumType(dtype).ends_with("64") ? 4 : 8, IsFloat(dtype) && k > 4096};
  for (; shape.per > 1; shape.per /= 2) {
    const int64_t tile = shape.tile();
    const int64_t tiles = ((m + tile - 1) / tile) * ((n + tile - 1) / tile);
    // Beside a matrix that is one tile narrow, a smaller one wastes less.
    if (tiles * batches >= multiprocessors && std::min(m, n) > tile / 2) break;
  }
  return shape;
}

std::string MatmulEntry(const MatmulShape& shape) {
  return StrCat("frazil_matmul_", ShortName(shape.dtype), "_", shape.tile(),
                shape.chunks ? "_chunks" : "");
}

std::string MatmulText(const MatmulShape& shape) {
  const DType dtype = shape.dtype;
  std::string text = StrCat("typedef ", TypeText(dtype), " item_t;\ntypedef ", SumType(dtype),
                            " sum_t;\n", "#define PER ", shape.per, "\n#define DEPTH ",
                            shape.per == 8 ? 8 : 16, "\n#define RANK ", kMaxRank, "\n");
  StrAppend(&text, "FZ_DEVICE sum_t widen(item_t x) { return ", Widen(dtype), "; }\n");
  StrAppend(&text, "FZ_DEVICE item_t narrow(sum_t x) { return ", Narrow(dtype), "; }\n");
  StrAppend(&text, "FZ_DEVICE sum_t fused(sum_t a, sum_t b, sum_t c) { return ",
            IsFloat(dtype) ? "fz_fma(a, b, c)" : "a * b + c", "; }\n");
  StrAppend(&text, "#define SUM ",
            shape.chunks ? "sum_chunks(a_side, b_side, args.k, as, bs, sum)"
                         : "sum_up(a_side, b_side, 0, args.k, as, bs, sum)",
            "\n");
  StrAppend(&text, kBody, shape.chunks ? kChunks : "", kArgs,
            "extern \"C\" __global__ void __launch_bounds__(THREADS, 2) ", MatmulEntry(shape),
            kBlock);
  return text;
}

}  // namespace frazil::jit::cuda
