// What a fuzz target is: a function of bytes that must neither crash nor break what it promises.
// With FRAZIL_FUZZ a target is libFuzzer's entry of a program of its own (`./dev fuzz`); without, a
// function that replay_test.cc calls on the files of the target's corpus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef FRAZIL_FUZZ
#define FZ_FUZZ_TARGET(name) extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
#else
#define FZ_FUZZ_TARGET(name) int Fuzz_##name(const uint8_t* data, size_t size)
#endif

namespace frazil {

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace frazil
