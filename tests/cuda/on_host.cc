#include "tests/cuda/on_host.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "core/str.h"
#include "gtest/gtest.h"
#include "jit/emit/interp/interp.h"
#include "tests/cuda/fake/block.h"
#include "tests/cuda/fake/host_text.h"

namespace frazil::jit {
namespace {

using cuda::CudaSource;
using cuda::CudaVariant;

class OnHost : public Compiled {
 public:
  OnHost(const FzImage& image, const kir::Kernel& kernel, const CudaSource& source, unsigned order)
      : image_(image), kernel_(kernel), source_(source), order_(order) {}
  size_t code_bytes() const override { return 0; }

  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    const absl::Span<const int64_t> extents(args.extents, size_t(kernel_.axes()));
    int64_t rows = 1;
    for (int a = 0; a + 1 < kernel_.rank; ++a) rows *= extents[a];
    ASSERT_TRUE(row_begin == 0 && row_end == rows && col_begin == 0 &&
                col_end == extents[kernel_.rank - 1]);
    const cuda::CudaGrid grid = cuda::LaunchShape(source_, extents);
    if (grid.grid == 0) return;
    std::vector<uint8_t> bytes = cuda::PackArgs(source_, args);
    for (const std::string& name : source_.entries) {
      const FzEntry* entry = fake::FindEntry(image_, name);
      ASSERT_NE(entry, nullptr) << name;
      ASSERT_EQ(entry->sizes[0], bytes.size()) << name;
      void* params[] = {bytes.data()};
      fake::Grid shape;
      // Wide texts go on where the grid ends; so soon that they do.
      shape.blocks.x = source_.variant.narrow ? grid.grid : std::min(grid.grid, 3u);
      shape.threads.x = grid.block;
      shape.shared_bytes = grid.shared_bytes;
      shape.order = order_;
      const fake::GridResult result = fake::RunGrid(image_, *entry, shape, params);
      ASSERT_TRUE(result.end == fake::GridEnd::kDone) << name << ": " << result.message;
    }
  }

 private:
  const FzImage& image_;
  const kir::Kernel& kernel_;
  const CudaSource& source_;
  const unsigned order_;
};

// A kernel on the generic text; the memory of its values is rubbish at first.
class GenericOnHost : public Compiled {
 public:
  GenericOnHost(const FzImage& image, const cuda::GenericProgram& program, unsigned order)
      : image_(image), program_(program), order_(order) {}
  size_t code_bytes() const override { return 0; }

  void Run(const kir::KernelArgs& args, int64_t, int64_t, int64_t, int64_t) const override {
    const auto launch = cuda::GenericShape(program_, {args.extents, size_t(program_.axes)});
    ASSERT_TRUE(launch.ok()) << launch.status();
    if (launch->grid == 0) return;
    std::vector<uint64_t> scratch(size_t(launch->scratch_bytes) / 8, 0xa5a5a5a5a5a5a5a5u);
    for (const auto& phase : program_.phases) {
      std::vector<uint8_t> bytes = cuda::PackGeneric(
          program_, phase, args, reinterpret_cast<uintptr_t>(program_.insts.data()),
          reinterpret_cast<uintptr_t>(scratch.data()));
      const FzEntry* entry = fake::FindEntry(image_, cuda::kGenericEntry);
      ASSERT_NE(entry, nullptr);
      ASSERT_EQ(entry->sizes[0], bytes.size());
      void* params[] = {bytes.data()};
      fake::Grid shape;
      shape.blocks.x = launch->grid;
      shape.threads.x = launch->block;
      shape.order = order_;
      const fake::GridResult result = fake::RunGrid(image_, *entry, shape, params);
      ASSERT_TRUE(result.end == fake::GridEnd::kDone) << result.message;
    }
  }

