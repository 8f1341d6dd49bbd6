// CompileHost(): the compiler of this build, without its libraries, and a folder of what it made.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cuda/fake/host_text.h"

namespace fake {
namespace {

namespace fs = std::filesystem;

// Without the standard library's start files and without optimization a kernel compiles in a third
// of the time; the arithmetic is the same.
constexpr char kCommand[] = FAKE_CUDA_CXX
    " -std=c++20 -O0 -w -fPIC -shared -nostdlib -fvisibility=hidden"
    " -fno-gnu-unique -fno-exceptions -fno-asynchronous-unwind-tables"
    " -ffp-contract=off -fno-math-errno "
    " -fsanitize=alignment -fsanitize-undefined-trap-on-error";

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// FNV-1a, from two starts.
std::string Hash(const std::string& text) {
  uint64_t a = 0xcbf29ce484222325, b = 0x9ae16a3b2f90404f;
  for (const unsigned char c : text) {
    a = (a ^ c) * 0x100000001b3;
    b = (b ^ c) * 0x100000001b3 + 1;
  }
  char digits[40];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return digits;
}

// What every text includes: a change of it is another text.
const std::string& ShimHash() {
  static const std::string hash = [] {
    std::string all = kCommand;
    for (const char* name : {"shim_abi.h", "shim.h", "shim_types.h", "shim_threads.h",
                             "shim_intrinsics.h", "shim_entry.h"})
      all += ReadFile(fs::path(FAKE_CUDA_FOLDER) / name);
    return Hash(all);
  }();
  return hash;
}

fs::path Folder() {
  const char* folder = std::getenv("FAKE_CUDA_CACHE");
  return folder != nullptr && *folder != 0
             ? fs::path(folder)
             : fs::path("/tmp/frazil-fake-cuda-" + std::to_string(getuid()));
}

}  // namespace

HostLibrary CompileHost(const std::string& cuda, const std::string& file) {
  static std::atomic<int> serial = 0;
  const std::string source = HostText(cuda, file);
  const fs::path folder = Folder(), done = folder / (Hash(ShimHash() + source) + ".so");
  HostLibrary library;
  library.bytes = ReadFile(done);
  if (!library.bytes.empty()) return library;

  std::error_code ignored;
  fs::create_directories(folder, ignored);
  const std::string mine =
      folder / ("work-" + std::to_string(getpid()) + "-" + std::to_string(serial++));
  const std::string text = mine + ".cc", object = mine + ".so", log = mine + ".log";
  std::ofstream(text) << source;
  const std::string command =
      std::string(kCommand) + " -o '" + object + "' '" + text + "' 2>'" + log + "'";
  const bool fine = std::system(command.c_str()) == 0;
  library.log = ReadFile(log);
  if (fine) {
    library.bytes = ReadFile(object);
    fs::rename(object, done, ignored);
  } else if (library.log.empty()) {
    library.log = "fake nvrtc: could not run " + command + "\n";
  }
  for (const std::string& path : {text, object, log}) fs::remove(path, ignored);
  return library;
}

}  // namespace fake
