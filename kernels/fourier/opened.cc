#include <dlfcn.h>

#include <string>

#include "core/str.h"
#include "kernels/fourier/library.h"

namespace frazil {
namespace {

constexpr std::string_view kFile = "libfrazil_fourier.so";

// Beside the library that this code is in.
std::string Path() {
  Dl_info info;
  const bool known = dladdr(reinterpret_cast<void*>(&FindFourier), &info) != 0;
  const std::string_view own = known ? info.dli_fname : "";
  return StrCat(own.substr(0, own.rfind('/') + 1), kFile);  // rfind: npos + 1 is 0
}

}  // namespace

StatusOr<FourierRun> FindFourier(bool avx512, bool avx2) {
  const std::string path = Path();
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const function = library ? dlsym(library, kFourierOf) : nullptr;
  if (!function) {
    return RuntimeError("[fft] ", dlerror(), ": programs that transform need ", kFile,
                        ", which is installed with libfrazil.so, beside it.");
  }
  return reinterpret_cast<decltype(&frz_fourier_of)>(function)(avx512, avx2);
}

}  // namespace frazil
