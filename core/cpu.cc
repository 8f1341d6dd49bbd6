#include "core/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sys/syscall.h>
#include <unistd.h>

namespace frazil {
namespace {

CpuFeatures Detect() {
  CpuFeatures cpu{};
#if defined(__x86_64__)
  // Not every compiler has names for all of them.
  unsigned basic[4] = {}, more[4] = {}, latest[4] = {};  // eax, ebx, ecx, edx
  __get_cpuid(1, &basic[0], &basic[1], &basic[2], &basic[3]);
  __get_cpuid_count(7, 0, &more[0], &more[1], &more[2], &more[3]);
  __get_cpuid_count(7, 1, &latest[0], &latest[1], &latest[2], &latest[3]);
  const auto bit = [](unsigned word, int i) { return ((word >> i) & 1) != 0; };
  const bool f16c = bit(basic[2], 29), avx_vnni = bit(latest[0], 4), bf16 = bit(latest[0], 5);
  const bool amx = bit(more[3], 22) && bit(more[3], 24) && bit(more[3], 25);
  cpu.avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  cpu.avx512 = cpu.avx2 && __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
  cpu.avx2_vnni = cpu.avx2 && avx_vnni;
  cpu.avx512_vnni = cpu.avx512 && __builtin_cpu_supports("avx512vnni");
  cpu.amx = cpu.avx512_vnni && bf16 && amx;
#endif
  return cpu;
}

// Linux gives tiles to processes that ask: they make the frames of signals larger.
bool AskForTiles() {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  constexpr int kRequestComponent = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return Cpu().amx && syscall(SYS_arch_prctl, kRequestComponent, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

const CpuFeatures& Cpu() {
  static const CpuFeatures cpu = Detect();
  return cpu;
}

bool AmxAllowed() {
  static const bool allowed = AskForTiles();
  return allowed;
}

}  // namespace frazil
