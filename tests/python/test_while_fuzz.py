"""Random loops over tensors: traced and skipped calls mean what eager ones mean."""

import linecache
import re

import numpy as np
import pytest

import frazil as fz


class Writer:
    """Loops over a few names: moves, swaps, writes in place, branches, breaks."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.budget = 14

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def name(self):
        return self.pick("x", "y", "z", "s.a", "l[0]", "l[1]")

    def value(self):
        a, b, c = self.name(), self.name(), self.pick("0.5", "0.75", "-0.25", "x0", "w")
        return self.pick(
            a,
            f"{a} * {c}",
            f"{a} * 0.5 + {b} * 0.25",
            f"f({a})",
            f"fz.maximum({a}, {b})",
            f"fz.stack([{a}[1], {b}[2], {a}[0]])",
            f"{a} + 0",
            f"fz.where({a} < {b}, {a}, {c} * {b})",
        )

    def test(self):
        limit = self.pick("0.3", "-0.1", "tol")
        return self.pick(
            f"{self.name()}.sum() < {limit}",
            f"{self.name()}[0] > {limit}",
            f"fz.abs({self.name()}).max() > {limit}",
        )

    def block(self, depth, pad):
        lines = []
        for _ in range(self.rng.integers(1, 4)):
            self.budget -= 1
            kind = self.rng.integers(12)
            if kind < 6 or self.budget < 0:
                lines.append(f"{pad}{self.name()} = {self.value()}")
            elif kind == 6:
                lines.append(f"{pad}x, y = y, {self.value()}")
            elif kind == 7:
                lines.append(f"{pad}{self.pick('x[0] = y[1] * 0.5', 'y *= 0.5', 'z[1:] = x[:2]')}")
            elif kind == 8 and depth < 2:
                lines.append(f"{pad}if {self.test()}:")
                lines += self.block(depth + 1, pad + "    ")
                if self.rng.integers(2):
                    lines += [f"{pad}else:", *self.block(depth + 1, pad + "    ")]
            elif kind == 9 and depth:
                lines.append(pad + self.pick("break", "continue"))
                break
            elif kind == 10:
                lines.append(f"{pad}{self.pick('l = [l[1], l[0]]', 's.a, l[0] = l[0], s.a')}")
            elif kind == 11 and self.rng.integers(3) == 0:
                lines.append(f"{pad}{self.pick('s.n += 1', 'm = m + 1', 'l.append(x)')}")
            else:
                lines.append(f"{pad}{self.name()} = {self.value()}")
        return lines

    def program(self):
        # A tensor counts, so that every loop ends.
        first = self.pick("t < limit", "(t < limit) & (fz.abs(x).max() > tol)", "True")
        leave = ["        if t >= limit:", "            break"] if first == "True" else []
        lines = [
            "def body(x, y, w, tol, limit):",
            "    x0, z, m, t = x, y * 0.5, 0, tol * 0",
            "    s, l = State(x * 0.5), [y, x + 1]",
            "    f = lambda v: v * 0.5 + w",
            *self.block(1, "    "),
        ]
        lines = [re.sub(r"\b(break|continue)$", "pass", line) for line in lines]
        for _ in range(self.rng.integers(1, 3)):
            self.budget = 14
            lines += [
                "    t = tol * 0",
                f"    while {first}:",
                "        t = t + 1.0",
                *leave,
                *self.block(1, "        "),
                f"    {self.name()} = {self.value()}",
            ]
        return "\n".join([*lines, "    return x, y, z, s.a, l[0], l[1], t, s.n, m, len(l), x is y"])


class State:
    def __init__(self, a):
        self.a, self.n = a, 0


def outcome(f, arguments):
    result = f(*arguments)
    return [np.asarray(v).tobytes() for v in (*result, *arguments)]


def compiled(seed):
    text = Writer(seed).program()
    name = f"<loop {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {"fz": fz, "State": State}
    exec(compile(text, name, "exec"), space)
    return space["body"], text


def arguments(rng):
    arrays = [rng.uniform(-1, 1, 3).astype("float32") for _ in range(3)]
    arrays += [np.float32(10 ** rng.uniform(-2, 0)), np.float32(rng.integers(0, 14))]
    return lambda: [fz.asarray(np.asarray(a)) for a in arrays]


@pytest.mark.parametrize("pure", [True, False])
def test_random_loops(pure):
    skipped = 0
    for seed in range(60):
        body, text = compiled(seed)
        traced = fz.trace(body, pure=True, check_every=5) if pure else fz.trace(body)
        rng = np.random.default_rng(seed)
        for _ in range(24):
            make = arguments(rng)
            assert outcome(traced, make()) == outcome(body, make()), f"seed {seed}\n{text}"
        skipped += traced.stats()["skipped"]
    assert skipped > 600
