"""The compiled part of frazil.distributed."""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Sequence

from frazil._frazil import Tensor
from frazil._types import Operand

__all__ = [
    "abandon",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "barrier",
    "broadcast",
    "finalize",
    "group",
    "init",
    "link",
    "local_rank",
    "recv",
    "reduce_scatter",
    "send",
    "state",
    "swap_history",
]

def abandon(why: str, /) -> None:
    """Tells the others that this rank ends by an error."""

def all_gather(x: Operand, group: builtins.int, /) -> Tensor:
    """All ranks' arrays along axis 0."""

def all_reduce(x: Operand, op: str, group: builtins.int, /) -> Tensor:
    """Of all ranks, on all."""

def all_to_all(x: Operand, group: builtins.int, /) -> Tensor:
    """A part along axis 0 to each rank, and from each."""

def barrier(group: builtins.int, /) -> None:
    """Waits for all ranks."""

def broadcast(x: Operand, peer: builtins.int, group: builtins.int, /) -> Tensor:
    """The peer's array."""

def finalize() -> None:
    """Ends MPI."""

def group(ranks: Sequence[builtins.int], /) -> builtins.int:
    """The number of the group of these ranks."""

def init(timeout: builtins.float, collective_timeout: builtins.float, /) -> None:
    """Joins the processes that the launcher started."""

def link() -> tuple[builtins.float, builtins.float, builtins.float]:
    """Seconds a collective costs, seconds on the way, bytes a second."""

def local_rank() -> builtins.int:
    """Number among the ranks of this machine."""

def recv(x: Operand, peer: builtins.int, group: builtins.int, /) -> Tensor:
    """What the peer sent, shaped like x."""

def reduce_scatter(x: Operand, op: str, group: builtins.int, /) -> Tensor:
    """The rank's part of all_reduce along axis 0."""

def send(x: Operand, peer: builtins.int, group: builtins.int, /) -> Tensor:
    """x to the peer."""

def state() -> tuple[builtins.int, builtins.int, builtins.bool, str]:
    """Rank, number of ranks, whether they were joined, and whose MPI it is."""

def swap_history(first: list[Tensor], second: list[Tensor], /) -> None:
    """Swaps the history of tensors, two lists."""
