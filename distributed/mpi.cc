#include "distributed/mpi.h"

#include <dlfcn.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "core/config.h"

namespace frazil::distributed {
namespace {

constexpr const char* kOpenMpi[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so"};
constexpr const char* kMpich[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so"};

// What MPI adds: its names in Open MPI and MPICH. No bool, whose sum is or, and no 16-bit floats.
struct Added {
  DType dtype;
  const char* open_mpi;
  uintptr_t mpich;
};
constexpr Added kAdded[] = {
    {DType::kI8, "ompi_mpi_int8_t", 0x4c000137},    {DType::kI16, "ompi_mpi_int16_t", 0x4c000238},
    {DType::kI32, "ompi_mpi_int32_t", 0x4c000439},  {DType::kI64, "ompi_mpi_int64_t", 0x4c00083a},
    {DType::kU8, "ompi_mpi_uint8_t", 0x4c00013b},   {DType::kU16, "ompi_mpi_uint16_t", 0x4c00023c},
    {DType::kU32, "ompi_mpi_uint32_t", 0x4c00043d}, {DType::kU64, "ompi_mpi_uint64_t", 0x4c00083e},
    {DType::kF32, "ompi_mpi_float", 0x4c00040a},    {DType::kF64, "ompi_mpi_double", 0x4c00080b},
};

// The launcher's own first: the other one would take each process for a world of its own.
std::vector<std::string> Candidates() {
  const std::string& own = GetConfig().mpi_library;
  if (!own.empty()) return {own};
  std::vector<std::string> out;
  const bool mpich = std::getenv("PMI_RANK") && !std::getenv("OMPI_COMM_WORLD_RANK");
  if (mpich) out.insert(out.end(), std::begin(kMpich), std::end(kMpich));
  out.insert(out.end(), std::begin(kOpenMpi), std::end(kOpenMpi));
  if (!mpich) out.insert(out.end(), std::begin(kMpich), std::end(kMpich));
  return out;
}

}  // namespace

Status Mpi::Load() {
  std::string tried;
  for (const std::string& path : Candidates()) {
    // The library's own plugins look for its symbols.
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library_) {
      path_ = path;
      break;
    }
    StrAppend(&tried, tried.empty() ? "" : ", ", path);
  }
  if (!library_) {
    return RuntimeError(
        "[distributed] no MPI library can be opened (tried ", tried,
        "): install Open MPI (openmpi-bin) or MPICH, or name one by FRAZIL_MPI_LIBRARY.");
  }
  std::string missing;
  const auto find = [&](auto* function, const char* name) {
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library_, name));
    if (!*function) StrAppend(&missing, missing.empty() ? "" : ", ", name);
  };
#define FZ_MPI(name, ...) find(&mpi_.name, "MPI_" #name);
#include "distributed/mpi.def"
  if (!missing.empty())
    return RuntimeError("[distributed] ", path_, " has no ", missing, ": it is no MPI library.");
  if (void* const world = dlsym(library_, "ompi_mpi_comm_world")) {
    const auto handle = [&](const char* name) {
      return reinterpret_cast<Handle>(dlsym(library_, name));
    };
    world_ = reinterpret_cast<Handle>(world);
    byte_ = handle("ompi_mpi_byte");
    errors_return_ = handle("ompi_mpi_errors_return");
    sum_ = handle("ompi_mpi_op_sum");
    for (const Added& row : kAdded) types_[size_t(row.dtype)] = handle(row.open_mpi);
    ignore_ = nullptr;
  } else {
    world_ = 0x44000000;
    byte_ = 0x4c00010d;
    errors_return_ = 0x54000001;
    sum_ = 0x58000003;
    for (const Added& row : kAdded) types_[size_t(row.dtype)] = row.mpich;
    ignore_ = reinterpret_cast<void*>(1);
    tag_key_ = 0x64400001;
  }
  char version[8192];  // MPICH's says how it was configured
  int length = 0;
  if (mpi_.Get_library_version(version, &length) == kSuccess)
    version_ = std::string(version, static_cast<size_t>(length)).substr(0, 40);
  version_ = version_.substr(0, version_.find_first_of(",\n"));
  return absl::OkStatus();
}

