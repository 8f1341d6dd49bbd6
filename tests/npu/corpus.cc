#include "tests/npu/corpus.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "core/check.h"
#include "core/str.h"
#include "jit/emit/npu/gemm.h"
#include "jit/lower/lower.h"
#include "tests/jit/kernel_gen.h"

namespace frazil::npu {
namespace {

using jit::Rng;

int64_t Below(Rng& rng, int64_t n) { return int64_t(rng() % uint64_t(n)); }

// Numbers whose sums, products and differences all differ: neither 0 nor 1, no NaN.
template <typename T>
T Ordinary(Rng& rng, bool positive) {
  const double x = (0.25 + double(Below(rng, 1000)) / 400) * (positive || rng() & 1 ? 1 : -1);
  if constexpr (std::is_same_v<T, Half>) return ToHalf(x);
  if constexpr (std::is_same_v<T, BFloat16>) return ToBFloat16(x);
  if constexpr (std::is_same_v<T, bool>) return rng() & 1;
  if constexpr (std::is_integral_v<T>)
    return T((2 + Below(rng, 9)) * (std::is_signed_v<T> && !positive && rng() & 1 ? -1 : 1));
  return T(x);
}

void PutOrdinary(DType dtype, Rng& rng, char* at, bool positive = false) {
  const auto put = [&](auto value) { std::memcpy(at, &value, sizeof value); };
  switch (dtype) {
#define FZ_DTYPE(E, name, short_name, T, bytes, kind) \
  case DType::E:                                      \
    return put(Ordinary<T>(rng, positive));
#include "core/dtypes.def"
#undef FZ_DTYPE
    default:
      break;
  }
}

// What the elements of a launch reach from the first: [low, high).
std::pair<int64_t, int64_t> Reach(const LaunchShape& shape, size_t buffer, int64_t item) {
  const size_t axes = shape.extents.size();
  int64_t low = 0, high = item;
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t step = (shape.extents[axis] - 1) * shape.strides[buffer * axes + axis];
    (step < 0 ? low : high) += step;
  }
  return {low, high};
}

class Maker {
 public:
  std::vector<CorpusProgram> Run() {
    for (const char* preset : {"dc16", "edge16"}) {
      preset_ = *FindPreset(preset);
      RandomKernels();
      Graphs();
      Products();
    }
    return std::move(corpus_);
  }

 private:
  void AddMemory(CorpusProgram* c, DType dtype, bool writable, int64_t low, int64_t high) {
    const uint64_t gm = kGmBase + uint64_t(c->memory.size()) * 0x1000'0000;
    c->memory.push_back({gm, dtype, writable, std::vector<char>(size_t(high - low))});
    c->params.push_back(gm - uint64_t(low));
  }

  void Keep(CorpusProgram c) {
    FillMemory(0, &c);
    corpus_.push_back(std::move(c));
  }

  // Whether most elements of every result depend on the inputs: in others mistakes do not show.
  static bool IsTelling(CorpusProgram c) {
    std::vector<std::vector<char>> results[2];
    for (uint64_t seed = 0; seed < 2; ++seed) {
      FillMemory(seed, &c);
      results[seed] = RunCorpus(c, c.program, {}).bytes;
    }
    for (size_t i = 0; i < c.memory.size(); ++i) {
      const auto &one = results[0][i], &two = results[1][i];
      const size_t item = size_t(SizeOf(c.memory[i].dtype));
      size_t elements = 0, differ = 0;
      for (size_t at = 0; at + item <= one.size(); at += item) {
        if (std::equal(one.begin() + int64_t(at), one.begin() + int64_t(at + item),
                       c.memory[i].bytes.begin() + int64_t(at)))
          continue;  // not written
        ++elements;
        differ += std::memcmp(&one[at], &two[at], item) != 0;
      }
      if (c.memory[i].writable && differ * 2 < elements) return false;
    }
    return true;
  }

  bool IsThere(const std::vector<Instr>& code) const {
    for (const CorpusProgram& c : corpus_) {
      if (c.preset.name == preset_.name && c.program.code == code) return true;
    }
    return false;
  }

