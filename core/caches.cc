#include "core/caches.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace frazil {
namespace {

// A line like "2048K" of the file that Linux keeps for a cache of the first processor; 0 if none.
int64_t FromSysfs(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream level_file(folder + "level"), type_file(folder + "type"),
        size_file(folder + "size");
    int its_level = 0;
    std::string type;
    int64_t size = 0;
    char unit = 0;
    if (!(level_file >> its_level) || !(type_file >> type) || !(size_file >> size)) continue;
    if (its_level != level || type == "Instruction") continue;
    size_file >> unit;
    return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0);
  }
  return 0;
}

int64_t Detect(int level, int name, int64_t common) {
  int64_t size = sysconf(name);
  if (size <= 0) size = FromSysfs(level);
  return size > 0 ? size : common;
}

}  // namespace

int64_t SecondLevelCacheBytes() {
  static const int64_t bytes = Detect(2, _SC_LEVEL2_CACHE_SIZE, 512 << 10);
  return bytes;
}

int64_t LastLevelCacheBytes() {
  static const int64_t bytes =
      std::max(Detect(3, _SC_LEVEL3_CACHE_SIZE, 8 << 20), SecondLevelCacheBytes());
  return bytes;
}

}  // namespace frazil
