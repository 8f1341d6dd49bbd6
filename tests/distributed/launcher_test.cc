// What launchers' variables say: distributed/launcher.h.
#include "distributed/launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace frazil::distributed {
namespace {

// The launcher that these variables tell of, and no others.
Launched Read(const std::map<std::string, std::string>& variables) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                 "PMI_SIZE",
                                 "PMI_RANK",
                                 "MPI_LOCALRANKID",
                                 "PMIX_RANK",
                                 "PMI2_RANK",
                                 "PMI_FD",
                                 "SLURM_NTASKS",
                                 "SLURM_STEP_ID",
                                 "SLURM_JOB_ID",
                                 "SLURM_PROCID",
                                 "SLURM_LOCALID",
                                 "SLURM_NODELIST",
                                 "SLURM_STEP_NODELIST",
                                 "WORLD_SIZE",
                                 "RANK",
                                 "LOCAL_RANK",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "TORCHELASTIC_RUN_ID",
                                 "TORCHELASTIC_USE_AGENT_STORE",
                                 "TORCHELASTIC_RESTART_COUNT"}) {
    unsetenv(name);
  }
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  const auto launched = ReadLauncher();
  EXPECT_TRUE(launched.ok()) << launched.status();
  return *launched;
}

TEST(Launcher, NobodyIsAWorldOfOne) {
  EXPECT_EQ(Read({}).size, 1);
  EXPECT_EQ(Read({{"SLURM_NTASKS", "4"}}).size, 1) << "a batch script, no step of srun";
  EXPECT_EQ(Read({{"WORLD_SIZE", "1"}}).size, 1);
}

TEST(Launcher, MpiKnowsItsRanks) {
  const Launched open = Read({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}});
  EXPECT_EQ(open.by, "mpirun");
  EXPECT_EQ(open.size, 4);
  EXPECT_EQ(open.local_rank, 2);
  EXPECT_TRUE(open.mpi);
  const Launched mpich = Read({{"PMI_SIZE", "3"}, {"PMI_RANK", "1"}, {"MPI_LOCALRANKID", "1"}});
  EXPECT_EQ(mpich.by, "mpiexec");
  EXPECT_EQ(mpich.local_rank, 1);
  const Launched slurm = Read(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "3"}, {"PMIX_RANK", "7"}});
  EXPECT_EQ(slurm.by, "srun");
  EXPECT_TRUE(slurm.mpi);
  EXPECT_EQ(slurm.local_rank, 3);
}

TEST(Launcher, SlurmWithoutPmiSaysWhereRanksMeet) {
  const Launched slurm = Read({{"SLURM_STEP_ID", "2"},
                               {"SLURM_JOB_ID", "1234"},
                               {"SLURM_NTASKS", "8"},
                               {"SLURM_PROCID", "5"},
                               {"SLURM_LOCALID", "1"},
                               {"SLURM_NODELIST", "gpu[007-010,12],login"}});
  EXPECT_FALSE(slurm.mpi);
  EXPECT_EQ(slurm.meeting.rank, 5);
  EXPECT_EQ(slurm.meeting.size, 8);
  EXPECT_EQ(slurm.meeting.host, "gpu007");
  EXPECT_EQ(slurm.local_rank, 1);
  EXPECT_GE(slurm.meeting.port, 20000);
  EXPECT_LT(slurm.meeting.port, 32000);
  EXPECT_NE(slurm.advice.find("--mpi=pmix"), std::string::npos);
}

TEST(Launcher, TorchrunSaysWhereRanksMeet) {
  std::map<std::string, std::string> variables = {{"WORLD_SIZE", "2"},
                                                  {"RANK", "1"},
                                                  {"LOCAL_RANK", "1"},
                                                  {"MASTER_ADDR", "10.0.0.1"},
                                                  {"MASTER_PORT", "29500"}};
  const Launched own = Read(variables);
  EXPECT_EQ(own.by, "torchrun");
  EXPECT_FALSE(own.mpi);
  EXPECT_EQ(own.meeting.rank, 1);
  EXPECT_EQ(own.meeting.host, "10.0.0.1");
  EXPECT_EQ(own.meeting.port, 29500);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(Read(variables).meeting.port, 29501) << "torchrun's store holds the other";
}

TEST(Launcher, FirstOfNodes) {
  EXPECT_EQ(FirstOfNodes("a,b"), "a");
  EXPECT_EQ(FirstOfNodes("n[03-07,12]-x,m1"), "n03-x");
  EXPECT_EQ(FirstOfNodes("n[5]"), "n5");
  EXPECT_EQ(FirstOfNodes("r[1-2]c[3-4]"), "r1c3");
  EXPECT_EQ(FirstOfNodes("n[5"), "n5") << "cut off";
  EXPECT_EQ(FirstOfNodes(""), "");
}

}  // namespace
}  // namespace frazil::distributed
