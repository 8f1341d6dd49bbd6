// .snpu files: there and back, and every kind of damage.
#include "npu/file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "npu/asm.h"
#include "tests/npu/random_program.h"

namespace frazil::npu {
namespace {

constexpr size_t kRevisionAt = 8, kSectionsAt = 12, kBytesAt = 24, kCrcAt = 32, kHeader = 64;

template <typename T>
void Set(std::string* file, size_t at, T value) {
  std::memcpy(file->data() + at, &value, sizeof value);
}

// Makes length and checksum of a changed file right again.
std::string Sealed(std::string file) {
  if (file.size() < kHeader) return file;
  Set<uint64_t>(&file, kBytesAt, file.size());
  Set<uint32_t>(&file, kCrcAt, 0);
  Set<uint32_t>(&file, kCrcAt, Crc32c(file));
  return file;
}

std::string Problem(const std::string& file) {
  const StatusOr<ProgramFile> read = ReadProgram(file);
  EXPECT_FALSE(read.ok());
  return std::string(read.status().message());
}

Program Made(std::string_view text) {
  StatusOr<Program> program = Assemble(text);
  EXPECT_TRUE(program.ok()) << program.status();
  return program.ok() ? *std::move(program) : Program();
}

std::string SmallFile() {
  return WriteProgram(
      {Made(".preset dc16\n.kernel k params x:gm.r\n.op add f.py:3\nNOP\nHALT"), 7});
}

TEST(Crc, KnownValue) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(Crc32c("6789", Crc32c("12345")), 0xe3069283);
}

TEST(File, ThereAndBack) {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    const ProgramFile file{RandomProgram(&random, 1 + Draw(&random, 60)), random()};
    const std::string bytes = WriteProgram(file);
    const StatusOr<ProgramFile> back = ReadProgram(bytes);
    ASSERT_TRUE(back.ok()) << back.status() << "\n" << Disassemble(file.program);
    ASSERT_EQ(back->program, file.program);
    ASSERT_EQ(back->preset_hash, file.preset_hash);
    ASSERT_EQ(WriteProgram(*back), bytes);
  }
}

TEST(File, HeaderOfAKnownProgram) {
  const std::string file = SmallFile();
  EXPECT_EQ(file.substr(0, 4), "SNPU");
  EXPECT_EQ(file.size() % 8, 0);
  EXPECT_EQ(file.substr(kHeader, 4), "TEXT");
  EXPECT_EQ(file.substr(kHeader + 16, 16), std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16));
}

TEST(File, DamageIsNamed) {
  const std::string good = SmallFile();
  const std::string damaged = "[load] this is no .snpu file or it is damaged: ";
  EXPECT_EQ(Problem(""), damaged + "the file ends too early: 64 bytes are due, 0 are left.");
  EXPECT_EQ(Problem(std::string(64, 'x')), damaged + "it does not begin with SNPU.");
  std::string bad = good;
  Set<uint32_t>(&bad, 4, 2);
  EXPECT_EQ(Problem(bad), "[load] the file has format version 2, expected 1.");
  bad = good;
  Set<uint32_t>(&bad, kRevisionAt, 9);
  EXPECT_EQ(Problem(bad), "[load] the file is for revision 9 of the instruction set, expected 1.");
  EXPECT_EQ(Problem(good.substr(0, good.size() - 1)),
            damaged + StrCat("it has ", good.size() - 1, " bytes and says ", good.size(), "."));
  bad = good;
  bad[kHeader + 17] ^= 1;
  EXPECT_EQ(Problem(bad).substr(0, damaged.size() + 13), damaged + "its CRC32C is");
  bad = good;
  Set<uint64_t>(&bad, kHeader + 16, 0xff00000000000001);
  EXPECT_EQ(Problem(Sealed(bad)),
            "[load] ILLEGAL_OPCODE: no instruction has this code: pc 0, word 0xff00000000000001.");
  bad = good;
  Set<uint64_t>(&bad, kHeader + 16, 1);
  EXPECT_EQ(Problem(Sealed(bad)),
            "[load] ILLEGAL_ENCODING: the word is not what the encoder makes: a field that is not "
            "used is not zero, or one is out of range: pc 0, word 0x0000000000000001.");
  bad = good;
  Set<uint64_t>(&bad, kHeader + 8, 1 << 20);
  EXPECT_EQ(Problem(Sealed(bad)), damaged + StrCat("a section of 1048576 bytes where ",
                                                   good.size() - kHeader - 16, " are left."));
  bad = good;
  Set<uint32_t>(&bad, kSectionsAt, 4);
  EXPECT_EQ(Problem(Sealed(bad)), damaged + "the file has 16 bytes too many.");
  bad = good;
  bad[63] = 1;
  EXPECT_EQ(Problem(Sealed(bad)), damaged + "the end of its header is not zero.");
  bad = good;
  bad.replace(kHeader, 4, "TXET");
  EXPECT_EQ(Problem(Sealed(bad)), damaged + "it has no section TEXT.");
  bad = good;
  bad.replace(bad.find("PARM"), 4, "TEXT");
  EXPECT_EQ(Problem(Sealed(bad)), damaged + "two sections TEXT.");
  bad = good;
  Set<uint32_t>(&bad, bad.find("PARM") + 16, 1000);
  EXPECT_EQ(Problem(Sealed(bad)), damaged + "PARM says 1000 entries but has 6 bytes for them.");
  bad = good;
  Set<uint8_t>(&bad, bad.find("PARM") + 20, 200);
  EXPECT_EQ(Problem(Sealed(bad)),
            "[npu] parameter 'x' of kernel 'k' has kind 200, expected one in [0, 4).");
}

TEST(File, UnknownSectionsAreSkipped) {
  std::string file = SmallFile();
  const ProgramFile plain = *ReadProgram(file);
  file.insert(kHeader, std::string("LATR\0\0\0\0\5\0\0\0\0\0\0\0hello\0\0\0", 24));
  Set<uint32_t>(&file, kSectionsAt, 6);
  const StatusOr<ProgramFile> read = ReadProgram(Sealed(file));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->program, plain.program);
}

TEST(File, CorruptionIsAnErrorOrAValidProgram) {
  Random random(7);
  int checksums = 0, refused = 0, accepted = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string good =
        WriteProgram({RandomProgram(&random, 1 + Draw(&random, 8)), uint64_t(i)});
    std::string bad = good;
    for (int edits = 1 + Draw(&random, 4); edits > 0; --edits) {
      const size_t at = size_t(Draw(&random, int(bad.size())));
      const int kind = Draw(&random, 8);
      if (kind == 0) bad.resize(at + 1);
      if (kind == 1) bad.insert(at, size_t(Draw(&random, 40)), char(random()));
      if (kind == 2) Set<uint8_t>(&bad, at, 255);
      if (kind > 2) bad[at] = char(bad[at] ^ 1 << Draw(&random, 8));
    }
    if (bad == good) continue;
    // As it is: refused, mostly by its checksum.
    const std::string message = Problem(bad);
    checksums += message.find("CRC32C") != message.npos;
    // With a right checksum: whatever is accepted is valid and means the same when written again.
    const StatusOr<ProgramFile> read = ReadProgram(Sealed(bad));
    if (read.ok()) {
      ++accepted;
      ASSERT_TRUE(Validate(read->program).ok());
      ASSERT_EQ(ReadProgram(WriteProgram(*read))->program, read->program);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(checksums, 5000);
  EXPECT_GT(refused, 5000);
  EXPECT_GT(accepted, 1000);
}

}  // namespace
}  // namespace frazil::npu
