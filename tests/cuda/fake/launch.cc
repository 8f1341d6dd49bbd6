#include "tests/cuda/fake/launch.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

#include "tests/cuda/fake/stream.h"

namespace fake {
namespace {

bool Within(unsigned n, unsigned most) { return n >= 1 && n <= most; }

// Arguments from a list of pointers, or from one buffer laid out as a struct (`extra`: pairs of
// what and value: 1 the buffer, 2 the pointer to its size, 0 the end).
CUresult CopyArguments(const FzEntry& entry, void** params, void** extra, Launch* launch) {
  if (entry.params == 0) return kSuccess;
  if ((params == nullptr) == (extra == nullptr)) return kInvalidValue;
  const unsigned char* buffer = nullptr;
  size_t bytes = 0;
  for (void** pair = extra; pair != nullptr && pair[0] != nullptr; pair += 2) {
    const auto what = reinterpret_cast<uintptr_t>(pair[0]);
    if (what == 1) buffer = static_cast<const unsigned char*>(pair[1]);
    if (what == 2) bytes = *static_cast<const size_t*>(pair[1]);
  }
  size_t offset = 0;
  for (unsigned i = 0; i < entry.params; ++i) {
    const size_t size = entry.sizes[i], align = entry.alignments[i];
    const unsigned char* from;
    if (params != nullptr) {
      from = static_cast<const unsigned char*>(params[i]);
    } else {
      offset = (offset + align - 1) / align * align;
      if (buffer == nullptr || offset + size > bytes) return kInvalidValue;
      from = buffer + offset;
      offset += size;
    }
    launch->arguments.emplace_back(from, from + size);
  }
  return kSuccess;
}

}  // namespace

Module::~Module() { dlclose(library); }

int MaxSharedBytes() {
  switch (Driver::Get().arch) {
    case 75:
      return 64 << 10;
    case 80:
    case 87:
      return 163 << 10;
    case 86:
    case 89:
    case 120:
      return 99 << 10;
    default:
      return 227 << 10;
  }
}

CUresult MakeLaunch(const KernelNodeParams& p, std::shared_ptr<Launch>* launch) {
  const auto function = Driver::Get().functions.Get(p.func);
  if (function == nullptr) return kInvalidHandle;
  if (!Within(p.grid_x, 0x7fffffff) || !Within(p.grid_y, 65535) || !Within(p.grid_z, 65535) ||
      !Within(p.block_x, 1024) || !Within(p.block_y, 1024) || !Within(p.block_z, 64) ||
      !Within(p.block_x * p.block_y * p.block_z, 1024))
    return kInvalidValue;
  if (int64_t{p.shared_bytes} > function->max_dynamic_shared) return kInvalidValue;
  auto made = std::make_shared<Launch>();
  made->function = function;
  made->grid = {.blocks = {p.grid_x, p.grid_y, p.grid_z},
                .threads = {p.block_x, p.block_y, p.block_z},
                .shared_bytes = p.shared_bytes};
  if (const CUresult error = CopyArguments(*function->entry, p.params, p.extra, made.get()))
    return error;
  *launch = std::move(made);
  return kSuccess;
}

void ReportDamage(Context* context, const std::string& when) {
  OpenMemory open(&context->memory);
  const std::string damage = context->memory.CheckZones();
  if (damage.empty()) return;
  const std::string line = "fake cuda: " + damage + " (found " + when + ")";
  std::fprintf(stderr, "%s\n", line.c_str());
  Recorder::Get().Note(line);
  if (context->error == kSuccess) context->error = kIllegalAddress;
}

CUresult Launch::Run() const {
  Context* const context = function->module->context;
  const std::string name = function->entry->name;
  if (const int error = Recorder::Get().Call("kernel", name)) return error;
  std::vector<void*> params;
  std::vector<std::vector<unsigned char>> copies = arguments;  // a kernel may change its own
  for (auto& copy : copies) params.push_back(copy.data());
  Grid shuffled = grid;
  shuffled.order = unsigned(Driver::Get().work.random()());
  OpenMemory open(&context->memory);
  const GridResult result =
      RunGrid(*function->module->image, *function->entry, shuffled, params.data());
  ReportDamage(context, "after kernel " + name);
  if (result.end == GridEnd::kDone) return context->error;
  const std::string line = "fake cuda: kernel " + name + ": " + result.message;
  std::fprintf(stderr, "%s\n", line.c_str());
  Recorder::Get().Note(line);
  if (result.end == GridEnd::kMisaligned) return kMisalignedAddress;
  return result.end == GridEnd::kStuck ? kLaunchTimeout : kIllegalAddress;
}

}  // namespace fake
