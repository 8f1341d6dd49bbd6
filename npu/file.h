// Programs as .snpu files. Called by the command line and the kernel cache's dumps. Invariant: what
// ReadProgram accepts passes Validate; a damaged file is an error that says what is damaged, never
// a crash.
//
// Little-endian. Header of 64 bytes:
//   0 "SNPU"  4 u32 format version  8 u32 ISA revision  12 u32 sections  16 u64 preset hash (0:
//   any) 24 u64 bytes of the file  32 u32 CRC32C of the file with these four bytes zero  36 zeros
// then per section: four letters, u32 zero, u64 bytes, the bytes, zeros to a multiple of 8.
//   TEXT  the words                 PARM  u32 count; per parameter u8 kind, text name
//   META  texts kernel, preset, class, shape, tile; u64 peak of each space, GM read, written, MACs
//   SMAP  u32 count; per entry u32 first pc, u32 line, text op, text file
//   NOTE  the note's bytes
// A text is u32 length and bytes. Sections of other names are skipped.
#pragma once

#include <string>
#include <string_view>

#include "npu/program.h"

namespace frazil::npu {

struct ProgramFile {
  Program program;
  uint64_t preset_hash = 0;  // of the parameters that the program was made for; 0: any
};

// The program must pass Validate.
std::string WriteProgram(const ProgramFile& file);
StatusOr<ProgramFile> ReadProgram(std::string_view bytes);

uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

}  // namespace frazil::npu
