"""L-BFGS: directions from the last gradients and steps, and a line search.

Nocedal and Wright, Numerical Optimization (2006), algorithms 7.4 and 7.5 (two loops), 3.5 and 3.6
(strong Wolfe conditions; here with the interpolation and bounds of minFunc, as in PyTorch). Numbers
stay 0-d tensors and are asked yes or no, which a traced step may do and still be skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import tree as _tree
from frazil._grad import no_grad
from frazil.optim.optimizer import Optimizer
from frazil.optim.param_group import cell

if TYPE_CHECKING:
    from collections.abc import Callable

    from frazil._types import Number
    from frazil.optim.optimizer import _Parameters

__all__ = ["LBFGS"]

_set_grad_enabled = _fz.autograd.set_grad_enabled


class LBFGS(Optimizer):
    """L-BFGS (Nocedal and Wright 2006, chapter 7): step(closure) makes up to max_iter iterations.

    The closure forgets the gradients, computes the loss and its gradients, and returns it. A step
    ends where the largest gradient is at most tolerance_grad, or where the step or the change of
    the loss is below tolerance_change, or after max_eval evaluations (5/4 of max_iter if None).
    history_size pairs are kept. line_search_fn is None (steps of lr) or "strong_wolfe". All
    parameters are one group, of one dtype; step() returns the first loss.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w = fz.asarray([3.0, -2.0], dtype="float64", requires_grad=True)
    >>> optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 4 + w**2).sum()
    ...     loss.backward()
    ...     return loss
    >>> first = optimizer.step(closure).item()
    >>> first, round(closure().item(), 4)
    (110.0, 0.5785)
    """

    def __init__(
        self,
        params: _Parameters,
        lr: Number = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: Number = 1e-7,
        tolerance_change: Number = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"{self._where} takes one group of parameters, got {len(self.param_groups)}."
            )
        self._memory: dict[str, Any] = {"func_evals": cell(0), "n_iter": cell(0)}

    def _check_group(self, group):
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(
                f'{self._where} line_search_fn must be "strong_wolfe" or None, got '
                f"{group['line_search_fn']!r}."
            )
        kinds = {p.dtype.name for p in group["params"]}
        if any(kind.startswith("complex") for kind in kinds):
            raise ValueError(f"{self._where} parameters must be real, got {', '.join(kinds)}.")
        if len(kinds) > 1:
            raise ValueError(
                f"{self._where} parameters must be of one dtype, got {', '.join(sorted(kinds))}."
            )

    # The parameters as one vector

    def _gradient(self):
        return _fz.concat(
            [
                (_fz.zeros_like(p.detach()) if p.grad is None else p.grad).reshape(-1)
                for p in self.param_groups[0]["params"]
            ]
        )

    def _add(self, t, d):
        at = 0
        for p in self.param_groups[0]["params"]:
            p += (d[at : at + p.size] * t).reshape(p.shape)
            at += p.size

    def _evaluate(self, closure):
        before = _set_grad_enabled(True)
        try:
            loss = closure()
        finally:
            _set_grad_enabled(before)
        return loss, _fz.asarray(loss).detach().astype(self._dtype), self._gradient()

    @property
    def _dtype(self):
        return self.param_groups[0]["params"][0].dtype

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Makes up to max_iter iterations; returns the closure's first result."""
        if not callable(closure):
            raise TypeError(
                f"{self._where} step() needs a closure, which computes the loss and its gradients, "
                f"got {type(closure).__name__}."
            )
        with no_grad():
            return self._iterate(closure)

    def _iterate(self, closure):
        group = self.param_groups[0]
        evals, iterations = self._memory["func_evals"], self._memory["n_iter"]
        lr = group.cells("lr").astype(self._dtype)
        most, tolerance = group["max_iter"], group["tolerance_change"]
        first, loss, g = self._evaluate(closure)
        evaluations, n = 1, 0
        evals += 1
        if abs(g).max() <= group["tolerance_grad"]:
            return first
        while n < most:
            n += 1
            iterations += 1
            t = lr if "d" in self._memory else _fz.minimum(1 / abs(g).sum(), 1) * lr
            d, before = self._direction(g), loss
            self._keep(d=d, t=t, prev_flat_grad=g)
            slope = _fz.vecdot(g, d)
            if slope > -tolerance:
                break
            more = 0
            if group["line_search_fn"] is not None:
                start = [p.detach() for p in group["params"]]

                def at(t, d=d, start=start):
                    self._add(t, d)
                    _, value, gradient = self._evaluate(closure)
                    for p, x in zip(group["params"], start, strict=True):
                        p[...] = x
                    return value, gradient, _fz.vecdot(gradient, d)

                left = group["max_eval"] - evaluations
                reach = abs(d).max()
                loss, g, t, more = strong_wolfe(at, t, loss, g, slope, reach, tolerance, left)
                self._add(t, d)
            else:
                self._add(t, d)
                if n != most:  # nobody would look at the last ones
                    _, loss, g = self._evaluate(closure)
                    more = 1
            self._keep(t=t)
            evaluations += more
            evals += more
            if (
                n == most
                or evaluations >= group["max_eval"]
                or abs(g).max() <= group["tolerance_grad"]
                or abs(d * t).max() <= tolerance
                or abs(loss - before) < tolerance
            ):
                break
        return first

    def _direction(self, g):
        """-H g, where H follows from the last changes of the gradient (y) and steps (s)."""
        memory = self._memory
        if "d" not in memory:
            memory["old_dirs"], memory["old_stps"], memory["ro"] = [], [], []
            self._keep(H_diag=_fz.ones_like(g[0]))
            return -g
        ys, ss, ros = memory["old_dirs"], memory["old_stps"], memory["ro"]
        y, s = g - memory["prev_flat_grad"], memory["d"] * memory["t"]
        product = _fz.vecdot(y, s)
        if product > 1e-10:
            for kept, new in ((ys, y), (ss, s), (ros, 1 / product)):
                if len(kept) < self.param_groups[0]["history_size"]:
                    kept.append(new)
                else:  # what tensors hold moves on: the lists are as they were to a trace
                    for older, newer in zip(kept, [*kept[1:], new], strict=True):
                        older[...] = newer
            self._keep(H_diag=product / _fz.vecdot(y, y))
        q, alphas = -g, []
        for y, s, ro in list(zip(ys, ss, ros, strict=True))[::-1]:
            alpha = _fz.vecdot(s, q) * ro
            alphas.append(alpha)
            q = q - y * alpha
        r = q * memory["H_diag"]
        for y, s, ro, alpha in zip(ys, ss, ros, alphas[::-1], strict=True):
            r = r + s * (alpha - _fz.vecdot(y, r) * ro)
        return r

    def _keep(self, **values):
        for name, value in values.items():
            if name in self._memory:
                self._memory[name][...] = value
            else:
                self._memory[name] = value * 1

    # State

    @property
    def state(self) -> dict[_fz.Tensor, dict[str, Any]]:
        """What is kept, under the first parameter: PyTorch's names."""
        return {self.param_groups[0]["params"][0]: self._memory}

    def _saved(self):
        state = _tree.map(lambda x: x.detach(), self._memory)
        return {0: {**state, **{k: int(state[k]) for k in ("func_evals", "n_iter")}}}

    def load_state_dict(self, state_dict: Any) -> None:
        """Takes the state and hyperparameters of a state dict, of this package or of PyTorch."""
        super().load_state_dict(state_dict)
        saved = dict(state_dict["state"].get(0, {}))
        memory: dict[str, Any] = {"func_evals": cell(0), "n_iter": cell(0)}
        for key, value in saved.items():
            if key in memory:
                memory[key] = cell(value)
            elif key in ("old_dirs", "old_stps", "ro"):
                memory[key] = [self._taken(v) for v in value or ()]
            elif key in ("d", "t", "H_diag", "prev_flat_grad") and value is not None:
                memory[key] = self._taken(value)
        self._memory = memory

    def _taken(self, value):
        return _fz.asarray(value, dtype=self._dtype) * 1


