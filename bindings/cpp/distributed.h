// Programs of several processes, part of frazil.h: what Python's fz.distributed is.
//
//     fz::distributed::init();
//     fz::Tensor total = fz::distributed::all_reduce(part);
//
// A program is started by mpirun, Slurm or torchrun; one that nobody started so is a world of one process.
// docs/distributed.md tells of launching, of the order of sums and of failures. Invariant: every rank
// of a group makes the same calls in the same order; errors are thrown.
#pragma once

#include <cstdint>
#include <vector>

#include "core/collective.h"
#include "core/tensor.h"

#pragma GCC visibility push(default)
namespace frazil::distributed {

// `timeout`: seconds without a sign of life after which a rank counts as lost.
void init(double timeout = 10);
// Before the program ends, where a rank is not to be missed by the others.
void finalize();
int rank();
int size();
// Among the ranks of this machine: cuda:local_rank() is a GPU that no other takes.
int local_rank();

// Some of the ranks; all by default.
class Group {
 public:
  Group() = default;
  int64_t number() const { return number_; }

 private:
  friend Group group(const std::vector<int64_t>& ranks);
  explicit Group(int64_t number) : number_(number) {}
  int64_t number_ = 0;
};
Group group(const std::vector<int64_t>& ranks);

Tensor all_reduce(const Tensor& x, Reduction op = Reduction::kSum, const Group& group = {});
Tensor reduce_scatter(const Tensor& x, Reduction op = Reduction::kSum, const Group& group = {});
Tensor all_gather(const Tensor& x, const Group& group = {});
Tensor broadcast(const Tensor& x, int64_t root = 0, const Group& group = {});
Tensor all_to_all(const Tensor& x, const Group& group = {});
Tensor send(const Tensor& x, int64_t to, const Group& group = {});
Tensor recv(const Tensor& like, int64_t source, const Group& group = {});
void barrier(const Group& group = {});

}  // namespace frazil::distributed
#pragma GCC visibility pop
