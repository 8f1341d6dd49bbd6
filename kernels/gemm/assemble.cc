#include "kernels/gemm/assemble.h"

namespace frazil::gemm {
namespace {

// Created at first use and never destroyed: kernels outlive everything.
asmjit::JitRuntime& Runtime() {
  static asmjit::JitRuntime* const runtime = [] {
    asmjit::JitAllocator::CreateParams params{};
    params.options = asmjit::JitAllocatorOptions::kUseDualMapping;
    return new asmjit::JitRuntime(&params);
  }();
  return *runtime;
}

}  // namespace

void* Assemble(absl::FunctionRef<void(asmjit::x86::Assembler&)> write) {
  asmjit::CodeHolder code;
  if (code.init(Runtime().environment()) != asmjit::kErrorOk) return nullptr;
  asmjit::x86::Assembler as(&code);
  write(as);
  void* address = nullptr;
  if (Runtime().add(&address, &code) != asmjit::kErrorOk) return nullptr;
  return address;
}

}  // namespace frazil::gemm
