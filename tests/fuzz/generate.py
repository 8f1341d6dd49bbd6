"""Makes random programs; the same seed gives the same program on one machine.

A program reads and writes everything that a traced function may: arguments, closure variables,
dicts, lists, parameters, generators.
"""

import re

import observe
from expressions import FLOATS, INTS
from observe import data, fz, nn, np
from program import Block, Program, lines
from statements import Statements
from worlds import CELLS, GLOBALS

LAYOUTS = ["plain", "plain", "transposed", "reversed", "every-second"]


class Generator(Statements):
    # -- The whole

    def argument(self, shape, dtype):
        seed = self.rng.randrange(1000)
        layout = "plain" if self.chance(0.6) else self.pick(*LAYOUTS)
        return f"data({seed}, {shape}, '{dtype}', '{layout}')"

    def learning(self, text, dtype):
        """An argument, sometimes one that gradients flow to: a leaf or what came of one."""
        if not self.learns or "float" not in dtype or self.chance(0.6):
            return text
        return f"{text}.requires_grad_(){self.pick('', '', ' * 1')}"

    def similar_calls(self, shapes, dtypes):
        """Texts of argument tuples of few kinds."""
        kinds = [self.kind(shapes, dtypes, i) for i in range(self.pick(1, 2, 3, 4))]
        numbers = [(2, "0.5")] + [(self.pick(1, 2, 3), self.pick("0.5", "-0.0")) for _ in kinds]
        out = []
        for i in range(self.pick(10, 12, 14)):
            k = 0 if i == 0 or self.chance(0.5) else self.rng.randrange(len(kinds))
            texts = [text.format(self.rng.randrange(1000)) for text in kinds[k]]
            if i and self.learns and self.chance(0.3):
                a = self.rng.randrange(3)
                if "float" in texts[a] and "requires_grad" not in texts[a]:
                    texts[a] += ".requires_grad_()"
            if i and self.chance(0.1):
                texts[:2] = self.one_value(texts[0])
            rest = ", ".join([*texts, *map(str, numbers[k])])
            out.append(f"({rest}, w0, box, w2, optimizer)")
        return tuple(out)

    def kind(self, shapes, dtypes, number):
        """Texts of three arguments, with places for seeds: the first kind is the simplest."""
        now = shapes if number == 0 or self.chance(0.5) else [self.shape() for _ in shapes]
        types = dtypes if number == 0 or self.chance(0.5) else [self.pick(*FLOATS) for _ in dtypes]
        texts = []
        for s, d in zip(now, types, strict=True):
            layout = "plain" if self.chance(0.7) else self.pick(*LAYOUTS)
            texts.append(self.learning(f"data({{}}, {s}, '{d}', '{layout}')", d))
        if number and self.borrows and self.chance(0.3):
            texts[0] = "b0"
        if number and self.chance(0.15):
            texts[1] = self.pick(texts[0], "p0")
        if number and self.chance(0.3):
            texts[:2] = self.one_value(texts[0])
        return texts

    def one_value(self, text):
        """Two arguments that are one tensor, or two with one value."""
        return [f"(x := {text})", self.pick("x", "x.detach()", "x.detach()")]

    def calls(self, shapes, dtypes):
        """Texts of argument tuples: mostly alike, sometimes of other shapes or dtypes."""
        if self.worldly:
            return self.worldly_calls(shapes, dtypes)
        if self.skips:
            return self.similar_calls(shapes, dtypes)
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
            texts = [self.learning(self.argument(s, d), d) for s, d in zip(now, types, strict=True)]
            if i and self.chance(change):
                shared = ["p0"] if self.pure else ["p0", "p0", "w0", "s0"]
                texts[self.rng.randrange(len(texts))] = self.pick(*shared)
            if i and self.borrows and self.chance(0.3):
                texts[0] = "b0"
            if i and self.chance(change):
                texts[1] = texts[0]  # the same numbers in another tensor
            number = 2 if steady and self.chance(0.8) or not i else self.pick(1, 2, 3, 4)
            reals = ["0.5"] * 6 if self.pure else ["0.5"]
            real = self.pick(*reals, "0.5", "-0.75", "2.0", "1e-3", "-0.0", "1") if i else "0.5"
            more = ", w0, box, w2, optimizer" if self.pure else ""
            out.append(f"({', '.join(texts)}, {number}, {real}{more})")
        return tuple(out)

    def worldly_calls(self, shapes, dtypes):
        """Texts of argument tuples that are nearly all alike."""
        usual, other = self.kind(shapes, dtypes, 0), self.kind(shapes, dtypes, 1)
        out = []
        for i in range(self.pick(14, 20)):
            texts = other if i and self.chance(0.04) else usual
            number, real = (2, "0.5") if self.chance(0.93) else (self.pick(1, 3), "-0.75")
            texts = [text.format(self.rng.randrange(1000)) for text in texts]
            out.append(f"({', '.join(texts)}, {number}, {real})")
        return tuple(out)

    def between(self, i):
        """What happens to the world before a call."""
        names = ["p0", "w0"] if self.pure else ["p0", "w0", "w1", "s0", "s1"]
        x = self.pick(*names)
        changes = [
            f"{x} *= 0.5",
            f"{x}[...] = {x} * -1",
            f"{x} += {self.pick('1', 'box.k')}",
            "w0.grad = None",
            "w2 *= 0.5",
            "optimizer.lr = 0.01",
            "w2.grad = None",
            *["box.flag = not box.flag"] * 3,
            *[f"{self.innermost}.k = {self.pick('1', '1.0', '-0.75')}"] * 4,
            *[f"vars(box.more)['k'] = {self.pick('1', '1.0', '2.5')}"] * 3,
            f"box.k = {self.pick('1', '1.0', 'True', '-0.0', '2.5', '3', 'fz.asarray(1.5)')}",
            f"vars(box)['k'] = {self.pick('1', '1.0', '2.5')}",
            "box.t = box.t * 2",
            "box.t += 1",
            f"box.items.append({self.pick('1', '0.5', 'p0')})",
            "box.items.clear()",
            f"fz.random.seed({i})",
            f"p0 = {self.argument((self.n,), self.dtype)}",
        ]
        if self.borrows:
            changes += ["memory *= -2", "memory += 1", "memory[...] = 0.5"]
        if not self.pure:
            changes += [
                f"{self.pick('s0', 's1')} = {self.argument(self.shape(), self.dtype)}",
                "kept.clear()",
                "kept[-1] += 1",
                'state["count"] += 1',
                'state["a"] = s0',
                'state.pop("a")',
                "generator = fz.random.Generator(3)",
                "helper, f = f, helper" if self.chance(0.1) else "kept.append(s1)",
            ]
        if self.worldly:
            own = self.world_changes()
            changes = own + changes[: len(own) // 8]
        chosen = self.rng.sample(changes, self.pick(1, 1, 2))
        nonlocal_names = ("s0", "s1", "p0", "memory", "generator", "helper", "f")
        head = [f"nonlocal {', '.join(nonlocal_names + (CELLS if self.worldly else ()))}"]
        head += [f"global {', '.join(GLOBALS)}"] if self.worldly else []
        block = Block((("try:", tuple(chosen)), ("except Exception as e:", ("shown.append(e)",))))
        under = Block((("with fz.no_grad():", (block,)),)) if self.chance(0.8) else block
        return Block(((f"def between{i}():", (*head, under)),))

    def make(self):
        shapes = [self.shape() for _ in range(3)]
        if self.chance(0.3):
            shapes[1] = shapes[0]
        dtypes = [self.dtype, self.dtype, self.any_dtype()]
        s0, s1 = (self.argument(self.shape(), self.dtype) for _ in range(2))
        w0 = self.argument(shapes[0], self.pick(self.dtype, "float32"))
        optimizer = self.pick("SGD([w2], lr=0.1, momentum=0.9)", "SGD([w2])", "Adam([w2], lr=0.1)")
        setup = [
            f"s0 = {s0}",
            f"s1 = {s1}",
            f"p0 = {self.argument(shapes[0], self.dtype)}",
            f"w0 = {w0}.requires_grad_({not self.skips or self.chance(0.4)})",
            f"w1 = {self.argument((), 'float32')}.requires_grad_()",
            f"w2 = {self.argument((self.n,), 'float32')}.requires_grad_()",
            f"optimizer = fz.optim.{optimizer}",
            f"box = {self.box()}",
            f"generator = fz.random.Generator({self.rng.randrange(100)})",
            f"memory = np.full({shapes[0]}, 1.5, dtype='{self.dtype}')"
            if self.dtype != "bfloat16"
            else "memory = np.full((3,), 1.5)",
            "b0 = fz.asarray(memory, copy=False)",
            'state = {"count": 0}',
            "kept = []",
            "shown = []",
            f"turns = taking_turns({self.turns})",
        ]
        helper_body = self.pick(
            ("return fz.tanh(z) * u",),
            ("z = z + u", Block((("if bool((z > 0).any()):", ("z = z - 1",)),)), "return z * z"),
            (
                "z *= 1" if self.pure else 'state["count"] += 1',
                "return fz.where(z > u, z, fz.exp(-z * z))",
            ),
        )
        helper = [Block((("def helper(z, u):", helper_body),))]
        if self.chance(0.5) and not self.pure:
            helper.append("helper = wrap(helper)")

        if self.worldly:
            setup += ["count = 0", "rate = 1.5"]
            helper = [*self.world(), *helper]

        calls = self.calls(shapes, dtypes)
        parameters = ("a0", "a1", "a2", "n", "r")
        parameters += ("w0", "box", "w2", "optimizer") if self.pure else ()
        self.env = {"fz": fz, "nn": nn, "np": np, "data": data, "wrap": lambda f: f}
        self.env |= {
            "taking_turns": observe.taking_turns,
            "shaped": observe.shaped,
            "wide": observe.wide,
            "Box": observe.Box,
            "Plain": observe.Plain,
            "Record": observe.Record,
            "Own": observe.Own,
        }
        fz.random.seed(7)
        error = self.run([*setup, *helper, f"{', '.join(parameters)} = {calls[0]}"])
        assert error is None, error
        self.names = ["a0", "a1", "a2", "w0"]
        self.names += [] if self.pure else ["s0", "s1", "w1", "p0"]
        self.names += ["b0", "b0"] if self.borrows and not self.pure else []
        self.rebound = ["s0", "s1"]
        self.numbers = []
        body = self.statements(
            self.rng.randrange(2, 8) if self.worldly else self.rng.randrange(4, 16)
        )
        body.append(f"return {self.result()}")
        often = 0.12 if self.skips else 0.25
        if self.worldly:  # behind enough calls for a script to be learnt, or fewer
            at, between = self.pick(1, 4, 5, 6), {}
            while at < len(calls):
                between[at] = self.between(at)
                at += self.pick(1, 2, 5, 6, 7)
        else:
            between = {i: self.between(i) for i in range(1, len(calls)) if self.chance(often)}
        calls = [f"(between{i}(), {c})[1]" if i in between else c for i, c in enumerate(calls)]
        return Program(
            self.seed,
            tuple(setup),
            () if self.pure else self.cells(body),
            parameters,
            tuple(body),
            self.outermost(),
            (
                "s0",
                "s1",
                "p0",
                "w0",
                "w1",
                "generator.state",
                "state",
                "kept",
                "shown",
                "box",
                "w2",
                "optimizer",
                *(self.world_shows() if self.worldly else ()),
            ),
            tuple(calls),
            tuple(helper),
            tuple(between.values()),
            self.pure,
            GLOBALS if self.worldly else (),
        )

    def cells(self, body):
        """Names around the function that it may assign: a worldly one declares what it has."""
        if not self.worldly:
            return ("s0", "s1", "p0", "w0", "w1", "memory")
        words = set(re.findall(r"\w+", "\n".join(lines(body, 0))))
        return tuple(name for name in ("s0", "s1", "p0", "w0", "w1", *CELLS) if name in words)

    def box(self):
        kind = self.pick("Box", "Record" if self.pure else "Plain")
        t = self.argument(self.pick((), (self.n,)), self.dtype)
        k = self.pick("1.5", "2")
        more = "Record(True, 0.5, 1, [])"
        if self.innermost != "box.more":
            more = f"Box(flag=True, k=0.25, t=1, items=[], more={more})"
        elif self.chance(0.5):
            more = "Box(flag=True, k=0.5, t=1, items=[], more=None)"
        return f"{kind}(flag=True, k={k}, t={t}, items=[], more={more})"

    def outermost(self):
        if self.turns:
            return "lambda *args: under(turns, f, *args)"
        if self.chance(0.05):
            return "lambda *args: multiplied_by(box.flag, f, *args)"
        if self.pure:
            return "f"
        if self.chance(0.85 if self.worldly else 0.7):
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


class WorldlyGenerator(Generator):
    worldly = True

    def __init__(self, seed):
        super().__init__(seed)
        self.pure = self.skips = self.borrows = False
        self.quiet = self.chance(0.4)
        if self.chance(0.7):
            self.turns = []
            self.m, self.n = self.pick((3, 4), (2, 5))


def generate_worldly(seed):
    """A program with Python around the ops (worlds.py)."""
    return WorldlyGenerator(seed).make()
