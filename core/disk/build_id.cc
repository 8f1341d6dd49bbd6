#include "core/disk/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>

namespace frazil {
namespace {

struct Search {
  uintptr_t address;
  std::string id;
};

constexpr size_t Aligned(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

std::string IdIn(const char* notes, size_t bytes) {
  ElfW(Nhdr) note;
  while (bytes >= sizeof note) {
    std::memcpy(&note, notes, sizeof note);
    const size_t name = sizeof note, value = name + Aligned(note.n_namesz),
                 end = value + Aligned(note.n_descsz);
    if (end > bytes) return "";
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        !std::memcmp(notes + name, "GNU", 4))
      return {notes + value, note.n_descsz};
    notes += end;
    bytes -= end;
  }
  return "";
}

int Visit(dl_phdr_info* file, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  bool inside = false;
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const auto& part = file->dlpi_phdr[i];
    inside |=
        part.p_type == PT_LOAD && search->address - (file->dlpi_addr + part.p_vaddr) < part.p_memsz;
  }
  if (!inside) return 0;
  for (int i = 0; i < file->dlpi_phnum && search->id.empty(); ++i) {
    const auto& part = file->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    search->id = IdIn(reinterpret_cast<const char*>(file->dlpi_addr + part.p_vaddr), part.p_memsz);
  }
  return 1;
}

}  // namespace

std::string BuildIdOf(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(Visit, &search);
  return search.id;
}

}  // namespace frazil
