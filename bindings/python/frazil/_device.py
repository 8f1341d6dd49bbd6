"""Devices as objects: names that know their settings."""

from __future__ import annotations

import json
from typing import Any

from frazil._frazil import npu as _npu


class Device(str):
    """The name of a device; anything that takes ``device=`` takes it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"fz.device({str.__repr__(self)})"


def device(
    name: str, *, preset: str | dict[str, Any] | None = None, mode: str | None = None
) -> Device:
    """A device, with the settings of the simulated NPU changed if any are given.

    Parameters
    ----------
    name : str
        "cpu", "npu", "cuda" or "cuda:1".
    preset : str or dict, optional
        The NPU's parameters: "dc16", "edge16" or "m310", or a dict of fields that replace those of
        the preset named by its "base", by default "dc16". They hold for the whole process from then
        on, and begin a new account (`fz.npu.reset`).
    mode : str, optional
        "run", or "check": programs run under a checker that finds races, uninitialised reads and
        everything else that a program on the machine must not do; frazil's own never do.

    Returns
    -------
    Device
        A str.

    Examples
    --------
    >>> import frazil as fz
    >>> npu = fz.device("npu", preset="dc16")
    >>> fz.ones(3, device=npu).device
    'npu'
    """
    if not isinstance(name, str):
        raise TypeError(f"[device] name must be a str, got {type(name).__name__}.")
    if (preset is not None or mode is not None) and name != "npu":
        raise ValueError(f"[device] only 'npu' has a preset and a mode, got {name!r}.")
    if isinstance(preset, dict):
        preset = json.dumps(preset)
    if preset is not None and not isinstance(preset, str):
        raise TypeError(f"[device] preset must be a str or a dict, got {type(preset).__name__}.")
    if mode is not None and not isinstance(mode, str):
        raise TypeError(f"[device] mode must be a str, got {type(mode).__name__}.")
    _npu.check(name)
    if name == "npu":
        _npu.configure(preset, mode)
    return Device(name)