 private:
  const FzImage& image_;
  const cuda::GenericProgram& program_;
  const unsigned order_;
};

// What differs only for rows.
void AddRowVariants(const Case& c, const CudaVariant& chosen, std::vector<CudaVariant>* out) {
  CudaVariant again = chosen;
  again.keep = 0;
  again.keep_shared = again.full = false;
  out->push_back(again);
  const int64_t n = c.kernel.chunked ? std::min(c.extents.back(), kir::kChunk) : c.extents.back();
  CudaVariant held = again;
  held.keep = 1;
  while (held.keep * 64 < n) held.keep *= 2;
  held.threads = uint16_t(32 * held.warps);
  held.team = 32;
  const bool cut = c.kernel.long_rows;
  if (held.keep <= 16 && held.warps == 1 && !cut) out->push_back(held);
  held.keep_shared = true;
  if (held.keep <= 64) out->push_back(held);
  for (const uint8_t warps : {2, 8}) {
    if (chosen.warps != 1 && !cut) break;
    CudaVariant team = again;
    team.team = 32;
    team.warps = warps;
    team.threads = uint16_t(32 * warps);
    out->push_back(team);
    held.warps = warps;
    held.threads = team.threads;
    if (held.keep <= 64) out->push_back(held);
  }
}

}  // namespace

std::vector<uint64_t> AddressesOf(const Case& c) {
  std::vector<uint64_t> addresses;
  for (const TestBuffer& b : c.buffers)
    addresses.push_back(reinterpret_cast<uintptr_t>(b.lines.data()) + uint64_t(b.base));
  return addresses;
}

std::vector<CudaVariant> VariantsOf(const Case& c) {
  const CudaVariant chosen = cuda::ChooseVariant(c.kernel, c.extents, c.strides, AddressesOf(c));
  std::vector<CudaVariant> all = {chosen};
  CudaVariant scalar = chosen;
  scalar.vec = 1;
  all.push_back(scalar);
  CudaVariant wide = scalar;
  wide.narrow = wide.apart = false;
  all.push_back(wide);
  wide.vec = chosen.vec;
  all.push_back(wide);
  if (c.kernel.has_loop && c.kernel.vec == kir::VecAxis::kSpace) {
    for (const uint8_t team : {1, 8}) {
      CudaVariant columns = chosen;
      columns.team = team;
      all.push_back(columns);
    }
    wide.team = 8;
    all.push_back(wide);
  }
  if (c.kernel.has_loop && c.kernel.vec == kir::VecAxis::kLoop) {
    AddRowVariants(c, chosen, &all);
    AddRowVariants(c, wide, &all);
  }
  std::vector<CudaVariant> different;
  for (const CudaVariant& v : all) {
    if (std::find(different.begin(), different.end(), v) == different.end()) different.push_back(v);
  }
  return different;
}

cuda::CudaVariant DenseVariant(const kir::Kernel& kernel, int64_t outer, int64_t inner,
                               uint64_t shift) {
  std::vector<int64_t> extents(size_t(kernel.axes()), outer), strides;
  extents.back() = inner;
  std::vector<uint64_t> addresses;
  for (const kir::Buffer& b : kernel.buffers) {
    int64_t step = SizeOf(b.dtype);
    std::vector<int64_t> mine(b.strides.size(), 0);
    for (size_t a = b.strides.size(); a-- > 0;) {
      if (b.strides[a] == kir::Stride::kZero) continue;
      mine[a] = step;
      step *= extents[a];
    }
    strides.insert(strides.end(), mine.begin(), mine.end());
    addresses.push_back((addresses.size() + 1) << 40 | shift * uint64_t(SizeOf(b.dtype)));
  }
  return cuda::ChooseVariant(kernel, extents, strides, addresses);
}

HostBatch::HostBatch() : text_(CudaPrelude()) {}

HostBatch::~HostBatch() {
  if (library_ != nullptr) dlclose(library_);
  if (file_ >= 0) close(file_);
}

void HostBatch::Add(const CudaSource& source) { AddText(source.text); }
void HostBatch::AddText(const std::string& text) { text_ += text; }

