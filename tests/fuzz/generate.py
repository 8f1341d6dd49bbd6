"""Makes random programs; the same seed gives the same program on one machine.

A program reads and writes everything that a traced function may: arguments, closure variables,
dicts, lists, parameters, generators.
"""

from expressions import FLOATS, INTS
from observe import data, fz, nn, np
from program import Block, Program
from statements import Statements

LAYOUTS = ["plain", "plain", "transposed", "reversed", "every-second"]


class Generator(Statements):
    # -- The whole

    def argument(self, shape, dtype):
        seed = self.rng.randrange(1000)
        layout = "plain" if self.chance(0.6) else self.pick(*LAYOUTS)
        return f"data({seed}, {shape}, '{dtype}', '{layout}')"

    def calls(self, shapes, dtypes):
        """Texts of argument tuples: mostly alike, sometimes of other shapes or dtypes."""
        out = []
        steady = self.chance(0.6)  # most calls alike: those that replay
        change = 0.04 if steady else 0.15
        for i in range(self.pick(6, 8, 10) if steady else self.pick(4, 5)):
            now, types = shapes, dtypes
            if i and self.chance(change):
                m, n = self.pick((3, 4), (2, 3), (5, 1), (4, 4))
                swap = {self.m: m, self.n: n}
                now = [tuple(swap.get(e, e) for e in s) for s in shapes]
            if i and self.chance(change):
                k = self.rng.randrange(len(types))
                types = [*types[:k], self.pick(*FLOATS, *INTS), *types[k + 1 :]]
            texts = [self.argument(s, d) for s, d in zip(now, types, strict=True)]
            if i and self.chance(change):
                texts[self.rng.randrange(len(texts))] = self.pick("p0", "p0", "w0", "s0")
            number = 2 if steady and self.chance(0.8) or not i else self.pick(1, 2, 3, 4)
            real = self.pick("0.5", "0.5", "-0.75", "2.0", "1e-3") if i else "0.5"
            out.append(f"({', '.join(texts)}, {number}, {real})")
        return tuple(out)

    def make(self):
        shapes = [self.shape() for _ in range(3)]
        dtypes = [self.dtype, self.dtype, self.any_dtype()]
        s0, s1 = (self.argument(self.shape(), self.dtype) for _ in range(2))
        w0 = self.argument(shapes[0], self.pick(self.dtype, "float32"))
        setup = [
            f"s0 = {s0}",
            f"s1 = {s1}",
            f"p0 = {self.argument(shapes[0], self.dtype)}",
            f"w0 = {w0}.requires_grad_()",
            f"w1 = {self.argument((), 'float32')}.requires_grad_()",
            f"generator = fz.random.Generator({self.rng.randrange(100)})",
            'state = {"count": 0}',
            "kept = []",
            "shown = []",
        ]
        helper_body = self.pick(
            ("return fz.tanh(z) * u",),
            ("z = z + u", Block((("if bool((z > 0).any()):", ("z = z - 1",)),)), "return z * z"),
            ('state["count"] += 1', "return fz.where(z > u, z, fz.exp(-z * z))"),
        )
        helper = [Block((("def helper(z, u):", helper_body),))]
        if self.chance(0.5):
            helper.append("helper = wrap(helper)")

        calls = self.calls(shapes, dtypes)
        parameters = ("a0", "a1", "a2", "n", "r")
        self.env = {"fz": fz, "nn": nn, "np": np, "data": data, "wrap": lambda f: f}
        fz.random.seed(7)
        error = self.run([*setup, *helper, f"a0, a1, a2, n, r = {calls[0]}"])
        assert error is None, error
        self.names = ["a0", "a1", "a2", "s0", "s1", "w0", "w1", "p0"]
        self.rebound = ["s0", "s1"]
        self.numbers = []
        body = self.statements(self.rng.randrange(4, 16))
        body.append(f"return {self.result()}")
        return Program(
            self.seed,
            tuple(setup),
            ("s0", "s1", "p0", "w0", "w1"),
            parameters,
            tuple(body),
            self.outermost(),
            ("s0", "s1", "p0", "w0", "w1", "generator.state", "state", "kept", "shown"),
            calls,
            tuple(helper),
        )

    def outermost(self):
        if self.chance(0.7):
            return "f"
        inside = "lambda x, *rest: scalar(f(x, *rest))"
        return self.pick(
            f"fz.value_and_grad({inside})",
            f"fz.grad({inside})",
            "lambda *args: (lambda y: (y.backward(), y))(scalar(f(*args)) + fz.sum(w0))",
            "lambda *args: fz.sum(fz.astype(scalar(f(*args)), fz.float32)) * 2",
        )


def generate(seed):
    return Generator(seed).make()
