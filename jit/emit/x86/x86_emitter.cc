#include "jit/emit/x86/x86_emitter.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/config.h"
#include "core/cpu.h"
#include "core/disk/build_id.h"
#include "core/str.h"
#include "core/threads/at_fork.h"
#include "jit/emit/x86/code_names.h"
#include "jit/emit/x86/codegen.h"
#include "jit/kir/tighten.h"

namespace frazil::jit {

namespace {

class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char* message, asmjit::BaseEmitter*) override {
    if (message_.empty())
      message_ = absl::StrCat(asmjit::DebugUtils::errorAsString(error), ": ", message);
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

asmjit::JitAllocator::CreateParams AllocatorParams() {
  asmjit::JitAllocator::CreateParams params;
  // A debugger writes its breakpoints, which shared memory would not let it.
  if (GetConfig().gdb == "0") params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
  return params;
}

}  // namespace

// Code pages are mapped twice, once writable and once executable, never both (but for debuggers). So they are shared
// with forked children: after a fork parent and child write into pages of their own, and what is
// there stays as it is (to give code back writes nothing).
struct X86Emitter::Memory {
  asmjit::JitAllocator::CreateParams params = AllocatorParams();
  asmjit::JitRuntime runtime{&params};
};

namespace {

std::atomic<uint32_t> g_forks{0};  // seen by this process as parent or child

void CountForks() {
  static const bool counted = [] {
    AtFork(ForkOrder::kRegistries, {.lock = [] {}, .unlock = [] { g_forks.fetch_add(1); }});
    return true;
  }();
  (void)counted;
}

kir::LegalCaps LegalFor(Isa isa) { return {.scale = isa == Isa::kAvx512, .lookup = true}; }

// One function, or two that start as one. A repeat over a single point is a chain of instructions,
// whose latency is less in the vectors of AVX2.
class Functions {
 public:
  Functions(Isa isa, const RegisterFile* file, asmjit::CodeHolder* code)
      : isa_(isa), file_(file), code_(code) {}

  Status Emit(const kir::Kernel& kernel) {
    const Isa isa = kernel.vec == kir::VecAxis::kNone ? Isa::kAvx2 : isa_;
    FZ_ASSIGN_OR_RETURN(kir::Kernel legal, kir::Legalize(kernel, LegalFor(isa)));
    if (legal.has_repeat()) legal = kir::Tighten(std::move(legal));
    if (isa == Isa::kAvx2 || !legal.has_repeat()) return Run(legal, isa, Codegen::Columns::kAll);
    few_ = x86::Assembler(code_).newLabel();
    FZ_RETURN_IF_ERROR(Run(legal, isa_, Codegen::Columns::kMany));
    FZ_ASSIGN_OR_RETURN(kir::Kernel narrow, kir::Legalize(kernel, LegalFor(Isa::kAvx2)));
    return Run(kir::Tighten(std::move(narrow)), Isa::kAvx2, Codegen::Columns::kFew);
  }
  bool out_of_registers() const { return out_of_registers_; }

 private:
  Status Run(const kir::Kernel& kernel, Isa isa, Codegen::Columns columns) {
    Codegen codegen(kernel, isa, file_, code_);
    const Status status = codegen.Run(columns, few_);
    out_of_registers_ |= codegen.out_of_registers();
    return status;
  }

  Isa isa_;
  const RegisterFile* file_;
  asmjit::CodeHolder* code_;
  asmjit::Label few_;
  bool out_of_registers_ = false;
};

class X86Compiled : public Compiled {
 public:
  X86Compiled(std::shared_ptr<void> owner, asmjit::JitRuntime* runtime, kir::KernelFn fn,
              size_t bytes, bool movable)
      : owner_(std::move(owner)), runtime_(runtime), fn_(fn), bytes_(bytes), movable_(movable) {}
  ~X86Compiled() override {
    const ForkGuard guard;  // the runtime has a lock of its own
    ForgetCode({reinterpret_cast<const char*>(fn_), bytes_});
    runtime_->release(fn_);
  }

  kir::KernelFn fn() const override { return fn_; }
  void Run(const kir::KernelArgs& args, int64_t row_begin, int64_t row_end, int64_t col_begin,
           int64_t col_end) const override {
    fn_(&args, row_begin, row_end, col_begin, col_end);
  }
  size_t code_bytes() const override { return bytes_; }
  std::string_view image() const override {
    return {reinterpret_cast<const char*>(fn_), movable_ ? bytes_ : 0};
  }

