// Modules, functions and launches of the fake driver. Used by driver_module.cc, driver_graph.cc.
// Invariant: a launch owns its arguments, copied when it was made, and keeps its module loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/fake/block.h"
#include "tests/cuda/fake/driver.h"

namespace fake {

struct Module {
  Module(Context* context, void* library, const FzImage* image)
      : context(context), library(library), image(image) {}
  ~Module();
  Context* const context;
  void* const library;
  const FzImage* const image;
  std::unordered_map<std::string, CUfunction> functions;
};

struct Function {
  std::shared_ptr<Module> module;
  const FzEntry* entry;
  int static_shared = 0;       // of all kernels of its text
  int max_dynamic_shared = 0;  // with static_shared 48 KiB, until the function asks for more
};

struct Launch {
  std::shared_ptr<Function> function;
  Grid grid;
  std::vector<std::vector<unsigned char>> arguments;

  CUresult Run() const;
};

// kInvalidValue and the like for a launch that a device refuses.
CUresult MakeLaunch(const KernelNodeParams& params, std::shared_ptr<Launch>* launch);

}  // namespace fake
