// What the fake NVRTC calls a CUBIN or PTX: a shared library of the host behind a header. Written
// by nvrtc.cc, read by the fake driver. Invariant: an image says its own length, because the driver
// is given an address alone; PTX is text.
#pragma once

#include <string>

namespace fake {

// `arch` is 90 for sm_90.
std::string MakeCubin(int arch, const std::string& library);
std::string MakePtx(int arch, int version, const std::string& library);

struct Image {
  bool ptx = false;
  int arch = 0;
  int version = 0;  // of the compiler that wrote the PTX, 12090 for 12.9
  std::string library;
};
// False if it is neither, or damaged.
bool ReadImage(const void* image, Image* out);

}  // namespace fake
