#include "npu/file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "absl/strings/str_format.h"
#include "core/check.h"
#include "npu/fault.h"

namespace frazil::npu {
namespace {

static_assert(std::endian::native == std::endian::little, ".snpu files are little-endian");

constexpr std::string_view kMagic = "SNPU";
constexpr uint32_t kFormatVersion = 1;
constexpr size_t kAlignment = 8;

struct Header {
  std::array<char, 4> magic{};
  uint32_t version = 0, revision = 0, sections = 0;
  uint64_t preset_hash = 0, bytes = 0;
  uint32_t crc = 0;
  std::array<char, 28> zeros{};
};
static_assert(sizeof(Header) == 64);

struct SectionHead {
  std::array<char, 4> name{};
  uint32_t zero = 0;
  uint64_t bytes = 0;

  std::string_view Name() const { return {name.data(), name.size()}; }
};
static_assert(sizeof(SectionHead) == 16);

constexpr std::array<uint32_t, 256> MakeCrcTable() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = MakeCrcTable();

uint32_t CrcOfFile(Header header, std::string_view rest) {
  header.crc = 0;
  return Crc32c(rest, Crc32c({reinterpret_cast<const char*>(&header), sizeof header}));
}

// --- writing ---

template <typename T>
void Put(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void PutText(std::string* out, std::string_view text) {
  Put(out, uint32_t(text.size()));
  out->append(text);
}

std::string TextSection(const Program& program) {
  std::string out;
  out.reserve(program.code.size() * sizeof(uint64_t));
  for (const Instr& instr : program.code) Put(&out, Encode(instr));
  return out;
}

std::string ParamSection(const Program& program) {
  std::string out;
  Put(&out, uint32_t(program.params.size()));
  for (const Param& param : program.params) {
    Put(&out, uint8_t(param.kind));
    PutText(&out, param.name);
  }
  return out;
}

std::string MetaSection(const Program& program) {
  const ProgramMeta& meta = program.meta;
  std::string out;
  for (const std::string* text :
       {&program.name, &program.preset, &meta.kernel_class, &meta.shape, &meta.tile})
    PutText(&out, *text);
  for (const uint64_t peak : meta.scratch_peak) Put(&out, peak);
  for (const uint64_t number : {meta.gm_read, meta.gm_write, meta.macs}) Put(&out, number);
  return out;
}

std::string SourceSection(const Program& program) {
  std::string out;
  Put(&out, uint32_t(program.sources.size()));
  for (const SourceEntry& entry : program.sources) {
    Put(&out, entry.first_pc);
    Put(&out, uint32_t(entry.line));
    PutText(&out, entry.op);
    PutText(&out, entry.file);
  }
  return out;
}

// --- reading ---

template <typename... Args>
Status Damaged(const Args&... args) {
  return ValueError("[load] this is no .snpu file or it is damaged: ", args..., ".");
}

// Takes values from the front of some bytes; the name says of what in errors.
class Reader {
 public:
  Reader(std::string_view bytes, std::string_view name) : left_(bytes), name_(name) {}

  Status Bytes(size_t count, std::string_view* out) {
    if (count > left_.size())
      return Damaged(name_, " ends too early: ", count, " bytes are due, ", left_.size(),
                     " are left");
    *out = left_.substr(0, count);
    left_.remove_prefix(count);
    return absl::OkStatus();
  }
  template <typename T>
  Status Number(T* out) {
    std::string_view bytes;
    FZ_RETURN_IF_ERROR(Bytes(sizeof *out, &bytes));
    std::memcpy(out, bytes.data(), sizeof *out);
    return absl::OkStatus();
  }
  Status Text(std::string* out) {
    uint32_t count = 0;
    std::string_view bytes;
    FZ_RETURN_IF_ERROR(Number(&count));
    FZ_RETURN_IF_ERROR(Bytes(count, &bytes));
    out->assign(bytes);
    return absl::OkStatus();
  }
  // How many entries follow, each of at least `least` bytes.
  Status Count(size_t least, uint32_t* out) {
    FZ_RETURN_IF_ERROR(Number(out));
    if (*out > left_.size() / least)
      return Damaged(name_, " says ", *out, " entries but has ", left_.size(), " bytes for them");
    return absl::OkStatus();
  }
  Status End() const {
    if (left_.empty()) return absl::OkStatus();
    return Damaged(name_, " has ", left_.size(), " bytes too many");
  }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_, name_;
};

Status WordError(FaultCode code, uint64_t word, size_t pc) {
  return ValueError("[load] ", Name(code), ": ", Sentence(code), ": pc ", pc, ", word ",
                    absl::StrFormat("0x%016x", word), ".");
}

Status ReadText(Reader* in, Program* program) {
  const size_t count = in->left().size() / sizeof(uint64_t);
  program->code.resize(count);
  for (size_t pc = 0; pc < count; ++pc) {
    uint64_t word = 0;
    FZ_RETURN_IF_ERROR(in->Number(&word));
    switch (Decode(word, &program->code[pc])) {
      case DecodeError::kNone:
        break;
      case DecodeError::kOpcode:
        return WordError(FaultCode::kIllegalOpcode, word, pc);
      case DecodeError::kEncoding:
        return WordError(FaultCode::kIllegalEncoding, word, pc);
    }
  }
  return absl::OkStatus();
}

Status ReadParams(Reader* in, Program* program) {
  uint32_t count = 0;
  FZ_RETURN_IF_ERROR(in->Count(sizeof(uint8_t) + sizeof(uint32_t), &count));
  program->params.resize(count);
  for (Param& param : program->params) {
    uint8_t kind = 0;
    FZ_RETURN_IF_ERROR(in->Number(&kind));
    param.kind = ParamKind(kind);
    FZ_RETURN_IF_ERROR(in->Text(&param.name));
  }
  return absl::OkStatus();
}

Status ReadMeta(Reader* in, Program* program) {
  ProgramMeta& meta = program->meta;
  for (std::string* text :
       {&program->name, &program->preset, &meta.kernel_class, &meta.shape, &meta.tile})
    FZ_RETURN_IF_ERROR(in->Text(text));
  for (uint64_t& peak : meta.scratch_peak) FZ_RETURN_IF_ERROR(in->Number(&peak));
  for (uint64_t* number : {&meta.gm_read, &meta.gm_write, &meta.macs})
    FZ_RETURN_IF_ERROR(in->Number(number));
  return absl::OkStatus();
}

Status ReadSources(Reader* in, Program* program) {
  uint32_t count = 0;
  FZ_RETURN_IF_ERROR(in->Count(4 * sizeof(uint32_t), &count));
  program->sources.resize(count);
  for (SourceEntry& entry : program->sources) {
    uint32_t line = 0;
    FZ_RETURN_IF_ERROR(in->Number(&entry.first_pc));
    FZ_RETURN_IF_ERROR(in->Number(&line));
    entry.line = int(line);
    FZ_RETURN_IF_ERROR(in->Text(&entry.op));
    FZ_RETURN_IF_ERROR(in->Text(&entry.file));
  }
  return absl::OkStatus();
}

Status ReadNote(Reader* in, Program* program) {
  std::string_view bytes;
  FZ_RETURN_IF_ERROR(in->Bytes(in->left().size(), &bytes));
  program->note.assign(bytes);
  return absl::OkStatus();
}

struct Section {
  std::string_view name;
  std::string (*write)(const Program&);
  Status (*read)(Reader*, Program*);
};
constexpr Section kSections[] = {
    {"TEXT", TextSection, ReadText},
    {"PARM", ParamSection, ReadParams},
    {"META", MetaSection, ReadMeta},
    {"SMAP", SourceSection, ReadSources},
    {"NOTE", [](const Program& program) { return program.note; }, ReadNote},
};

Status ReadSection(Reader* file, std::set<std::string_view>* seen, Program* program) {
  SectionHead head;
  std::string_view bytes, padding;
  FZ_RETURN_IF_ERROR(file->Number(&head));
  if (head.zero) return Damaged("a section's head holds ", head.zero, " where zero is due");
  if (head.bytes > file->left().size())
    return Damaged("a section of ", head.bytes, " bytes where ", file->left().size(), " are left");
  FZ_RETURN_IF_ERROR(file->Bytes(head.bytes, &bytes));
  FZ_RETURN_IF_ERROR(file->Bytes(-head.bytes % kAlignment, &padding));
  if (padding.find_first_not_of('\0') != padding.npos)
    return Damaged("the bytes after a section are not zero");
  for (const Section& section : kSections) {
    if (section.name != head.Name()) continue;
    if (!seen->insert(section.name).second) return Damaged("two sections ", section.name);
    Reader reader(bytes, section.name);
    FZ_RETURN_IF_ERROR(section.read(&reader, program));
    return reader.End();
  }
  return absl::OkStatus();  // of a later format: nothing that running needs
}

Status CheckHeader(const Header& header, std::string_view bytes) {
  if (std::string_view(header.magic.data(), header.magic.size()) != kMagic)
    return Damaged("it does not begin with ", kMagic);
  if (header.version != kFormatVersion)
    return ValueError("[load] the file has format version ", header.version, ", expected ",
                      kFormatVersion, ".");
  if (header.revision != kIsaRevision)
    return ValueError("[load] the file is for revision ", header.revision,
                      " of the instruction set, expected ", kIsaRevision, ".");
  if (header.bytes != bytes.size())
    return Damaged("it has ", bytes.size(), " bytes and says ", header.bytes);
  const uint32_t crc = CrcOfFile(header, bytes.substr(sizeof header));
  if (crc != header.crc)
    return Damaged(absl::StrFormat("its CRC32C is 0x%08x and it says 0x%08x", crc, header.crc));
  const auto is_zero = [](char c) { return c == 0; };
  if (!std::all_of(header.zeros.begin(), header.zeros.end(), is_zero))
    return Damaged("the end of its header is not zero");
  return absl::OkStatus();
}

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
  uint32_t crc = ~before;
  for (const char c : bytes) crc = crc >> 8 ^ kCrcTable[(crc ^ uint8_t(c)) & 255];
  return ~crc;
}

std::string WriteProgram(const ProgramFile& file) {
  std::string rest;
  for (const Section& section : kSections) {
    const std::string bytes = section.write(file.program);
    SectionHead head{.bytes = bytes.size()};
    section.name.copy(head.name.data(), head.name.size());
    Put(&rest, head);
    rest.append(bytes).resize(rest.size() + (-rest.size() % kAlignment));
  }
  Header header{.version = kFormatVersion,
                .revision = kIsaRevision,
                .sections = std::size(kSections),
                .preset_hash = file.preset_hash,
                .bytes = sizeof header + rest.size()};
  kMagic.copy(header.magic.data(), header.magic.size());
  header.crc = CrcOfFile(header, rest);
  std::string out;
  Put(&out, header);
  return out + rest;
}

StatusOr<ProgramFile> ReadProgram(std::string_view bytes) {
  Reader reader(bytes, "the file");
  Header header;
  FZ_RETURN_IF_ERROR(reader.Number(&header));
  FZ_RETURN_IF_ERROR(CheckHeader(header, bytes));
  ProgramFile file{.preset_hash = header.preset_hash};
  std::set<std::string_view> seen;
  for (uint32_t i = 0; i < header.sections; ++i)
    FZ_RETURN_IF_ERROR(ReadSection(&reader, &seen, &file.program));
  FZ_RETURN_IF_ERROR(reader.End());
  if (!seen.contains("TEXT")) return Damaged("it has no section TEXT");
  FZ_RETURN_IF_ERROR(Validate(file.program));
  return file;
}

}  // namespace frazil::npu
