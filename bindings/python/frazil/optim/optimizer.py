"""Optimizer: parameters in groups, their state, and steps over all of them at once.

An optimizer is two functions of its hyperparameters: `_numbers`, what all parameters share in a
step (in float64), and `_move`, from a parameter, its gradient and its state to the next ones.
Parameters take steps in cohorts (cohort.py), each by one call by promise: it is one plan without an
outer trace, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._parameters import is_leaf_for_training
from frazil._trace import trace
from frazil._tracked import Tracked
from frazil.optim.cohort import Cohort, cohorts_of, part, rename, run
from frazil.optim.param_group import ParamGroup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    from frazil._frazil import Tensor
    from frazil._types import Number

    _Parameters: TypeAlias = Iterable[Tensor] | Sequence[Any] | Mapping[str, Any]

__all__ = ["Optimizer"]

_leaves, _is_container = _fz.tree.leaves, _fz.tree.is_container
_Tensor = _fz.Tensor
_set_grad_enabled = _fz.autograd.set_grad_enabled
_CHOICES = ("foreach", "fused", "capturable")  # PyTorch's, between ways to compute the same


def _is_frozen(p):
    return p.is_leaf and (p._parameter or p._frozen)


class Optimizer(Tracked):
    """The base: groups of parameters, their hyperparameters and state. Frozen ones are left alone.

    `params` is an iterable of tensors or of (name, tensor), any nest of tensors (frazil.tree) that
    is no module, or a list of dicts: each has "params" and, where a group's differ from the
    defaults, hyperparameters. `defaults` has those of all groups.

    `param_groups` is the list of these dicts. Values may be assigned at any time, as in
    `optimizer.param_groups[0]["lr"] = 0.1`. A traced call that skips its body takes a learning
    rate, a momentum or betas as they are then; the body itself must leave reading them to step().
    `lr` is the learning rate of all groups. In a step() of one's own, group.cells("lr") is the
    tensor that group["lr"] reads, which does not stop skipping.

    >>> import frazil as fz
    >>> from frazil import optim
    >>> w, b = fz.ones(2, requires_grad=True), fz.ones(1, requires_grad=True)
    >>> optimizer = optim.SGD([{"params": [w]}, {"params": [b], "lr": 0.5}], lr=0.1)
    >>> [group["lr"] for group in optimizer.param_groups]
    [0.1, 0.5]

    >>> class Signs(optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...
    ...     @fz.no_grad()
    ...     def step(self):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p -= fz.sign(p.grad) * group.cells("lr").astype(p.dtype)
    """

    defaults: dict[str, Any]
    param_groups: list[ParamGroup]
    _advance: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)

        def step(n, counters, params, grads, states):
            run(cls, n, counters, params, grads, states)

        cls._advance = staticmethod(trace(step, pure=True, check_first=0, check_every=0))

    def __init__(
        self, params: _Parameters, defaults: Mapping[str, Any], options: Mapping[str, Any] = {}
    ) -> None:
        self._where = f"[optim.{type(self).__name__}]"
        for name, value in options.items():
            if name == "differentiable" and value:
                raise ValueError(
                    f"{self._where} differentiable must be False, got {value!r}: fz.grad of a "
                    "function that updates tensors of its own differentiates through steps."
                )
            if name not in (*_CHOICES, "differentiable"):
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument {name!r}"
                )
        self.defaults = {**defaults, "maximize": defaults.get("maximize", False)}
        self.param_groups = []
        self._cohorts: list[list[Cohort]] = []
        self._hooks: dict[str, dict[int, Callable[..., Any]]] = {"pre": {}, "post": {}}
        for group in self._groups_of(params):
            self.add_param_group(group)
        if not any(dict.__getitem__(group, "params") for group in self.param_groups):
            raise ValueError(f"{self._where} there are no parameters.")

    # What an optimizer says of itself

    @staticmethod
    def _names(n: dict[str, Any], p: Tensor) -> tuple[str, ...]:
        """The names of a parameter's states."""
        return ()

    @staticmethod
    def _begin(n: dict[str, Any], p: Tensor, name: str) -> Tensor:
        """A state before the first step."""
        return _fz.zeros_like(p.detach())

    @staticmethod
    def _counters(n: dict[str, Any]) -> dict[str, float]:
        """What is counted once for all parameters of a cohort, before the first step."""
        return {"step": 0.0}

    @staticmethod
    def _numbers(n: dict[str, Any], counters: dict[str, Tensor], dtype: Any) -> tuple[Any, ...]:
        """What all parameters share in a step; float64 tensors are then rounded to their dtype."""
        return ()

    @staticmethod
    def _move(
        n: dict[str, Any], numbers: Any, p: Tensor, g: Tensor, keep: Any, *states: Tensor
    ) -> tuple[Tensor, ...]:
        """The parameter and its states after a step; `keep` is 1 - lr * weight_decay, or None."""
        raise NotImplementedError

    @staticmethod
    def _adopted(saved: dict[str, Any]) -> dict[str, Any]:
        """A parameter's saved state, made whole where PyTorch's says it otherwise."""
        return saved

    @classmethod
    def _keeps_any_state(cls):
        """Whether it is an optimizer with its own step(), which looks after its state."""
        return cls._move is Optimizer._move

    # Groups

    def _groups_of(self, params):
        is_module = isinstance(params, _fz.ModuleBase)
        if is_module or not (_is_container(params) or hasattr(params, "__iter__")):
            way_out = ": give its parameters()." if is_module else "."
            raise TypeError(
                f"{self._where} parameters must be a list of tensors, got "
                f"{type(params).__name__}{way_out}"
            )
        if not _is_container(params):
            params = list(params)
        groups = isinstance(params, (list, tuple)) and [
            isinstance(item, dict) and "params" in item for item in params
        ]
        if groups and any(groups):
            if not all(groups):
                raise TypeError(
                    f"{self._where} parameters must be all tensors or all dicts with 'params'."
                )
            return params
        return [{"params": params}]

    def add_param_group(self, param_group: Mapping[str, Any]) -> None:
        """Adds parameters, with hyperparameters of their own where they differ from the defaults.

        >>> import frazil as fz
        >>> from frazil import optim
        >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=0.1)
        >>> optimizer.add_param_group({"params": fz.ones(3, requires_grad=True), "lr": 0.01})
        >>> len(optimizer.param_groups)
        2
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise TypeError(
                f"{self._where} a group must be a dict with 'params', got "
                f"{type(param_group).__name__}."
            )
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(f"{self._where} parameters must be in an order, got a set.")
        if isinstance(params, _Tensor):
            params = [params]
        elif isinstance(params, _fz.ModuleBase):
            self._groups_of(params)
        elif not _is_container(params):
            params = list(params)
        names = None
        if isinstance(params, list) and params and all(map(_is_named, params)):
            names = [name for name, _ in params]
            params = [p for _, p in params]
        params = _leaves(params)
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for p in params:
            if not isinstance(p, _Tensor) or not (is_leaf_for_training(p) or _is_frozen(p)):
                raise ValueError(
                    f"{self._where} parameters must be leaf tensors that require a gradient, or "
                    "frozen parameters of a module."
                )
            if id(p) in known:
                raise ValueError(f"{self._where} a parameter is in two places: {p.shape}.")
            known.add(id(p))
        group = ParamGroup()
        group._where = self._where
        dict.__setitem__(group, "params", params)
        if names:
            dict.__setitem__(group, "param_names", names)
        for key, value in {**self.defaults, **param_group}.items():
            if key != "params":
                group[key] = value
        self._check_group(group)
        n = self._hyperparameters(group)
        self.param_groups = [*self.param_groups, group]
        self._cohorts = [*self._cohorts, cohorts_of(self, n, params, [{}] * len(params))]

    def _check_group(self, group: ParamGroup) -> None:
        """Raises if hyperparameters or parameters do not fit together."""

    def _hyperparameters(self, group):
        return {key: dict.__getitem__(group, key) for key in self.defaults}

    # Steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Moves every parameter that has a gradient.

        A closure, which computes the loss and its gradients, is called first; returns its result.
        """
        loss = None
        if closure is not None:
            before = _set_grad_enabled(True)
            try:
                loss = closure()
            finally:
                _set_grad_enabled(before)
        hooks = self._hooks
        if hooks["pre"]:
            for hook in list(hooks["pre"].values()):
                hook(self, (), {})
        for group, cohorts in zip(self.param_groups, self._cohorts, strict=True):
            n = self._hyperparameters(group)
            for cohort in tuple(cohorts):
                grads = [p.grad for p in cohort.params]
                if not all([g is not None for g in grads]):
                    cohort = part(cohorts, cohort, grads)
                    grads = [g for g in grads if g is not None]
                if grads:
                    if cohort.names != self._names(n, cohort.params[0]):
                        rename(self, n, cohort)
                    self._advance(n, cohort.counters, cohort.params, grads, cohort.states)
        if hooks["post"]:
            for hook in list(hooks["post"].values()):
                hook(self, (), {})
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients, or makes them zeros with set_to_none=False."""
        for group in self.param_groups:
            for p in dict.__getitem__(group, "params"):
                p.grad = None if set_to_none or p.grad is None else _fz.zeros_like(p.grad)

    # The learning rate, parameters and state of all groups

    @property
    def lr(self) -> float:
        """The learning rate, of the first group where there are several; assigned, of all."""
        return self.param_groups[0]["lr"]  # type: ignore[no-any-return]

    @lr.setter
    def lr(self, value: Number) -> None:
        for group in self.param_groups:
            group["lr"] = value

    def __setattr__(self, name, value):
        if name == "lr":  # writes to a tensor: what modules hold is as it was
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def parameters(self) -> list[Tensor]:
        """The parameters of all groups."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def state(self) -> dict[Tensor, dict[str, Tensor]]:
        """By parameter what is kept of it from step to step, by PyTorch's names.

        The tensors are the optimizer's, the dicts are copies, but for an optimizer that has its own
        step(): that may put into them what it likes.

        >>> import frazil as fz
        >>> from frazil import optim
        >>> w = fz.ones(2, requires_grad=True)
        >>> list(optim.Adam([w]).state[w])
        ['step', 'exp_avg', 'exp_avg_sq']
        """
        found = {}
        for cohorts in self._cohorts:
            for cohort in cohorts:
                for p, state in zip(cohort.params, cohort.states, strict=True):
                    found[p] = {**cohort.counters, **state} if cohort.counters else state
        return found

    def state_dict(self) -> dict[str, Any]:
        """State and hyperparameters as they are now, as PyTorch's: parameters are numbered.

        >>> import frazil as fz
        >>> from frazil import optim
        >>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=0.1)
        >>> optimizer.state_dict()["param_groups"][0]["lr"]
        0.1
        """
        groups, number = [], 0
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = list(range(number, number + len(group["params"])))
            number += len(group["params"])
            groups.append(packed)
        return {"state": self._saved(), "param_groups": groups}

    def _saved(self):
        """The state by the parameters' numbers, as it is now."""
        state = self.state
        return {
            i: {k: v.detach() if isinstance(v, _Tensor) else v for k, v in state[p].items()}
            for i, p in enumerate(self.parameters)
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes the state and hyperparameters of a state dict, of this package or of PyTorch.

        ValueError if its groups are not as many and as large as the optimizer's, or shapes differ.
        """
        if not isinstance(state_dict, dict) or not {"state", "param_groups"} <= state_dict.keys():
            raise TypeError(
                f"{self._where} a state dict has 'state' and 'param_groups', got "
                f"{type(state_dict).__name__}."
            )
        groups = state_dict["param_groups"]
        theirs = [len(group["params"]) for group in groups]
        ours = [len(group["params"]) for group in self.param_groups]
        if theirs != ours:
            raise ValueError(
                f"{self._where} the state dict has groups of {theirs} parameters, the optimizer "
                f"of {ours}."
            )
        state = {int(k): v for k, v in state_dict["state"].items()}
        cohorts = []
        for group, new in zip(self.param_groups, groups, strict=True):
            merged = ParamGroup({**group.copy(), **new})
            saved = [state.get(int(i), {}) for i in new["params"]]
            n = {key: dict.get(merged, key) for key in self.defaults}
            cohorts.append(cohorts_of(self, n, group["params"], saved))
        for group, new in zip(self.param_groups, groups, strict=True):
            for key, value in new.items():
                if key not in ("params", "param_names"):
                    group[key] = value
        self._cohorts = cohorts

    # Hooks

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(optimizer, args, kwargs) before each step; the handle's remove() ends it."""
        return Handle(self._hooks["pre"], hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> Handle:
        """Calls hook(optimizer, args, kwargs) after each step; the handle's remove() ends it."""
        return Handle(self._hooks["post"], hook)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params"]
        return "\n".join([*lines, ")"])


class Handle:
    """What takes a hook away again."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks, self._key = hooks, max(hooks, default=-1) + 1
        hooks[self._key] = hook

    def remove(self) -> None:
        """Takes the hook away; nothing happens the second time."""
        self._hooks.pop(self._key, None)


def _is_named(item):
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