  // False if the emitter refuses, or if the program is there already, or tells too little.
  bool AddKernel(std::string name, const kir::Kernel& kernel, const LaunchShape& shape,
                 absl::Span<const uint64_t> scalars, const EmitOptions& options,
                 bool telling = false) {
    auto program = EmitKernel(kernel, shape, preset_, options);
    if (!program.ok() || program->code.size() > 600 || IsThere(program->code)) return false;
    CorpusProgram c;
    c.name = StrCat(preset_.name, " ", name);
    c.preset = preset_;
    c.program = *std::move(program);
    for (size_t b = 0; b < kernel.buffers.size(); ++b) {
      const auto [low, high] = Reach(shape, b, SizeOf(kernel.buffers[b].dtype));
      AddMemory(&c, kernel.buffers[b].dtype, kernel.buffers[b].out, low, high);
    }
    c.params.insert(c.params.end(), scalars.begin(), scalars.end());
    if (telling && !IsTelling(c)) return false;
    Keep(std::move(c));
    return true;
  }

  void RandomKernels() {
    jit::GenOptions gen;
    gen.predicates = gen.offsets = gen.index = false;
    gen.calls = true;
    gen.types = {DType::kF32,  DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                 DType::kBool, DType::kU8,  DType::kI32, DType::kU32};
    int kept = 0;
    for (uint64_t seed = 0; kept < 45; ++seed) {
      Rng rng(seed);
      gen.max_values = 3 + int(seed % 8);
      kir::Kernel kernel = jit::RandomKernel(rng, gen);
      std::vector<int64_t> extents = jit::RandomExtents(kernel, rng);
      const jit::Case c = jit::MakeCase(std::move(kernel), std::move(extents), rng);
      EmitOptions options;
      options.max_tile_bytes = kept % 3 ? 256 : 32 * 1024;  // many tiles, or one
      options.search = false;
      std::vector<uint64_t> scalars;
      for (const kir::Scalar& scalar : c.kernel.scalars) {
        scalars.push_back(0);
        PutOrdinary(scalar.dtype, rng, reinterpret_cast<char*>(&scalars.back()));
      }
      kept += AddKernel(StrCat("random ", seed), c.kernel, {c.extents, c.strides}, scalars, options,
                        true);
    }
  }

  void AddGraph(std::string_view name, std::string_view text, int64_t max_tile_bytes) {
    const StatusOr<jit::Graph> graph = jit::Parse(text);
    ASSERT_TRUE(graph.ok()) << name << ": " << graph.status();
    int number = 0;
    for (const jit::Group& group : jit::Fuse(*graph).groups) {
      if (group.kind != jit::Group::Kind::kKernel) continue;
      const StatusOr<jit::LoweredGroup> lowered = jit::Lower(*graph, group);
      ASSERT_TRUE(lowered.ok()) << name << ": " << lowered.status();
      for (const jit::Launch& launch : lowered->launches) {
        Rng rng(uint64_t(number) + 1);
        std::vector<uint64_t> scalars;
        for (size_t s = 0; s < launch.scalars.size(); ++s) {
          const int32_t node = launch.scalars[s];
          scalars.push_back(node < 0 ? launch.literals[size_t(-1 - node)] : 0);
          if (node >= 0)
            PutOrdinary(launch.kernel.scalars[s].dtype, rng,
                        reinterpret_cast<char*>(&scalars.back()), true);
        }
        EmitOptions options;
        options.op = std::string(name);
        options.file = "model.py";
        options.line = 10 + number;
        options.search = max_tile_bytes == 0;
        if (!options.search) options.max_tile_bytes = max_tile_bytes;
        const std::string tiles =
            options.search ? "as searched" : StrCat("in tiles of ", max_tile_bytes);
        AddKernel(StrCat(name, " ", number++, " ", tiles), launch.kernel,
                  {launch.extents, launch.strides}, scalars, options);
      }
    }
  }

  void Graphs();

