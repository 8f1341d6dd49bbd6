// The file of what is kept for the next process: what was added is found, by several processes at
// once, and nothing else ever is.
#include "core/disk/disk_table.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "core/disk/disk_cache.h"
#include "core/settings.h"
#include "core/str.h"

namespace frazil {
namespace {

namespace fs = std::filesystem;
constexpr int64_t kLimit = int64_t{64} << 20;

std::string Noise(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = char(random());
  return text;
}

class DiskTableTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/frazil-table-XXXXXX";
    folder_ = StrCat(mkdtemp(name), "/kept");
  }
  void TearDown() override { fs::remove_all(fs::path(folder_).parent_path()); }

  void Add(const std::string& key, const std::string& value, int64_t limit = kLimit) {
    DiskTable table(folder_, "one build");
    while (!table.Add({{key, value}}, limit)) {
    }
  }
  std::optional<std::string> Find(const std::string& key) {
    return DiskTable(folder_, "one build").Find(key);
  }
  fs::path File() { return fs::path(folder_) / DiskTable(folder_, "one build").file_name(); }
  std::string Content() {
    std::ifstream in(File(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  int64_t BytesOfAll() {
    int64_t bytes = 0;
    for (const auto& file : fs::directory_iterator(folder_)) bytes += int64_t(file.file_size());
    return bytes;
  }

  std::string folder_;
};

TEST_F(DiskTableTest, FindsWhatWasAdded) {
  EXPECT_FALSE(Find("key"));
  EXPECT_FALSE(fs::exists(folder_));  // who only reads makes nothing
  const std::string value("a\0b", 3);
  Add("key", value);
  Add("", "of no key");
  EXPECT_EQ(Find("key"), value);
  EXPECT_EQ(Find(""), "of no key");
  EXPECT_FALSE(Find("another"));
  DiskTable table(folder_, "one build");
  EXPECT_FALSE(table.Find("later"));
  EXPECT_TRUE(table.Find("key"));
  Add("later", "added meanwhile");  // by somebody else
  EXPECT_EQ(table.Find("later"), "added meanwhile");
  EXPECT_EQ(table.rejected(), 0);
}

TEST_F(DiskTableTest, ManyEntriesAndLargeOnes) {
  std::vector<DiskTable::Entry> entries;
  for (int i = 0; i < 3000; ++i) entries.push_back({StrCat("key ", i), Noise(i % 100, i)});
  entries.push_back({"large", Noise(1 << 20, 1)});
  entries.push_back({"too large", Noise(5 << 20, 1)});
  DiskTable table(folder_, "one build");
  table.Add(entries, 8 << 20);
  for (size_t i = 0; i + 1 < entries.size(); ++i)
    ASSERT_EQ(table.Find(entries[i].key), entries[i].value) << entries[i].key;
  EXPECT_FALSE(table.Find("too large"));
}

TEST_F(DiskTableTest, AnotherIdentityIsAnotherFile) {
  Add("key", "value");
  DiskTable other(folder_, "another build");
  EXPECT_FALSE(other.Find("key"));
  other.Add({{"key", "its own"}}, kLimit);
  EXPECT_EQ(Find("key"), "value");
  // Hashes of identities may collide; identities do not.
  fs::rename(fs::path(folder_) / other.file_name(), File());
  EXPECT_FALSE(Find("key"));
  Add("key", "anew");
  EXPECT_EQ(Find("key"), "anew");
}

TEST_F(DiskTableTest, WhatIsDamagedIsNotFoundAndWrittenAnew) {
  Add("the key", "the value");
  const std::string good = Content();
  const size_t record = DiskTable::kFirstSlot + DiskTable::kSlots * 32;
  ASSERT_GT(good.size(), record);
  std::vector<size_t> places;  // the head, the one slot and the record
  for (size_t i = 0; i < 40; ++i) places.push_back(i % 25);
  for (size_t i = DiskTable::kFirstSlot; i < record; ++i)
    if (good[i]) places.push_back(i);
  for (size_t i = record; i < good.size(); ++i) places.push_back(i);
  for (const size_t at : places) {
    std::string bad = good;
    bad[at] ^= char(1 << at % 8);
    std::ofstream(File(), std::ios::binary) << bad;
    const auto found = Find("the key");
    // When an entry was used last decides nothing.
    EXPECT_TRUE(!found || found == "the value") << "byte " << at;
    EXPECT_FALSE(Find("the kex"));
    Add("the key", "the value");
    EXPECT_EQ(Find("the key"), "the value") << "byte " << at;
  }
  for (size_t length = 0; length < good.size(); length += length < 64 ? 1 : 4001) {
    fs::remove(File());
    std::ofstream(File(), std::ios::binary) << good.substr(0, length);
    EXPECT_FALSE(Find("the key")) << length << " bytes";
    Add("the key", "the value");
    EXPECT_EQ(Find("the key"), "the value") << length << " bytes";
  }
}

TEST_F(DiskTableTest, WhatOthersMayWriteIsNotUsed) {
  const auto with = [](const fs::path& path, fs::perms more) {
    fs::permissions(path, more, fs::perm_options::add);
  };
  const auto without = [](const fs::path& path, fs::perms less) {
    fs::permissions(path, less, fs::perm_options::remove);
  };
  Add("key", "value");
  for (const fs::perms perms : {fs::perms::group_write, fs::perms::others_write}) {
    with(File(), perms);
    EXPECT_FALSE(Find("key"));
    without(File(), perms);
    EXPECT_TRUE(Find("key"));
    with(folder_, perms);
    EXPECT_FALSE(Find("key"));
    Add("more", "value");
    without(folder_, perms);
    EXPECT_FALSE(Find("more"));
    EXPECT_TRUE(Find("key"));
  }
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(File().c_str(), 12345, getgid()), 0);
  EXPECT_FALSE(Find("key"));
  Add("key", "anew");  // in a file of our own
  EXPECT_EQ(Find("key"), "anew");
  ASSERT_EQ(chown(folder_.c_str(), 12345, getgid()), 0);
  EXPECT_FALSE(Find("key"));
  Add("more", "value");
  EXPECT_FALSE(Find("more"));
}

TEST_F(DiskTableTest, LinksAreNotFollowed) {
  Add("key", "value");
  const fs::path aside = fs::path(folder_) / "aside";
  fs::rename(File(), aside);
  fs::create_symlink(aside, File());
  EXPECT_FALSE(Find("key"));
  Add("key", "anew");
  EXPECT_EQ(Find("key"), "anew");
  EXPECT_FALSE(fs::is_symlink(File()));
}

TEST_F(DiskTableTest, FoldersThatCannotBeMadeAreNoError) {
  Add("key", "value");
  for (const std::string& name : {std::string("/proc/nowhere/kept"), std::string(),
                                  std::string("/dev/null"), File().string()}) {
    DiskTable table(name, "one build");
    table.Add({{"key", "value"}}, kLimit);
    EXPECT_FALSE(table.Find("key")) << name;
  }
}

TEST_F(DiskTableTest, ThePlaceIsBounded) {
  constexpr int64_t kBytes = 2 << 20;
  for (int i = 0; i < 200; ++i) {
    Add(StrCat("key ", i), Noise(20'000, i), kBytes);
    ASSERT_LE(BytesOfAll(), kBytes);
  }
  EXPECT_EQ(Find("key 199"), Noise(20'000, 199));
  EXPECT_FALSE(Find("key 0"));
  // Of several builds the file that was written longest ago goes.
  DiskTable other(folder_, "another build");
  fs::last_write_time(File(), fs::file_time_type::clock::now() - std::chrono::hours(5));
  other.Add({{"key", Noise(400'000, 3)}}, kBytes);
  EXPECT_TRUE(other.Find("key"));
  EXPECT_FALSE(fs::exists(File()));
  other.Add({{"more", "value"}}, 0);
  EXPECT_FALSE(DiskTable(folder_, "another build").Find("more"));
}

TEST_F(DiskTableTest, WhatWasUsedLastStays) {
  constexpr int64_t kBytes = 2 << 20;
  for (int i = 0; i < 70; ++i) Add(StrCat("key ", i), Noise(20'000, i), kBytes);
  // All but the first were used an hour ago.
  std::fstream file(File(), std::ios::binary | std::ios::in | std::ios::out);
  std::string content = Content();
  for (size_t at = DiskTable::kFirstSlot; at < DiskTable::kFirstSlot + DiskTable::kSlots * 32;
       at += 32) {
    uint32_t hour;
    std::memcpy(&hour, &content[at + 20], sizeof hour);
    hour -= hour != 0;
    file.seekp(int64_t(at) + 20).write(reinterpret_cast<const char*>(&hour), sizeof hour);
  }
  file.close();
  EXPECT_TRUE(Find("key 0"));
  for (int i = 70; i < 85; ++i) Add(StrCat("key ", i), Noise(20'000, i), kBytes);
  EXPECT_FALSE(Find("key 1"));
  EXPECT_TRUE(Find("key 0"));
}

// Runs `body` in processes and waits for them.
template <typename Fn>
void InProcesses(int count, Fn body) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      body(i);
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST_F(DiskTableTest, ProcessesWriteAtOnce) {
  InProcesses(4, [&](int process) {
    DiskTable table(folder_, "one build");
    for (int i = 0; i < 50; ++i) {
      const int number = i * 2 + process % 2;  // two processes add the same
      while (!table.Add({{StrCat("key ", number), Noise(3000, number)}}, kLimit)) {
      }
      const auto found = table.Find(StrCat("key ", i));
      if (found && *found != Noise(3000, i)) _exit(1);
    }
  });
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Find(StrCat("key ", i)), Noise(3000, i));
  EXPECT_LT(fs::file_size(File()), 1'100'000u);  // once each
}

TEST_F(DiskTableTest, ProcessesMakeRoomAtOnce) {
  InProcesses(3, [&](int process) {
    DiskTable table(folder_, "one build");
    for (int i = 0; i < 150; ++i) {
      table.Add({{StrCat("key ", process, " ", i), Noise(20'000, i)}}, 2 << 20);
      const auto found = table.Find(StrCat("key ", process, " ", i));
      if (found && *found != Noise(20'000, i)) _exit(1);
    }
  });
  EXPECT_LE(BytesOfAll(), 2 << 20);
}

TEST_F(DiskTableTest, ProcessesThatDieLeaveItUsable) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      DiskTable table(folder_, "one build");
      for (int i = 0;; ++i) table.Add({{StrCat("key ", i % 150), Noise(20'000, i % 150)}}, 2 << 20);
    }
    usleep(random() % 20'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (int i = 0; i < 150; ++i) {
      const auto found = Find(StrCat("key ", i));
      ASSERT_TRUE(!found || found == Noise(20'000, i));
    }
    Add("alive", StrCat(round), 2 << 20);
    ASSERT_TRUE(Find("alive"));
  }
}

// Caches of a process are never destroyed.
DiskCache* NewCache(const std::string& folder, unsigned moment) {
  static std::vector<DiskCache*> caches;
  caches.push_back(new DiskCache(folder, "one build", moment));
  return caches.back();
}

TEST_F(DiskTableTest, WhatIsKeptIsWrittenSoon) {
  DiskCache* cache = NewCache(folder_, 1000);
  EXPECT_FALSE(cache->Find("key"));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, cache] {
      for (int i = 0; i < 25; ++i) cache->Keep(StrCat("key ", t * 25 + i), StrCat(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto all = [&] {
    for (int i = 0; i < 100; ++i)
      if (!Find(StrCat("key ", i))) return false;
    return true;
  };
  for (int i = 0; i < 10'000 && !all(); ++i) usleep(10'000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(cache->Find(StrCat("key ", i)), StrCat(i % 25));
  cache->Keep("at once", "value");
  cache->Flush();
  EXPECT_TRUE(Find("at once"));
}

#if !defined(__SANITIZE_THREAD__)  // which lets no fork of a process of several threads make more
TEST_F(DiskTableTest, WhatIsKeptIsWrittenByTheProcessThatMadeIt) {
  constexpr unsigned kNever = 600'000'000;
  DiskCache* cache = NewCache(folder_, kNever);
  cache->Keep("of the parent", "value");
  InProcesses(1, [&](int) {
    cache->Flush();
    if (fs::exists(folder_)) _exit(1);
    DiskCache* soon = NewCache(folder_, 1000);
    soon->Keep("of the child", "value");
    for (int i = 0; i < 10'000 && !Find("of the child"); ++i) usleep(10'000);
    cache->Keep("more of it", "value");
    cache->Flush();
  });
  EXPECT_EQ(Find("of the child"), "value");
  EXPECT_EQ(Find("more of it"), "value");
  EXPECT_FALSE(Find("of the parent"));
  cache->Flush();
  EXPECT_EQ(Find("of the parent"), "value");
}
#endif

}  // namespace
}  // namespace frazil
