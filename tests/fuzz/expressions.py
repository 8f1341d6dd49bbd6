"""Random expressions over the tensors and numbers that a program has so far."""

import random

from observe import fz

from frazil import _frazil

FLOATS = ["float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int32", "uint8", "int8", "int16"]
TURNS = ["default", "default", "blas", "blas", "no_grad"]
ROWS = [row for row in _frazil.op_table() if row["class"] == "elementwise"]
UNARY = [row["name"] for row in ROWS if row["arity"] == 1 and row["name"] != "signbit"]


class Expressions:
    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.counter = 0
        self.depth = 0
        self.m, self.n = self.rng.choice([(3, 4), (2, 5), (4, 4), (1, 6), (17, 3)])
        if self.chance(0.05):
            self.m, self.n = self.pick((65, 70), (5, 260), (129, 33))
        self.dtype = self.rng.choice(FLOATS)
        self.pure = self.chance(0.3)
        self.borrows = self.chance(0.3)  # has a tensor over NumPy's memory
        self.skips = self.pure and self.chance(0.85)  # does nothing that keeps bodies from skipping
        self.innermost = self.pick("box.more", "box.more.more")
        self.learns = self.chance(0.15)  # its arguments may require gradients
        # The settings that calls are made under, one after the other.
        self.turns = self.rng.choices(TURNS, k=self.pick(2, 3, 5)) if self.chance(0.15) else []

    # -- Choosing

    def chance(self, p):
        return self.rng.random() < p

    def pick(self, *options):
        return self.rng.choice(options)

    def shape(self):
        m, n = self.m, self.n
        return self.pick((m, n), (m, n), (n,), (m, 1), (1, n), (), (2, m, n))

    def any_dtype(self):
        r = self.rng.random()
        return self.dtype if r < 0.6 else self.pick(*FLOATS, *INTS, "bool")

    def tensors(self):
        """Expressions for the tensors that statements may use now."""
        names = [k for k in self.names if isinstance(self.env.get(k), fz.Tensor)]
        state = self.env["state"]
        names += [f'state["{k}"]' for k, v in state.items() if isinstance(v, fz.Tensor)]
        if self.env["kept"] and isinstance(self.env["kept"][-1], fz.Tensor):
            names.append("kept[-1]")
        if isinstance(self.env["box"].t, fz.Tensor):
            names.append("box.t")
        if self.env["box"].items and isinstance(self.env["box"].items[-1], fz.Tensor):
            names.append("box.items[-1]")
        return names

    def value(self, name):
        return eval(name, self.env)

    def x(self, test=None):
        names = self.tensors()
        if test:
            names = [n for n in names if test(self.value(n))] or names
        recent = names[-4:]
        return self.pick(*recent) if self.chance(0.4) else self.pick(*names)

    def like(self, name):
        """A tensor that probably broadcasts against another."""
        shape = getattr(self.value(name), "shape", ())  # it may have become a number

        def fits(t):
            return all(a == b or 1 in (a, b) for a, b in zip(t.shape[::-1], shape[::-1]))  # noqa: B905

        return self.x(fits)

    def number(self):
        if self.worldly and self.chance(0.5):
            return self.world_number()
        integers = ["n", "n + 1", "2", "-1", "3"]
        floats = ["r", "0.5", "-1.5", "r * 2", "1e-3", "box.k", "box.more.k", f"{self.innermost}.k"]
        return self.pick(*integers, *floats, *self.numbers)

    def operand(self, name):
        return self.number() if self.chance(0.35) else self.like(name)

    def axis(self, name):
        rank = self.value(name).ndim
        several = [tuple(self.rng.sample(range(rank), k)) for k in range(2, rank + 1)]
        return self.pick(None, *several, *range(-rank, rank))

    # -- Expressions

    def expression(self):
        kinds = [
            (self.row, 6),
            (self.arithmetic, 6),
            (self.reduction, 3),
            (self.view, 4),
            (self.joined, 2),
            (self.gathered, 2),
            (self.product, 5 if self.turns else 2),
            (self.composite, 4),
            (self.convolved, 0.5),
            (self.attended, 0.5),
            (self.created, 1),
            (self.drawn, 1.5),
            (self.converted, 2),
            (self.nested, 1),
            (self.rewritten, 6),
        ]
        f = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        return f()

    def row(self):
        row = self.pick(*ROWS)
        dtypes = {"int": "int", "bits": ("int", "bool")}.get(row["types"])
        x = self.x(lambda t: t.dtype.name.startswith(("int", "uint", "bool")) if dtypes else True)
        if row["name"] == "where":
            return f"fz.where({x} > 0, {x}, {self.operand(x)})"
        if row["name"] == "signbit":  # a NaN that arithmetic made has either sign
            return f"fz.signbit(fz.nan_to_num({x}))"
        if row["arity"] == 1:
            return f"fz.{row['name']}({x})"
        other = self.operand(x)
        if row["name"] == "pow":
            other = self.pick("2", "3", "0.5", "n", f"fz.tanh({x})")
        return f"fz.{row['name']}({x}, {other})"

    def arithmetic(self):
        x = self.x()
        y = self.operand(x)
        op = self.pick("+", "-", "*", "+", "-", "*", "/", "//", "%", ">", "<=", "==")
        left, right = (y, x) if self.chance(0.3) else (x, y)
        text = f"{left} {op} {right}"
        if self.chance(0.3) and op in "+-*":
            text = f"({text}) {self.pick('*', '-', '+')} {self.operand(x)}"
        return f"fz.tanh({text})" if op in "/*" and self.chance(0.3) else text

    def rewritten(self):
        """What the passes make simpler, and what only looks like it."""
        x = self.x()
        y = self.like(x)
        t = self.value(x)
        unary = self.pick(*UNARY)
        often = self.pick("abs", "negative", "sign", "floor", "tanh", "round")
        other = f"fz.astype({x}, fz.{self.any_dtype()})"
        # A temporary may be replaced by another.
        x = self.pick(x, f"({x} * 0.5)", f"({x} + {x})", other)
        binary = self.pick(*"maximum minimum multiply add subtract bitwise_and".split())
        options = [f"fz.{f}(fz.{f}({x}))" for f in (unary, often, often, often)]
        options += [f"fz.abs(-({x}))", f"{x} + -({y})", f"{x} - -({y})", f"(-({x})) / (-({y}))"]
        options += [f"(-({y})) * (-({x}))", f"fz.bitwise_invert({x} == {y})", f"~({x} != {y})"]
        options += [f"fz.where(~({x} > {self.number()}), {x}, {y})", f"fz.{binary}({x}, {x})"]
        options += [f"fz.where({x} > 0, {y}, {y})", f"fz.sum({x}[None], axis=0)"]
        options += [f"fz.astype(fz.astype({x}, fz.{self.any_dtype()}), {x}.dtype)"] * 2
        large = f"fz.astype({x} * {self.pick('1', '1e5', '1e9')}, fz.{self.pick(*INTS)})"
        options += [f"(q := {large}) - fz.astype(fz.astype(q, fz.{self.any_dtype()}), q.dtype)"]
        options += [f"fz.broadcast_to(fz.broadcast_to({x}, (1,) + {x}.shape), (3,) + {x}.shape)"]
        options += [f"({x} + {y}) - {y}", f"({x} - {y}) + {y}", f"{y} - ({x} + {y})"]
        options += [f"fz.{binary}(fz.{binary}({x}, {y}), {y})", f"~({x} < {y})"]
        options += [
            f"fz.minimum({y}, fz.maximum({x}, {y}))",
            f"(-({x})) {self.pick('<', '>=')} -{y}",
        ]
        options += [f"fz.where((q := {x} > 0), {y}, fz.where(q, {x}, {y} * 2))"]
        options += [f"-fz.{self.pick('maximum', 'minimum')}(-({x}), -({y}))"]
        if t.ndim:
            many = self.pick("max", "min", "sum", "prod")
            options += [f"fz.{many}(fz.{many}({x}, axis={self.pick(0, -1)}))"]
            cut = [self.pick("1:", "::-1", "::2", "1::2", "::-2", ":3", "-2:") for _ in range(3)]
            options += [f"fz.exp({x}[{']['.join(cut[:k])}])" for k in (2, 3)]
            options += [f"{x}.reshape((1, -1)).reshape({x}.shape)"]
            options += [f"(q := fz.tanh({x})) - q[::-1]", f"(q := {x} * 0.5)[1:] - q[:-1]"]
            options += [f"(q := {x} + 1)[:1] + q"]
        if t.ndim > 1:
            axes = [tuple(self.rng.sample(range(t.ndim), t.ndim)) for _ in range(2)]
            options += [f"+fz.permute_dims(fz.permute_dims({x}, {axes[0]}), {axes[1]})"] * 2
            options += [f"fz.max(fz.permute_dims({x}, {axes[0]}), axis={self.pick(0, 1)})"]
            if t.shape[0] == t.shape[-1]:
                options += [f"(q := {x} * 0.5) - fz.matrix_transpose(q)"] * 3
                options += [f"fz.sum((q := {x} - 1) * fz.matrix_transpose(q), axis=0)"] * 2
        text = self.pick(*options)
        return self.pick(text, f"({text}) * 1.5", f"fz.where({self.x()} > 0, {text}, 0)")

    def reduction(self):
        name = self.pick(
            *"sum sum sum sum mean max min prod var std logsumexp argmax argmin any all".split()
        )
        x = self.x()
        axis = self.axis(x)
        if self.chance(0.4):
            x = self.pick(self.view(), self.cut(x), self.cut(x))
            axis = self.pick(None, None, 0, -1, (0, 1))
            x = self.pick(x, x, f"({x} * 1.5)")
        keep = f", keepdims={self.chance(0.4)}"
        if name in ("any", "all"):
            return f"fz.{name}({x} > {self.number()}, axis={axis}{keep})"
        inner = f"fz.tanh({x})" if name == "prod" else x
        return f"fz.{name}({inner}, axis={axis}{keep})"

    def cut(self, x):
        """A part of a tensor or of what is made of it, cut along every axis."""
        cuts = [self.pick("1:", "1:", "::-1", ":-1", "::2", ":") for _ in range(self.value(x).ndim)]
        return f"{self.pick(x, f'fz.tanh({x})', f'({x} + 1)')}[{', '.join(cuts) or '...'}]"

    def view(self):
        x = self.x()
        t = self.value(x)
        options = [f"{x}.reshape((-1,))", f"fz.expand_dims({x}, axis=0)", f"{x}[None]"]
        options += [f"fz.broadcast_to({x}, (2,) + {x}.shape)", f"fz.flip({x})", f"{x}[...]"]
        if t.ndim:
            i = self.rng.randrange(t.shape[0]) if t.shape[0] else 0
            options += [f"{x}[::-1]", f"{x}[1:]", f"{x}[:n]", f"{x}[::2]", f"{x}[{i}]", f"{x}[-1]"]
            options += [f"{x}[..., {self.pick('0', '-1', '::-1', '1:')}]", f"{x}[n % {x}.shape[0]]"]
            options += [f"fz.permute_dims({x}, {tuple(self.rng.sample(range(t.ndim), t.ndim))})"]
        if t.ndim == 2:
            options += [f"{x}.T", f"{x}.T", f"{x}[:, 0]", f"{x}[1:, ::-1]", f"{x}.T.reshape((-1,))"]
            options += [f"fz.reshape({x}, ({x}.shape[1], {x}.shape[0]))"]
        return self.pick(*options)

    def joined(self):
        x = self.x(lambda t: t.ndim > 0)
        y = self.x(lambda t: t.shape[1:] == self.value(x).shape[1:] and t.ndim > 0)
        z = self.x(lambda t: t.shape == self.value(x).shape)
        return self.pick(
            f"fz.concat([{x}, {y}])",
            f"fz.concat([{x}, {x}[::-1]], axis=-1)",
            f"fz.stack([{x}, {z}], axis={self.pick(0, -1)})",
            f"fz.pad({x}, (({self.pick(0, 1)}, 1),) * {x}.ndim)",
            f"fz.tile({x}, (2,))",
            f"fz.roll({x}, n, axis=0)",
            f"fz.tril({x})",
            f"fz.diff({x}, axis=0)",
        )

    def gathered(self):
        x = self.x(lambda t: t.ndim > 0 and t.shape[0] > 0)
        size = self.value(x).shape[0] if self.value(x).ndim else 1
        index = [self.rng.randrange(-size, size or 1) for _ in range(self.pick(1, 3, 5))]
        return self.pick(
            f"fz.take({x}, fz.asarray({index}), axis=0)",
            f"{x}[fz.asarray({index})]",
            f"fz.take({x}, fz.argmax({x}, axis=0), axis=0)",
            f"fz.take({x}, fz.arange(n) % {x}.shape[0], axis=0)",
            f"{x}[::2]" if self.skips else f"{x}[{x} > {self.number()}]",
            f"fz.repeat({x}, 2, axis=0)",
            f"fz.take_along_axis({x}, fz.argmin({x}, axis=-1, keepdims=True), axis=-1)",
        )

    def product(self):
        x = self.x(lambda t: t.ndim == 2)
        y = self.x(lambda t: t.ndim == 2 and t.shape[0] == (self.value(x).shape or (0,))[-1])
        z = self.x(lambda t: "float" in t.dtype.name)
        wide = f"wide({z}) @ fz.flip(wide({z})).T"
        return self.pick(wide, f"{x} @ {y}", f"{x} @ {x}.T", f"{x}.T @ {x}", f"fz.vecdot({x}, {x})")

    def composite(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        rank = self.value(x).ndim
        options = [f"nn.{f}({x})" for f in "relu sigmoid silu softplus gelu".split()]
        options += [f"fz.{f}({x})" for f in "square reciprocal rsqrt".split()]
        options += [f"fz.clip({x}, -1, {self.pick('n', '1.5', 'r')})"]
        options += [f"nn.gelu({x}, approximate='tanh')", f"nn.mse_loss({x}, {self.like(x)})"]
        if rank:
            axis = self.pick(*range(-rank, rank))
            options += [f"nn.{f}({x}, axis={axis})" for f in ("softmax", "log_softmax")] * 2
            options += [f"nn.layer_norm({x}, eps={self.pick('1e-5', '0.1')})"] * 2
        if rank == 2:
            options += [f"nn.cross_entropy({x}, fz.argmax({x}, axis=1))"]
        return self.pick(*options)

    def two(self):
        """Two tensors to make operands of, and sometimes a gradient to one of them around them.

        Returns their names and a function of the text that computes with them.
        """
        gradient = self.chance(0.5)
        x = self.x(lambda t: "float" in t.dtype.name or not gradient)
        y = self.x(lambda t: t.dtype == self.value(x).dtype)
        if not gradient:
            return x, y, lambda text: text
        loss = self.pick("fz.sum({})", "fz.sum(fz.tanh({}) * 0.5)", "fz.mean({})")
        x, y, at = self.pick((x, "q", y), ("q", y, x), ("q", "q", x))
        return x, y, lambda text: f"fz.grad(lambda q: {loss.format(text)})({at})"

    def convolved(self):
        """Windows of every kind: long rows, one element, few outputs; steps, gaps, groups."""
        x, y, within = self.two()
        i, o = self.pick(1, 2, 3, 12), self.pick(1, 4, 5)
        n, h, w = self.pick((1, 5, 6), (2, 7, 12), (2, 4, 3))
        kernel = self.pick((3, 3), (1, 1), (2, 3))
        steps, gaps = self.pick((1, 1), (1, 1), (2, 1), (1, 2)), self.pick(1, 1, (2, 1))
        groups = self.pick(1, 1, 1, i)
        image, weights = (n, h, w, i), (*kernel, i // groups, o * groups)
        options = f"stride={steps}, padding={self.pick(0, 1, (2, 1))}, dilation={gaps}"
        if self.chance(0.3):
            image, weights = (n, i, h, w), (o * groups, i // groups, *kernel)
            options += ", layout='NCHW'"
        operands = f"shaped({x}, *{image}), shaped({y}, *{weights})"
        return within(f"nn.conv2d({operands}, {options}, groups={groups})")

    def attended(self):
        """Fewer and more queries and keys than a block, batches that repeat, views."""
        x, y, within = self.two()
        batch, more = self.pick(((), ()), ((2,), (2,)), ((2, 2), (2,)), ((1,), (3,)))
        t, s = self.pick((1, 3), (5, 5), (4, 2), (70, 66), (3, 130))
        d, w = self.pick(1, 4, 9), self.pick(1, 3, 8)
        causal, k = self.chance(0.5), f"shaped({y}, *{(*more, s, d)})"
        scale = self.pick("", "", f", scale={self.pick('0.25', 'r')}")
        v = f"fz.matrix_transpose(shaped({y}, *{(*more, w, s)}))" if self.chance(0.3) else k
        v = v if v != k or self.chance(0.4) else f"shaped({x}, *{(*more, s, w)})"
        q = f"shaped({x}, *{(*batch, t, d)})"
        return within(f"nn.attention({q}, {k}, {v}, causal={causal}{scale})")

    def created(self):
        x = self.x()
        dtype = self.any_dtype()
        return self.pick(
            f"fz.ones({x}.shape, dtype='{dtype}')",
            f"fz.zeros_like({x})",
            f"fz.full({x}.shape, {self.number()})",
            f"fz.arange({x}.size, dtype='float32').reshape({x}.shape)",
            f"fz.asarray([1.5, n, {self.number()}])",
            "fz.asarray(r)",
            "fz.eye(n + 1)",
        )

    def drawn(self):
        x = self.x()
        return self.pick(
            f"fz.random.uniform({x}.shape)",
            f"fz.random.integers(0, n + 2, {x}.shape)",
            f"{self.stream()}.normal({x}.shape)",
            f"{self.stream()}.uniform({x}.shape, dtype='float64')",
        )

    def stream(self):
        return "fz.random" if self.pure else "generator"

    def converted(self):
        x = self.x()
        return self.pick(
            f"fz.astype({x}, fz.{self.any_dtype()})",
            f"fz.astype({x}, fz.{self.any_dtype()})",
            f"fz.asarray({x}, copy=True)",
            f"{x}.detach()",
            f"+{x}",
            *([] if self.skips else [f"fz.asarray(np.asarray({x}.detach()))"]),
            *([] if self.skips else [f"fz.asarray({x}.tolist())"]),
        )

    def nested(self):
        x = self.x()
        return self.pick(
            f"helper({x}, {self.number()})", f"helper({x}, {self.like(x)})", f"box({x})"
        )

    def read_as(self, what):
        return f"int(fz.astype({what}, fz.int32))" if self.skips else f"float({what})"

    def condition(self):
        x = self.x()
        return self.pick(
            f"fz.sum({x}) > {self.number()}",
            f"({x} > 0).any()",
            f"bool(fz.all({x} < {self.number()}))",
            f"{self.read_as(f'fz.max(fz.astype({x}, fz.float64))')} > r",
            "n % 2",
            "r > 0",
            f"{x}.size > {self.rng.randrange(8)}",
            f"{x}.dtype == fz.float32",
            "box.flag",
            "len(box.items) % 2",
            *([] if self.pure else ["len(kept) % 2 == 0", 'state["count"] % 3 == 1']),
        )
