#include "jit/emit/x86/code_names.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <ctime>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/config.h"
#include "core/str.h"
#include "core/threads/at_fork.h"
#include "core/threads/mutex.h"
#include "jit/emit/x86/binary.h"
#include "jit/emit/x86/elf_object.h"

// GDB's interface ("JIT Compilation Interface" of its manual): it puts a breakpoint on the function
// and reads the list whenever that is reached.
extern "C" {
struct jit_code_entry {
  jit_code_entry *next_entry, *prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version, action_flag;
  jit_code_entry *relevant_entry, *first_entry;
};
__attribute__((visibility("default"), noinline, used)) void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
__attribute__((visibility("default"), used))
jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};
}

namespace frazil::jit {
namespace {

enum : uint32_t { kRegister = 1, kUnregister = 2 };

// The first of the lines.
std::pair<std::string, int> FirstLine(std::string_view lines) {
  const std::string_view first = lines.substr(0, lines.find(' '));
  const size_t colon = first.rfind(':');
  int line = 0;
  if (colon == first.npos) return {};
  std::from_chars(first.data() + colon + 1, first.data() + first.size(), line);
  return {std::string(first.substr(0, colon)), line};
}

std::string Labelled(std::string_view name, std::string_view lines) {
  return lines.empty() ? StrCat("frazil:", name) : StrCat("frazil:", name, " ", lines);
}

// /tmp/perf-PID.map
void WriteMap(std::string_view code, std::string_view name) {
  std::FILE* file = std::fopen(StrCat("/tmp/perf-", getpid(), ".map").c_str(), "a");
  if (!file) return;
  std::fprintf(file, "%zx %zx %s\n", reinterpret_cast<size_t>(code.data()), code.size(),
               std::string(name).c_str());
  std::fclose(file);
}

// ./jit-PID.dump, as perf's jitdump-specification.txt says; `perf record -k mono` and `perf inject
// --jit` read it, and find it by the page of it that is mapped executable.
class Jitdump {
 public:
  void Write(std::string_view code, std::string_view name, std::string_view lines) {
    if (!Open()) return;
    const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(code.data()));
    if (const auto [file, line] = FirstLine(lines); !file.empty()) {
      Bytes debug;
      debug.Word(address).Word(uint64_t{1});
      debug.Word(address).Word(static_cast<int32_t>(line)).Word(int32_t{0}).Text(file);
      Record(kDebugInfo, debug);
    }
    Bytes load;
    load.Word(static_cast<uint32_t>(getpid())).Word(static_cast<uint32_t>(syscall(SYS_gettid)));
    load.Word(address).Word(address).Word(static_cast<uint64_t>(code.size())).Word(next_++);
    Record(kLoad, load.Text(name).Raw(code));
    std::fflush(file_);
  }

 private:
  enum : uint32_t { kLoad = 0, kDebugInfo = 2 };

  static uint64_t Now() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  }
  void Record(uint32_t id, const Bytes& content) {
    constexpr uint32_t kHeader = 16;
    const std::string head =
        Bytes().Word(id).Word(static_cast<uint32_t>(kHeader + content.size())).Word(Now()).text();
    std::fwrite(head.data(), 1, head.size(), file_);
    std::fwrite(content.text().data(), 1, content.size(), file_);
  }
  // A forked child has a file of its own.
  bool Open() {
    if (process_ == getpid()) return file_ != nullptr;
    process_ = getpid();
    next_ = 0;
    const int handle = open(StrCat("jit-", process_, ".dump").c_str(),
                            O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    file_ = handle < 0 ? nullptr : fdopen(handle, "wb");
    if (!file_) return false;
    constexpr uint32_t kMagic = 0x4a695444, kVersion = 1, kSize = 40, kX86 = 62;
    Bytes head;
    head.Word(kMagic).Word(kVersion).Word(kSize).Word(kX86).Word(uint32_t{0});
    head.Word(static_cast<uint32_t>(process_)).Word(Now()).Word(uint64_t{0});
    std::fwrite(head.text().data(), 1, head.size(), file_);
    std::fflush(file_);
    mmap(nullptr, static_cast<size_t>(sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE,
         handle, 0);
    return true;
  }

  std::FILE* file_ = nullptr;
  pid_t process_ = 0;
  uint64_t next_ = 0;
};

struct Entry {
  std::string object;
  jit_code_entry entry = {};
};

// Never destroyed.
struct Names {
  Mutex mutex;
  Jitdump dump ABSL_GUARDED_BY(mutex);
  absl::flat_hash_map<const char*, std::unique_ptr<Entry>> entries ABSL_GUARDED_BY(mutex);
};
Names& AllNames() {
  static auto* names = new Names;
  return *names;
}

void Tell(jit_code_entry* entry, uint32_t action) {
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_register_code();
}

void Register(Names* names, std::string_view code, std::string_view name, std::string_view lines)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(names->mutex) {
  const auto [file, line] = FirstLine(lines);
  auto made = std::make_unique<Entry>();
  made->object = ElfObject({name, code, reinterpret_cast<uintptr_t>(code.data()), file, line});
  jit_code_entry& entry = made->entry;
  entry.symfile_addr = made->object.data();
  entry.symfile_size = made->object.size();
  entry.next_entry = __jit_debug_descriptor.first_entry;
  if (entry.next_entry) entry.next_entry->prev_entry = &entry;
  __jit_debug_descriptor.first_entry = &entry;
  names->entries[code.data()] = std::move(made);
  Tell(&entry, kRegister);
}

}  // namespace

bool WantsCodeLines() { return GetConfig().perf == "jitdump" || GetConfig().gdb == "1"; }

void NameCode(std::string_view code, std::string_view name, std::string_view lines) {
  const Config& config = GetConfig();
  if (config.perf == "0" && config.gdb == "0") return;
  const ForkGuard guard;
  Names& names = AllNames();
  const MutexLock lock(&names.mutex);
  if (config.perf == "1") WriteMap(code, Labelled(name, lines));
  if (config.perf == "jitdump") names.dump.Write(code, Labelled(name, lines), lines);
  if (config.gdb == "1") Register(&names, code, name, lines);
}

void ForgetCode(std::string_view code) {
  if (GetConfig().gdb == "0") return;
  const ForkGuard guard;
  Names& names = AllNames();
  const MutexLock lock(&names.mutex);
  const auto found = names.entries.find(code.data());
  if (found == names.entries.end()) return;
  jit_code_entry& entry = found->second->entry;
  (entry.prev_entry ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
      entry.next_entry;
  if (entry.next_entry) entry.next_entry->prev_entry = entry.prev_entry;
  Tell(&entry, kUnregister);
  names.entries.erase(found);
}

}  // namespace frazil::jit
