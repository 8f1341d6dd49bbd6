#include "frozen/loaded.h"

#include <mutex>
#include <shared_mutex>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "core/files/tensor_file.h"
#include "core/functions/ops.h"
#include "frozen/digests.h"
#include "frozen/lay.h"
#include "frozen/run.h"

namespace frazil::frozen {
namespace {

Status Damaged(const std::string& path, std::string_view why) {
  return ValueError("[load_program] '", path, "' is no .frz file or is damaged: ", why, ".");
}

std::string_view WithoutStop(const Status& status) {
  const std::string_view text(status.message().data(), status.message().size());
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

// The inputs that are written to, and whether tensors of the file are.
void FindWritten(const Block& block, std::vector<int>* inputs, bool* tensors) {
  for (const auto& [cell, value] : block.writes) {
    if (cell.kind == Ref::Kind::kTensor) {
      *tensors = true;
    } else if (!absl::c_linear_search(*inputs, cell.index)) {
      inputs->push_back(cell.index);
    }
  }
  for (const Block::Case& one : block.cases) FindWritten(*one.block, inputs, tensors);
}

bool Fits(const Program::Named& named, const Tensor& tensor) {
  return named.dtype == tensor.dtype() && absl::c_equal(named.dims, tensor.value()->dims(),
                                                        [](const Expression& dim, int64_t extent) {
                                                          return dim.is_constant() &&
                                                                 dim.constant() == extent;
                                                        });
}

}  // namespace

Loaded::Loaded() = default;
Loaded::~Loaded() = default;

StatusOr<std::shared_ptr<Loaded>> Loaded::Load(const std::string& path, Device device) {
  FZ_ASSIGN_OR_RETURN(const TensorFile file, LoadTensors("load_program", path));
  return Of(file, path, device);
}

StatusOr<std::shared_ptr<Loaded>> Loaded::Parse(std::string_view bytes, const std::string& path,
                                                Device device) {
  const auto copy = std::make_shared<std::string>(bytes);
  FZ_ASSIGN_OR_RETURN(const TensorFile file, TensorsIn("load_program", StrCat("'", path, "'"),
                                                       copy->data(), copy->size(), copy));
  return Of(file, path, device);
}

StatusOr<std::shared_ptr<Loaded>> Loaded::Of(const TensorFile& file, const std::string& path,
                                             Device device) {
  const std::map<std::string_view, std::string_view> metadata(file.metadata.begin(),
                                                              file.metadata.end());
  const auto text = [&](std::string_view name) {
    const auto it = metadata.find(name);
    return it == metadata.end() ? std::string() : std::string(it->second);
  };
  if (!metadata.contains("frazil.program"))
    return Damaged(path, "it holds no program, but tensors: read it with fz.load");
  int version = 0;
  if (!absl::SimpleAtoi(text("frazil.format"), &version) || version != kFormatVersion) {
    return ValueError("[load_program] '", path, "' has format version '", text("frazil.format"),
                      "', this frazil reads ", kFormatVersion,
                      ": export it again, or use the frazil that wrote it (",
                      text("frazil.version"), ").");
  }
  FZ_ASSIGN_OR_RETURN(const auto memory, MemoryFor(file));
  if (Status s = TakeAndCheck(file, memory); !s.ok()) return Damaged(path, WithoutStop(s));
  Tensors tensors;
  for (const auto& [name, value] : memory) {
    Tensor t = ops::to_device(Tensor(value), device);
    FZ_RETURN_IF_ERROR(t.status());
    tensors.emplace(name, std::move(t));
  }
  return Make(
      {text("frazil.name"), text("frazil.version"), text("frazil.python"), text("frazil.program")},
      tensors, path);
}

StatusOr<std::shared_ptr<Loaded>> Loaded::Make(Texts texts, const Tensors& tensors,
                                               const std::string& from) {
  auto program = ParseProgram(texts.program);
  if (!program.ok()) return Damaged(from, WithoutStop(program.status()));
  std::shared_ptr<Loaded> loaded(new Loaded);
  loaded->program_ = std::make_unique<Program>(*std::move(program));
  FindWritten(loaded->program_->block, &loaded->written_, &loaded->trains_);
  loaded->texts_ = std::move(texts);
  if (loaded->name().empty()) loaded->texts_.name = "program";
  if (loaded->program_->tensors.size() != tensors.size())
    return Damaged(from, StrCat("its program names ", loaded->program_->tensors.size(),
                                " tensors, and ", tensors.size(), " are there"));
  for (const Program::Named& named : loaded->program_->tensors) {
    const auto it = tensors.find(named.name);
    if (it == tensors.end() || !it->second.status().ok() || !Fits(named, it->second))
      return Damaged(
          from, StrCat("'", named.name, "' is not there as ", Describe(*loaded->program_, named)));
    if (!named.constant) loaded->state_.push_back(static_cast<int>(loaded->tensors_.size()));
    loaded->tensors_.push_back(it->second);
  }
  FZ_RETURN_IF_ERROR(LayWeights(*loaded->program_, absl::MakeSpan(loaded->tensors_)));
  loaded->trace_ = std::make_unique<tracer::Trace>(loaded->name(), true);
  // What it depends on is known: nothing is compared afterwards.
  loaded->promise_ = std::make_unique<tracer::Promise>(&loaded->trace_->recording(),
                                                       tracer::Policy{.first = 0, .every = 0});
  return loaded;
}

std::vector<std::string> Loaded::input_names() const {
  std::vector<std::string> names;
  for (const Program::Named& named : program_->inputs) names.push_back(named.name);
  return names;
}

std::vector<std::string> Loaded::input_types() const {
  std::vector<std::string> types;
  for (const Program::Named& named : program_->inputs) types.push_back(Describe(*program_, named));
  return types;
}

int Loaded::results() const { return program_->outputs; }

int Loaded::InputNamed(std::string_view name) const {
  const auto it = absl::c_find_if(program_->inputs, [&](const auto& i) { return i.name == name; });
  return it == program_->inputs.end() ? -1 : static_cast<int>(it - program_->inputs.begin());
}

Status Loaded::CheckInputs(tracer::Cells inputs) const {
  if (inputs.size() != program_->inputs.size()) {
    return TypeError("[", name(), "] takes ", program_->inputs.size(),
                     program_->inputs.size() == 1 ? " input (" : " inputs (",
                     absl::StrJoin(input_types(), ", "), "), got ", inputs.size(), ".");
  }
  for (const Tensor* t : inputs) {
    if (!t->defined()) return TypeError("[", name(), "] an input holds nothing.");
    FZ_RETURN_IF_ERROR(t->status());
  }
  // A write to one would be one to the other: the program knows two, if it does not ask.
  for (const int written : written_) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto has = [](const Number& number, int input) {
        return absl::c_any_of(number.cells, [&](const Ref& ref) {
          return ref.kind == Ref::Kind::kParameter && ref.index == input;
        });
      };
      const bool one =
          static_cast<int>(i) != written && inputs[i] == inputs[static_cast<size_t>(written)];
      const bool asked = one && absl::c_any_of(program_->numbers, [&](const Number& number) {
                           return has(number, static_cast<int>(i)) && has(number, written);
                         });
      if (one && !asked)
        return ValueError("[", name(), "] writes to '", program_->inputs[written].name,
                          "', which is the same tensor as '", program_->inputs[i].name,
                          "': give it a copy.");
    }
  }
  return absl::OkStatus();
}

