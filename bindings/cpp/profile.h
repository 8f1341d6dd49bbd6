// Where the time of a C++ program goes: what fz.profile is in Python, without lines, which nobody
// knows there. Called by programs through frazil.h. Invariant: as core/profile.h; one is taken at a
// time, of all threads.
//
//     frazil::profile p;      // begins
//     train(model, data);
//     std::puts(p.text().c_str());  // ends, and tells
#pragma once

#include <string>
#include <vector>

#include "core/profile.h"

#pragma GCC visibility push(default)
namespace frazil {

class profile {  // NOLINT: Python's name
 public:
  struct Row {
    std::string kernel;  // or library call
    double seconds = 0;
    double runs = 0, flops = 0, bytes = 0;
  };

  // Error if another profile is being taken.
  profile();
  ~profile();
  profile(const profile&) = delete;
  profile& operator=(const profile&) = delete;

  // Both end it, the first time. What took longest comes first.
  const std::vector<Row>& by_kernel();
  double seconds();  // in all
  std::string text();

 private:
  void Stop();

  bool running_ = true;
  double seconds_ = 0;
  std::vector<Row> rows_;
};

}  // namespace frazil
#pragma GCC visibility pop
