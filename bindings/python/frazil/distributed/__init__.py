"""Programs of several processes, over MPI and NCCL: collectives that are ops, training in parts.

Here: `init`, `rank`, `local_rank`, `size`, `Group`, `group`; `all_reduce`, `reduce_scatter`,
`all_gather`, `broadcast`, `all_to_all`, `send`, `recv`, `barrier`; `DataParallel`,
`data_parallel`, `reduce_gradients`, `average`, `ZeroRedundancyOptimizer`, `DistributedSampler`,
`halo`; `Checkpoint`, `trace`, `overlap`, `forecast`.

A program is started by `mpirun -n 4 python train.py`, by Slurm or by torchrun (with GPUs) and is
the same in each process; one that nobody started so is a world of one process, in which all of
this works, too.
docs/distributed.md tells of launching, of the order of sums and of failures.

>>> import frazil as fz
>>> fz.distributed.init()
>>> fz.distributed.all_reduce(fz.asarray([1.0, 2.0]))
fz.Tensor([1., 2.])
"""

from frazil.distributed._checkpoint import Checkpoint as Checkpoint
from frazil.distributed._collectives import all_gather as all_gather
from frazil.distributed._collectives import all_reduce as all_reduce
from frazil.distributed._collectives import all_to_all as all_to_all
from frazil.distributed._collectives import barrier as barrier
from frazil.distributed._collectives import broadcast as broadcast
from frazil.distributed._collectives import recv as recv
from frazil.distributed._collectives import reduce_scatter as reduce_scatter
from frazil.distributed._collectives import send as send
from frazil.distributed._forecast import forecast as forecast
from frazil.distributed._halo import halo as halo
from frazil.distributed._parallel import DataParallel as DataParallel
from frazil.distributed._parallel import average as average
from frazil.distributed._parallel import data_parallel as data_parallel
from frazil.distributed._parallel import reduce_gradients as reduce_gradients
from frazil.distributed._sampler import DistributedSampler as DistributedSampler
from frazil.distributed._timeline import overlap as overlap
from frazil.distributed._timeline import trace as trace
from frazil.distributed._world import Group as Group
from frazil.distributed._world import group as group
from frazil.distributed._world import init as init
from frazil.distributed._world import local_rank as local_rank
from frazil.distributed._world import rank as rank
from frazil.distributed._world import size as size
from frazil.distributed._zero import ZeroRedundancyOptimizer as ZeroRedundancyOptimizer

__all__ = [
    "Checkpoint", "DataParallel", "DistributedSampler", "Group", "ZeroRedundancyOptimizer",
    "all_gather", "all_reduce", "all_to_all", "average", "barrier", "broadcast", "data_parallel",
    "forecast", "group", "halo", "init", "local_rank", "overlap", "rank", "recv",
    "reduce_gradients", "reduce_scatter", "send", "size", "trace",
]  # fmt: skip
