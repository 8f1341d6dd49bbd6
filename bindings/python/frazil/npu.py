"""The simulated NPU: what ran on it, and where the cycles went.

Tensors live there with ``device="npu"``; every op runs, on the NPU where it has the instructions
for it and otherwise on the CPU, and the bits are the CPU's. Cycles come from a cycle-approximate
model of a hypothetical machine (docs/npu.md).

Here: `report`, `timeline`, `kernels`, `fallbacks` and `transfers` tell of what ran since `reset`,
in rows `Kernel`, `Fallback` and `Transfers`; `preset` has the machine's parameters, which
fz.device("npu", preset=...) changes.

>>> import frazil as fz
>>> fz.npu.reset()
>>> x = fz.asarray([1.0, 2.0], device="npu")
>>> (x * 2 + 1).tolist()
[3.0, 5.0]
>>> [kernel.name for kernel in fz.npu.kernels()]
['k_multiply', 'k_add']
"""

from __future__ import annotations

import json as _json
from os import PathLike as _PathLike
from typing import Any, Literal, NamedTuple

from frazil._frazil import npu as _npu
from frazil._named import integer as _integer

__all__ = [
    "Fallback",
    "Kernel",
    "Transfers",
    "fallbacks",
    "kernels",
    "preset",
    "report",
    "reset",
    "timeline",
    "transfers",
]


class Kernel(NamedTuple):
    """A kernel that ran, the line that called it first, and how often."""

    name: str
    place: str
    launches: int


class Fallback(NamedTuple):
    """What the CPU ran instead, the line that called it first, why, and how often."""

    name: str
    place: str
    reason: str
    count: int  # type: ignore[assignment]


class Transfers(NamedTuple):
    """Bytes moved."""

    to_device: int
    to_host: int


def preset() -> dict[str, Any]:
    """The parameters of the machine, as a dict."""
    parameters: dict[str, Any] = _json.loads(_npu.settings()[0])
    return parameters


def report(
    format: Literal["text", "kernels", "json", "roofline", "svg"] = "text",
) -> str:
    """What ran since the last `reset`, timed by the cycle model.

    Parameters
    ----------
    format : str
        "text": a table of kernels with totals; "kernels": some lines for each kernel; "json": all
        of it, the parameters included; "roofline" and "svg": work against memory traffic.

    Returns
    -------
    str
    """
    if not isinstance(format, str):
        raise TypeError(f"[npu.report] format must be a str, got {type(format).__name__}.")
    return _npu.report(format)


def timeline(path: str | _PathLike[str], kernel: int = 0) -> None:
    """Writes one kernel of the report, instruction by instruction, for Perfetto.

    Parameters
    ----------
    path : path-like
        Where the trace goes; a name that ends with .csv gets a table instead.
    kernel : int
        Its number in `kernels()`.
    """
    kernel = _integer("[npu.timeline] kernel", kernel)
    count = len(kernels())
    if not 0 <= kernel < count:
        raise IndexError(f"[npu.timeline] kernel {kernel} of a report of {count}.")
    form = "csv" if str(path).endswith(".csv") else "timeline"
    text = _npu.instructions(kernel, form)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def kernels() -> list[Kernel]:
    """The kernels that ran on the NPU, in order of their first launch: name, place, launches."""
    return [Kernel(*row) for row in _npu.account()[0]]


def fallbacks() -> list[Fallback]:
    """What the CPU ran for tensors on the NPU, and why: name, place, reason, count."""
    return [Fallback(*row) for row in _npu.account()[1]]


def transfers() -> Transfers:
    """Bytes moved: to the device and from it, what the CPU ran for it included."""
    return Transfers(*_npu.account()[2:])


def reset() -> None:
    """Forgets what ran; programs stay compiled."""
    _npu.reset()
