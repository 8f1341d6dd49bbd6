"""Modules that hold modules: in a row, in a list, under names. Their items' names are "0", "1" ...
or the keys, as in PyTorch's state dicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from frazil._parameters import Parameter
from frazil.nn.module import Module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from frazil._frazil import Tensor

__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Sequential(Module):
    """Layers one after another. Any callable is a layer; a dict gives them names.

    >>> from frazil import nn
    >>> [name for name, _ in Sequential(nn.Linear(2, 3), nn.ReLU()).named_parameters()]
    ['0.weight', '0.bias']
    """

    _unnamed = "layers"

    def __init__(self, *layers: Any) -> None:
        named = len(layers) == 1 and isinstance(layers[0], Mapping)
        for layer in layers[0].values() if named else layers:
            _check_layer(layer)
        self.layers = dict(layers[0]) if named else list(layers)

    def forward(self, x: Any) -> Any:
        for layer in _values(self.layers):
            x = layer(x)
        return x

    def append(self, layer: Callable[..., Any]) -> Sequential:
        """Adds a layer at the end; returns self."""
        if isinstance(self.layers, dict):
            self.layers[str(len(self.layers))] = layer
        else:
            self.layers.append(layer)
        return self

    def extend(self, layers: Iterable[Callable[..., Any]]) -> Sequential:
        """Adds layers at the end; returns self."""
        for layer in layers:
            self.append(layer)
        return self

    def insert(self, index: int, layer: Callable[..., Any]) -> Sequential:
        """Adds a layer before the one of this index; returns self."""
        if isinstance(self.layers, dict):
            raise TypeError("[nn.Sequential] layers with names have no numbers to insert at.")
        self.layers.insert(index, layer)
        return self

    def pop(self, key: int | str) -> Any:
        """Takes a layer away, by its number or name, and returns it."""
        layers: Any = self.layers
        return layers.pop(self._key(key))

    def _key(self, i):
        """What self.layers knows the layer of a number by."""
        named = isinstance(self.layers, dict) and not isinstance(i, (str, slice))
        return list(self.layers)[i] if named else i

    def __setitem__(self, i: int, layer: Callable[..., Any]) -> None:
        _check_layer(layer)
        layers: Any = self.layers
        layers[self._key(i)] = layer

    def __delitem__(self, i: int | slice) -> None:
        layers: Any = self.layers
        if isinstance(layers, dict) and isinstance(i, slice):
            for name in list(layers)[i]:
                del layers[name]
        else:
            del layers[self._key(i)]

    def __add__(self, other: Sequential) -> Sequential:
        """A new module of the layers of both."""
        if not isinstance(other, Sequential):
            return NotImplemented
        return Sequential(*self, *other)

    def __len__(self) -> int:
        return len(self.layers)

    @overload
    def __getitem__(self, i: slice) -> Sequential: ...
    @overload
    def __getitem__(self, i: int) -> Any: ...
    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(self.layers, dict) and isinstance(i, slice):
            return Sequential(dict(list(self.layers.items())[i]))
        layers = list(_values(self.layers))
        return Sequential(*layers[i]) if isinstance(i, slice) else layers[i]

    def __iter__(self) -> Iterator[Any]:
        return iter(_values(self.layers))


def _check_layer(layer):
    if not callable(layer):
        raise TypeError(f"[nn.Sequential] a layer must be callable, got {type(layer).__name__}.")


def _values(items):
    return items.values() if isinstance(items, dict) else items


class _List(Module):
    _unnamed = "items"
    items: list[Any]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    @overload
    def __getitem__(self, i: slice) -> list[Any]: ...
    @overload
    def __getitem__(self, i: int) -> Any: ...
    def __getitem__(self, i: int | slice) -> Any:
        return self.items[i]

    def __setitem__(self, i: int, item: Any) -> None:
        self.items[i] = self._checked(item)

    def __delitem__(self, i: int | slice) -> None:
        del self.items[i]

    def append(self, item: Any) -> None:
        """Adds an item at the end."""
        self.items.append(self._checked(item))

    def extend(self, items: Iterable[Any]) -> None:
        """Adds items at the end."""
        self.items.extend([self._checked(item) for item in items])

    def insert(self, index: int, item: Any) -> None:
        """Adds an item before the one of this index."""
        self.items.insert(index, self._checked(item))

    def pop(self, index: int = -1) -> Any:
        """Takes an item away, by default the last, and returns it."""
        return self.items.pop(index)

    def _checked(self, item: Any) -> Any:
        return item


class _Dict(Module):
    _unnamed = "_items"
    _items: dict[str, Any]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __setitem__(self, key: str, item: Any) -> None:
        self._items[key] = self._checked(item)

    def __delitem__(self, key: str) -> None:
        del self._items[key]

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._items.keys()

    def values(self) -> Iterable[Any]:
        """The items."""
        return self._items.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        """(name, item) of each."""
        return self._items.items()

    def pop(self, key: str) -> Any:
        """Takes the item of a name away and returns it."""
        return self._items.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The item of a name, or the default."""
        return self._items.get(key, default)

    def clear(self) -> None:
        """Takes all items away."""
        self._items.clear()

    def update(self, items: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds items by name."""
        self._items.update({key: self._checked(item) for key, item in dict(items).items()})

    def _checked(self, item: Any) -> Any:
        return item


def _module(where, item):
    if item is not None and not isinstance(item, Module):
        raise TypeError(f"[{where}] an item must be a module, got {type(item).__name__}.")
    return item


class ModuleList(_List):
    """A list of modules, which are called by what holds it."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        self.items = [self._checked(item) for item in modules]

    def _checked(self, item: Any) -> Any:
        return _module("nn.ModuleList", item)


class ModuleDict(_Dict):
    """Modules under names, which are called by what holds them."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()) -> None:
        self._items = {key: self._checked(item) for key, item in dict(modules).items()}

    def _checked(self, item: Any) -> Any:
        return _module("nn.ModuleDict", item)


class ParameterList(_List):
    """A list of parameters; tensors become parameters."""

    def __init__(self, values: Iterable[Tensor] = ()) -> None:
        self.items = [self._checked(item) for item in values]

    def _checked(self, item: Any) -> Any:
        return item if isinstance(item, Parameter) else Parameter(item)


class ParameterDict(_Dict):
    """Parameters under names; tensors become parameters."""

    def __init__(
        self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] = ()
    ) -> None:
        self._items = {key: self._checked(item) for key, item in dict(parameters).items()}

    def _checked(self, item: Any) -> Any:
        return item if isinstance(item, Parameter) else Parameter(item)
