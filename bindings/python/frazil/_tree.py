"""Nests of tensors (lists, tuples, named tuples, dicts, dataclasses): apart and together again."""


def _is_namedtuple(tree):
    return isinstance(tree, tuple) and hasattr(tree, "_fields")


def _is_dataclass(tree):
    return hasattr(type(tree), "__dataclass_fields__")


def flatten(tree):
    """The leaves of a nest in order. None has no leaves; everything unknown is a leaf."""
    leaves = []
    _collect(tree, leaves)
    return leaves


def _collect(tree, leaves):
    if tree is None:
        return
    if isinstance(tree, (list, tuple)):
        for item in tree:
            _collect(item, leaves)
    elif isinstance(tree, dict):
        for item in tree.values():
            _collect(item, leaves)
    elif _is_dataclass(tree):
        for name in type(tree).__dataclass_fields__:
            _collect(getattr(tree, name), leaves)
    else:
        leaves.append(tree)


def unflatten(tree, leaves):
    """A nest shaped like `tree` with `leaves` in the places of its own."""
    return _build(tree, iter(leaves))


def map_leaves(function, tree):
    """A nest shaped like `tree` with function(leaf) in the places of its leaves."""
    return unflatten(tree, [function(leaf) for leaf in flatten(tree)])


def _build(tree, leaves):
    if tree is None:
        return None
    if _is_namedtuple(tree):
        return type(tree)(*(_build(item, leaves) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(_build(item, leaves) for item in tree)
    if isinstance(tree, dict):
        items = {key: _build(item, leaves) for key, item in tree.items()}
        return items if type(tree) is dict else _like(tree, items)
    if _is_dataclass(tree):
        import copy

        out = copy.copy(tree)
        for name in type(tree).__dataclass_fields__:
            object.__setattr__(out, name, _build(getattr(tree, name), leaves))
        return out
    return next(leaves)


def _like(tree, items):
    """A copy of a dict subclass (OrderedDict, defaultdict ...) with other values."""
    import copy

    out = copy.copy(tree)
    out.update(items)
    return out
