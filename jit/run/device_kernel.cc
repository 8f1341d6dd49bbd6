#include "jit/run/device_kernel.h"

namespace frazil::jit {

Launch WithoutProduct(const Graph& graph, int32_t id, const Launch& reader, int product) {
  Launch launch = reader;
  launch.buffers.erase(launch.buffers.begin() + product);
  for (const int i : {1, 0}) {
    const int32_t operand = graph.nodes[id].operands[i];
    launch.buffers.insert(launch.buffers.begin(),
                          {BaseOf(graph, operand), OffsetInBase(graph, operand)});
  }
  return launch;
}

}  // namespace frazil::jit