  void AddProduct(DType dtype, int64_t m, int64_t n, int64_t k, bool a_transposed,
                  bool b_transposed, int batches, bool double_buffered, bool small_blocks) {
    const auto operand = [](int64_t rows, int64_t cols, bool transposed) {
      return MatrixRef{nullptr, transposed ? 1 : cols, transposed ? rows : 1};
    };
    const GemmArgs args{dtype,
                        m,
                        n,
                        k,
                        operand(m, k, a_transposed),
                        operand(k, n, b_transposed),
                        operand(m, n, false)};
    const int64_t item = SizeOf(dtype);
    std::vector<std::array<int64_t, 3>> offsets;
    for (int64_t i = 0; i < batches; ++i)
      offsets.push_back({i * m * k * item, 0, i * m * n * item});
    GemmBlocks blocks = ChooseBlocks(preset_, *MatrixTypeOf(dtype), m, n, k);
    if (small_blocks) {
      const int64_t k0 = FractalK(*MatrixTypeOf(dtype));
      blocks.half_m = 32;
      blocks.l1_m = 64;
      blocks.l1_n = 32;
      blocks.l0_k = k0;
      blocks.l1_k = 2 * k0;
    }
    if (!double_buffered) blocks.double_buffered = blocks.prefetch = false;
    auto program = EmitGemm(args, offsets, preset_, blocks);
    if (!program.ok()) return;  // a single accumulator holds no second half
    CorpusProgram c;
    c.name =
        StrCat(preset_.name, " matmul ", ShortName(dtype), " ", m, "x", n, "x", k,
               a_transposed ? " aT" : "", b_transposed ? " bT" : "", batches > 1 ? " batched" : "",
               double_buffered ? "" : " single", small_blocks ? " small" : "");
    c.preset = preset_;
    c.program = *std::move(program);
    AddMemory(&c, dtype, false, 0, batches * m * k * item);
    AddMemory(&c, dtype, false, 0, k * n * item);
    AddMemory(&c, dtype, true, 0, batches * m * n * item);
    Keep(std::move(c));
  }

  // relu(a @ b + bias) * y, and the sum before it as f16.
  void AddWithEpilogue(int64_t m, int64_t n, int64_t k) {
    const auto kernel = kir::Parse(
        "kernel tail(c: buf f32 [s,1], bias: buf f32 [0,1], y: buf f32 [s,1], w: scalar f32, "
        "o: out f32 [s,1], p: out f16 [s,1]) space 2\n"
        "  %0 = load c : f32\n  %1 = load bias : f32\n  %2 = add %0, %1 : f32\n"
        "  %3 = param w : f32\n  %4 = max %2, %3 : f32\n  %5 = load y : f32\n"
        "  %6 = mul %4, %5 : f32\n  store o, %6\n  %7 = cast %2 : f16\n  store p, %7\n");
    ASSERT_TRUE(kernel.ok()) << kernel.status();
    const std::vector<int64_t> extents{m, n};
    const std::vector<int64_t> strides{4 * n, 4, 0, 4, 4 * n, 4, 4 * n, 4, 2 * n, 2};
    const Epilogue epilogue{&*kernel, {extents, strides}, 0};
    const GemmArgs args{DType::kF32, m, n, k, {nullptr, k, 1}, {nullptr, n, 1}, {nullptr, n, 1}};
    auto program =
        EmitGemm(args, {{{0, 0, 0}}}, preset_, ChooseBlocks(preset_, kF32, m, n, k), {}, &epilogue);
    ASSERT_TRUE(program.ok()) << program.status();
    CorpusProgram c;
    c.name = StrCat(preset_.name, " matmul with epilogue ", m, "x", n, "x", k);
    c.preset = preset_;
    c.program = *std::move(program);
    AddMemory(&c, DType::kF32, false, 0, m * k * 4);
    AddMemory(&c, DType::kF32, false, 0, k * n * 4);
    AddMemory(&c, DType::kF32, false, 0, n * 4);
    AddMemory(&c, DType::kF32, false, 0, m * n * 4);
    AddMemory(&c, DType::kF32, true, 0, m * n * 4);
    AddMemory(&c, DType::kF16, true, 0, m * n * 2);
    c.params.push_back(0x3e800000);  // 0.25
    Keep(std::move(c));
  }