Status HostBatch::Build() {
  const fake::HostLibrary library = fake::CompileHost(text_, "kernels.cu");
  if (library.bytes.empty())
    return RuntimeError("[test] the text does not compile:\n", library.log);
  file_ = memfd_create("kernels", 0);
  const ssize_t written = write(file_, library.bytes.data(), library.bytes.size());
  library_ = dlopen(StrCat("/proc/self/fd/", file_).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (written != ssize_t(library.bytes.size()) || library_ == nullptr)
    return RuntimeError("[test] the library does not load: ", dlerror(), ".");
  image_ = static_cast<const FzImage*>(dlsym(library_, "fz_image"));
  return absl::OkStatus();
}

std::unique_ptr<Compiled> HostBatch::Executable(const kir::Kernel& kernel, const CudaSource& source,
                                                unsigned order) const {
  return std::make_unique<OnHost>(*image_, kernel, source, order);
}

int CompareOnHost(const std::vector<Case>& cases) {
  struct Text {
    const Case* c;
    CudaSource source;
  };
  std::vector<Text> texts;
  std::set<std::string> names;
  HostBatch batch;
  for (const Case& c : cases) {
    for (const CudaVariant& v : VariantsOf(c)) {
      auto source = cuda::PrintCuda(c.kernel, v);
      EXPECT_TRUE(source.ok()) << source.status();
      if (!source.ok()) return 0;
      const CudaVariant chosen =
          cuda::ChooseVariant(c.kernel, c.extents, c.strides, AddressesOf(c));
      // What is chosen needs no change: else it would be printed again for every launch.
      if (v == chosen) {
        EXPECT_EQ(source->variant.Text(), v.Text()) << kir::Print(c.kernel);
      }
      if (names.insert(source->entries[0]).second) batch.Add(*source);
      texts.push_back({&c, *std::move(source)});
    }
  }
  const Status built = batch.Build();
  EXPECT_TRUE(built.ok()) << built;
  if (!built.ok()) return 0;
  const auto interpreter = NewInterpreter();
  const Case* last = nullptr;
  std::vector<TestBuffer> expected;
  for (const Text& text : texts) {
    if (text.c != last) {
      const auto reference = interpreter->Emit(text.c->kernel);
      EXPECT_TRUE(reference.ok()) << reference.status();
      if (!reference.ok()) return 0;
      expected = Execute(*text.c, **reference, nullptr);
      last = text.c;
    }
    const unsigned order = unsigned(&text - texts.data()) % 8;
    const auto code = batch.Executable(text.c->kernel, text.source, order);
    std::vector<TestBuffer> actual = Execute(*text.c, *code, nullptr);
    const std::string difference = Difference(*text.c, expected, actual);
    EXPECT_EQ(difference, "") << text.source.variant.Text() << "\n"
                              << kir::Print(text.c->kernel) << text.source.text;
    if (!difference.empty() || testing::Test::HasFatalFailure()) break;
  }
  return int(names.size());
}

void CompareGenericOnHost(const std::vector<Case>& cases) {
  static const HostBatch* const batch = [] {
    auto* made = new HostBatch;
    made->AddText(cuda::GenericText());
    const Status built = made->Build();
    EXPECT_TRUE(built.ok()) << built;
    return built.ok() ? made : nullptr;
  }();
  ASSERT_NE(batch, nullptr);
  const auto interpreter = NewInterpreter();
  unsigned order = 0;
  for (const Case& c : cases) {
    const auto program = cuda::EncodeGeneric(c.kernel);
    ASSERT_TRUE(program.ok()) << program.status();
    const auto reference = interpreter->Emit(c.kernel);
    ASSERT_TRUE(reference.ok()) << reference.status();
    std::vector<TestBuffer> expected = Execute(c, **reference, nullptr);
    const GenericOnHost code(batch->image(), *program, order++ % 8);
    std::vector<TestBuffer> actual = Execute(c, code, nullptr);
    ASSERT_EQ(Difference(c, expected, actual), "") << kir::Print(c.kernel);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace frazil::jit
