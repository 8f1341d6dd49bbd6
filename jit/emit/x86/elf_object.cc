#include "jit/emit/x86/elf_object.h"

#include <elf.h>

#include <vector>

#include "jit/emit/x86/binary.h"
#include "jit/emit/x86/unwind.h"

namespace frazil::jit {
namespace {

// DWARF 4. Abbreviations: 1, a unit with children, and 2, a function.
std::string Abbreviations() {
  constexpr int kName = 0x03, kLines = 0x10, kLow = 0x11, kHigh = 0x12;
  constexpr int kString = 0x08, kSection = 0x17, kAddress = 0x01, kEight = 0x07;
  Bytes out;
  out.Unsigned(1).Unsigned(0x11).Byte(1);
  out.Unsigned(kName).Unsigned(kString).Unsigned(kLines).Unsigned(kSection);
  out.Unsigned(kLow).Unsigned(kAddress).Unsigned(kHigh).Unsigned(kEight).Unsigned(0).Unsigned(0);
  out.Unsigned(2).Unsigned(0x2e).Byte(0);
  out.Unsigned(kName).Unsigned(kString).Unsigned(kLow).Unsigned(kAddress);
  out.Unsigned(kHigh).Unsigned(kEight).Unsigned(0).Unsigned(0);
  return out.Unsigned(0).text();
}

std::string Information(const CodeObject& code) {
  Bytes out;
  out.Word(uint16_t{4}).Word(uint32_t{0}).Byte(8);
  out.Unsigned(1).Text(code.file).Word(uint32_t{0}).Word(code.address);
  out.Word(static_cast<uint64_t>(code.image.size()));
  out.Unsigned(2).Text(code.name).Word(code.address);
  out.Word(static_cast<uint64_t>(code.image.size()));
  return WithLength(out.Unsigned(0));
}

// All of the code is of one line.
std::string Lines(const CodeObject& code) {
  Bytes rest;
  rest.Byte(1).Byte(1).Byte(1).Byte(-5).Byte(14).Byte(13);
  for (const int operands : {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}) rest.Byte(operands);
  rest.Byte(0).Text(code.file).Unsigned(0).Unsigned(0).Unsigned(0).Byte(0);
  Bytes out;
  out.Word(uint16_t{4}).Word(static_cast<uint32_t>(rest.size())).Raw(rest.text());
  out.Byte(0).Unsigned(9).Byte(2).Word(code.address);  // set address
  out.Byte(3).Signed(code.line - 1).Byte(1);           // advance line, copy
  out.Byte(2).Unsigned(code.image.size());             // advance address
  return WithLength(out.Byte(0).Unsigned(1).Byte(1));  // end of the sequence
}

class Writer {
 public:
  Writer() { Add("", SHT_NULL, {}); }

  size_t Add(std::string_view name, uint32_t type, std::string_view content, uint64_t flags = 0) {
    Elf64_Shdr header = {};
    header.sh_name = static_cast<uint32_t>(names_.size());
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addralign = type == SHT_NULL ? 0 : 8;
    body_.Align(8);
    header.sh_offset = sizeof(Elf64_Ehdr) + body_.size();
    header.sh_size = content.size();
    names_.Text(name);
    body_.Raw(content);
    headers_.push_back(header);
    return headers_.size() - 1;
  }
  Elf64_Shdr& at(size_t section) { return headers_[section]; }

  std::string Finish() {
    const size_t names = headers_.size();
    names_.Text(".shstrtab");
    const std::string text = names_.text();
    Add(".shstrtab", SHT_STRTAB, text);
    headers_[names].sh_name = static_cast<uint32_t>(text.size() - sizeof ".shstrtab");
    body_.Align(8);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_shoff = sizeof(Elf64_Ehdr) + body_.size();
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(headers_.size());
    header.e_shstrndx = static_cast<uint16_t>(names);
    Bytes out;
    out.Word(header).Raw(body_.text());
    for (const Elf64_Shdr& section : headers_) out.Word(section);
    return out.text();
  }

 private:
  std::vector<Elf64_Shdr> headers_;
  Bytes names_, body_;
};

}  // namespace

std::string ElfObject(const CodeObject& code) {
  Writer out;
  const size_t text = out.Add(".text", SHT_NOBITS, {}, SHF_ALLOC | SHF_EXECINSTR);
  out.at(text).sh_addr = code.address;
  out.at(text).sh_size = code.image.size();
  out.Add(".eh_frame", SHT_PROGBITS, EhFrame(code.image, code.address), SHF_ALLOC);
  const std::string strings = Bytes().Byte(0).Text(code.name).text();
  const size_t names = out.Add(".strtab", SHT_STRTAB, strings);
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = static_cast<uint16_t>(text);
  symbol.st_value = code.address;
  symbol.st_size = code.image.size();
  const size_t symbols =
      out.Add(".symtab", SHT_SYMTAB, Bytes().Word(Elf64_Sym{}).Word(symbol).text());
  out.at(symbols).sh_link = static_cast<uint32_t>(names);
  out.at(symbols).sh_info = 1;
  out.at(symbols).sh_entsize = sizeof(Elf64_Sym);
  if (!code.file.empty()) {
    out.Add(".debug_abbrev", SHT_PROGBITS, Abbreviations());
    out.Add(".debug_info", SHT_PROGBITS, Information(code));
    out.Add(".debug_line", SHT_PROGBITS, Lines(code));
  }
  return out.Finish();
}

}  // namespace frazil::jit
