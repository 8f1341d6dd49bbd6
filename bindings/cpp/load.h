// jit::load: programs of .frz files, which fz.export writes, as something to call. Part of frazil.h.
//
//   auto model = frazil::jit::load("model.frz");
//   frazil::Tensor y = model(x);                              // of one result
//   std::vector<frazil::Tensor> all = model.call({x, mask});  // by position
//   all = model.call({{"x", x}, {"mask", mask}});             // by name
//
// Inputs are the tensors among the arguments of the exported function, in their order and by their
// names ("x", "batch.image"); results are the tensors of its result in theirs. Weights and states
// belong to the program: calls write to the states, state() tells them, set_state() sets them.
//
// Invariants: copies share one program and its tensors; whatever is wrong is an Error with the
// message that Python shows; many threads may call one program, and tell and set its state meanwhile.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/cpp/error.h"
#include "core/files/tensor_file.h"

#pragma GCC visibility push(default)
namespace frazil::frozen {
class Loaded;
}  // namespace frazil::frozen

namespace frazil::jit {

class Program {
 public:
  explicit Program(std::shared_ptr<frozen::Loaded> loaded) : loaded_(std::move(loaded)) {}

  // Of a program of one result. m(x, x) gives it one tensor twice, call({x, x}) two.
  template <typename... T>
  requires(std::is_same_v<std::remove_cvref_t<T>, Tensor>&&...) Tensor operator()(
      T&&... inputs) const {
    const void* const cells[sizeof...(inputs) + 1] = {&inputs...};
    return Only(call_of(std::vector<Tensor>{inputs...}, cells));
  }
  std::vector<Tensor> call(std::vector<Tensor> inputs) const;
  std::vector<Tensor> call(const NamedTensors& inputs) const;
  // The program writes to the cells, if the exported function wrote to these arguments.
  std::vector<Tensor> call_on(const std::vector<Tensor*>& inputs) const;

  std::string name() const;
  std::vector<std::string> input_names() const;
  std::vector<std::string> input_types() const;  // "f32[batch,64]"
  int results() const;

  // Weights and states by name, as they are.
  NamedTensors state() const;
  // Takes copies. All names have to be there; shapes and dtypes are those of state().
  void set_state(const NamedTensors& tensors) const;

  std::string explain() const;

 private:
  std::vector<Tensor> call_of(std::vector<Tensor> inputs, const void* const* cells) const;
  Tensor Only(std::vector<Tensor> results) const;

  std::shared_ptr<frozen::Loaded> loaded_;
};

// `device`: where it computes, such as "cpu" or "cuda"; inputs are to be there (to_device).
Program load(const std::string& path, std::string_view device = "cpu");
// The same of a file's content: what is embedded, or was received.
Program load_bytes(std::string_view bytes, std::string_view device = "cpu");

}  // namespace frazil::jit
#pragma GCC visibility pop
