"""Who takes part: init, rank, local_rank, size, groups; what a process says when it ends."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._named import integer as _integer

if TYPE_CHECKING:
    from collections.abc import Iterable

_c = _fz.distributed
_hooked = False
# Rank, size, and what the network gives; init sets them. As names of Python a proof sees that they
# have changed.
_here = (0, 1)
_network = (0.0, 0.0, 0.0)


def init(timeout: float = 10.0, *, collective_timeout: float = 1800.0) -> None:
    """Joins the processes that the launcher started; once is enough, again does nothing.

    Under `mpirun`, `mpiexec` or `srun --mpi=...` it opens the launcher's MPI library (Open MPI or
    MPICH; `FRAZIL_MPI_LIBRARY` names another) and connects the ranks; tensors of GPUs travel over
    NCCL if all ranks have it. Under `torchrun`, or `srun` without `--mpi`, the ranks meet by
    MASTER_ADDR and MASTER_PORT, and all tensors travel over NCCL. A process that nothing of the
    kind started becomes a world of one. From here on an exception that ends the program of one rank
    fails the collectives of all.

    Parameters
    ----------
    timeout
        Seconds without a sign of life after which a rank counts as lost; one that ends or dies is
        noticed at once.
    collective_timeout
        Seconds that a collective waits for a rank that is alive, as one that hangs or computes for
        long is. The error names the rank, and the last call that it came to.

    Raises
    ------
    RuntimeError
        If there is no MPI library, if it is not the launcher's, or if the launcher tells MPI
        nothing of the ranks (torchrun's RANK and WORLD_SIZE alone) and there is no NCCL either.
    ValueError
        If a time is not above 0.

    Notes
    -----
    Small and large messages are timed, for a few milliseconds, and rank 0's numbers are every
    rank's: buckets of gradients are as large as they say (`DataParallel`), and `forecast` computes
    with them.

    >>> import frazil as fz
    >>> fz.distributed.init(timeout=20)
    >>> fz.distributed.rank(), fz.distributed.size()
    (0, 1)
    """
    global _hooked, _here, _network
    _c.init(float(timeout), float(collective_timeout))
    rank_of_world, size_of_world, *_ = _c.state()
    _here, _network = (rank_of_world, size_of_world), _c.link()
    if not _hooked and size() > 1:
        _hooked = True
        atexit.register(_c.finalize)
        _tell_exceptions()


def _tell_exceptions() -> None:
    shown = sys.excepthook

    def hook(kind: Any, value: Any, trace: Any) -> None:
        shown(kind, value, trace)
        sys.stderr.flush()
        _c.abandon(f"raised {kind.__name__}: {value}")

    sys.excepthook = hook


def rank(group: Group | None = None) -> int:
    """This process's number, from 0 on, or its place in a group; -1 if it is not in that.

    >>> import frazil as fz
    >>> fz.distributed.rank()
    0
    """
    return _here[0] if group is None else group.rank


def size(group: Group | None = None) -> int:
    """How many processes there are, or how many in a group.

    >>> import frazil as fz
    >>> fz.distributed.size()
    1
    """
    return _here[1] if group is None else group.size


def local_rank() -> int:
    """This process's number among the ranks of its machine, as far as the launcher says; else 0.

    `f"cuda:{local_rank()}"` is a GPU that no other rank of the machine takes.

    >>> import frazil as fz
    >>> fz.distributed.local_rank()
    0
    """
    return _c.local_rank()


class Group:
    """Some of the ranks, in the order in which they take part; made by `group`.

    Attributes
    ----------
    ranks : tuple of int
    rank : int
        The place of this process among them, or -1.
    size : int
    """

    def __init__(self, ranks: tuple[int, ...], number: int) -> None:
        self.ranks, self._number = ranks, number
        me = rank()
        self.rank = ranks.index(me) if me in ranks else -1
        self.size = len(ranks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Group) and other.ranks == self.ranks

    def __hash__(self) -> int:
        return hash(self.ranks)

    def __repr__(self) -> str:
        return f"<group of the ranks {', '.join(map(str, self.ranks))}>"


def group(ranks: Iterable[int]) -> Group:
    """A group of ranks, for collectives among them; equal lists are the same group.

    Only its members call collectives with it, and nobody has to make it besides them.

    Raises
    ------
    ValueError
        For a rank that is not there, or there twice, and for none.

    >>> import frazil as fz
    >>> everybody = fz.distributed.group(range(fz.distributed.size()))
    >>> fz.distributed.all_gather(fz.ones(2), group=everybody)
    fz.Tensor([1., 1.])
    """
    own = tuple(_integer("[group] ranks", r) for r in ranks)
    return Group(own, _c.group(list(own)))


def _link() -> tuple[float, float, float]:
    """Seconds that a collective costs, seconds on the way, bytes a second (distributed/link.h)."""
    return _network


def _number(op: str, group: Group | None) -> int:
    if group is None:
        return 0
    if not isinstance(group, Group):
        raise TypeError(
            f"[{op}] group must be what distributed.group(ranks) returns, got "
            f"{type(group).__name__}."
        )
    return group._number