StatusOr<std::pair<DType, std::vector<int64_t>>> Loaded::InputType(
    int input, const std::map<std::string, int64_t>& sizes) const {
  const Program::Named& named = program_->inputs[input];
  std::vector<int64_t> dims;
  for (const Expression& dim : named.dims) {
    if (dim.is_constant()) {
      dims.push_back(dim.constant());
      continue;
    }
    const std::string& symbol = program_->symbols[dim.symbol()].name;
    const auto it = sizes.find(symbol);
    if (it == sizes.end())
      return ValueError("[", name(), "] '", named.name, "' is ", Describe(*program_, named),
                        ": the size of ", symbol, " is not given.");
    dims.push_back(it->second);
  }
  return std::pair(named.dtype, std::move(dims));
}

Status Loaded::Profile(tracer::Cells inputs, std::vector<Tensor>* outputs,
                       std::vector<CallTime>* times) {
  FZ_RETURN_IF_ERROR(CheckInputs(inputs));
  const std::unique_lock lock(cells_);
  std::vector<Tensor*> tensors;
  for (Tensor& t : tensors_) tensors.push_back(&t);
  return Run(*program_, name(), {inputs, tensors}, outputs, times);
}

Status Loaded::Call(tracer::Cells inputs, std::vector<Tensor>* outputs, tracer::Cells tensors) {
  FZ_RETURN_IF_ERROR(CheckInputs(inputs));
  if (!tensors.empty()) return CallOn(inputs, tensors, outputs);  // who gives cells guards them
  if (!trains_) {
    const std::shared_lock lock(cells_);
    return CallOn(inputs, {}, outputs);
  }
  const std::unique_lock lock(cells_);
  return CallOn(inputs, {}, outputs);
}