def strong_wolfe(
    at: Callable[..., Any], t: Any, f: Any, g: Any, slope: Any, reach: Any, least: Any, most: int
) -> tuple[Any, Any, Any, int]:
    """A step t along a direction: (loss, gradient, t, evaluations).

    `at(t)` gives loss, gradient and slope there; f, g and slope are those at 0. Until the bracket
    is narrower than least / reach, or after `most` evaluations.
    """
    c1, c2 = 1e-4, 0.9
    zero = t * 0
    before = zero, f, g, slope
    now = (t, *at(t))
    evaluations, count, done = 1, 0, False
    bracket = None
    while count < most:
        t, value, _, rise = now
        if value > f + c1 * t * slope or (count > 1 and value >= before[1]):
            bracket = [before, now]
        elif abs(rise) <= -c2 * slope:
            bracket, done = [now], True
        elif rise >= 0:
            bracket = [before, now]
        if bracket is not None:
            break
        low, high = t + 0.01 * (t - before[0]), t * 10
        t = _cubic(before, now, low, high)
        before, now = now, (t, *at(t))
        evaluations += 1
        count += 1
    if count == most:
        bracket = [(zero, f, g, slope), now]
    assert bracket is not None
    # The bracket's ends: the lower one first.
    if len(bracket) == 2 and not bracket[0][1] <= bracket[1][1]:
        bracket = bracket[::-1]
    slow = False
    while not done and count < most:
        low, high = bracket
        if abs(high[0] - low[0]) * reach < least:
            break
        left, right = _fz.minimum(low[0], high[0]), _fz.maximum(low[0], high[0])
        t = _cubic(low, high, left, right)
        # Too near to an end for the second time: a tenth of the bracket away from it.
        eps = 0.1 * (right - left)
        if _fz.minimum(right - t, t - left) < eps:
            if slow or t >= right or t <= left:
                t = _fz.where(abs(t - right) < abs(t - left), right - eps, left + eps)
                slow = False
            else:
                slow = True
        else:
            slow = False
        new = (t, *at(t))
        evaluations += 1
        count += 1
        if new[1] > f + c1 * t * slope or new[1] >= low[1]:
            bracket = [low, new] if low[1] <= new[1] else [new, low]
        else:
            if abs(new[3]) <= -c2 * slope:
                done = True
            elif new[3] * (high[0] - low[0]) >= 0:
                high = low
            bracket = [new, high]
    t, f, g, _ = bracket[0]
    return f, g, t, evaluations


def _cubic(a, b, low, high):
    """Where the cubic through two points with their slopes is least, between low and high."""
    (x1, f1, _, g1), (x2, f2, _, g2) = (a, b) if a[0] <= b[0] else (b, a)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    d2 = _fz.sqrt(_fz.maximum(square, 0))
    t = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    t = _fz.minimum(_fz.maximum(t, low), high)
    return _fz.where(square >= 0, t, (low + high) / 2)
