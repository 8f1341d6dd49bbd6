"""Random statements. Each is run as it is made, so that most programs get far."""

import numpy as np
from expressions import Expressions
from observe import fz
from program import Block, lines
from worlds import World

LARGEST = 400  # elements, unless arguments are larger


class Statements(Expressions, World):
    # -- Statements: each a list of lines and Blocks, and whether it has been run

    def run(self, body):
        """Runs statements; an exception's text, or None."""

        try:
            exec("\n".join(lines(body, 0)) or "pass", self.env)
        except Exception as e:  # noqa: BLE001
            return str(e)
        return None

    def good(self, name):
        t = self.env.get(name)
        if not isinstance(t, fz.Tensor):
            return True
        if t.size > max(LARGEST, 3 * self.m * self.n) or t.ndim > 4:
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

    def shown(self, what):
        return [] if self.pure else [f"shown.append({what})"]

    def in_place(self):
        x = self.x()
        line = self.pick(
            f"{x} {self.pick('+', '-', '*')}= {self.operand(x)}",
            f"{x} += fz.tanh({self.like(x)})",
            f"{x}[{self.pick('0', '-1', '...', '1:', '::2', '..., 0')}] = {self.number()}",
            f"{x}[{self.pick('0', '..., -1', '::-1', '1:')}] {self.pick('+', '*', '')}= "
            + self.operand(x),
            f"{x}[...] = fz.where({x} > {self.number()}, {x}, 0)"
            if self.skips
            else f"{x}[{x} > {self.number()}] = {self.pick('0', 'r', '1')}",
        )
        if self.chance(0.1):
            y = self.x(lambda t: t.shape == self.value(x).shape)
            lines = [f"swap = +{x}", f"{x}[...] = {y}", f"{y}[...] = swap"]
            return None if self.run(lines) else lines
        return None if self.run([line]) else [line]

    def object_changes(self):
        """An attribute, a flag or a list of an object changes."""
        x = self.x()
        if self.skips:
            line = f"box.t {self.pick('+', '*', '-')}= {self.operand('box.t')}"
            return None if "box.t" not in self.tensors() or self.run([line]) else [line]
        line = self.pick(
            f"box.k = {self.number()}",
            "box.flag = not box.flag",
            f"box.flag = {self.condition()}",
            f"box.t = {x}",
            f"box.items.append({x})",
            f"box.items[:] = box.items[-2:] + [{self.pick(x, self.number())}]",
            f"box.t += {self.operand('box.t')}" if "box.t" in self.tensors() else f"box.t = {x}",
        )
        return None if self.run([line]) else [line]

    def raising(self):
        if self.run([f"_ = bool({(condition := self.condition())})"]):
            return None
        if self.env["_"]:
            condition = f"not ({condition})"
        error = self.pick("ValueError(n)", "KeyError('k')", "RuntimeError(str(box.k))")
        return [Block(((f"if {condition}:", (f"raise {error}",)),))]

    def shared(self):
        """Something that shares memory with a tensor, which then changes in place."""
        x = self.x(lambda t: t.ndim > 0)
        name = self.fresh()
        body = [
            self.pick(
                f"{name} = {x}.T",
                f"{name} = {x}[1:]",
                f"{name} = {x}[::-1]",
                f"{name} = {x}.detach()",
                f"{name} = {x}.reshape((-1,))",
                f"{name} = {x} if {x}.ndim else +{x}",
                f"{name} = {self.pick('fz.exp', 'fz.tanh', 'fz.square')}({x}[::-1])",
                f"{name} = +{x}; kept.append(np.asarray({x}.detach()))",
            )
        ]
        changes = [f"{x} *= 0.5", f"{x} += 1", f"{x}[0] = 2", f"{x} -= {x}", f"{x}[::2] += 1"]
        changes += [f"{x} += {name}", f"{name} *= 2", f"{name} -= {x}", f"{x}[...] = {name}"]
        if self.pure:
            body[0] = body[0].split("; kept")[0]
        body += self.rng.sample(changes, self.pick(1, 2, 3))
        if self.chance(0.4):
            body.append(Block((("for i in range(n):", tuple(self.rng.sample(changes, 2))),)))
        if self.run(body) is None and self.good(name) and name in self.env:
            return self.added(name, body)
        return None

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
            f"int(fz.max(fz.astype({x}, fz.int32))) % 5",
            f"int(({x} > {self.number()}).sum()) % 4",
            *([] if self.skips else [f"float(fz.sum(fz.tanh({x})))"]),
            *([] if self.skips else [f"fz.mean(fz.astype({x}, fz.float64)).item()"]),
            *([] if self.skips else [f"len({x}.tolist()) if {x}.ndim else 0"]),
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
        trips = self.pick("n % 4", "n % 3 + 1", f"int(fz.sum({x} > 0)) % 4", "2", "n % 9 + 20")
        if self.run([f"_ = range({trips})", "i = 0"]):
            return None
        self.numbers.append("i")
        body = list(self.inner(self.pick(1, 2, 3)))
        self.numbers.remove("i")
        if self.chance(0.3) and not self.run([f"_ = bool({(condition := self.condition())})"]):
            body.append(Block(((f"if {condition}:", (self.pick("break", "continue"),)),)))
            body += self.inner(1)
        # What makes an array larger must not do so twenty times.
        if any(f"fz.{grows}(" in repr(body) for grows in ("tile", "repeat", "concat")):
            trips = trips.replace("n % 9 + 20", "n % 4")
        block = Block(((f"for i in range({trips}):", tuple(body)),))
        return [block] if self.run([block]) is None else None

    def recurrent(self):
        """Many iterations with products and reductions, which a plan has as one loop."""
        z = self.x(lambda t: "float" in t.dtype.name and t.ndim == 2)
        h, every, w = self.fresh(), f"every{self.counter}", f"w{self.counter}"
        changes = [
            f"{h} = fz.tanh({h} @ {w} + {z})",
            f"{h} = fz.tanh({h} @ {w}.T - {z}[i % {z}.shape[0]])",
            f"{h} = {h} - fz.mean({h}, axis={self.pick('0', '1')}, keepdims=True)",
            f"{h} = {h} / fz.sqrt(fz.sum({h} * {h}) + 1)",
            f"{h} = fz.sin({h} * r + i)",
            f"{h} = fz.where({h} > 0, {h}, {z})",
        ]
        body = [self.pick(*changes[:2]), *self.rng.sample(changes, self.pick(1, 2))]
        body.insert(self.pick(1, len(body)), f"{every}.append({h})")
        if self.chance(0.2):
            stop = (f"if i == 20 and fz.sum({h}) > r:", (self.pick("break", "continue"),))
            body.insert(1, Block((stop,)))
        trips = self.pick("30", "n % 5 + 24", "n % 4 * 9", f"{z}.shape[0]")
        result = self.pick(
            h,
            f"fz.sum(fz.stack({every}, axis={self.pick('0', '1')}), axis=0)",
            f"{every}[-2] * {every}[0]",
            f"fz.concat({every}[::-1])[:2]",
            f"sum({every})",
        )
        lines = [
            f"{h} = fz.tanh({z}{self.pick('', '', ' * 0')})",
            f"{every} = []",
            f"{w} = fz.tanh({z}.T @ {z})",
            Block(((f"for i in range({trips}):", tuple(body)),)),
            f"{h} = {result}",
        ]
        return self.added(h, lines) if self.run(lines) is None and self.good(h) else None

    def while_loop(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        k = f"k{self.counter}"
        self.counter += 1
        # The count is in the condition, where shrinking cannot take it away.
        read = self.read_as(f"fz.sum(fz.tanh({x}))")
        condition = f"({k} := {k} + 1) < 5 and {read} < {k} + r"
        body = [f"{k} = 0", Block(((f"while {condition}:", self.inner(self.pick(1, 2))),))]
        return body if self.run(body) is None else None

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
            f"fz.take({x}, fz.astype(fz.reshape({self.x()}, (-1,)), fz.int32), axis=0)",
            "1 // 0",
        )
        name = self.fresh()
        inner = [*self.inner(1), f"{name} = {bad}", *self.inner(self.pick(0, 1))]
        caught = (*self.shown("(type(e).__name__, str(e))"),)
        if not self.skips:
            caught += (f"box.k = {self.pick('n', '0.5')}",)
        block = Block((("try:", tuple(inner)), ("except Exception as e:", caught)))
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
            [f"_, {name} = fz.value_and_grad({f})({x})", *self.shown("_.item()")],
            [f"{name} = fz.grad(lambda y: fz.sum(fz.grad({f})(y) * y))({x})"],
        )
        if self.run(body) or not self.good(name):
            return None
        return self.added(name, body)

    def training(self):
        w = "w0" if self.pure else self.pick("w0", "w1")
        x = self.x(lambda t: "float" in t.dtype.name)
        body = [f"loss = {self.loss(f'({w} * {x})')}", "loss.backward()"]
        if self.chance(0.6):
            update = Block((("with fz.no_grad():", (f"{w} -= 0.1 * {w}.grad",)),))
            body += [update, f"{w}.grad = None"] if self.chance(0.7) else [update]
        if self.chance(0.4):
            body += self.shown("loss.item()")
        return [*body] if self.run(body) is None else None

    def optimizing(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        body = [f"loss = {self.loss(f'(w2 * {x})')}", "loss.backward()", "optimizer.step()"]
        if self.chance(0.7):
            body.append("optimizer.zero_grad()")
        if self.chance(0.2) and not self.skips:
            body.append("optimizer.lr = r")
        return body if self.run(body) is None else None

    def without_grad(self):
        return [Block((("with fz.no_grad():", self.inner(2)),))]

    def other_product(self):
        x = self.x(lambda t: "float" in t.dtype.name)
        who = self.pick("'blas'", *["'blas' if box.flag else 'default'"] * 2)
        name, y = self.fresh(), f"wide({x})"
        body = (*self.inner(self.pick(0, 1)), f"{name} = {y} @ {y}.T")
        block = Block(((f"with fz.precision({who}):", body),))
        return self.added(name, [block]) if self.run([block]) is None else None

    def borrowed(self):
        line = self.pick("memory *= -0.5", "memory += n", "memory[...] = r")
        if not self.borrows:
            return None
        body = [line]
        if made := self.chance(0.5) and self.fresh():  # something from before the change
            f = self.pick("fz.mean(b0)", "fz.square(b0)", "nn.relu(b0)", "fz.tanh(b0)", "b0 - 1")
            body = [f"{made} = {f}", line]
        if self.run(body):
            return None
        return self.added(made, body) if made else body

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
            (self.read, 1.5),
            (self.object_changes, 1.5),
            (self.shared, 1),
            (self.alias, 0.5),
            (self.gradient, 1),
            (self.training, 1),
            (self.optimizing, 0.7),
            (self.forget, 0.7),
        ]
        if not self.pure:
            kinds += [(self.remember, 2), (self.rebind, 1), (self.borrowed, 1.5)]
        if self.worldly:
            kinds = [] if self.quiet else [(kind, weight / 6) for kind, weight in kinds]
            kinds += [(self.helped, 6), (self.assign, 4)]
            kinds += [] if self.quiet else [(self.counted, 6)]
            kinds += [(self.chosen, 2)] if self.depth < 2 else []
        if self.depth < 2 and not self.quiet:
            kinds += [(self.branch, 1.5), (self.loop, 1.2), (self.while_loop, 0.5)]
            kinds += [(self.recurrent, 0.6)]
            kinds += [(self.failing, 0.7), (self.without_grad, 0.4), (self.closure, 0.5)]
            kinds += [(self.other_product, 0.4)]
        if self.depth == 0:
            kinds += [(self.early_return, 0.6), (self.raising, 0.3)]
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
