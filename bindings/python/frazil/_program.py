"""fz.load_program: a program that fz.export wrote, as something to call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._grad import no_grad
from frazil._structures import Structures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from frazil._frazil import Tensor

__all__ = ["Program", "load_program"]

_call = _fz.program.call


def load_program(path: str | PathLike[str], device: str | None = None) -> Program:
    """The program of a .frz file.

    The file is data: nothing in it is run as code, and what it says is checked.

    Parameters
    ----------
    path : path
    device : str, optional
        Where its tensors are put and it computes; the CPU.

    Returns
    -------
    Program
        It is called as the function was, without the modules, optimizers and generators that were
        among the arguments.

    Raises
    ------
    OSError
        If it cannot be opened.
    ValueError
        If it is no such file, is damaged, or was written for another format version.

    >>> import os, tempfile
    >>> import frazil as fz
    >>> path = os.path.join(tempfile.mkdtemp(), "double.frz")
    >>> fz.export(lambda x: x + x, (fz.ones(2),), path, name="double")
    >>> double = load_program(path)
    >>> double(fz.asarray([1.0, 2.0])).tolist()
    [2.0, 4.0]
    >>> double
    <frazil.Program double(x: f32[2])>
    """
    return Program(_fz.program.load_program(path, device))


class Program:
    """A loaded program: call it, take gradients through it, trace it, map it. By `load_program`.

    Its tensors are the weights and states of the file. Calls read and write them, state_dict tells
    them, load_state_dict sets them. It can be copied and pickled with them, and needs no file then.
    """

    def __init__(self, loaded: Any) -> None:
        about = _fz.program.about(loaded)
        self._loaded = loaded
        self._name, self._version = about["name"], about["version"]
        self._inputs: list[tuple[str, str]] = about["inputs"]
        self._tensors = [tensor for _, _, tensor in about["tensors"]]
        self._named = {n: t for n, constant, t in about["tensors"] if not constant}
        self._structures = Structures(about)

    def __reduce__(self) -> Any:
        names = [name for name, _, _ in _fz.program.about(self._loaded)["tensors"]]
        return _remade, (
            _fz.program.texts_of(self._loaded),
            dict(zip(names, self._tensors, strict=True)),
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        takes = self._structures.takes
        if kwargs or len(args) != len(takes):
            args = self._bound(args, kwargs)
        inputs: list[Any] = [None] * len(self._inputs)
        for take, x in zip(takes, args, strict=True):
            take(x, inputs)
        return self._structures.make(_call(self._loaded, inputs, self._tensors))

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        names = self._structures.names
        missing = object()
        given = (*args, *(kwargs.pop(name, missing) for name in names[len(args) :]))
        if kwargs or len(args) > len(names) or any(value is missing for value in given):
            raise TypeError(
                f"[{self._name}] takes {', '.join(names) or 'no arguments'}, got {len(args)} by "
                f"position{''.join(f', {k}' for k in kwargs)}."
            )
        return given

    # Weights and states

    def parameters(self) -> Iterator[Tensor]:
        """The tensors of floating point, to train or to take gradients of."""
        return (t for t in self._named.values() if t.dtype.kind == "real floating")

    def requires_grad_(self, requires_grad: bool = True) -> Program:
        """Makes calls keep what gradients to parameters() need."""
        for t in self.parameters():
            t.requires_grad_(requires_grad)
        return self

    def state_dict(self) -> dict[str, Tensor]:
        """Weights and states by their names in the file, without history."""
        return {name: t.detach() for name, t in self._named.items()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copies values in; ValueError unless the names and shapes are the program's."""
        if state_dict.keys() != self._named.keys():
            missing = [n for n in self._named if n not in state_dict]
            more = [n for n in state_dict if n not in self._named]
            raise ValueError(
                f"[load_state_dict] {self._name} lacks {missing or 'nothing'} and does not know "
                f"{more or 'more'}."
            )
        for name, t in self._named.items():
            value = state_dict[name]
            if value.shape != t.shape or value.dtype != t.dtype:
                raise ValueError(
                    f"[load_state_dict] '{name}' is {t.dtype.name}{list(t.shape)}, got "
                    f"{value.dtype.name}{list(value.shape)}."
                )
        with no_grad():
            for name, t in self._named.items():
                t[...] = state_dict[name]

    # What it says of itself

    def stats(self) -> dict[str, int]:
        """Counts of calls, of those that were one plan, of plans, and kernels of the last one."""
        return _fz.program.stats(self._loaded)

    def explain(self) -> str:
        """Every recording and plan: where, and what changed."""
        return _fz.program.explain(self._loaded)

    @property
    def inputs(self) -> dict[str, str]:
        """The types of the inputs by name, such as "f32[batch,64]"."""
        return dict(self._inputs)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {kind}" for name, kind in self._inputs)
        return f"<frazil.Program {self._name}({inputs})>"


def _remade(texts: tuple[str, str, str, str], tensors: dict[str, Tensor]) -> Program:
    """A copy, or one that was pickled."""
    return Program(_fz.program.make_program(texts, tensors))