  void Products() {
    const DType dtypes[] = {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kU8};
    for (const DType dtype : dtypes) {
      const int64_t k0 = FractalK(*MatrixTypeOf(dtype));
      AddProduct(dtype, 40, 24, 50, false, false, 1, true, false);
      AddProduct(dtype, 70, 40, 5 * k0 - 3, false, true, 1, true, true);
      AddProduct(dtype, 64, 33, 2 * k0 + 1, true, false, 1, true, true);
      AddProduct(dtype, 33, 17, 3 * k0, true, true, 2, true, true);
    }
    AddProduct(DType::kF16, 100, 70, 70, false, false, 1, true, true);
    AddProduct(DType::kF16, 64, 32, 64, false, false, 1, false, true);
    AddProduct(DType::kF32, 130, 257, 100, false, false, 1, true, false);
    AddWithEpilogue(70, 40, 50);
    AddWithEpilogue(17, 10, 100);
    AddWithEpilogue(130, 100, 40);
  }

  Preset preset_;
  std::vector<CorpusProgram> corpus_;
};

// What users' programs lower to.
struct GraphText {
  const char* name;
  const char* text;
};

constexpr GraphText kGraphs[] = {
    {"softmax", R"(graph (f32[12,50]) {
       %1 = max %0 {2, 1} : f32[12,1]
       %2 = subtract %0, %1 : f32[12,50]
       %3 = exp %2 : f32[12,50]
       %4 = sum %3 {2, 1} : f32[12,1]
       %5 = divide %3, %4 : f32[12,50]
       return %5 })"},
    {"softmax gradient", R"(graph (f32[12,50], f32[12,50]) {
       %2 = multiply %0, %1 : f32[12,50]
       %3 = sum %2 {2, 1} : f32[12,1]
       %4 = multiply %1, %3 : f32[12,50]
       %5 = subtract %2, %4 : f32[12,50]
       return %5 })"},
    {"layer norm", R"(graph (f32[10,48], f32[48], f32[48], scalar f32, scalar f32) {
       %5 = sum %0 {2, 1} : f32[10,1]
       %6 = multiply %5, %3 : f32[10,1]
       %7 = subtract %0, %6 : f32[10,48]
       %8 = multiply %7, %7 : f32[10,48]
       %9 = sum %8 {2, 1} : f32[10,1]
       %10 = multiply %9, %3 : f32[10,1]
       %11 = abs %4 : f32[]
       %12 = add %10, %11 : f32[10,1]
       %13 = sqrt %12 : f32[10,1]
       %14 = divide %7, %13 : f32[10,48]
       %15 = multiply %14, %1 : f32[10,48]
       %16 = add %15, %2 : f32[10,48]
       return %16, %14, %13 })"},
    {"layer norm gradient", R"(graph (f32[10,48], f32[10,48], f32[10,1], f32[48], scalar f32) {
       %5 = multiply %0, %3 : f32[10,48]
       %6 = sum %5 {2, 1} : f32[10,1]
       %7 = multiply %6, %4 : f32[10,1]
       %8 = multiply %5, %1 : f32[10,48]
       %9 = sum %8 {2, 1} : f32[10,1]
       %10 = multiply %9, %4 : f32[10,1]
       %11 = multiply %1, %10 : f32[10,48]
       %12 = subtract %5, %7 : f32[10,48]
       %13 = subtract %12, %11 : f32[10,48]
       %14 = divide %13, %2 : f32[10,48]
       %15 = multiply %0, %1 : f32[10,48]
       %16 = sum %15 {1, 0} : f32[48]
       %17 = sum %0 {1, 0} : f32[48]
       return %14, %16, %17 })"},
    {"cross entropy", R"(graph (f32[20,10], f32[20,10], scalar f32) {
       %3 = max %0 {2, 1} : f32[20,1]
       %4 = subtract %0, %3 : f32[20,10]
       %5 = exp %4 : f32[20,10]
       %6 = sum %5 {2, 1} : f32[20,1]
       %7 = log %6 : f32[20,1]
       %8 = subtract %4, %7 : f32[20,10]
       %9 = multiply %8, %1 : f32[20,10]
       %10 = sum %9 {3, 0} : f32[]
       %11 = multiply %10, %2 : f32[]
       return %11, %8 })"},
    {"cross entropy gradient", R"(graph (f32[20,10], f32[20,10], f32[]) {
       %3 = multiply %1, %2 : f32[20,10]
       %4 = sum %3 {2, 1} : f32[20,1]
       %5 = exp %0 : f32[20,10]
       %6 = multiply %5, %4 : f32[20,10]
       %7 = subtract %3, %6 : f32[20,10]
       return %7 })"},
    {"SGD step", R"(graph (f32[37,21], f32[37,21], f32[37,21], scalar f32, scalar f32) {
       %5 = multiply %1, %3 : f32[37,21]
       %6 = add %5, %2 : f32[37,21]
       %7 = multiply %6, %4 : f32[37,21]
       %8 = subtract %0, %7 : f32[37,21]
       return %8, %6 })"},
    {"Adam step",
     R"(graph (f32[600], f32[600], f32[600], f32[600], scalar f32, scalar f32, scalar f32, scalar f32) {
       %8 = subtract %3, %1 : f32[600]
       %9 = multiply %8, %4 : f32[600]
       %10 = add %1, %9 : f32[600]
       %11 = multiply %3, %3 : f32[600]
       %12 = subtract %11, %2 : f32[600]
       %13 = multiply %12, %5 : f32[600]
       %14 = add %2, %13 : f32[600]
       %15 = abs %14 : f32[600]
       %16 = sqrt %15 : f32[600]
       %17 = add %16, %6 : f32[600]
       %18 = divide %10, %17 : f32[600]
       %19 = multiply %18, %7 : f32[600]
       %20 = subtract %0, %19 : f32[600]
       return %20, %10, %14 })"},
    {"transposed copy", R"(graph (f32[30,44]) {
       %1 = permute_dims %0 {1, 0} : view f32[44,30] strides [1,44] offset 0
       %2 = copy %1 : f32[44,30]
       return %2 })"},
    {"transposed sum", R"(graph (f16[30,44], f16[44,30]) {
       %2 = permute_dims %0 {1, 0} : view f16[44,30] strides [1,44] offset 0
       %3 = add %2, %1 : f16[44,30]
       return %3 })"},
    {"slice", R"(graph (f32[40,32]) {
       %1 = slice %0 {4, 1, 20, 8, 1, 16} : view f32[20,16] strides [32,1] offset 136
       %2 = multiply %1, %1 : f32[20,16]
       return %2 })"},
    {"long sum", R"(graph (f32[9000]) {
       %1 = sum %0 {1, 0} : f32[]
       return %1 })"},
    {"long row maximum", R"(graph (f32[3,600]) {
       %1 = max %0 {2, 0} : f32[3]
       return %1 })"},
    {"column sum", R"(graph (f32[100,30]) {
       %1 = sum %0 {1, 0} : f32[30]
       return %1 })"},
    {"row sum of i32", R"(graph (i32[9,200]) {
       %1 = sum %0 {2, 0} : i32[9]
       return %1 })"},
    {"row product of bf16", R"(graph (bf16[9,70]) {
       %1 = prod %0 {2, 0} : bf16[9]
       return %1 })"},
    {"any and all", R"(graph (bool[11,60], bool[11,60]) {
       %2 = any %0 {2, 0} : bool[11]
       %3 = all %1 {2, 0} : bool[11]
       return %2, %3 })"},
    {"GELU", R"(graph (f32[25,40], scalar f32, scalar f32) {
       %3 = multiply %0, %1 : f32[25,40]
       %4 = erf %3 : f32[25,40]
       %5 = add %4, %2 : f32[25,40]
       %6 = multiply %0, %5 : f32[25,40]
       return %6 })"},
    {"bias and ReLU", R"(graph (f16[32,24], f16[24], scalar f16) {
       %3 = add %0, %1 : f16[32,24]
       %4 = maximum %3, %2 : f16[32,24]
       return %4 })"},
    {"ReLU gradient", R"(graph (f32[32,24], f32[32,24], scalar f32) {
       %3 = greater %1, %2 : bool[32,24]
       %4 = where %3, %0, %2 : f32[32,24]
       %5 = sum %4 {1, 0} : f32[24]
       return %4, %5 })"},
    {"tanh gradient", R"(graph (f32[500], f32[500]) {
       %2 = multiply %1, %1 : f32[500]
       %3 = multiply %0, %2 : f32[500]
       %4 = subtract %0, %3 : f32[500]
       %5 = tanh %4 : f32[500]
       return %5 })"},
    {"mixed precision", R"(graph (f16[20,36], bf16[20,36], f32[36]) {
       %3 = astype %0 {11} : f32[20,36]
       %4 = astype %1 {11} : f32[20,36]
       %5 = multiply %3, %4 : f32[20,36]
       %6 = add %5, %2 : f32[20,36]
       return %6 })"},
    {"integers", R"(graph (i32[400], i32[400], u32[400]) {
       %3 = multiply %0, %1 : i32[400]
       %4 = bitwise_xor %3, %1 : i32[400]
       %5 = bitwise_and %2, %2 : u32[400]
       %6 = minimum %4, %0 : i32[400]
       return %6, %5, %4 })"},
    {"outer sum", R"(graph (f32[30,1], f32[1,40]) {
       %2 = add %0, %1 : f32[30,40]
       %3 = exp %2 : f32[30,40]
       return %3 })"},
    {"batch norm", R"(graph (f32[64,20], f32[20], f32[20], scalar f32) {
       %4 = sum %0 {1, 1} : f32[1,20]
       %5 = multiply %4, %3 : f32[1,20]
       %6 = subtract %0, %5 : f32[64,20]
       %7 = multiply %6, %6 : f32[64,20]
       %8 = sum %7 {1, 1} : f32[1,20]
       %9 = sqrt %8 : f32[1,20]
       %10 = divide %6, %9 : f32[64,20]
       %11 = multiply %10, %1 : f32[64,20]
       %12 = add %11, %2 : f32[64,20]
       return %12 })"},
};

