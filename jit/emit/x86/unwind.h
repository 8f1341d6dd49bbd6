// How to leave generated code: the call frame information (.eh_frame, as DWARF and the System V ABI
// for x86-64 describe it) of one image, worked out from how its functions begin. Used by
// code_names.cc for debuggers. Invariant: what is told holds from the instruction it is told of to
// the epilogue, whose few instructions are told as if they were before it; an image from disk is
// told of like one that was just emitted.
//
// asmjit's prologue pushes registers, may put rsp aside and align it, makes room, and stores what
// it put aside; nothing else moves rsp before the epilogue. An image of two functions begins with
// the choice between them (Codegen::LeaveFew).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace frazil::jit {

// `image` runs at `address`. A whole section, ended by zeros.
std::string EhFrame(std::string_view image, uint64_t address);

}  // namespace frazil::jit
