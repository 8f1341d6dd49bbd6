"""default_collate: the examples of a batch become tensors with one more axis."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._parameters import join as _join

__all__ = ["default_collate"]


def default_collate(batch: Sequence[Any]) -> Any:
    """Stacks the examples of a batch, which are nests of one form, leaf by leaf.

    Tensors and arrays get an axis in front, numbers become a tensor; strings and bytes stay lists.
    Tuples, named tuples, lists, dicts and dataclasses stay what they are.

    Raises
    ------
    TypeError
        If an example holds something else: give the loader a collate_fn.
    ValueError
        If the examples are of different forms or shapes; it names the place.

    >>> import frazil as fz
    >>> default_collate([(fz.zeros(2), "a", 1), (fz.ones(2), "b", 2)])
    (fz.Tensor([[0., 0.],
               [1., 1.]]), ['a', 'b'], fz.Tensor([1, 2]))
    """
    examples = list(batch)
    if not examples:
        raise ValueError("[default_collate] there are no examples.")
    return _collated(examples, "")


def _collated(examples, path):
    first = examples[0]
    if isinstance(first, (str, bytes)):
        return examples
    if isinstance(first, (Tensor, bool, int, float, complex)) or _is_array(first):
        return _stacked(examples, path)
    if isinstance(first, Mapping):
        for x in examples:
            if not isinstance(x, Mapping) or x.keys() != first.keys():
                raise _differ(path, "keys", first, x, lambda x: list(getattr(x, "keys", list)()))
        made = {k: _collated([x[k] for x in examples], _join(path, k)) for k in first}
        if type(first) is dict:
            return made
        out = copy.copy(first)  # with what it has besides, such as a default_factory
        out.update(made)
        return out
    if dataclasses.is_dataclass(first) and not isinstance(first, type):
        return dataclasses.replace(
            first,
            **{
                f.name: _collated([getattr(x, f.name) for x in examples], _join(path, f.name))
                for f in dataclasses.fields(first)
                if f.init
            },
        )
    if isinstance(first, (tuple, list)):
        for x in examples:
            if not isinstance(x, (tuple, list)) or len(x) != len(first):
                raise _differ(path, "lengths", first, x, len)
        columns = [
            _collated(list(column), _join(path, i))
            for i, column in enumerate(zip(*examples, strict=True))
        ]
        return type(first)(*columns) if hasattr(first, "_fields") else type(first)(columns)
    raise TypeError(
        f"[default_collate] cannot make a batch of {type(first).__name__}{_at(path)}: give the "
        "loader a collate_fn, or return tensors, arrays, numbers or strings."
    )


def _stacked(examples, path):
    try:
        if isinstance(examples[0], (bool, int, float, complex)):
            return _fz.asarray(examples)
        if _alike(examples):  # one copy for all, not one each and another
            return _fz.asarray(examples)
        tensors = [_fz.asarray(x) for x in examples]
    except (TypeError, ValueError, OverflowError) as error:
        raise type(error)(f"[default_collate] of the examples{_at(path)}: {error}") from None
    for x in tensors:
        if x.shape != tensors[0].shape:
            raise _differ(path, "shapes", tensors[0], x, lambda x: x.shape)
    return _fz.stack(tensors)


def _alike(examples):
    """Whether all are NumPy arrays of one shape and one dtype of numbers."""
    first = examples[0]
    kind = type(first)
    if kind.__name__ != "ndarray" or kind.__module__ != "numpy" or not first.dtype.isnative:
        return False
    shape, dtype = first.shape, first.dtype
    return dtype.kind in "biufc" and all(
        type(x) is kind and x.shape == shape and x.dtype == dtype for x in examples
    )


def _is_array(x):
    return hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def _differ(path, what, a, b, of):
    try:
        both = f"{of(a)} and {of(b)}"
    except TypeError:
        both = f"{type(a).__name__} and {type(b).__name__}"
    return ValueError(
        f"[default_collate] examples of one batch differ in {what}{_at(path)}: {both}. Give the "
        "loader a collate_fn that pads them, or a batch_size of 1."
    )


def _at(path):
    return f" at '{path}'" if path else ""
