"""Names of weights as one library has them, by rules as another has them. For frazil.io."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from frazil._named import flag as _flag

__all__ = ["renamed"]

_T = TypeVar("_T")
_HOLE = re.compile(r"\{(\w+)\}")


def renamed(
    state: Mapping[str, _T], rules: Mapping[str, str | None], *, strict: bool = False
) -> dict[str, _T]:
    """Weights under other names: what a state dict of another library needs to be loaded.

    A rule is a path, or the beginning of one, and what stands there instead: the rest of the name
    follows. `{i}` stands for one part of a path between dots, or a piece of one, the same wherever
    it occurs. Of the rules the first that fits is taken, once; names that none fits stay.

    Parameters
    ----------
    state : dict
        Weights by name, such as those that load_safetensors reads.
    rules : dict
        New beginnings by old ones; None: what is named so is left out. A rule "" fits all names.
    strict : bool
        Names that no rule fits are an error.

    Returns
    -------
    dict
        In the order of `state`.

    Raises
    ------
    ValueError
        If two names become one, if a new name has a hole that its rule has not, or, if strict, if a
        name has no rule.

    >>> state = {"transformer.h.0.attn.weight": 1, "transformer.h.1.attn.weight": 2, "step": 3}
    >>> rules = {"transformer.h.{i}.attn": "layers.{i}.attention", "step": None}
    >>> renamed(state, rules)
    {'layers.0.attention.weight': 1, 'layers.1.attention.weight': 2}
    """
    for what, names in (("state", state), ("rules", rules)):
        if not isinstance(names, Mapping) or not all(isinstance(key, str) for key in names):
            raise TypeError(
                f"[renamed] {what} must be a dict with strings for keys, got "
                f"{type(names).__name__}."
            )
    strict = _flag("[renamed] strict", strict)
    compiled = [(_pattern(old), _checked(old, new)) for old, new in rules.items()]
    out: dict[str, _T] = {}
    before: dict[str, str] = {}
    for name, value in state.items():
        fits = ((pattern.match(name), new) for pattern, new in compiled)
        found, new = next((pair for pair in fits if pair[0]), (None, name))
        if found is None and strict:
            raise ValueError(
                f"[renamed] no rule of {list(rules)} fits '{name}': add one, or strict=False."
            )
        if new is None:
            continue
        if found is not None:
            begin = _filled(new, found)
            rest = name[found.end() :]
            new = begin + rest if begin else rest.removeprefix(".")
        if new in out:
            raise ValueError(f"[renamed] '{before[new]}' and '{name}' both become '{new}'.")
        out[new], before[new] = value, name
    return out


def _pattern(rule: str) -> re.Pattern[str]:
    """Fits the beginnings of names that end where a part of the path ends."""
    parts, seen, at = [], set(), 0
    for hole in _HOLE.finditer(rule):
        parts.append(re.escape(rule[at : hole.start()]))
        name, at = hole[1], hole.end()
        if name[0].isdigit():
            raise ValueError(f"[renamed] a hole begins with a letter, got '{hole[0]}' in '{rule}'.")
        parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>[^.]+)")
        seen.add(name)
    parts.append(re.escape(rule[at:]))
    return re.compile("".join(parts) + (r"(?=\.|$)" if rule and rule[-1] != "." else ""))


def _filled(new: str, found: re.Match[str]) -> str:
    return _HOLE.sub(lambda hole: found[hole[1]], new)


def _checked(old: str, new: Any) -> str | None:
    if new is not None and not isinstance(new, str):
        raise TypeError(
            f"[renamed] '{old}' must become a string or None, got {type(new).__name__}."
        )
    lacking = set(_HOLE.findall(new or "")) - set(_HOLE.findall(old))
    if lacking:
        raise ValueError(f"[renamed] '{new}' has {sorted(lacking)}, which '{old}' has not.")
    return new
