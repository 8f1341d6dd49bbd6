"""Control flow: branches and loops over bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil._frazil import Tensor
from frazil.onnx._table import converts
from frazil.onnx._values import Counter, Host, array_of


def _truth(value: Any, run: Any) -> bool:
    if isinstance(value, Host):
        return bool(value.whole)
    run.reads += 1
    return bool(value.reshape(()))


@converts("If", control=True)
def if_(node: Any, values: Any, run: Any) -> Any:
    """One branch; under a vmap, where the condition differs between examples, both."""
    condition = values[node.inputs[0]]
    bodies = node.bodies["then_branch"], node.bodies["else_branch"]
    if isinstance(condition, Tensor) and fz.Tensor is Tensor and _batched(condition):
        return fz.cond(
            condition.reshape(()), *(lambda b=b: _tensors(b.run(values, run)) for b in bodies)
        )
    return bodies[0 if _truth(condition, run) else 1].run(values, run)


def _batched(x: Any) -> bool:
    from frazil._frazil import transforms

    return bool(transforms.is_batched(x))


def _tensors(results: Any) -> Any:
    return tuple(r.tensor(None) if isinstance(r, Host) else r for r in results)


def _stacked(parts: list[Any], axis: int = 0) -> Any:
    if parts and all(isinstance(p, Host) for p in parts):
        return Host(np.stack([p.array for p in parts], axis=axis), static=False)
    return fz.stack(list(_tensors(parts)), axis=axis)


def _limit(value: Any, run: Any) -> Any:
    """How often a loop runs at most: a number, None, or a tensor of one that is not read."""
    if value is None:
        return None
    if isinstance(value, Host):
        return value.whole
    run.reads += 1
    return value.reshape(())


@converts("Loop", control=True)
def loop(node: Any, values: Any, run: Any) -> Any:
    body = node.bodies["body"]
    given = [values[p] for p in node.inputs]
    limit = _limit(given[0], run)
    going = given[1] if len(given) > 1 else None
    state = list(given[2:])
    scans: list[list[Any]] = [[] for _ in body.outputs[1 + len(state) :]]
    counted = fz.zeros((), dtype="int64")
    # A tensor says how often: it is compared once for each iteration, so that traced loops are
    # loops that test, of any length.
    asked = isinstance(limit, Tensor)
    always = going is None
    condition = True if always else _truth(going, run)
    first = Host.number(True, "bool", static=False)
    i = 0
    while condition and (limit is None or (bool(counted < limit) if asked else i < limit)):
        values[body.inputs[0]] = Counter.of(i, counted)
        values[body.inputs[1]] = first
        for place, value in zip(body.inputs[2:], state, strict=True):
            values[place] = value
        out = body.run(values, run)
        state = list(out[1 : 1 + len(state)])
        for scan, value in zip(scans, out[1 + len(state) :], strict=True):
            scan.append(value)
        i, counted = i + 1, counted + 1
        if not always or limit is None:
            condition = _truth(out[0], run)
    return *state, *(_stacked(s) if s else _of_no_steps(node, k) for k, s in enumerate(scans))


def _of_no_steps(node: Any, k: int) -> Any:
    """What is collected of a loop that does not run: nothing, of a rank that is unknown."""
    return fz.zeros((0,))


@converts("Scan", control=True)
def scan_batches(node: Any, values: Any, run: Any) -> Any:
    """Before opset 9 each example of a batch is scanned by itself, up to its length."""
    body, count = node.bodies["body"], node.attributes["num_scan_inputs"]
    given = [node.deliver(values[p], 0) for p in node.inputs[1:]]
    states, inputs = given[: len(given) - count], given[len(given) - count :]
    directions = node.attributes.get("directions", [0] * count)
    lengths = values[node.inputs[0]]
    results = []
    for b in range(inputs[0].shape[0]):
        n = inputs[0].shape[1] if lengths is None else int(array_of(lengths)[b])
        own = [x[b][:n] for x in inputs]
        results.append(
            _scanned(
                body, values, run, [s[b] for s in states], own, [0] * count, directions, (), ()
            )
        )
    return tuple(fz.stack(parts) for parts in zip(*results, strict=True))


@converts("Scan", 9, control=True)
def scan(node: Any, values: Any, run: Any) -> Any:
    body, count = node.bodies["body"], node.attributes["num_scan_inputs"]
    given = [values[p] for p in node.inputs]
    n = len(given) - count
    inputs = [node.deliver(x, 0) for x in given[n:]]
    options = node.attributes
    return _scanned(
        body, values, run, given[:n], inputs,
        options.get("scan_input_axes", [0] * count),
        options.get("scan_input_directions", [0] * count),
        options.get("scan_output_axes", ()), options.get("scan_output_directions", ()),
    )  # fmt: skip


def _scanned(
    body: Any, values: Any, run: Any, state: list[Any], inputs: list[Any], axes: Any,
    directions: Any, out_axes: Any, out_directions: Any,
) -> Any:  # fmt: skip
    n = len(state)
    moved = [fz.moveaxis(x, a, 0) if a else x for x, a in zip(inputs, axes, strict=True)]
    steps = moved[0].shape[0]
    collected: list[list[Any]] = [[] for _ in body.outputs[n:]]
    for i in range(steps):
        parts = [x[steps - 1 - i if d else i] for x, d in zip(moved, directions, strict=True)]
        for place, value in zip(body.inputs, [*state, *parts], strict=True):
            values[place] = value
        out = body.run(values, run)
        state = list(out[:n])
        for one, value in zip(collected, out[n:], strict=True):
            one.append(value)
    results = []
    for k, parts in enumerate(collected):
        if k < len(out_directions) and out_directions[k]:
            parts = parts[::-1]
        results.append(_stacked(parts, out_axes[k] if k < len(out_axes) else 0))
    return *_tensors(state), *results
