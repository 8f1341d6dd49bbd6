// Loaded: a program of a .frz file with its tensors, as something to call. Made by
// frazil::jit::load (bindings/cpp/load.h), frz_load (bindings/cpp/c.h) and fz.load_program.
//
// A .frz file is a safetensors file: its tensors are the program's weights, states and constants,
// under their names. Its metadata holds "frazil.format" (1), "frazil.version" (who wrote it),
// "frazil.name" (the function's), "frazil.program" (frozen/program.h), "frazil.python" (the
// structure of arguments and results, for Python alone) and "frazil.digests", lines of a digest
// (frozen/digest.h) and the name of the metadata or tensor that it is of.
//
// A call is a call by promise (tracer/promise.h) of the function that makes the program's calls
// again, over cells: the inputs and the file's tensors. The first calls of a size run it, the others
// run its plan. Inside of a trace, a gradient or a vmap it is code like any other.
//
// Invariants: a file is believed where its digests agree, and checked all the same; what cannot be
// loaded has touched nothing; a call that fails has written nothing; many threads may call one, and
// set and tell its state meanwhile: a call sees all of a state, and calls that write it take turns.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/files/tensor_file.h"
#include "core/tensor.h"
#include "core/threads/shared_lock.h"
#include "frozen/program.h"
#include "frozen/run.h"
#include "tracer/promise.h"
#include "tracer/trace.h"

#pragma GCC visibility push(default)
namespace frazil::frozen {

class Loaded {
 public:
  // `device`: where its tensors are put, and so where it computes.
  static StatusOr<std::shared_ptr<Loaded>> Load(const std::string& path, Device device = Device());
  // The same of a file's bytes; `path` for errors.
  static StatusOr<std::shared_ptr<Loaded>> Parse(std::string_view file, const std::string& path,
                                                 Device device = Device());
  // A program of its texts and tensors, which become its cells: what texts() and tensors() of another
  // said, on any machine. `from` for errors.
  struct Texts {
    std::string name, version, python, program;
  };
  using Tensors = std::map<std::string, Tensor, std::less<>>;
  static StatusOr<std::shared_ptr<Loaded>> Make(Texts texts, const Tensors& tensors,
                                                const std::string& from);
  ~Loaded();

  const Texts& texts() const { return texts_; }
  const std::string& name() const { return texts_.name; }
  const std::string& version() const { return texts_.version; }
  const std::string& python() const { return texts_.python; }
  std::vector<std::string> input_names() const;
  // "f32[batch,64]", of each input.
  std::vector<std::string> input_types() const;
  // Their names and ranges.
  const std::vector<Program::Symbol>& sizes() const { return program_->symbols; }
  int results() const;

  // One call. The cells of inputs that the program writes to are replaced. `tensors`: cells for those
  // of the file, in the place of its own; all or none.
  Status Call(tracer::Cells inputs, std::vector<Tensor>* outputs, tracer::Cells tensors = {});
  // A call whose parts run one by one, and are timed: added to `times`.
  Status Profile(tracer::Cells inputs, std::vector<Tensor>* outputs, std::vector<CallTime>* times);
  // The number of the input of that name, or -1.
  int InputNamed(std::string_view name) const;
  // Its dtype and shape, where the symbols have these sizes.
  StatusOr<std::pair<DType, std::vector<int64_t>>> InputType(
      int input, const std::map<std::string, int64_t>& sizes) const;

  struct Named {
    std::string name;
    bool constant;
    Tensor* cell;
  };
  std::vector<Named> tensors();
  // Weights and states as they are: calls read and write them. Constants are not among them.
  NamedTensors state() const;
  // Copies in what has these names; all of them have to be there, and fit.
  Status SetState(const NamedTensors& tensors);
  // The same of one, by its place in state().
  Tensor StateAt(int number) const;
  Status SetStateAt(int number, const Tensor& value);

  tracer::TraceStats stats();
  std::string Explain();

 private:
  Loaded();
  static StatusOr<std::shared_ptr<Loaded>> Of(const TensorFile& file, const std::string& path,
                                              Device device);
  Status CheckInputs(tracer::Cells inputs) const;
  Status CallOn(tracer::Cells inputs, tracer::Cells tensors, std::vector<Tensor>* outputs);
  StatusOr<ValueRef> Fitting(const std::string& name, const Tensor& cell,
                             const Tensor& value) const;
  Texts texts_;
  std::unique_ptr<Program> program_;
  std::vector<int> written_;  // inputs that it writes to
  bool trains_ = false;       // it writes to its own tensors
  // Calls that only read the cells go on side by side; what writes to them is alone.
  mutable SharedLock cells_;
  std::vector<Tensor> tensors_;
  std::vector<int> state_;  // which of them are no constants
  std::unique_ptr<tracer::Trace> trace_;
  std::unique_ptr<tracer::Promise> promise_;
};

}  // namespace frazil::frozen
#pragma GCC visibility pop
