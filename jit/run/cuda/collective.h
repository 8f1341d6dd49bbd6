// Collectives between GPUs, over NCCL, as library calls of plans, and for tensors of the CPU where
// there is no MPI (distributed/accelerator.h). Made by the backend; registered with it.
//
// A call is queued on its communicator's own stream, behind what the device has been asked for
// until then, and the device's stream waits for its end: at once, or, if the plan has started it
// (kCollectiveStarted), where `collective_wait` stands, so that kernels run beside it. The host
// waits for neither. Sums keep the order of the ranks: each rank is sent its part of everybody's
// array in one group of ncclSend and ncclRecv, a kernel adds in ascending order of the ranks
// (jit/emit/cuda/sum_text.h), and the parts are gathered. Native ones (core/collective.h) are
// NCCL's, for the dtypes that it adds.
//
// Invariants: the calls of a process are queued in the order in which they were made, each told to
// rank 0 (distributed/agreement.h); what a call reads and writes is not given to others before the
// device's stream has waited for it.
#pragma once

#include "distributed/accelerator.h"
#include "jit/run/device_kernel.h"

namespace frazil::jit {

// For a node of class kCollective or kCollectiveWait on a GPU.
StatusOr<std::unique_ptr<const LibraryCall>> MakeCudaCollective(const Graph& graph, int32_t id,
                                                                const std::string& origin);

const distributed::Accelerator* NcclAccelerator();

}  // namespace frazil::jit
