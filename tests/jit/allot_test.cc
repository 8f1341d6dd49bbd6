// Registers given to functions that are written by hand: what is added touches no flags.
#include "jit/emit/x86/allot.h"

#include <gtest/gtest.h>

namespace frazil::jit {
namespace {

using asmjit::x86::Gp;

// p[0] = 0 and p[15] whether a < b, the former between a comparison and its jump, with `file`
// for registers. What lives all the while is added up.
using Function = void (*)(int64_t* p, int64_t a, int64_t b);
Function Less(asmjit::JitRuntime* runtime, const RegisterFile& file) {
  constexpr int kOthers = 8;
  asmjit::CodeHolder code;
  code.init(runtime->environment());
  x86::Compiler cc(&code);
  asmjit::FuncNode* fn = cc.addFunc(
      asmjit::FuncSignatureT<void, int64_t*, int64_t, int64_t>(asmjit::CallConvId::kHost));
  const Gp p = cc.newIntPtr(), a = cc.newInt64(), b = cc.newInt64();
  fn->setArg(0, p);
  fn->setArg(1, a);
  fn->setArg(2, b);
  const Gp zero = cc.newInt64(), result = cc.newInt64();
  cc.xor_(zero, zero);
  Gp others[kOthers];
  for (int i = 0; i < kOthers; ++i) {
    others[i] = cc.newInt64();
    cc.mov(others[i], x86::qword_ptr(p, 8 * i));
  }
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i < kOthers; ++i) cc.add(others[i], others[i - 1]);
  }
  cc.mov(result, 1);
  const asmjit::Label less = cc.newLabel();
  cc.cmp(a, b);
  cc.mov(x86::qword_ptr(p), zero);
  cc.jl(less);
  cc.mov(result, 0);
  cc.bind(less);
  for (int i = 0; i < kOthers; ++i) cc.mov(x86::qword_ptr(p, 8 + 8 * i), others[i]);
  cc.mov(x86::qword_ptr(p, 8 * 15), result);
  cc.ret();
  cc.endFunc();
  EXPECT_TRUE(Allotter(&cc, fn, file).Run());
  x86::Assembler assembler(&code);
  EXPECT_EQ(cc.serializeTo(&assembler), asmjit::kErrorOk);
  Function function = nullptr;
  EXPECT_EQ(runtime->add(&function, &code), asmjit::kErrorOk);
  return function;
}

TEST(Allot, WhatIsMadeAgainLeavesFlags) {
  asmjit::JitRuntime runtime;
  for (const uint32_t gp : {0xffefu, 0x0fcfu, 0x03cfu, 0x00cfu}) {
    RegisterFile file;
    file.gp = gp;
    const Function less = Less(&runtime, file);
    ASSERT_TRUE(less);
    const std::pair<int64_t, int64_t> pairs[] = {{1, 2}, {2, 1}, {3, 3}, {-5, 5}, {5, -5}};
    for (const auto& [a, b] : pairs) {
      int64_t memory[16] = {1, 2, 3, 4, 5, 6, 7, 8};
      less(memory, a, b);
      EXPECT_EQ(memory[15], a < b) << gp << ": " << a << " < " << b;
      EXPECT_EQ(memory[0], 0);
      EXPECT_EQ(memory[1], 1);
    }
    runtime.release(less);
  }
}

}  // namespace
}  // namespace frazil::jit
