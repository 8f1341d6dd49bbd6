#include "npu/memory.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_format.h"
#include "core/str.h"

namespace frazil::npu {
namespace {

constexpr char kFill = char(0xA5);
constexpr uint64_t kFillStep = 4096;  // at a time, so that rows that follow each other fill seldom

std::string Range(uint64_t begin, uint64_t end) {
  return absl::StrFormat("[0x%x, 0x%x)", begin, end);
}

bool Fail(FaultCode code, const Access& access, std::string detail, Fault* fault) {
  fault->code = code;
  fault->operand = access.operand;
  fault->address = access.begin();
  fault->address_end = access.end();
  fault->detail = std::move(detail);
  return false;
}

}  // namespace

StatusOr<Windows> Windows::Make(absl::Span<const Window> windows) {
  Windows out;
  for (const Window& w : windows) {
    if (w.bytes == 0) continue;
    if (w.bytes < 0 || w.gm < kGmBase || w.end() > uint64_t{1} << 60 || w.end() < w.gm)
      return ValueError("[npu launch] a window is outside of device memory: ", Range(w.gm, w.end()),
                        ".");
    out.windows_.push_back(w);
  }
  std::sort(out.windows_.begin(), out.windows_.end(),
            [](const Window& a, const Window& b) { return a.gm < b.gm; });
  for (size_t i = 1; i < out.windows_.size(); ++i) {
    const Window &a = out.windows_[i - 1], &b = out.windows_[i];
    if (a.end() > b.gm)
      return ValueError("[npu launch] two windows share bytes: ", Range(a.gm, a.end()), " and ",
                        Range(b.gm, b.end()), ".");
  }
  return out;
}

const Window* Windows::Find(uint64_t begin, uint64_t end) const {
  auto it = std::upper_bound(windows_.begin(), windows_.end(), begin,
                             [](uint64_t at, const Window& w) { return at < w.gm; });
  if (it == windows_.begin()) return nullptr;
  --it;
  return end <= it->end() && begin <= end ? &*it : nullptr;
}

Memory::Memory(const Preset& preset, const Windows& windows)
    : windows_(windows), bytes_(preset.bytes) {
  for (int s = kL1; s < kNumSpaces; ++s) {
    // Not value-initialised: pages that a program never touches cost nothing.
    local_[size_t(s)].reset(new char[size_t(bytes_[size_t(s)])]);
  }
}

char* Memory::Local(Space space, uint64_t end) {
  uint64_t& filled = filled_[space];
  char* base = local_[space].get();
  if (end > filled) {
    const uint64_t to = std::min(uint64_t(bytes_[space]), (end / kFillStep + 1) * kFillStep);
    std::memset(base + filled, kFill, to - filled);
    filled = to;
  }
  return base;
}

bool CheckWindow(const Windows& windows, const Access& access, Fault* fault) {
  const Window* window = windows.Find(access.begin(), access.end());
  if (!window) {
    const Window* near = windows.Find(access.begin(), access.begin());
    return Fail(FaultCode::kGmOob, access,
                near ? StrCat("the window is ", Range(near->gm, near->end()))
                     : std::string("no window holds the first of them"),
                fault);
  }
  if (access.write && !window->writable)
    return Fail(FaultCode::kGmPerm, access,
                StrCat("the window is ", Range(window->gm, window->end())), fault);
  return true;
}

char* Memory::Resolve(const Access& access, Fault* fault) {
  if (access.space() != kGM) return Local(access.space(), access.end()) + access.begin();
  if (!CheckWindow(windows_, access, fault)) return nullptr;
  const Window* window = windows_.Find(access.begin(), access.end());
  return window->data + (access.begin() - window->gm);
}

}  // namespace frazil::npu
