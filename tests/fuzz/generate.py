"""Makes random programs. Each statement is run as it is made, so that most programs get far.

The same seed gives the same program on one machine. A program reads and writes everything that a
traced function may: arguments, closure variables, dicts, lists, parameters, generators.
"""

import random

import numpy as np
from observe import data, fz, nn, scalar
from program import Block, Program

from frazil import _frazil

FLOATS = ["float32", "float32", "float64", "float16", "bfloat16"]
INTS = ["int64", "int32", "uint8", "int8", "int16"]
LAYOUTS = ["plain", "plain", "transposed", "reversed", "every-second"]
ROWS = [row for row in _frazil.op_table() if row["class"] == "elementwise"]
LARGEST = 400


class Generator:
    def __init__(self, seed):
        self.seed = seed
        self.rng = random.Random(seed)
        self.counter = 0
        self.depth = 0
        self.m, self.n = self.rng.choice([(3, 4), (2, 5), (4, 4), (1, 6), (17, 3)])
        self.dtype = self.rng.choice(FLOATS)

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
        shape = self.value(name).shape

        def fits(t):
            return all(a == b or 1 in (a, b) for a, b in zip(t.shape[::-1], shape[::-1]))  # noqa: B905

        return self.x(fits)

    def number(self):
        integers = ["n", "n + 1", "2", "-1", "3"]
        floats = ["r", "0.5", "-1.5", "r * 2", "1e-3"]
        return self.pick(*integers, *floats, *self.numbers)

    def operand(self, name):
        return self.number() if self.chance(0.35) else self.like(name)

    def axis(self, name):
        rank = self.value(name).ndim
        return self.pick(None, *range(-rank, rank)) if rank else None

    # -- Expressions

    def expression(self):
        kinds = [
            (self.row, 6),
            (self.arithmetic, 6),
            (self.reduction, 3),
            (self.view, 4),
            (self.joined, 2),
            (self.gathered, 2),
            (self.product, 2),
            (self.composite, 4),
            (self.created, 1),
            (self.drawn, 1),
            (self.converted, 2),
            (self.nested, 1),
        ]
        f = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
        return f()

    def row(self):
        row = self.pick(*ROWS)
        dtypes = {"int": "int", "bits": ("int", "bool")}.get(row["types"])
        x = self.x(lambda t: t.dtype.name.startswith(("int", "uint", "bool")) if dtypes else True)
        if row["name"] == "where":
            return f"fz.where({x} > 0, {x}, {self.operand(x)})"
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

    def reduction(self):
        name = self.pick(
            *"sum sum mean max min prod var std logsumexp argmax argmin any all".split()
        )
        x = self.x()
        axis = self.axis(x)
        keep = f", keepdims={self.chance(0.4)}"
        if name in ("any", "all"):
            return f"fz.{name}({x} > {self.number()}, axis={axis}{keep})"
        inner = f"fz.tanh({x})" if name == "prod" else x
        return f"fz.{name}({inner}, axis={axis}{keep})"

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
            f"{x}[{x} > {self.number()}]",
            f"fz.repeat({x}, 2, axis=0)",
            f"fz.take_along_axis({x}, fz.argmin({x}, axis=-1, keepdims=True), axis=-1)",
        )

    def product(self):
        x = self.x(lambda t: t.ndim == 2)
        y = self.x(lambda t: t.ndim == 2 and t.shape[0] == (self.value(x).shape or (0,))[-1])
        return self.pick(f"{x} @ {y}", f"{x} @ {x}.T", f"{x}.T @ {x}", f"fz.vecdot({x}, {x})")

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
            options += [f"nn.attention({x}, {x}, {x}, causal={self.chance(0.5)})"]
        return self.pick(*options)

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
            f"generator.normal({x}.shape)",
            f"fz.random.integers(0, n + 2, {x}.shape)",
            f"generator.uniform({x}.shape, dtype='float64')",
        )

    def converted(self):
        x = self.x()
        return self.pick(
            f"fz.astype({x}, fz.{self.any_dtype()})",
            f"fz.astype({x}, fz.{self.any_dtype()})",
            f"fz.asarray({x}, copy=True)",
            f"fz.asarray(np.asarray({x}.detach()))",
            f"{x}.detach()",
            f"fz.asarray({x}.tolist())",
            f"+{x}",
        )

    def nested(self):
        x = self.x()
        return self.pick(f"helper({x}, {self.number()})", f"helper({x}, {self.like(x)})")

    def condition(self):
        x = self.x()
        return self.pick(
            f"fz.sum({x}) > {self.number()}",
            f"({x} > 0).any()",
            f"bool(fz.all({x} < {self.number()}))",
            f"float(fz.max(fz.astype({x}, fz.float64))) > r",
            "n % 2",
            "r > 0",
            f"{x}.size > {self.rng.randrange(8)}",
            f"{x}.dtype == fz.float32",
            "len(kept) % 2 == 0",
            'state["count"] % 3 == 1',
        )

    # -- Statements: each a list of lines and Blocks, and whether it has been run

    def run(self, body):
        """Runs statements; an exception's text, or None."""
        from program import _lines

        try:
            exec("\n".join(_lines(body, 0)) or "pass", self.env)
        except Exception as e:  # noqa: BLE001
            return str(e)
        return None

    def good(self, name):
        t = self.env.get(name)
        if not isinstance(t, fz.Tensor):
            return True
        if t.size > LARGEST or t.ndim > 4:
            return False
        a = np.asarray(fz.astype(t.detach(), fz.float64))
        return self.chance(0.1) or np.isfinite(a).any() or not a.size

    def fresh(self):
        self.counter += 1
        return f"t{self.counter}"

    def assign(self):
        old = [n for n in self.names if n[0] == "t" or n in self.rebound]
        name = self.pick(*old) if old and self.chance(0.25) else self.fresh()
        before = self.env.get(name)
        line = f"{name} = {self.expression()}"
        if self.run([line]) is None and self.good(name):
            return self.added(name, [line])
        self.env[name] = before
        return None

    def added(self, name, body):
        if name not in self.names:
            self.names.append(name)
        return body

    def in_place(self):
        x = self.x()
        line = self.pick(
            f"{x} {self.pick('+', '-', '*')}= {self.operand(x)}",
            f"{x} += fz.tanh({self.like(x)})",
            f"{x}[{self.pick('0', '-1', '...', '1:', '::2', '..., 0')}] = {self.number()}",
            f"{x}[{self.pick('0', '..., -1', '::-1', '1:')}] {self.pick('+', '*', '')}= "
            + self.operand(x),
            f"{x}[{x} > {self.number()}] = {self.pick('0', 'r', '1')}",
        )
        return None if self.run([line]) else [line]

    def remember(self):
        x = self.x()
        line = self.pick(
            f"kept.append({x})",
            f"kept.append({x})",
            f"kept.append(np.asarray({x}.detach()))",
            f'state["{self.pick("a", "b")}"] = {x}',
            f'state["{self.pick("a", "b")}"] = {self.expression()}',
            'state["count"] += 1',
            f"shown.append(({x}.shape, {x}.dtype.name))",
            f"shown.append({x}.tolist())",
            f"shown.append(repr({x}))",
            f"kept[:] = kept[-3:] + [{x}]",
        )
        return None if self.run([line]) else [line]

    def read(self):
        name = f"v{self.counter}"
        self.counter += 1
        x = self.x()
        reading = self.pick(
            f"float(fz.sum(fz.tanh({x})))",
            f"int(fz.max(fz.astype({x}, fz.int32))) % 5",
            f"fz.mean(fz.astype({x}, fz.float64)).item()",
            f"len({x}.tolist()) if {x}.ndim else 0",
        )
        line = f"{name} = {reading}"
        if self.run([line]):
            return None
        self.numbers.append(name)
        return [line]

    def alias(self):
        name = self.fresh()
        line = f"{name} = {self.x()}"
        return None if self.run([line]) else self.added(name, [line])

    def rebind(self):
        name = self.pick(*self.rebound)
        line = f"{name} = {self.pick(f'fz.tanh({name} + {self.like(name)})', f'{name} * 0.5 + r')}"
        return None if self.run([line]) else [line]

    def inner(self, count):
        """Statements of a block; names made there are forgotten after it."""
        names, numbers = list(self.names), list(self.numbers)
        self.depth += 1
        body = self.statements(count)
        self.depth -= 1
        self.names, self.numbers = names, numbers
        return tuple(body)

    def branch(self):
        if self.run([f"_ = bool({(condition := self.condition())})"]):
            return None
        parts = [(f"if {condition}:", self.inner(self.pick(1, 2, 3)))]
        if self.chance(0.6):
            parts.append(("else:", self.inner(self.pick(1, 2))))
        return [Block(tuple(parts))]

    def loop(self):
        x = self.x()
        trips = self.pick("n % 4", "n % 3 + 1", f"int(fz.sum({x} > 0)) % 4", "2")
        if self.run([f"_ = range({trips})", "i = 0"]):
            return None
        self.numbers.append("i")
        body = list(self.inner(self.pick(1, 2, 3)))
        self.numbers.remove("i")
        if self.chance(0.3) and not self.run([f"_ = bool({(condition := self.condition())})"]):
            body.append(Block(((f"if {condition}:", (self.pick("break", "continue"),)),)))
            body += self.inner(1)
        block = Block(((f"for i in range({trips}):", tuple(body)),))
        return [block] if self.run([block]) is None else None

    def while_loop(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        k = f"k{self.counter}"
        self.counter += 1
        body = (*self.inner(self.pick(0, 1, 2)), f"{k} += 1")
        block = Block(((f"while {k} < 4 and float(fz.sum(fz.tanh({x}))) < {k} + r:", body),))
        return [f"{k} = 0", block] if self.run([f"{k} = 0", block]) is None else None

    def failing(self):
        x = self.x()
        bad = self.pick(
            f"{x} + fz.ones((7, 11, 13))",
            f"fz.reshape({x}, (9999,))",
            f"{x} @ fz.ones((31, 2))",
            f"fz.take({x}, fz.asarray([99999]), axis=0)",
            f"fz.concat([{x}, fz.ones((2, 3, 4, 5, 6))])",
            f"fz.bitwise_and({x}, 1.5)",
            f"{x}[9999]",
            f"fz.sum({x}, axis=17)",
            f"fz.max(fz.reshape({x}[:0], (0,)))" if self.value(x).ndim else f"{x}[0]",
            "1 // 0",
        )
        name = self.fresh()
        inner = [*self.inner(1), f"{name} = {bad}", *self.inner(self.pick(0, 1))]
        body = "shown.append((type(e).__name__, str(e)))"
        block = Block((("try:", tuple(inner)), ("except Exception as e:", (body,))))
        return [block] if self.run([block]) is None else None

    def early_return(self):
        if self.run([f"_ = bool({(condition := self.condition())})"]):
            return None
        if self.env["_"]:
            condition = f"not ({condition})"
        return [Block(((f"if {condition}:", (f"return {self.result()}",)),))]

    def loss(self, z):
        other = self.x()
        return self.pick(
            f"fz.sum(fz.tanh({z} * {self.number()}) ** 2)",
            f"fz.sum({z} * {self.like(z) if z in self.env else other})",
            f"fz.mean(nn.softplus({z}) * {self.number()})",
            f"fz.sum(fz.exp(-{z} * {z}))",
            f"fz.logsumexp({z})",
            f"fz.sum(fz.max({z}, axis=0) if {z}.ndim else {z})",
            f"fz.sum({z} @ {z}.T if {z}.ndim == 2 else {z} * {z})",
        )

    def gradient(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        name = self.fresh()
        f = f"lambda z: {self.loss('z')}"
        body = self.pick(
            [f"{name} = fz.grad({f})({x})"],
            [f"_, {name} = fz.value_and_grad({f})({x})", "shown.append(_.item())"],
            [f"{name} = fz.grad(lambda y: fz.sum(fz.grad({f})(y) * y))({x})"],
        )
        if self.run(body) or not self.good(name):
            return None
        return self.added(name, body)

    def training(self):
        w = self.pick("w0", "w1")
        x = self.x(lambda t: "float" in t.dtype.name)
        body = [f"loss = {self.loss(f'({w} * {x})')}", "loss.backward()"]
        if self.chance(0.6):
            update = Block((("with fz.no_grad():", (f"{w} -= 0.1 * {w}.grad",)),))
            body += [update, f"{w}.grad = None"] if self.chance(0.7) else [update]
        if self.chance(0.4):
            body.append("shown.append(loss.item())")
        return [*body] if self.run(body) is None else None

    def without_grad(self):
        return [Block((("with fz.no_grad():", self.inner(2)),))]

    def closure(self):
        name = self.fresh()
        used = self.x()
        line = f"{name} = lambda z: {self.pick(f'z + {used}', f'fz.tanh(z) * {used}')}"
        result = self.fresh()
        body = [line, *self.inner(self.pick(0, 1)), f"{result} = {name}({self.like(used)})"]
        return self.added(result, body) if self.run(body) is None else None

    def forget(self):
        mine = [n for n in self.names if n[0] == "t"]
        if self.depth or not mine:
            return None
        name = self.pick(*mine)
        self.names.remove(name)
        self.env.pop(name, None)
        return [f"del {name}"]

    def statements(self, count):
        kinds = [
            (self.assign, 12),
            (self.in_place, 3),
            (self.remember, 2),
            (self.read, 1.5),
            (self.alias, 0.5),
            (self.rebind, 1),
            (self.gradient, 1),
            (self.training, 1),
            (self.forget, 0.7),
        ]
        if self.depth < 2:
            kinds += [(self.branch, 1.5), (self.loop, 1.2), (self.while_loop, 0.5)]
            kinds += [(self.failing, 0.7), (self.without_grad, 0.4), (self.closure, 0.5)]
        if self.depth == 0:
            kinds += [(self.early_return, 0.6)]
        body, tries = [], 0
        while count > 0 and tries < 60:
            tries += 1
            f = self.rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]
            made = f()
            if made:
                body += made
                count -= 1
        return body

    def result(self):
        count = self.pick(1, 1, 2, 3)
        picked = [self.x() for _ in range(count)]
        return picked[0] if count == 1 else f"({', '.join(picked)})"

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
            f"lambda *args: {'(lambda y: (y.backward(), y))'}(scalar(f(*args)) + fz.sum(w0))",
            "lambda *args: fz.sum(fz.astype(scalar(f(*args)), fz.float32)) * 2",
        )


def generate(seed):
    return Generator(seed).make()


__all__ = ["generate", "scalar"]
