// All that ducc0 includes of the standard library and of frazil. Included by variants/*.cc before
// they name their instructions (transform.h says why).
#pragma once

#pragma GCC diagnostic ignored "-Wunknown-pragmas"  // Clang, which analyses, has no push_options

#include <immintrin.h>
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cmath>
#include <complex>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/threads/parallel.h"
#include "kernels/fourier/fourier.h"

#define DUCC0_CUSTOM_LOWLEVEL_THREADING
