"""Forward mode and batching of every op and composite, against reverse mode, a Python loop and
traced calls. docs/transforms.md is the table of what is tested."""

import os
from pathlib import Path

import numpy as np
import test_gradients
from test_gradients import BY_NAME, CASES, bits, every_case, gradients, projected, tensors

import frazil as fz

SIZE = 3
PAGE = Path(os.environ["FRAZIL_ROOT"]) / "docs/transforms.md"


def directions(case):
    """A tangent for each input, unlike any of them."""
    return [
        np.sin(np.arange(a.size) * 2.3 + i + 1).reshape(a.shape) for i, a in enumerate(case.inputs)
    ]


def wide(t):
    return np.asarray(fz.astype(t, fz.float64))


def close(got, want, tolerance):
    got, want = wide(got), wide(want)
    assert got.shape == want.shape
    scale = max(1.0, np.abs(want).max(initial=0))
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * scale)


@every_case
def test_forward_mode_is_reverse_mode(name):
    """The derivative of a projection in a direction is the gradient's product with it."""
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = tensors(case)
    moves = [fz.asarray(d) for d in directions(case)]
    value, slope = fz.jvp(f, arguments, moves)
    want = sum(fz.sum(g * d) for g, d in zip(gradients(f, arguments), moves, strict=True))
    assert bits(value) == bits(f(*arguments))
    if not np.isnan(wide(value)):  # as the mean of nothing is
        close(slope, want, 1e-10)


@every_case
def test_forward_over_reverse_is_reverse_over_reverse(name):
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = tensors(case)
    moves = [fz.asarray(d) for d in directions(case)]
    got = fz.jvp(lambda *t: tuple(gradients(f, t)), arguments, moves)[1]

    def slope(*t):
        return sum(fz.sum(g * d) for g, d in zip(gradients(f, t), moves, strict=True))

    for g, w in zip(got, gradients(slope, arguments), strict=True):
        close(g, w, 1e-9)


@every_case
def test_reverse_over_forward_and_forward_over_forward(name):
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = tensors(case)
    moves = [fz.asarray(d) for d in directions(case)]

    def slope(*t):
        return fz.jvp(f, t, moves)[1]

    def backwards(*t):
        return sum(fz.sum(g * d) for g, d in zip(gradients(f, t), moves, strict=True))

    if np.isnan(wide(f(*arguments))):
        return
    want = gradients(backwards, arguments)
    for g, w in zip(gradients(slope, arguments), want, strict=True):
        close(g, w, 1e-9)
    twice = fz.jvp(slope, arguments, moves)[1]
    close(twice, sum(fz.sum(w * d) for w, d in zip(want, moves, strict=True)), 1e-9)


@every_case
def test_traced_forward_mode_is_eager(name):
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = tensors(case, "float32")
    moves = [fz.asarray(d, dtype="float32") for d in directions(case)]
    want = [bits(t) for t in fz.jvp(f, arguments, moves)]
    traced = fz.trace(lambda *t: fz.jvp(f, t, moves))
    for _ in range(3):
        assert [bits(t) for t in traced(*arguments)] == want


def examples(case, which):
    """Of the inputs in `which` several: the case's own in another order of elements."""
    out = []
    for i, a in enumerate(case.inputs):
        if i not in which:
            out.append(fz.asarray(a))
            continue
        out.append(fz.asarray(np.stack([a * (1 + n / 64) for n in range(SIZE)])))
    return out


def each_choice(case):
    n = len(case.inputs)
    choices = [set(range(n))] + ([{i} for i in range(n)] if n > 1 else [])
    return choices[:4]


@every_case
def test_vmap_is_a_loop(name):
    case = BY_NAME[name]
    for which in each_choice(case):
        arguments = examples(case, which)
        axes = tuple(0 if i in which else None for i in range(len(arguments)))
        one = [
            case.function(*(a[n] if i in which else a for i, a in enumerate(arguments)))
            for n in range(SIZE)
        ]
        got = fz.vmap(case.function, in_axes=axes)(*arguments)
        close(got, fz.stack(one), 1e-12)


