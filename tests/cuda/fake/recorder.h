// The calls of one fake library: text, counts, and failures that a test asked for. Used by each of
// the three libraries for its own calls; control.h is its face to tests. Invariant: every exported
// function passes through Call() first.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

namespace fake {

class Recorder {
 public:
  // The library's own.
  static Recorder& Get();

  // Notes a call; returns the error that a test asked it to fail with, or 0. "_v2" and the like are
  // not part of a name.
  int Call(std::string name, const std::string& arguments);
  // The same for what happens later: the run of a kernel.
  void Note(const std::string& line);

  std::string Log();
  void ClearLog();
  uint64_t Count(const std::string& name);
  // The nth next call (1: the next one) of `name` fails.
  void Fail(const std::string& name, int nth, int error);

 private:
  static std::string Plain(std::string name);

  std::mutex mutex_;
  std::string log_;
  std::map<std::string, uint64_t> counts_;
  std::multimap<std::string, std::pair<uint64_t, int>> failures_;  // the count at which, the error
};

// "a, b, c" of anything that prints.
template <typename... Args>
std::string Arguments(const Args&... args) {
  std::ostringstream out;
  [[maybe_unused]] const char* separator = "";
  ((out << separator << args, separator = ", "), ...);
  return out.str();
}

}  // namespace fake

// control.h's functions for the library `prefix`.
#define FAKE_EXPORT_RECORDER(prefix)                                                               \
  extern "C" __attribute__((visibility("default"))) const char* prefix##_log() {                   \
    static thread_local std::string text;                                                          \
    text = fake::Recorder::Get().Log();                                                            \
    return text.c_str();                                                                           \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void prefix##_clear_log() {                    \
    fake::Recorder::Get().ClearLog();                                                              \
  }                                                                                                \
  extern "C"                                                                                       \
      __attribute__((visibility("default"))) unsigned long long prefix##_count(const char* name) { \
    return fake::Recorder::Get().Count(name);                                                      \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"))) void prefix##_fail(const char* name, int nth,  \
                                                                       int error) {                \
    fake::Recorder::Get().Fail(name, nth, error);                                                  \
  }
