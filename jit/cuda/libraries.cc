#include "jit/cuda/libraries.h"

#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <mutex>

#include "core/config.h"
#include "core/str.h"

namespace frazil::cuda {
namespace {

constexpr int kOldestDriver = 12000;

std::mutex g_folder_mutex;
std::string& WheelFolder() {
  static auto* folder = new std::string;
  return *folder;
}

// One library: what files may hold it, newest first, and how a user gets it.
struct Library {
  std::string_view name;
  std::vector<std::string_view> files;
  std::string_view remedy;
};

const Library& DriverLibrary() {
  static const auto* library =
      new Library{"libcuda", {"libcuda.so.1", "libcuda.so"}, "install NVIDIA's display driver"};
  return *library;
}
constexpr std::string_view kWheels = "pip install 'frazil[cuda]', or install the CUDA toolkit";
const Library& NvrtcLibrary() {
  static const auto* library =
      new Library{"libnvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kWheels};
  return *library;
}
const Library& CublasLtLibrary() {
  static const auto* library = new Library{
      "libcublasLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, kWheels};
  return *library;
}
const Library& NcclLibrary() {
  static const auto* library = new Library{"libnccl", {"libnccl.so.2", "libnccl.so"}, kWheels};
  return *library;
}

std::vector<std::string> Matches(const std::string& pattern) {
  std::vector<std::string> paths;
  glob_t found;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Where the library may lie, in the order of trying; bare names are left to the loader. Code made
// by a library of CUDA 13 does not run on a driver of 12: where that is the driver, those come
// last.
std::vector<std::string> Candidates(const Library& library, int driver_major) {
  std::vector<std::string> out;
  std::vector<std::string_view> files = library.files;
  if (driver_major > 0 && driver_major < 13) {
    std::stable_partition(files.begin(), files.end(), [](std::string_view file) {
      return file.substr(file.size() - 3) != ".13";
    });
  }
  const std::string& own = GetConfig().cuda_path;
  std::string wheels;
  {
    std::lock_guard lock(g_folder_mutex);
    wheels = WheelFolder();
  }
  for (const std::string_view file : files) {
    if (!own.empty()) out.push_back(StrCat(own, "/", file));
  }
  for (const std::string_view file : files) {
    if (wheels.empty()) break;
    for (const std::string& path : Matches(StrCat(wheels, "/nvidia/*/lib/", file)))
      out.push_back(path);
  }
  for (const std::string_view file : files) out.emplace_back(file);
  return out;
}

struct Opened {
  void* handle = nullptr;
  std::string path;
  Status status;
};

Opened Open(const Library& library, int driver_major = 0) {
  std::string tried;
  for (const std::string& path : Candidates(library, driver_major)) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return {handle, path, {}};
    StrAppend(&tried, tried.empty() ? "" : ", ", path);
  }
  return {nullptr, "",
          RuntimeError("[cuda] ", library.name, " cannot be opened (tried ", tried,
                       "): ", library.remedy, ".")};
}

// Symbols that an older or foreign library lacks.
Status Missing(const Library& library, const Opened& opened, const std::string& symbols) {
  if (symbols.empty()) return absl::OkStatus();
  return RuntimeError("[cuda] ", opened.path, " has no ", symbols, ": it is too old; ",
                      library.remedy, ".");
}

template <typename Function>
void Find(const Opened& opened, const char* symbol, Function* function, std::string* missing) {
  *function = reinterpret_cast<Function>(dlsym(opened.handle, symbol));
  if (!*function) StrAppend(missing, missing->empty() ? "" : ", ", symbol);
}

// A library that was looked for once.
template <typename Table>
struct Loaded {
  Opened opened;
  Table table{};
  int version = 0;  // major * 1000 + minor * 10
  Status status() const { return opened.status; }
};

std::string VersionText(int version) { return StrCat(version / 1000, ".", version % 1000 / 10); }

Status StartDriver(Loaded<DriverTable>* driver) {
  const DriverTable& t = driver->table;
  // The version first: an old driver may lack more than cuInit can tell.
  if (t.DriverGetVersion && t.DriverGetVersion(&driver->version) == kSuccess &&
      driver->version < kOldestDriver) {
    return RuntimeError("[cuda] the driver (", driver->opened.path, ") supports CUDA ",
                        VersionText(driver->version), ", frazil needs ", VersionText(kOldestDriver),
                        " or newer: update the driver.");
  }
  if (!t.Init) return absl::OkStatus();
  const CUresult result = t.Init(0);
  if (result == kNoDevice)
    return RuntimeError(
        "[cuda] the driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES.");
  const char* text = nullptr;
  if (result != kSuccess && t.GetErrorString) t.GetErrorString(result, &text);
  return result == kSuccess ? absl::OkStatus()
                            : RuntimeError("[cuda] the driver does not start: error ", result, " (",
                                           text ? text : "unknown", ").");
}

const Loaded<DriverTable>& LoadedDriver() {
  static const auto* loaded = [] {
    auto* driver = new Loaded<DriverTable>{Open(DriverLibrary())};
    Opened& opened = driver->opened;
    if (!opened.handle) return driver;
    std::string missing;
#define FZ_CUDA(symbol, name, parameters) Find(opened, #symbol, &driver->table.name, &missing);
#include "jit/cuda/driver.def"
#undef FZ_CUDA
    opened.status = StartDriver(driver);
    if (opened.status.ok()) opened.status = Missing(DriverLibrary(), opened, missing);
    return driver;
  }();
  return *loaded;
}

int DriverMajor() { return LoadedDriver().version / 1000; }

const Loaded<NvrtcTable>& LoadedNvrtc() {
  static const auto* loaded = [] {
    auto* nvrtc = new Loaded<NvrtcTable>{Open(NvrtcLibrary(), DriverMajor())};
    Opened& opened = nvrtc->opened;
    if (!opened.handle) return nvrtc;
    std::string missing;
#define FZ_NVRTC(symbol, name, parameters) Find(opened, #symbol, &nvrtc->table.name, &missing);
#include "jit/cuda/nvrtc.def"
#undef FZ_NVRTC
    opened.status = Missing(NvrtcLibrary(), opened, missing);
    int major = 0, minor = 0;
    if (opened.status.ok()) nvrtc->table.Version(&major, &minor);
    nvrtc->version = major * 1000 + minor * 10;
    return nvrtc;
  }();
  return *loaded;
}

const Loaded<CublasLtTable>& LoadedCublasLt() {
  static const auto* loaded = [] {
    auto* cublas = new Loaded<CublasLtTable>{Open(CublasLtLibrary(), DriverMajor())};
    Opened& opened = cublas->opened;
    if (!opened.handle) return cublas;
    std::string missing;
#define FZ_CUBLASLT(symbol, name, result, parameters) \
  Find(opened, #symbol, &cublas->table.name, &missing);
#include "jit/cuda/cublaslt.def"
#undef FZ_CUBLASLT
    opened.status = Missing(CublasLtLibrary(), opened, missing);
    // 12.9.1 is 120901, 11.11.3 was 111103.
    if (opened.status.ok()) {
      const size_t version = cublas->table.GetVersion();
      cublas->version = int(version / 10000 * 1000 + version % 10000 / 100 * 10);
    }
    return cublas;
  }();
  return *loaded;
}

const Loaded<NcclTable>& LoadedNccl() {
  static const auto* loaded = [] {
    auto* nccl = new Loaded<NcclTable>{Open(NcclLibrary())};
    Opened& opened = nccl->opened;
    if (!opened.handle) return nccl;
    std::string missing;
#define FZ_NCCL(symbol, name, result, parameters) \
  Find(opened, #symbol, &nccl->table.name, &missing);
#include "jit/cuda/nccl.def"
#undef FZ_NCCL
    opened.status = Missing(NcclLibrary(), opened, missing);
    int version = 0;  // 2.27.3 is 22703
    if (opened.status.ok()) nccl->table.GetVersion(&version);
    nccl->version = version / 10000 * 1000 + version % 10000 / 100 * 10;
    return nccl;
  }();
  return *loaded;
}

template <typename Table>
LibraryRow RowOf(std::string_view name, const Loaded<Table>& loaded) {
  const bool ok = loaded.status().ok();
  return {std::string(name), loaded.opened.path, ok ? VersionText(loaded.version) : "",
          std::string(loaded.status().message())};
}

}  // namespace

StatusOr<const DriverTable*> Driver() {
  const auto& loaded = LoadedDriver();
  if (!loaded.status().ok()) return loaded.status();
  return &loaded.table;
}
StatusOr<const NvrtcTable*> Nvrtc() {
  const auto& loaded = LoadedNvrtc();
  if (!loaded.status().ok()) return loaded.status();
  return &loaded.table;
}
StatusOr<const CublasLtTable*> CublasLt() {
  const auto& loaded = LoadedCublasLt();
  if (!loaded.status().ok()) return loaded.status();
  return &loaded.table;
}

StatusOr<const NcclTable*> Nccl() {
  const auto& loaded = LoadedNccl();
  if (!loaded.status().ok()) return loaded.status();
  return &loaded.table;
}

std::vector<LibraryRow> LibraryRows() {
  return {RowOf("driver", LoadedDriver()), RowOf("nvrtc", LoadedNvrtc()),
          RowOf("cublasLt", LoadedCublasLt()), RowOf("nccl", LoadedNccl())};
}

void SetWheelFolder(std::string folder) {
  std::lock_guard lock(g_folder_mutex);
  WheelFolder() = std::move(folder);
}

Status DriverStatus(CUresult result, std::string_view op, std::string_view what) {
  if (result == kSuccess) return absl::OkStatus();
  const char *name = nullptr, *text = nullptr;
  const DriverTable& t = LoadedDriver().table;
  if (t.GetErrorName) t.GetErrorName(result, &name);
  if (t.GetErrorString) t.GetErrorString(result, &text);
  const std::string message =
      StrCat("[", op, "] ", what, ": ", name ? name : "CUDA error ", name ? "" : StrCat(result),
             " (", text ? text : "unknown", ").");
  return result == kOutOfMemory ? MemoryError(message) : RuntimeError(message);
}

}  // namespace frazil::cuda
