#include "bindings/cpp/c.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bindings/cpp/error.h"
#include "core/backend.h"
#include "core/functions/ops.h"
#include "core/threads/parallel.h"
#include "frozen/loaded.h"

using frazil::Tensor;

struct frz_tensor {
  Tensor tensor;
};

struct frz_program {
  std::shared_ptr<frazil::frozen::Loaded> loaded;
  frazil::Device device;
  std::vector<std::string> names, types, states;
};

namespace {

thread_local std::string t_error;

frz_status Fail(frz_status status, std::string_view text) {
  try {
    t_error = text;
  } catch (...) {
    t_error.clear();
  }
  return status;
}

frz_status StatusOf(frazil::ErrorKind kind) {
  using frazil::ErrorKind;
  switch (kind) {
    case ErrorKind::kType:
      return FRZ_TYPE_ERROR;
    case ErrorKind::kValue:
    case ErrorKind::kLinAlg:
    case ErrorKind::kOverflow:
      return FRZ_VALUE_ERROR;
    case ErrorKind::kIndex:
      return FRZ_INDEX_ERROR;
    case ErrorKind::kNotImplemented:
      return FRZ_NOT_IMPLEMENTED;
    case ErrorKind::kMemory:
      return FRZ_MEMORY_ERROR;
    case ErrorKind::kFile:
      return FRZ_FILE_ERROR;
    default:
      return FRZ_RUNTIME_ERROR;
  }
}

// Runs f, which returns a frazil::Status, and lets nothing out.
template <typename F>
frz_status Guarded(const F& f) {
  try {
    frazil::Initialize();
    const frazil::Status status = f();
    if (status.ok()) return FRZ_OK;
    return Fail(StatusOf(frazil::KindOf(status)),
                {status.message().data(), status.message().size()});
  } catch (const frazil::Error& error) {
    return Fail(StatusOf(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    return Fail(FRZ_MEMORY_ERROR, "there is not enough memory.");
  } catch (const std::exception& error) {
    return Fail(FRZ_RUNTIME_ERROR, error.what());
  } catch (...) {
    return Fail(FRZ_RUNTIME_ERROR, "something of no known type was thrown.");
  }
}

// In the order of frz_dtype.
constexpr frazil::DType kDTypes[] = {
    frazil::DType::kBool, frazil::DType::kI8,  frazil::DType::kI16,  frazil::DType::kI32,
    frazil::DType::kI64,  frazil::DType::kU8,  frazil::DType::kU16,  frazil::DType::kU32,
    frazil::DType::kU64,  frazil::DType::kF16, frazil::DType::kBF16, frazil::DType::kF32,
    frazil::DType::kF64,  frazil::DType::kC64, frazil::DType::kC128};
static_assert(std::size(kDTypes) == frazil::kNumDTypes && std::size(kDTypes) == FRZ_C128 + 1);

frazil::Status Null(const char* function, const char* what) {
  return frazil::ValueError("[", function, "] ", what, " is null.");
}

frazil::Status MakeTensor(frz_dtype dtype, int rank, const int64_t* shape, const void* data,
                          frz_tensor** out) {
  if (!out) return Null("frz_tensor_new", "out");
  if (dtype < 0 || dtype > FRZ_C128)
    return frazil::TypeError("[frz_tensor_new] there is no dtype ", int(dtype), ".");
  if (rank < 0 || rank > frazil::kMaxRank)
    return frazil::ValueError("[frz_tensor_new] a tensor has 0 to ", frazil::kMaxRank,
                              " axes, got ", rank, ".");
  if (rank > 0 && !shape) return Null("frz_tensor_new", "shape");
  const frazil::Dims dims(shape, static_cast<size_t>(rank));
  const frazil::DType type = kDTypes[dtype];
  FZ_RETURN_IF_ERROR(frazil::CheckDims("frz_tensor_new", dims, SizeOf(type)));
  const auto bytes = static_cast<size_t>(frazil::Dense(dims)->size * SizeOf(type));
  if (data && IsBool(type)) {
    for (size_t i = 0; i < bytes; ++i) {
      if (static_cast<const unsigned char*>(data)[i] > 1)
        return frazil::ValueError("[frz_tensor_new] a bool is 0 or 1.");
    }
  }
  FZ_ASSIGN_OR_RETURN(frazil::ValueRef value,
                      frazil::Value::Allocate(type, frazil::Device(), frazil::Dense(dims)));
  if (bytes > 0 && data) std::memcpy(value->data, data, bytes);
  if (bytes > 0 && !data) std::memset(value->data, 0, bytes);
  *out = new frz_tensor{Tensor(std::move(value))};
  return absl::OkStatus();
}

frazil::Status ReadTensor(const frz_tensor* tensor, void* data, size_t bytes) {
  if (!tensor || (!data && bytes > 0)) return Null("frz_tensor_read", "tensor or data");
  if (bytes != frz_tensor_bytes(tensor))
    return frazil::ValueError("[frz_tensor_read] there is room for ", bytes,
                              " bytes, the tensor has ", frz_tensor_bytes(tensor), ".");
  if (bytes == 0) return absl::OkStatus();
  const Tensor& t = tensor->tensor;
  const Tensor dense = t.layout()->dense ? t : frazil::Apply(frazil::OpId::k_copy, {&t});
  FZ_RETURN_IF_ERROR(dense.status());
  FZ_RETURN_IF_ERROR(frazil::Read(*dense.value()));
  FZ_ASSIGN_OR_RETURN(const frazil::ValueRef host, frazil::OnHost(*dense.value()));
  std::memcpy(data, host->data, bytes);
  return absl::OkStatus();
}

// `load`: of the device.
template <typename Load>
frazil::Status LoadProgram(const char* device, frz_program** out, const Load& load) {
  FZ_ASSIGN_OR_RETURN(const frazil::Device where, frazil::ParseDevice(device ? device : "cpu"));
  FZ_ASSIGN_OR_RETURN(auto loaded, load(where));
  auto program = std::make_unique<frz_program>();
  program->device = where;
  program->names = loaded->input_names();
  program->types = loaded->input_types();
  for (const auto& state : loaded->state()) program->states.push_back(state.first);
  program->loaded = std::move(loaded);
  *out = program.release();
  return absl::OkStatus();
}

// A call on tensors that lie elsewhere: on copies, which come back where the program wrote to them.
frazil::Status CallMoved(frz_program* program, const std::vector<Tensor*>& cells,
                         std::vector<Tensor>* made) {
  std::vector<Tensor> moved;
  std::vector<frazil::ValueRef> before;
  for (const Tensor* cell : cells) {
    moved.push_back(frazil::ops::to_device(*cell, program->device));
    FZ_RETURN_IF_ERROR(moved.back().status());
    before.push_back(moved.back().value_ref());
  }
  std::vector<Tensor*> inputs;
  for (Tensor* cell : cells)  // one that is given twice stays one
    inputs.push_back(&moved[size_t(std::find(cells.begin(), cells.end(), cell) - cells.begin())]);
  FZ_RETURN_IF_ERROR(program->loaded->Call(inputs, made));
  std::vector<Tensor> back(cells.size());
  for (size_t i = 0; i < cells.size(); ++i) {
    if (moved[i].value() == before[i].get()) continue;
    back[i] = frazil::ops::to_device(moved[i], cells[i]->device());
    FZ_RETURN_IF_ERROR(back[i].status());
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    if (back[i].defined()) cells[i]->SetValue(back[i].value_ref());
  }
  return absl::OkStatus();
}

frazil::Status CallProgram(frz_program* program, int inputs, frz_tensor* const* input, int results,
                           frz_tensor** result) {
  if (!program || (inputs > 0 && !input) || (results > 0 && !result))
    return Null("frz_call", "program, input or result");
  if (results != program->loaded->results())
    return frazil::ValueError("[frz_call] there is room for ", results,
                              " results, the program has ", program->loaded->results(), ".");
  std::vector<Tensor*> cells;
  bool here = true;
  for (int i = 0; i < inputs; ++i) {
    if (!input[i]) return Null("frz_call", "an input");
    cells.push_back(&input[i]->tensor);
    here = here && cells.back()->device() == program->device;
  }
  std::vector<Tensor> made;
  FZ_RETURN_IF_ERROR(here ? program->loaded->Call(cells, &made) : CallMoved(program, cells, &made));
  std::vector<std::unique_ptr<frz_tensor>> owned;
  for (Tensor& t : made) owned.push_back(std::make_unique<frz_tensor>(frz_tensor{std::move(t)}));
  for (size_t i = 0; i < owned.size(); ++i) result[i] = owned[i].release();
  return absl::OkStatus();
}

bool Has(const std::vector<std::string>& names, int number) {
  return number >= 0 && number < static_cast<int>(names.size());
}
const char* At(const std::vector<std::string>& names, int number) {
  return Has(names, number) ? names[static_cast<size_t>(number)].c_str() : nullptr;
}

frazil::Status CheckState(const char* function, const frz_program* program, int state,
                          bool has_tensor) {
  if (!program || !has_tensor) return Null(function, "program or tensor");
  if (Has(program->states, state)) return absl::OkStatus();
  return frazil::IndexError("[", function, "] there is no state ", state, ": ",
                            program->loaded->name(), " has ", program->states.size(), ".");
}

}  // namespace

extern "C" {

int frz_abi_version(void) { return FRZ_ABI_VERSION; }
const char* frz_last_error(void) { return t_error.c_str(); }
frz_status frz_set_num_threads(int threads) {
  return Guarded([&]() -> frazil::Status {
    if (threads < 1 || threads > frazil::kMostThreads)
      return frazil::ValueError("[frz_set_num_threads] needs 1 to ", frazil::kMostThreads,
                                " threads, got ", threads, ".");
    frazil::SetNumThreads(threads);
    return absl::OkStatus();
  });
}

frz_status frz_tensor_new(frz_dtype dtype, int rank, const int64_t* shape, const void* data,
                          frz_tensor** out) {
  return Guarded([&] { return MakeTensor(dtype, rank, shape, data, out); });
}
void frz_tensor_free(frz_tensor* tensor) { delete tensor; }
frz_dtype frz_tensor_dtype(const frz_tensor* tensor) {
  for (size_t i = 0; tensor && i < std::size(kDTypes); ++i) {
    if (kDTypes[i] == tensor->tensor.dtype()) return static_cast<frz_dtype>(i);
  }
  return FRZ_NO_DTYPE;
}
int frz_tensor_rank(const frz_tensor* tensor) { return tensor ? tensor->tensor.rank() : -1; }
int64_t frz_tensor_extent(const frz_tensor* tensor, int axis) {
  return axis >= 0 && axis < frz_tensor_rank(tensor) ? tensor->tensor.dims()[axis] : -1;
}
size_t frz_tensor_bytes(const frz_tensor* tensor) {
  if (!tensor) return 0;
  return static_cast<size_t>(tensor->tensor.size() * SizeOf(tensor->tensor.dtype()));
}
frz_status frz_tensor_read(const frz_tensor* tensor, void* data, size_t bytes) {
  return Guarded([&] { return ReadTensor(tensor, data, bytes); });
}

frz_status frz_load(const char* path, const char* device, frz_program** out) {
  return Guarded([&]() -> frazil::Status {
    if (!path || !out) return Null("frz_load", "path or out");
    return LoadProgram(device, out, [&](frazil::Device where) {
      return frazil::frozen::Loaded::Load(path, where);
    });
  });
}
frz_status frz_load_bytes(const void* bytes, size_t size, const char* device, frz_program** out) {
  return Guarded([&]() -> frazil::Status {
    if (!bytes || !out) return Null("frz_load_bytes", "bytes or out");
    return LoadProgram(device, out, [&](frazil::Device where) {
      return frazil::frozen::Loaded::Parse({static_cast<const char*>(bytes), size}, "the bytes",
                                           where);
    });
  });
}
void frz_program_free(frz_program* program) { delete program; }
const char* frz_program_name(const frz_program* program) {
  return program ? program->loaded->name().c_str() : nullptr;
}
int frz_program_inputs(const frz_program* program) {
  return program ? static_cast<int>(program->names.size()) : -1;
}
int frz_program_results(const frz_program* program) {
  return program ? program->loaded->results() : -1;
}
const char* frz_program_input_name(const frz_program* program, int input) {
  return program ? At(program->names, input) : nullptr;
}
const char* frz_program_input_type(const frz_program* program, int input) {
  return program ? At(program->types, input) : nullptr;
}
frz_status frz_call(frz_program* program, int inputs, frz_tensor* const* input, int results,
                    frz_tensor** result) {
  return Guarded([&] { return CallProgram(program, inputs, input, results, result); });
}

int frz_program_states(const frz_program* program) {
  return program ? static_cast<int>(program->states.size()) : -1;
}
const char* frz_program_state_name(const frz_program* program, int state) {
  return program ? At(program->states, state) : nullptr;
}
frz_status frz_program_state(const frz_program* program, int state, frz_tensor** out) {
  return Guarded([&]() -> frazil::Status {
    FZ_RETURN_IF_ERROR(CheckState("frz_program_state", program, state, out != nullptr));
    *out = new frz_tensor{program->loaded->StateAt(state)};
    return absl::OkStatus();
  });
}
frz_status frz_program_set_state(frz_program* program, int state, const frz_tensor* value) {
  return Guarded([&]() -> frazil::Status {
    FZ_RETURN_IF_ERROR(CheckState("frz_program_set_state", program, state, value != nullptr));
    return program->loaded->SetStateAt(state, value->tensor);
  });
}

}  // extern "C"
