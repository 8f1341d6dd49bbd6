"""What a module is made of: shapes, numbers of parameters, work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._grad import no_grad as _no_grad
from frazil._runtime import mode as _mode
from frazil.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Summary", "SummaryRow", "summary"]

_leaves = _fz.tree.leaves


@dataclass(frozen=True)
class SummaryRow:
    """A module: its dotted name, "" of the whole; the name of its class; how deep it lies; the
    shapes that its last call returned, none if it was not called; the parameters in it and those of
    them that are trained; FLOPs of all its calls.
    """

    name: str
    kind: str
    depth: int
    shapes: tuple[tuple[int, ...], ...]
    parameters: int
    trained: int
    flops: int


@dataclass(frozen=True)
class Summary:
    """Rows of all modules in the order of named_modules(), the whole first. str() is a table."""

    rows: tuple[SummaryRow, ...]

    @property
    def parameters(self) -> int:
        """How many numbers are parameters."""
        return self.rows[0].parameters

    @property
    def trained(self) -> int:
        """How many of them require a gradient."""
        return self.rows[0].trained

    @property
    def flops(self) -> int:
        """Multiplications and additions of the layers' products."""
        return self.rows[0].flops

    def __iter__(self) -> Iterator[SummaryRow]:
        return iter(self.rows)

    def __str__(self) -> str:
        table = [("module", "class", "output", "parameters", "FLOPs")]
        for row in self.rows:
            shapes = " ".join(str(shape) for shape in row.shapes) or "-"
            name = "  " * row.depth + (row.name or "-")
            table.append((name, row.kind, shapes, f"{row.parameters:,}", f"{row.flops:,}"))
        wide = [max(len(line[i]) for line in table) for i in range(5)]
        lines = [
            f"{a:{wide[0]}}  {b:{wide[1]}}  {c:{wide[2]}}  {d:>{wide[3]}}  {e:>{wide[4]}}"
            for a, b, c, d, e in table
        ]
        rest = f"{self.trained:,} of {self.parameters:,} parameters are trained"
        return "\n".join([*lines, rest])

    __repr__ = __str__


def summary(module: Module, *example: Any, **kwargs: Any) -> Summary:
    """Calls module(*example, **kwargs) in evaluation and without gradients, and tells about it and
    the modules inside: output shapes, numbers of parameters, FLOPs.

    FLOPs are those of products: a multiplication and an addition for each weight of a linear layer,
    a convolution or a step of a recurrent layer and each position at which it is used, zeros of a
    padding included. Biases, activations and products that a forward method writes out count
    nothing. Modules are again as they were.

    >>> from frazil import nn
    >>> summary(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)), _fz.ones((5, 2)))
    module  class       output  parameters  FLOPs
    -       Sequential  (5, 1)          13     90
      0     Linear      (5, 3)           9     60
      1     ReLU        (5, 3)           0      0
      2     Linear      (5, 1)           4     30
    13 of 13 parameters are trained
    """
    if not isinstance(module, Module):
        raise TypeError(f"[nn.summary] needs a module, got {type(module).__name__}.")
    modules = dict(module.named_modules())
    shapes: dict[int, tuple[tuple[int, ...], ...]] = {}
    work: dict[int, int] = {}

    def watched(called):
        forward = called.forward

        def call(*args, **kwargs):
            result = forward(*args, **kwargs)
            tensors = [x for x in _leaves(result) if isinstance(x, Tensor)]
            shapes[id(called)] = tuple(x.shape for x in tensors)
            count = getattr(called, "_multiply_adds", None)  # a lazy layer has one by now
            if count is not None:
                done = 2 * count(args or tuple(kwargs.values()), result)
                work[id(called)] = work.get(id(called), 0) + done
            return result

        return call

    before = [(m, m.training) for m in modules.values()]
    try:
        for m, _ in before:
            m.forward = watched(m)  # type: ignore[method-assign]
        module.eval()
        with _no_grad(), _mode("eager"):
            module(*example, **kwargs)
    finally:
        for m, training in before:
            vars(m).pop("forward", None)
            m.training = training
    return Summary(tuple(_row(name, m, modules, shapes, work) for name, m in modules.items()))


def _row(name, module, modules, shapes, work):
    parameters = module.parameters()
    inside = {id(m) for m in module.modules()}
    return SummaryRow(
        name,
        type(module).__name__,
        sum(1 for other in modules if _holds(other, name)),
        shapes.get(id(module), ()),
        sum(p.size for p in parameters),
        sum(p.size for p in parameters if p.requires_grad),
        sum(work.get(key, 0) for key in inside),
    )


def _holds(other, name):
    """Whether the module of one dotted name holds that of another."""
    return name != "" and (other == "" or name.startswith(other + "."))
