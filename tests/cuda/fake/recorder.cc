#include "tests/cuda/fake/recorder.h"

#include <cctype>

namespace fake {
namespace {

constexpr size_t kMostLog = 8 << 20;  // bytes: of a longer log the first half is dropped

}  // namespace

Recorder& Recorder::Get() {
  static Recorder* const recorder = new Recorder;
  return *recorder;
}

std::string Recorder::Plain(std::string name) {
  const size_t at = name.size() < 3 ? std::string::npos : name.size() - 3;
  if (at != std::string::npos && name[at] == '_' && name[at + 1] == 'v' &&
      std::isdigit(static_cast<unsigned char>(name[at + 2])))
    name.resize(at);
  return name;
}

int Recorder::Call(std::string name, const std::string& arguments) {
  name = Plain(std::move(name));
  std::lock_guard lock(mutex_);
  if (log_.size() > kMostLog) log_.erase(0, log_.find('\n', kMostLog / 2) + 1);
  log_ += name + "(" + arguments + ")";
  const uint64_t count = ++counts_[name];
  const auto [begin, end] = failures_.equal_range(name);
  for (auto it = begin; it != end; ++it) {
    if (it->second.first != count) continue;
    const int error = it->second.second;
    failures_.erase(it);
    log_ += " = " + std::to_string(error) + "\n";
    return error;
  }
  log_ += "\n";
  return 0;
}

void Recorder::Note(const std::string& line) {
  std::lock_guard lock(mutex_);
  log_ += line + "\n";
}

std::string Recorder::Log() {
  std::lock_guard lock(mutex_);
  return log_;
}

void Recorder::ClearLog() {
  std::lock_guard lock(mutex_);
  log_.clear();
}

uint64_t Recorder::Count(const std::string& name) {
  std::lock_guard lock(mutex_);
  return counts_[Plain(name)];
}

void Recorder::Fail(const std::string& name, int nth, int error) {
  std::lock_guard lock(mutex_);
  const std::string plain = Plain(name);
  failures_.insert({plain, {counts_[plain] + uint64_t(nth), error}});
}

}  // namespace fake
