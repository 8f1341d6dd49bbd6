#include "distributed/launcher.h"

#include <cstdlib>

#include "absl/strings/numbers.h"

namespace frazil::distributed {
namespace {

int NumberIn(const char* variable) {
  const char* const text = std::getenv(variable);
  int number = -1;
  return text && absl::SimpleAtoi(text, &number) ? number : -1;
}

std::string TextIn(const char* variable) {
  const char* const text = std::getenv(variable);
  return text ? text : "";
}

// The first of these that is a number.
int FirstIn(std::initializer_list<const char*> variables) {
  for (const char* const variable : variables) {
    if (const int number = NumberIn(variable); number >= 0) return number;
  }
  return -1;
}

Launched OfMpi(const char* by, int size) {
  const int local = FirstIn({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK",
                             "SLURM_LOCALID", "LOCAL_RANK"});
  return {.by = by, .size = size, .local_rank = std::max(local, 0)};
}

StatusOr<Launched> OfSlurm(int tasks) {
  for (const char* const told : {"PMIX_RANK", "PMI_RANK", "PMI2_RANK", "PMI_FD"})
    if (std::getenv(told)) return OfMpi("srun", tasks);
  Launched out{.by = "srun", .size = tasks, .local_rank = std::max(NumberIn("SLURM_LOCALID"), 0)};
  out.mpi = false;
  out.advice = "run srun --mpi=pmix (or --mpi=pmi2 for MPICH)";
  const int job = std::max(NumberIn("SLURM_JOB_ID"), 0);
  const std::string step = TextIn("SLURM_STEP_ID");
  out.meeting = {.host = TextIn("MASTER_ADDR"),
                 .port = NumberIn("MASTER_PORT"),
                 .job = StrCat("slurm ", job, ".", step),
                 .rank = NumberIn("SLURM_PROCID"),
                 .size = tasks};
  if (out.meeting.host.empty()) {
    const std::string nodes = TextIn("SLURM_STEP_NODELIST");
    out.meeting.host = FirstOfNodes(nodes.empty() ? TextIn("SLURM_NODELIST") : nodes);
  }
  // Every rank computes the same, and steps of one machine seldom meet.
  if (out.meeting.port <= 0)
    out.meeting.port = 20000 + (job * 64 + std::max(NumberIn("SLURM_STEP_ID"), 0) * 16) % 12000;
  return out;
}

Launched OfTorchrun(int size) {
  Launched out{.by = "torchrun", .size = size};
  out.local_rank = std::max(NumberIn("LOCAL_RANK"), 0);
  out.mpi = false;
  out.advice = StrCat("start the program by mpirun -n ", size);
  out.meeting = {.host = TextIn("MASTER_ADDR"),
                 .port = NumberIn("MASTER_PORT"),
                 .job = StrCat("torchrun ", TextIn("TORCHELASTIC_RUN_ID"), " ",
                               TextIn("TORCHELASTIC_RESTART_COUNT")),
                 .rank = NumberIn("RANK"),
                 .size = size};
  // The launcher's own store listens there.
  if (TextIn("TORCHELASTIC_USE_AGENT_STORE") == "True" && out.meeting.port > 0) ++out.meeting.port;
  return out;
}

}  // namespace

std::string FirstOfNodes(const std::string& list) {
  std::string out;
  for (size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      out += list[i];
      continue;
    }
    const size_t end = std::min(list.find(']', i), list.size());
    out += list.substr(i + 1, std::min(list.find_first_of("-,", i), end) - i - 1);
    i = end;
  }
  return out;
}

StatusOr<Launched> ReadLauncher() {
  if (const int size = NumberIn("OMPI_COMM_WORLD_SIZE"); size > 0) return OfMpi("mpirun", size);
  if (const int size = NumberIn("PMI_SIZE"); size > 0) return OfMpi("mpiexec", size);
  if (const int tasks = NumberIn("SLURM_NTASKS"); std::getenv("SLURM_STEP_ID") && tasks > 1)
    return OfSlurm(tasks);
  if (const int size = NumberIn("WORLD_SIZE"); size > 1) return OfTorchrun(size);
  return Launched{};
}

}  // namespace frazil::distributed
