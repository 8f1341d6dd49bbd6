#include "bindings/cpp/distributed.h"

#include "bindings/cpp/error.h"
#include "distributed/functions.h"
#include "distributed/world.h"

namespace frazil::distributed {

void init(double timeout) {
  Initialize();
  ThrowIf(Init({.timeout = timeout}));
}
void finalize() { Finalize(); }
int rank() { return Rank(); }
int size() { return Size(); }
int local_rank() { return LocalRank(); }

Group group(const std::vector<int64_t>& ranks) {
  const auto number = NumberOf(ranks);
  ThrowIf(number.status());
  return Group(*number);
}

Tensor all_reduce(const Tensor& x, Reduction op, const Group& group) {
  return Checked(ops::all_reduce(x, op, group.number()), "all_reduce");
}
Tensor reduce_scatter(const Tensor& x, Reduction op, const Group& group) {
  return Checked(ops::reduce_scatter(x, op, group.number()), "reduce_scatter");
}
Tensor all_gather(const Tensor& x, const Group& group) {
  return Checked(ops::all_gather(x, group.number()), "all_gather");
}
Tensor broadcast(const Tensor& x, int64_t root, const Group& group) {
  return Checked(ops::rank_broadcast(x, root, group.number()), "broadcast");
}
Tensor all_to_all(const Tensor& x, const Group& group) {
  return Checked(ops::all_to_all(x, group.number()), "all_to_all");
}
Tensor send(const Tensor& x, int64_t to, const Group& group) {
  return Checked(ops::send(x, to, group.number()), "send");
}
Tensor recv(const Tensor& like, int64_t source, const Group& group) {
  return Checked(ops::recv(like, source, group.number()), "recv");
}
void barrier(const Group& group) { ThrowIf(ops::barrier(group.number())); }

}  // namespace frazil::distributed
