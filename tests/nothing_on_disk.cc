// Part of every test program: before it starts, plans and machine code on disk are switched off, so
// that it compiles what it says it compiles. Who starts it may switch them on.
#include <cstdlib>

namespace {
[[gnu::constructor]] void SwitchOff() { setenv("FRAZIL_DISK_CACHE", "off", 0); }
}  // namespace
