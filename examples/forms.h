// The forms of a program, side by side: timed in turn, compared, and saved for demo.py. Called by
// the example programs. Invariant: every form has run equally often when its results are looked at.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bindings/cpp/frazil.h"

struct Form {
  std::string name;
  std::function<std::vector<frazil::Tensor>()> advance;  // some steps; float32 results
};

inline bool SameBits(const std::vector<frazil::Tensor>& a, const std::vector<frazil::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    const auto u = frazil::to_vector<float>(x), v = frazil::to_vector<float>(y);
    return u.size() == v.size() && std::memcmp(u.data(), v.data(), u.size() * sizeof(float)) == 0;
  });
}

// Prints the time of a step of each form, the best of `rounds`, and whether all results agree,
// which is what it returns. A `path` gets the times in seconds, "NAME", and the results, "NAME 0"
// and so on.
inline bool Compare(const std::vector<Form>& forms, int steps, int rounds, const char* path) {
  std::vector<float> best(forms.size(), 1e9f);
  std::vector<std::vector<frazil::Tensor>> results(forms.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < forms.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      results[i] = forms[i].advance();
      const std::chrono::duration<float> taken = std::chrono::steady_clock::now() - start;
      best[i] = std::min(best[i], taken.count() / float(steps));
    }
  }
  frazil::NamedTensors saved;
  bool same = true;
  for (size_t i = 0; i < forms.size(); ++i) {
    same = same && SameBits(results[i], results[0]);
    std::printf("%-8s %8.2f us a step\n", forms[i].name.c_str(), best[i] * 1e6f);
    saved.emplace_back(forms[i].name, frazil::tensor<float>({best[i]}, {1}));
    for (size_t j = 0; j < results[i].size(); ++j)
      saved.emplace_back(forms[i].name + " " + std::to_string(j), results[i][j]);
  }
  std::printf("%s\n", same ? "equal bits" : "THE BITS DIFFER");
  if (path) frazil::save(path, saved);
  return same;
}