@every_case
def test_vmap_of_gradients_is_a_loop(name):
    case = BY_NAME[name]
    f = projected(case.function)
    arguments = examples(case, set(range(len(case.inputs))))
    if not arguments:
        return
    got = fz.vmap(lambda *t: tuple(gradients(f, t)))(*arguments)
    for k, g in enumerate(got):
        close(g, fz.stack([gradients(f, [a[n] for a in arguments])[k] for n in range(SIZE)]), 1e-11)


@every_case
def test_gradients_of_vmap_are_a_loop(name):
    case = BY_NAME[name]
    arguments = examples(case, set(range(len(case.inputs))))
    if not arguments:
        return

    def batched(*t):
        return projected(fz.vmap(case.function))(*t)

    def looped(*t):
        return projected(
            lambda *u: fz.stack([case.function(*(a[n] for a in u)) for n in range(SIZE)])
        )(*t)

    for g, w in zip(gradients(batched, arguments), gradients(looped, arguments), strict=True):
        close(g, w, 1e-11)


@every_case
def test_traced_vmap_is_eager(name):
    case = BY_NAME[name]
    arguments = [fz.astype(a, fz.float32) for a in examples(case, set(range(len(case.inputs))))]
    if not arguments:
        return
    want = bits(fz.vmap(case.function)(*arguments))
    traced = fz.trace(fz.vmap(case.function))
    for _ in range(3):
        assert bits(traced(*arguments)) == want


@every_case
def test_second_order_with_tangents_of_each_example_at_shared_values(name):
    """What the columns of a Hessian are: the examples differ in their directions alone."""
    case = BY_NAME[name]
    arguments = tensors(case)
    if not arguments:
        return
    moves = [fz.asarray(np.stack([d * (n + 1) for n in range(SIZE)])) for d in directions(case)]

    def second(*d):
        return fz.jvp(lambda *t: fz.jvp(case.function, t, d)[1], arguments, d)[1]

    want = fz.stack([second(*(d[n] for d in moves)) for n in range(SIZE)])
    close(fz.vmap(second)(*moves), want, 1e-10)


@every_case
def test_forward_mode_and_vmap_commute(name):
    case = BY_NAME[name]
    arguments = examples(case, set(range(len(case.inputs))))
    if not arguments:
        return
    moves = [fz.asarray(np.stack([d * (n + 1) for n in range(SIZE)])) for d in directions(case)]
    inside = fz.vmap(lambda t, d: fz.jvp(case.function, t, d)[1])(tuple(arguments), tuple(moves))
    outside = fz.jvp(fz.vmap(case.function), arguments, moves)[1]
    close(inside, outside, 1e-12)


# The columns of the page, and the tests that each stands for.
COLUMNS = {
    "vjp": [test_gradients.test_first_order],
    "second order": [
        test_gradients.test_second_order,
        test_forward_over_reverse_is_reverse_over_reverse,
        test_reverse_over_forward_and_forward_over_forward,
    ],
    "jvp": [test_forward_mode_is_reverse_mode],
    "vmap": [test_vmap_is_a_loop],
    "gradients within vmap": [test_vmap_of_gradients_is_a_loop],
    "gradients of vmap": [test_gradients_of_vmap_are_a_loop],
    "jvp and vmap": [
        test_forward_mode_and_vmap_commute,
        test_second_order_with_tangents_of_each_example_at_shared_values,
    ],
    "traced": [
        test_gradients.test_traced_is_eager,
        test_gradients.test_second_order_traced_is_eager,
        test_traced_forward_mode_is_eager,
        test_traced_vmap_is_eager,
    ],
}


def names_of(test):
    """What a test is parametrized by."""
    (mark,) = (m for m in test.pytestmark if m.name == "parametrize")
    return set(mark.args[1])


def table():
    lines = ["| op or composite | cases | " + " | ".join(COLUMNS) + " |"]
    lines.append("| --- " * (len(COLUMNS) + 2) + "|")
    rows = {}
    for case in CASES:
        rows.setdefault(case.row, []).append(case.name)
    for row, cases in sorted(rows.items()):
        counts = [
            sum(all(name in names_of(test) for test in tests) for name in cases)
            for tests in COLUMNS.values()
        ]
        marks = ["yes" if n == len(cases) else f"{n} of {len(cases)}" for n in counts]
        lines.append(f"| `{row}` | {len(cases)} | " + " | ".join(marks) + " |")
    return "\n".join(lines) + "\n"


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(encoding="utf-8")