Status Mpi::Check(const char* what, int code) {
  if (code == kSuccess) return absl::OkStatus();
  char text[8192];
  int length = 0;
  if (mpi_.Error_string(code, text, &length) != kSuccess) length = 0;
  return RuntimeError("[distributed] ", what, " of ", version_, " failed: ",
                      length ? std::string(text, static_cast<size_t>(length)) : StrCat(code), ".");
}

Status Mpi::Open() {
  FZ_RETURN_IF_ERROR(Load());
  int done = 0;
  FZ_RETURN_IF_ERROR(Check("MPI_Finalized", mpi_.Finalized(&done)));
  if (done) return RuntimeError("[distributed] MPI has been ended in this process.");
  FZ_RETURN_IF_ERROR(Check("MPI_Initialized", mpi_.Initialized(&done)));
  if (done) {
    FZ_RETURN_IF_ERROR(Check("MPI_Query_thread", mpi_.Query_thread(&provided_)));
  } else {
    FZ_RETURN_IF_ERROR(
        Check("MPI_Init_thread", mpi_.Init_thread(nullptr, nullptr, kMultiple, &provided_)));
    started_ = true;
  }
  FZ_RETURN_IF_ERROR(Check("MPI_Comm_dup", mpi_.Comm_dup(world_, &communicator_)));
  FZ_RETURN_IF_ERROR(
      Check("MPI_Comm_set_errhandler", mpi_.Comm_set_errhandler(communicator_, errors_return_)));
  const int* most = nullptr;
  int has = 0;
  FZ_RETURN_IF_ERROR(
      Check("MPI_Comm_get_attr", mpi_.Comm_get_attr(communicator_, tag_key_, &most, &has)));
  if (has && most) most_tag_ = *most;
  FZ_RETURN_IF_ERROR(Check("MPI_Comm_rank", mpi_.Comm_rank(communicator_, &rank_)));
  return Check("MPI_Comm_size", mpi_.Comm_size(communicator_, &size_));
}

Status Mpi::Send(const void* bytes, int64_t count, int to, int tag, Request* request) {
  return Check("MPI_Isend", mpi_.Isend(bytes, static_cast<int>(count), byte_, to, tag,
                                       communicator_, &request->word));
}

Status Mpi::Receive(void* bytes, int64_t count, int from, int tag, Request* request) {
  return Check("MPI_Irecv", mpi_.Irecv(bytes, static_cast<int>(count), byte_, from, tag,
                                       communicator_, &request->word));
}

StatusOr<bool> Mpi::Test(Request* request) {
  int done = 0;
  FZ_RETURN_IF_ERROR(Check("MPI_Test", mpi_.Test(&request->word, &done, ignore_)));
  return done != 0;
}

Status Mpi::WaitFor(Request* request) {
  for (;;) {
    FZ_ASSIGN_OR_RETURN(const bool done, Test(request));
    if (done) return absl::OkStatus();
    std::this_thread::yield();
  }
}

Status Mpi::SendNow(const void* bytes, int64_t count, int to) {
  Request request;
  FZ_RETURN_IF_ERROR(Send(bytes, count, to, 0, &request));
  return WaitFor(&request);
}
Status Mpi::ReceiveNow(void* bytes, int64_t count, int from) {
  Request request;
  FZ_RETURN_IF_ERROR(Receive(bytes, count, from, 0, &request));
  return WaitFor(&request);
}

Mpi::Handle Mpi::TypeOf(DType dtype) const {
  return types_[size_t(IsComplex(dtype) ? PartOf(dtype) : dtype)];
}

Status Mpi::AllReduce(const void* x, void* out, int64_t count, DType dtype, Request* request) {
  return Check("MPI_Iallreduce",
               mpi_.Iallreduce(x, out, static_cast<int>(count * (IsComplex(dtype) ? 2 : 1)),
                               TypeOf(dtype), sum_, communicator_, &request->word));
}

Status Mpi::ReduceScatter(const void* x, void* out, int64_t count, DType dtype, Request* request) {
  return Check(
      "MPI_Ireduce_scatter_block",
      mpi_.Ireduce_scatter_block(x, out, static_cast<int>(count * (IsComplex(dtype) ? 2 : 1)),
                                 TypeOf(dtype), sum_, communicator_, &request->word));
}

void Mpi::Finalize() {
  int done = 0;
  if (started_ && mpi_.Finalized(&done) == kSuccess && !done) mpi_.Finalize();
}

}  // namespace frazil::distributed
