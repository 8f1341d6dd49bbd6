"""Connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil.nn._arguments import one_of
from frazil.nn._autocast import raises

if TYPE_CHECKING:
    from frazil._frazil import Tensor

__all__ = ["ctc_loss"]

_NEVER = -1e30  # the logarithm of no probability, whose differences are numbers


@raises
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """-log of the probability that a sequence of classes, with repetitions joined and blanks taken
    out, is the target.

    Parameters
    ----------
    log_probs : Tensor
        (time, n, classes), or (time, classes): log_softmax of scores.
    targets : Tensor
        Integers (n, longest), or those of all examples one after another.
    input_lengths, target_lengths : tensor or sequence of integers
        The length of each example.
    reduction : str
        "mean" divides each by the length of its target first; "sum"; "none".
    zero_infinity : bool
        Costs that are infinite, as the target is too long, are 0, with no gradient.
    """
    one_of("[ctc_loss] reduction", reduction, "mean", "sum", "none")
    alone = log_probs.ndim == 2
    if alone:
        log_probs, targets = log_probs[:, None], targets.reshape((1, -1))
    steps, n, _ = log_probs.shape
    lengths = _lengths(input_lengths, n, "input_lengths")
    sizes = _lengths(target_lengths, n, "target_lengths")
    if targets.ndim == 1:
        ends = _fz.cumsum(sizes)
        longest = int(sizes.max())
        at = (ends - sizes)[:, None] + _fz.arange(longest)
        targets = _fz.take(targets, _fz.minimum(at, targets.size - 1), axis=0)
    longest = targets.shape[1]
    targets = _fz.where(_fz.arange(longest) < sizes[:, None], targets, blank)
    # Places 0, 2, 4 ... are blanks, between and around the classes of the target.
    blanks = _fz.full((n, longest, 1), blank, dtype=targets.dtype)
    labels = _fz.concat([blanks, targets[..., None]], axis=2).reshape((n, 2 * longest))
    labels = _fz.concat([labels, blanks[:, 0]], axis=1) if longest else blanks[:, :0, 0]
    if not longest:
        labels = _fz.full((n, 1), blank, dtype=targets.dtype)
    s = labels.shape[1]
    before = _fz.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, :s]
    skips = (labels != blank) & (labels != before)  # a blank between different classes is optional
    never = _fz.full((), _NEVER, dtype=log_probs.dtype)
    scores = [
        _fz.take_along_axis(log_probs[t], labels, axis=1) for t in range(steps)
    ]  # of each place
    alpha = _fz.where(_fz.arange(s) < 2, scores[0], never)
    for t in range(1, steps):
        one = _fz.pad(alpha, ((0, 0), (1, 0)), constant_values=_NEVER)[:, :s]
        two = _fz.pad(alpha, ((0, 0), (2, 0)), constant_values=_NEVER)[:, :s]
        two = _fz.where(skips, two, never)
        most = _fz.maximum(_fz.maximum(alpha, one), two).detach()
        total = _fz.exp(alpha - most) + _fz.exp(one - most) + _fz.exp(two - most)
        new = most + _fz.log(total) + scores[t]
        alpha = _fz.where((t < lengths)[:, None], new, alpha)
    last = _fz.take_along_axis(alpha, (2 * sizes)[:, None], axis=1)[:, 0]
    other = _fz.take_along_axis(alpha, _fz.maximum(2 * sizes - 1, 0)[:, None], axis=1)[:, 0]
    other = _fz.where(sizes > 0, other, never)
    most = _fz.maximum(last, other).detach()
    cost = -(most + _fz.log(_fz.exp(last - most) + _fz.exp(other - most)))
    hopeless = cost > -0.5 * _NEVER
    cost = _fz.where(hopeless, 0.0 if zero_infinity else math.inf, cost)
    if alone:
        cost, sizes = cost[0], sizes[0]
    if reduction == "mean":
        return (cost / _fz.maximum(sizes, 1).astype(cost.dtype)).mean()
    return cost.sum() if reduction == "sum" else cost


def _lengths(lengths, n, name):
    lengths = _fz.asarray(lengths, dtype="int64").reshape((-1,))
    if lengths.shape != (n,):
        raise ValueError(f"[ctc_loss] {name} must be {n} integers, got shape {lengths.shape}.")
    return lengths
