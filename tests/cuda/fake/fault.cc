#include "tests/cuda/fake/fault.h"

#include <setjmp.h>
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace fake {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};

struct Guard {
  sigjmp_buf out;
  GridResult result;
  int signal = 0;
  void* address = nullptr;
};
thread_local Guard* guard = nullptr;

void Handle(int signal, siginfo_t* info, void*) {
  if (guard == nullptr) {
    ::signal(signal, SIG_DFL);  // the instruction faults again, for good
    return;
  }
  guard->signal = signal;
  guard->address = info->si_addr;
  siglongjmp(guard->out, 1);
}

// Signals on a stack of their own: the fault may be a stack that ran over.
class Handlers {
 public:
  Handlers() : stack_(64 << 10) {
    stack_t mine{.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
    sigaltstack(&mine, &old_stack_);
    struct sigaction action;
    std::memset(&action, 0, sizeof(action));
    action.sa_sigaction = Handle;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int i = 0; i < 4; ++i) sigaction(kSignals[i], &action, &old_[i]);
  }
  ~Handlers() {
    for (int i = 0; i < 4; ++i) sigaction(kSignals[i], &old_[i], nullptr);
    sigaltstack(&old_stack_, nullptr);
  }

 private:
  std::vector<char> stack_;
  stack_t old_stack_;
  struct sigaction old_[4];
};

}  // namespace

GridResult RunGuarded(void (*body)()) {
  Guard mine;
  Handlers handlers;
  guard = &mine;
  if (sigsetjmp(mine.out, 1) == 0) body();
  guard = nullptr;
  if (mine.signal == SIGILL) {  // how code compiled with -fsanitize=alignment stops
    mine.result = {GridEnd::kMisaligned, "an address that is not a multiple of its type's size"};
  } else if (mine.signal != 0) {
    char text[80];
    std::snprintf(text, sizeof(text), "%s at %p", strsignal(mine.signal), mine.address);
    mine.result = {GridEnd::kFault, text};
  }
  return mine.result;
}

void Abandon(GridEnd end, std::string message) {
  guard->result = {end, std::move(message)};
  siglongjmp(guard->out, 1);
}

}  // namespace fake
