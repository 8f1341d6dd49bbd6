"""What a notebook shows of a module: the modules inside of it, each with its parameters."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from frazil._page import table

if TYPE_CHECKING:
    from frazil.nn.module import Module


def tree(module: Module) -> str:
    """HTML: a table of all modules, by their paths."""
    rows = []
    for name, inner in module.named_modules():
        below = [f"{n}." for n, _ in inner.named_modules() if n]
        named = dict(inner._known())
        own = {n: p for n, p in named.items() if not any(n.startswith(b) for b in below)}
        count = sum(p.size for p in named.values())
        shapes = ", ".join(f"{n} {list(p.shape)}" for n, p in own.items())
        if inner._lazy:
            shapes = "by the first call"
        rows.append(
            (name or "(this)", f"{type(inner).__name__}({inner.extra_repr()})", shapes, count)
        )
    head = ("module", "class", "own parameters", "parameters in all")
    return f"<b>{escape(type(module).__name__)}</b>{table(head, rows, texts=(1, 2))}"