Status Loaded::CallOn(tracer::Cells inputs, tracer::Cells tensors, std::vector<Tensor>* outputs) {
  SmallStack<Tensor*, 16> cells;
  for (Tensor* t : inputs) cells.push_back(t);
  for (Tensor* t : tensors) cells.push_back(t);
  for (size_t i = tensors.size(); i < tensors_.size(); ++i) cells.push_back(&tensors_[i]);
  const Cells parts{cells.span().first(inputs.size()), cells.span().subspan(inputs.size())};
  if (!tracer::Enabled() || tracer::Inside()) {
    tracer::Call call(trace_.get());
    FZ_RETURN_IF_ERROR(Run(*program_, name(), parts, outputs));
    return call.Finish();
  }
  tracer::Words words;
  for (const Number& number : program_->numbers) {
    if (number.of == Number::Of::kSame) words.push_back(AreOne(number, parts));
  }
  tracer::PromisedCall promised(promise_.get(), &words, cells.span());
  if (promised.Skip()) {
    for (Tensor& t : promised.outputs()) outputs->push_back(std::move(t));
    return absl::OkStatus();
  }
  FZ_RETURN_IF_ERROR(promised.status());
  // What is known of a kind is right at once.
  if (promised.is_new()) promised.LearnAtOnce();
  tracer::ScriptBuilder* builder = promised.Observe();
  {
    tracer::Call call(trace_.get(), builder);
    FZ_RETURN_IF_ERROR(Run(*program_, name(), parts, outputs, nullptr, builder));
    FZ_RETURN_IF_ERROR(call.Finish());
  }
  if (!builder) return absl::OkStatus();
  std::vector<const Tensor*> made;
  for (const Tensor& t : *outputs) made.push_back(&t);
  return promised.Learn(made, {}, nullptr, nullptr);
}

std::vector<Loaded::Named> Loaded::tensors() {
  std::vector<Named> named;
  for (size_t i = 0; i < tensors_.size(); ++i)
    named.push_back({program_->tensors[i].name, program_->tensors[i].constant, &tensors_[i]});
  return named;
}

NamedTensors Loaded::state() const {
  const std::shared_lock lock(cells_);
  NamedTensors state;
  for (const int i : state_) state.emplace_back(program_->tensors[i].name, tensors_[i].Detach());
  return state;
}

Tensor Loaded::StateAt(int number) const {
  const std::shared_lock lock(cells_);
  return tensors_[state_[number]].Detach();
}

StatusOr<ValueRef> Loaded::Fitting(const std::string& name, const Tensor& cell,
                                   const Tensor& value) const {
  FZ_RETURN_IF_ERROR(value.status());
  if (value.dtype() != cell.dtype() || value.shape() != cell.shape())
    return ValueError("[set_state] '", name, "' of ", this->name(), " is ", frazil::Describe(cell),
                      ", got ", frazil::Describe(value), ".");
  const Tensor copy = ops::to_device(Apply(OpId::k_copy, {&value}), cell.device());
  FZ_RETURN_IF_ERROR(copy.status());
  return copy.value_ref();
}

Status Loaded::SetStateAt(int number, const Tensor& value) {
  const std::unique_lock lock(cells_);
  Tensor* cell = &tensors_[state_[number]];
  FZ_ASSIGN_OR_RETURN(ValueRef fitting,
                      Fitting(program_->tensors[state_[number]].name, *cell, value));
  tracer::Learning::Write(cell);
  cell->SetValue(std::move(fitting));
  return absl::OkStatus();
}

Status Loaded::SetState(const NamedTensors& tensors) {
  std::map<std::string_view, const Tensor*> given;
  for (const auto& [name, t] : tensors) given[name] = &t;
  const std::unique_lock lock(cells_);
  std::vector<ValueRef> values;
  for (const int i : state_) {
    const std::string& name = program_->tensors[i].name;
    const auto it = given.find(name);
    if (it == given.end())
      return ValueError("[set_state] '", name, "' of ", this->name(), " is missing.");
    FZ_ASSIGN_OR_RETURN(ValueRef value, Fitting(name, tensors_[i], *it->second));
    values.push_back(std::move(value));
    given.erase(it);
  }
  if (!given.empty())
    return ValueError("[set_state] ", name(), " has no '", given.begin()->first, "'.");
  for (size_t i = 0; i < state_.size(); ++i) {
    Tensor* cell = &tensors_[state_[i]];
    tracer::Learning::Write(cell);
    cell->SetValue(std::move(values[i]));
  }
  return absl::OkStatus();
}

tracer::TraceStats Loaded::stats() { return promise_->stats(); }
std::string Loaded::Explain() { return promise_->Explain(); }

}  // namespace frazil::frozen
