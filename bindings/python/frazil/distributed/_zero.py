"""Optimizers of which each rank keeps a part of the state: ZeroRedundancyOptimizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil.distributed._collectives import broadcast
from frazil.distributed._parallel import _bucket_bytes, _buckets
from frazil.distributed._world import rank as _rank
from frazil.distributed._world import size as _size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from frazil._frazil import Tensor
    from frazil.distributed._world import Group
    from frazil.optim import Optimizer


class ZeroRedundancyOptimizer:
    """An optimizer whose state is divided among the ranks, parameter by parameter (ZeRO, stage 1).

    Every rank makes the steps of its own parameters, about as many elements as the others, and then
    gets the new values of the rest. The bits are those of the optimizer on every rank; the state
    takes a part of the memory. Gradients are those of DataParallel.

    Parameters
    ----------
    params
        All parameters, the same on all ranks.
    optimizer_class
        Of frazil.optim: called with this rank's parameters and the defaults.
    group
        All ranks by default.
    **defaults
        Hyperparameters.

    Attributes
    ----------
    optimizer : Optimizer or None
        Of this rank's parameters; None if it has none.

    Raises
    ------
    ValueError
        If there are no parameters.

    >>> import frazil as fz
    >>> model = fz.distributed.DataParallel(fz.nn.Linear(2, 1))
    >>> optimizer = ZeroRedundancyOptimizer(model.parameters(), fz.optim.Adam, lr=0.1)
    >>> model(fz.ones(2)).sum().backward()
    >>> optimizer.step()
    >>> optimizer.zero_grad()
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        optimizer_class: Callable[..., Optimizer],
        *,
        group: Group | None = None,
        **defaults: Any,
    ) -> None:
        given = list(params)
        self._all = [p for p in given if p.requires_grad]
        if not self._all:
            raise ValueError("[ZeroRedundancyOptimizer] there are no parameters.")
        self._group = group
        # The largest first, each to the rank that has least; the same on every rank.
        sizes = [0] * _size(group)
        self._owned: list[list[Tensor]] = [[] for _ in sizes]
        for p in sorted(self._all, key=lambda p: -p.size):
            owner = sizes.index(min(sizes))
            sizes[owner] += p.size
            self._owned[owner].append(p)
        own = self._owned[_rank(group)]
        places = {id(p): i for i, p in enumerate(given)}
        self._count, self._numbers = len(given), [places[id(p)] for p in own]
        self.optimizer = optimizer_class(own, **defaults) if own else None

    def zero_grad(self) -> None:
        """Forgets the gradients of all parameters."""
        for p in self._all:
            p.grad = None

    @no_grad()
    def step(self) -> None:
        """One step of this rank's parameters; then all ranks have all of them."""
        if self.optimizer:
            self.optimizer.step()
        most = _bucket_bytes(self._all, self._group)
        for root, owned in enumerate(self._owned):
            for bucket in _buckets(owned, most):
                self._share(root, [owned[i] for i in bucket])

    def _share(self, root: int, owned: list[Tensor]) -> None:
        if _size(self._group) == 1:
            return
        flat = _fz.concat([p.detach().reshape(-1) for p in owned])
        flat = broadcast(flat, root, group=self._group)
        at = 0
        for p in owned:
            p[...] = flat[at : at + p.size].reshape(p.shape)
            at += p.size

    def state_dict(self) -> dict[str, Any]:
        """The state of this rank's parameters, numbered as in an optimizer of all of them."""
        if not self.optimizer:
            return {"state": {}, "param_groups": []}
        own = self.optimizer.state_dict()
        (group,) = own["param_groups"]
        pairs = sorted((number, i) for i, number in enumerate(self._numbers))
        return {
            "state": {number: own["state"][i] for number, i in pairs},
            "param_groups": [{**group, "params": sorted(self._numbers)}],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Takes this rank's part of a state of all parameters, or what state_dict gave it.

        Raises
        ------
        ValueError
            If the state has nothing of a parameter that is this rank's.
        """
        if not self.optimizer:
            return
        groups = state["param_groups"]
        known = [number for group in groups for number in group["params"]]
        missing = [number for number in self._numbers if number not in known]
        if len(groups) != 1 or missing:
            raise ValueError(
                f"[ZeroRedundancyOptimizer.load_state_dict] the state has {len(groups)} groups, of "
                f"the parameters {known}; this rank needs {self._numbers} in one group: "
                "distributed.Checkpoint puts the ranks' parts together."
            )
        own = {i: state["state"].get(number, {}) for i, number in enumerate(self._numbers)}
        group = {**groups[0], "params": list(range(len(own)))}
        self.optimizer.load_state_dict({"state": own, "param_groups": [group]})
