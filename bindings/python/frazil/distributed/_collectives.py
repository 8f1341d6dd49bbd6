"""Collectives as functions of tensors (distributed/functions.h)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frazil import _frazil as _fz
from frazil._named import integer as _integer
from frazil.distributed._world import _number

if TYPE_CHECKING:
    from frazil._frazil import Tensor
    from frazil._types import Operand
    from frazil.distributed._world import Group

_c = _fz.distributed


def all_reduce(x: Operand, op: str = "sum", *, group: Group | None = None) -> Tensor:
    """The sum, or another reduction, of every rank's x, on all ranks.

    Elements are added in ascending order of the ranks, whatever arrives first: the bits are those
    of one process that adds the arrays in that order, in every run. The gradient of a sum over
    ranks is the sum of the ranks' gradients; others follow from their elements. Within
    `fz.precision("native")` the library that carries them (MPI, NCCL) adds, in an order of its own.

    Parameters
    ----------
    x
        Of the same shape and dtype on all ranks; any dtype (for bool "sum" is or, "prod" and).
    op
        "sum", "mean", "prod", "min" or "max"; "mean" is the sum over the number of ranks.
    group
        All ranks by default.

    Returns
    -------
    Tensor
        Shaped like x; integers have a float mean.

    Raises
    ------
    RuntimeError
        If ranks make different calls, with both of them, and if a rank has died or raised.
    ValueError
        For another op, and on a rank that is not in the group.

    >>> import frazil as fz
    >>> fz.distributed.all_reduce(fz.asarray([1.0, 2.0]), "mean")
    fz.Tensor([1., 2.])
    """
    return _c.all_reduce(x, op, _number("all_reduce", group))


def reduce_scatter(x: Operand, op: str = "sum", *, group: Group | None = None) -> Tensor:
    """This rank's part along axis 0 of what all_reduce gives.

    Parameters
    ----------
    x
        Whose axis 0 is a multiple of the number of ranks; shapes are equal.
    op, group
        As of all_reduce.

    Raises
    ------
    ValueError
        If axis 0 does not divide.
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> fz.distributed.reduce_scatter(fz.asarray([1.0, 2.0]))
    fz.Tensor([1., 2.])
    """
    return _c.reduce_scatter(x, op, _number("reduce_scatter", group))


def all_gather(x: Operand, *, group: Group | None = None) -> Tensor:
    """Every rank's x, one after another along axis 0, on all ranks.

    Raises
    ------
    ValueError
        If x has no axis.
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> fz.distributed.all_gather(fz.asarray([1, 2]))
    fz.Tensor([1, 2])
    """
    return _c.all_gather(x, _number("all_gather", group))


def broadcast(x: Operand, root: int = 0, *, group: Group | None = None) -> Tensor:
    """The x of the rank `root` (a place in the group), on all ranks.

    Other ranks give an array of the same shape and dtype. The gradient is the sum over all ranks,
    at the root.

    Raises
    ------
    ValueError
        If there is no such rank.
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> fz.distributed.broadcast(fz.asarray([1, 2]))
    fz.Tensor([1, 2])
    """
    return _c.broadcast(x, _integer("[broadcast] root", root), _number("broadcast", group))


def all_to_all(x: Operand, *, group: Group | None = None) -> Tensor:
    """Part i of x along axis 0 goes to rank i; parts arrive in the order of the ranks.

    Raises
    ------
    ValueError
        If axis 0 is no multiple of the number of ranks.
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> fz.distributed.all_to_all(fz.asarray([1, 2]))
    fz.Tensor([1, 2])
    """
    return _c.all_to_all(x, _number("all_to_all", group))


def send(x: Operand, to: int, *, group: Group | None = None) -> Tensor:
    """Sends x to a rank, which calls recv.

    Returns
    -------
    Tensor
        Without elements. Where its sum is part of a loss, the gradient of what the other rank
        received comes back to x.

    Raises
    ------
    ValueError
        If there is no such rank, or it is this one.
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> if fz.distributed.rank() == 0 and fz.distributed.size() > 1:
    ...     fz.distributed.send(fz.ones(3), 1)
    """
    return _c.send(x, _integer("[send] to", to), _number("send", group))


def recv(like: Operand, source: int, *, group: Group | None = None) -> Tensor:
    """What the rank `source` sends, an array of the shape and dtype of `like`.

    Where a gradient is wanted of `like`, that of the result goes back to the rank that sent it.

    Raises
    ------
    ValueError
        If there is no such rank, or it is this one.
    RuntimeError
        As of all_reduce, and if what is sent has another shape or dtype.

    >>> import frazil as fz
    >>> if fz.distributed.rank() == 1:
    ...     x = fz.distributed.recv(fz.zeros(3), 0)
    """
    return _c.recv(like, _integer("[recv] source", source), _number("recv", group))


def barrier(*, group: Group | None = None) -> None:
    """Waits until all ranks are here.

    Raises
    ------
    RuntimeError
        As of all_reduce.

    >>> import frazil as fz
    >>> fz.distributed.barrier()
    """
    _c.barrier(_number("barrier", group))