 private:
  std::shared_ptr<void> owner_;
  asmjit::JitRuntime* runtime_;
  kir::KernelFn fn_;
  size_t bytes_;
  bool movable_;
};

}  // namespace

X86Emitter::X86Emitter(Isa isa, const RegisterFile& file)
    : isa_(isa), file_(file), memory_(std::make_shared<Memory>()) {
  CountForks();
  forks_ = g_forks.load();
  caps_.name = isa == Isa::kAvx512 ? "avx512" : "avx2";
  caps_.vector_bytes = isa == Isa::kAvx512 ? 64 : 32;
  caps_.executes = true;
  caps_.legal = LegalFor(isa);
}

X86Emitter::~X86Emitter() = default;

std::shared_ptr<X86Emitter::Memory> X86Emitter::WritableMemory() {
  const MutexLock lock(&mutex_);
  if (const uint32_t forks = g_forks.load(); forks != forks_) {
    memory_ = std::make_shared<Memory>();
    forks_ = forks;
  }
  return memory_;
}

bool X86Emitter::Supported(Isa isa) { return isa == Isa::kAvx512 ? Cpu().avx512 : Cpu().avx2; }

std::optional<Isa> X86Emitter::Detect() {
  if (Supported(Isa::kAvx512)) return Isa::kAvx512;
  if (Supported(Isa::kAvx2)) return Isa::kAvx2;
  return std::nullopt;
}

StatusOr<std::unique_ptr<Compiled>> X86Emitter::Emit(const kir::Kernel& kernel) {
  if (!Supported(isa_)) return NotImplementedError("[x86] this machine has no ", caps_.name, ".");
  const ForkGuard guard;
  const std::shared_ptr<Memory> memory = WritableMemory();
  asmjit::CodeHolder code;
  FirstError errors;
  for (const RegisterFile* file : std::array<const RegisterFile*, 2>{&file_, nullptr}) {
    code.reset();
    code.init(memory->runtime.environment());
    code.setErrorHandler(&errors);
    Functions functions(isa_, file, &code);
    const Status status = functions.Emit(kernel);
    if (functions.out_of_registers()) {
      given_up_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    FZ_RETURN_IF_ERROR(status);
    break;
  }
  if (!errors.message().empty()) {
    return RuntimeError("[x86] asmjit refused kernel ", kernel.name, ": ", errors.message(), ".");
  }
  kir::KernelFn fn = nullptr;
  const asmjit::Error error = memory->runtime.add(&fn, &code);
  if (error != asmjit::kErrorOk) {
    return NotImplementedError("[x86] no executable memory for kernel ", kernel.name, ": ",
                               asmjit::DebugUtils::errorAsString(error), ".");
  }
  // Its own constants and labels it reaches from where it is; all else would be a relocation.
  return std::make_unique<X86Compiled>(memory, &memory->runtime, fn, code.codeSize(),
                                       !code.hasRelocEntries());
}

StatusOr<std::unique_ptr<Compiled>> X86Emitter::Load(std::string_view image,
                                                     std::string_view name) {
  if (!Supported(isa_)) return NotImplementedError("[x86] this machine has no ", caps_.name, ".");
  const ForkGuard guard;
  const std::shared_ptr<Memory> memory = WritableMemory();
  void *code = nullptr, *writable = nullptr;
  const asmjit::Error error = memory->runtime.allocator()->alloc(&code, &writable, image.size());
  if (error != asmjit::kErrorOk) {
    return NotImplementedError("[x86] no executable memory for kernel ", name, ": ",
                               asmjit::DebugUtils::errorAsString(error), ".");
  }
  {
    const asmjit::VirtMem::ProtectJitReadWriteScope scope(code, image.size());
    std::memcpy(writable, image.data(), image.size());
  }
  return std::make_unique<X86Compiled>(memory, &memory->runtime,
                                       reinterpret_cast<kir::KernelFn>(code), image.size(), true);
}

std::string X86Emitter::Identity() {
  const asmjit::CpuInfo& cpu = asmjit::CpuInfo::host();
  std::string line =
      absl::StrCat("assembler ", ASMJIT_LIBRARY_VERSION, " ",
                   absl::BytesToHexString(AbslView(BuildIdOf(&cpu))), " processor ", cpu.vendor(),
                   " ", cpu.brand(), " ", cpu.familyId(), ".", cpu.modelId(), ".", cpu.stepping());
  const asmjit::CpuFeatures& features = cpu.features();
  for (size_t i = 0; i < asmjit::CpuFeatures::kNumBitWords; ++i)
    absl::StrAppend(&line, " ", absl::Hex(features.bits()[i]));
  return line;
}

}  // namespace frazil::jit
