// The file of what is kept for the next process, changed by whoever got at it: nothing is found but
// what was added under the key, and adding goes on. An input is a list of changes to a file of three
// entries: u32 place, u8 count, so many bytes; a count of 0 cuts the file there.
#include "core/disk/disk_table.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/check.h"
#include "core/str.h"
#include "tests/fuzz/targets/target.h"

namespace {

namespace fs = std::filesystem;
using frazil::DiskTable;

constexpr int64_t kLimit = int64_t{1} << 20;

struct Kept {
  std::string folder, file, bytes;
  std::vector<DiskTable::Entry> entries;

  Kept() {
    std::error_code none;
    const bool in_memory = fs::is_directory("/dev/shm", none);
    std::string name = in_memory ? "/dev/shm/frazil-fuzz-XXXXXX" : "/tmp/frazil-fuzz-XXXXXX";
    FZ_CHECK(mkdtemp(name.data()) != nullptr);
    folder = name + "/kept";
    for (int i = 0; i < 3; ++i)
      entries.push_back(
          {frazil::StrCat("key", i), std::string(size_t(10) << (4 * i), char('a' + i))});
    DiskTable table(folder, "one build");
    while (!table.Add(entries, kLimit)) {
    }
    file = folder + "/" + table.file_name();
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  ~Kept() { fs::remove_all(fs::path(folder).parent_path()); }
};

}  // namespace

FZ_FUZZ_TARGET(disk_table) {
  static const Kept kept;
  std::string bytes = kept.bytes;
  std::string_view left = frazil::TextOf(data, size);
  while (left.size() >= 5) {
    uint32_t at;
    std::memcpy(&at, left.data(), 4);
    const size_t place = at % (bytes.size() + 1);
    const size_t count = std::min<size_t>(uint8_t(left[4]), left.size() - 5);
    if (left[4] == 0) bytes.resize(place);
    for (size_t i = 0; i < count && place + i < bytes.size(); ++i) bytes[place + i] = left[5 + i];
    left.remove_prefix(5 + count);
  }
  std::ofstream(kept.file, std::ios::binary | std::ios::trunc) << bytes;
  DiskTable table(kept.folder, "one build");
  for (const auto& entry : kept.entries) {
    const auto found = table.Find(entry.key);
    FZ_CHECK(!found || *found == entry.value);
  }
  while (!table.Add({{"new", "value"}}, kLimit)) {
  }
  const auto found = DiskTable(kept.folder, "one build").Find("new");
  FZ_CHECK(found && *found == "value");
  return 0;
}
