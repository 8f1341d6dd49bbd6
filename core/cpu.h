// Which instructions this processor has and the system lets programs use. Called by what generates
// code or chooses between functions written for one instruction set. Invariant: asked once; the
// answer never changes while the process lives. What FRAZIL_ISA forbids is not left out here.
#pragma once

namespace frazil {

struct CpuFeatures {
  bool avx2;         // with FMA, F16C, BMI and BMI2
  bool avx512;       // F, BW, DQ and VL, and the above
  bool avx2_vnni;    // AVX-VNNI: sums of products of bytes and of 16-bit integers
  bool avx512_vnni;  // the same in AVX-512
  bool amx;          // tiles, with products of bytes and of bfloat16, and AVX-512 with
                     // bfloat16
};

const CpuFeatures& Cpu();

// Asks the system, once, for the right to use the registers of AMX, which the process keeps. False
// where there are none or the system refuses.
bool AmxAllowed();

}  // namespace frazil
