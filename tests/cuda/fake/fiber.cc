#include "tests/cuda/fake/fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifndef __x86_64__
#error "fiber.cc switches stacks of x86-64 alone"
#endif

// Saves what a call preserves, keeps the stack pointer in *save and goes on where `load` was saved.
extern "C" void fake_switch_stack(void** save, void* load);
asm(R"(
.text
.hidden fake_switch_stack
.globl fake_switch_stack
.type fake_switch_stack, @function
fake_switch_stack:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size fake_switch_stack, .-fake_switch_stack
)");

namespace fake {
namespace {

constexpr size_t kGuardBytes = 4096;

}  // namespace

Fiber::Fiber() {
  void* map = mmap(nullptr, kGuardBytes + kStackBytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED || mprotect(map, kGuardBytes, PROT_NONE) != 0) {
    std::perror("fake cuda: a stack");
    std::abort();
  }
  map_ = static_cast<char*>(map);
}

Fiber::~Fiber() { munmap(map_, kGuardBytes + kStackBytes); }

void Fiber::Start(void (*body)()) {
  // Six registers, the address that `ret` goes to, and one word so that the stack is aligned as
  // after a call.
  void** top = reinterpret_cast<void**>(map_ + kGuardBytes + kStackBytes) - 2;
  *top = reinterpret_cast<void*>(body);
  sp_ = top - 6;
}

void Fiber::Resume() { fake_switch_stack(&sp_, sp_); }
void Fiber::Suspend() { fake_switch_stack(&sp_, sp_); }

}  // namespace fake