void Maker::Graphs() {
  for (const GraphText& g : kGraphs) {
    for (const int64_t bytes : {int64_t{512}, int64_t{2048}, int64_t{0}})
      AddGraph(g.name, g.text, bytes);
  }
}

}  // namespace

std::vector<CorpusProgram> MakeCorpus() { return Maker().Run(); }

void FillMemory(uint64_t seed, CorpusProgram* c) {
  Rng rng(seed);
  for (CorpusProgram::Memory& m : c->memory) {
    const size_t item = size_t(SizeOf(m.dtype));
    // Where results go something else stands, so that a missing store shows.
    if (m.writable) std::fill(m.bytes.begin(), m.bytes.end(), char(0xCD));
    if (m.writable) continue;
    for (size_t at = 0; at + item <= m.bytes.size(); at += item) {
      PutOrdinary(m.dtype, rng, m.bytes.data() + at);
      // Few that differ from the rest, where one decides about many.
      if (m.dtype == DType::kBool && seed > 0)
        m.bytes[at] = char(seed % 2 == (Below(rng, 32) != 0));
    }
  }
}

CorpusResult RunCorpus(const CorpusProgram& c, const Program& code, const LaunchOptions& options) {
  CorpusResult result;
  std::vector<Window> windows;
  for (const CorpusProgram::Memory& m : c.memory) result.bytes.push_back(m.bytes);
  for (size_t i = 0; i < c.memory.size(); ++i) {
    const CorpusProgram::Memory& m = c.memory[i];
    windows.push_back({m.gm, int64_t(m.bytes.size()), result.bytes[i].data(), m.writable});
  }
  auto launched = Launch(code, c.preset, c.params, windows, options);
  FZ_CHECK(launched.ok());
  result.fault = std::move(launched->fault);
  return result;
}

}  // namespace frazil::npu
