#include "bindings/cpp/load.h"

#include <algorithm>

#include "absl/strings/str_join.h"
#include "frozen/loaded.h"

namespace frazil::jit {

namespace {

Device DeviceOf(std::string_view name) {
  Initialize();
  const auto device = ParseDevice(name);
  ThrowIf(device.status());
  return *device;
}

Program Made(StatusOr<std::shared_ptr<frozen::Loaded>> loaded) {
  ThrowIf(loaded.status());
  return Program(*std::move(loaded));
}

}  // namespace

Program load(const std::string& path, std::string_view device) {
  return Made(frozen::Loaded::Load(path, DeviceOf(device)));
}

Program load_bytes(std::string_view bytes, std::string_view device) {
  return Made(frozen::Loaded::Parse(bytes, "the bytes", DeviceOf(device)));
}

std::vector<Tensor> Program::call_on(const std::vector<Tensor*>& inputs) const {
  std::vector<Tensor> results;
  ThrowIf(loaded_->Call(inputs, &results));
  return results;
}

std::vector<Tensor> Program::call(std::vector<Tensor> inputs) const {
  std::vector<Tensor*> cells;
  for (Tensor& t : inputs) cells.push_back(&t);
  return call_on(cells);
}

std::vector<Tensor> Program::call_of(std::vector<Tensor> inputs, const void* const* cells) const {
  std::vector<Tensor*> first;
  for (size_t i = 0; i < inputs.size(); ++i)
    first.push_back(&inputs[static_cast<size_t>(std::find(cells, cells + i, cells[i]) - cells)]);
  return call_on(first);
}

std::vector<Tensor> Program::call(const NamedTensors& inputs) const {
  std::vector<Tensor> ordered(loaded_->input_names().size());
  for (const auto& [name, tensor] : inputs) {
    const int i = loaded_->InputNamed(name);
    if (i < 0 || ordered[i].defined())
      throw Error(ValueError("[", loaded_->name(), "] '", name, "' is ",
                             i < 0 ? "no input" : "given twice", ": the inputs are ",
                             absl::StrJoin(loaded_->input_names(), ", "), "."));
    ordered[i] = tensor;
  }
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (!ordered[i].defined())
      throw Error(
          ValueError("[", loaded_->name(), "] '", loaded_->input_names()[i], "' is missing."));
  }
  return call(std::move(ordered));
}

Tensor Program::Only(std::vector<Tensor> results) const {
  if (results.size() == 1) return std::move(results[0]);
  throw Error(
      ValueError("[", loaded_->name(), "] has ", results.size(), " results: call it by call()."));
}

std::string Program::name() const { return loaded_->name(); }
std::vector<std::string> Program::input_names() const { return loaded_->input_names(); }
std::vector<std::string> Program::input_types() const { return loaded_->input_types(); }
int Program::results() const { return loaded_->results(); }
std::string Program::explain() const { return loaded_->Explain(); }

NamedTensors Program::state() const { return loaded_->state(); }
void Program::set_state(const NamedTensors& tensors) const { ThrowIf(loaded_->SetState(tensors)); }

}  // namespace frazil::jit
