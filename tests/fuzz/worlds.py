"""Random programs with Python around the ops: globals, cells, attributes, containers, helpers,
methods and counters that the function reads and writes and that change between its calls.

What a program has of this is made by `World`, a part of Generator (generate.py): `worldly` programs
have it, the others do not.
"""

from program import Block

GLOBALS = (
    *("G0", "G1", "TABLE", "NAMES", "Thing", "Sub", "scale", "pieces", "thing"),
    *("LAST", "part", "maker", "halved"),
)
CELLS = ("count", "rate", "mine")


def block(header, *body):
    return Block(((header, body),))


class World:
    worldly = False
    quiet = False  # a worldly program whose function changes little of its world

    # -- What there is

    def world(self):
        """Lines that define the world, in order."""
        scaled = [("return x * by if self.n % 3 else x + self.k",)]
        inner = [("return super().scaled(x, by) - self.k",)]
        if self.quiet:
            scaled += [("return x * self.rate + by * self.table.get('a', 2)",)]
            inner += [("return Thing.scaled(self, x) * self.items[0]",)]
        else:
            scaled += [("self.n += 1", "return x * by + self.rate")]
            scaled += [("self.t = x", "return x * self.rate + by * self.table.get('a', 2)")]
            inner += [("self.items[0] = self.items[0] * 0.5", "return x * self.items[0]")]
        left = self.pick("return False", "self.k = 0.5", "return kind is ValueError")
        init = ("self.n = n", "self.k = 0.5", "self.items = [1.0, 2]", "self.t = None")
        methods = [
            block("def __init__(self, n):", *init, "self.table = {'a': 0.25}", "Thing.made += 1"),
            block("def scaled(self, x, by=2.0):", *self.pick(*scaled)),
            "@property",
            block("def twice(self):", "return self.n * 2"),
            block("def step(self, by=1):", "self.n += by", "return self.n"),
            block("def __len__(self):", "return len(self.items)"),
            block("def __call__(self, z):", self.pick("return z * self.k", "return scale(z)")),
            block("def __enter__(self):", "self.n += 1", "return self.n"),
            block("def __exit__(self, kind, *rest):", "self.items.append(1)", left),
            block("def __getitem__(self, i):", "return self.items[i] * self.k"),
        ]
        if self.chance(0.15):
            methods.append(block("def __getattr__(self, name):", "return len(name) * 0.5"))
        return [
            f"global {', '.join(GLOBALS)}",
            "G0 = 0.5",
            "G1 = 2",
            "TABLE = {'a': 1.5, 'b': 2}",
            "NAMES = ['a', 'b', 'a']",
            block("class Thing(Own):", "rate = 0.5", "made = 0", *methods),
            block("class Sub(Thing):", block("def scaled(self, x, by=1.5):", *self.pick(*inner))),
            block("def scale(x, k=2.0, *, c=0.5):", "return x * k + G0 * c"),
            block("def pieces(x, n=2):", block("for i in range(n):", "yield x * (i + rate)")),
            f"thing = {self.pick('Thing(1)', 'Sub(1)')}",
            f"mine = {self.pick('Thing(0)', 'Sub(0)', 'thing')}",
            "apply = lambda z, g=scale: g(z)",
            "import collections, math",
            f"LAST = {self.pick('collections.deque([0.5, 2], maxlen=3)', '[0.5, 2]')}",
            "part = wrap(lambda z, k=2: z * k - rate)",
            "maker = lambda k: lambda z: z * k + G0",
            block(
                "def halved(z, least):",
                block("for _ in range(5):", block("if fz.max(z) < least:", "break"), "z = z * 0.5"),
                "return z",
            ),
        ]

    def world_shows(self):
        names = [f"globals().get('{name}')" for name in ("G0", "G1", "TABLE", "NAMES", "thing")]
        names += [f"getattr(Thing, '{name}', None)" for name in ("rate", "made")]
        return [*names, *CELLS, "Sub.__dict__.get('rate')"]

    def world_number(self):
        who = self.pick("thing", "mine")
        return self.pick(
            *("G0", "G0", "G1", "count", "count", "rate", "TABLE['a']", "TABLE.get('b', 3)"),
            *(
                f"{who}.{name}"
                for name in ("n", "n", "k", "rate", "items[0]", "items[-1]", "twice")
            ),
            f"len({who})",
            f"sum({who}.items[-3:])",
            f"{who}.table.get('a', 0.5)",
            "len(NAMES)",
            "1 / (1 + count % 7)",
            "max(TABLE.values(), default=1)",
            "0.9 ** (thing.n % 50)",
            f"(rate if {who}.n % 2 else G1)",
            f"{who}[{self.pick(0, -1)}]",
            f"{who}.items[count % len({who}.items)]",
            "TABLE[NAMES[count % len(NAMES)]]",
            "LAST[-1]",
            self.pick("Thing.rate", "type(thing).rate", f"type({who}).made"),
            self.pick("min(count, 3)", "divmod(count, 3)[1]", "round(rate, 1)", "int(rate * 4)"),
            self.pick("math.sqrt(abs(count))", "float(count)", "pow(rate, 2)", "abs(-rate)"),
            "(lambda *a, k=G0: sum(a) * k)(count, rate)",
        )

    # -- Statements

    def counted(self):
        """Python's state changes."""
        who, x = self.pick("thing", "mine"), self.x()
        line = self.pick(
            *[f"{who}.n += {self.pick('1', '1', '2', 'G1')}"] * 3,
            *["count += 1"] * 3,
            "rate *= 0.5",
            "rate = rate + 0.25",
            "G1 = G1 + 1",
            "G0 = G0 * 1.5",
            "globals()['G1'] = G1 - 1",
            "TABLE['a'] += 0.5",
            f"TABLE[f'k{{{who}.n % 3}}'] = {who}.n",
            f"{who}.items[0] *= 2",
            f"{who}.items.append({self.pick(f'{who}.n', 'rate', 'count', x)})",
            f"{who}.items[:] = {who}.items[-2:] + [count]",
            f"del {who}.items[3:]",
            f"{who}.table['a'] = count",
            f"{who}.table.pop('b', None)",
            f"{who}.t = {x}",
            f"{who}.step({self.pick('', 'by=2', 'G1')})",
            f"{who}.k, rate = rate, {who}.k",
            "Thing.made += 1",
            "Thing.rate = Thing.rate * 0.5",
            "NAMES.append(NAMES.pop(0))",
            f"setattr({who}, 'k', count * 0.5)",
            f"{who}.__dict__['k'] = 0.25 + {who}.n",
            "LAST.append(count)",
            f"LAST[0] = {who}.n",
            "Sub.rate += 0.5",
            f"type({who}).made -= 1",
            f"count += sum(1 for v in {who}.items if v > rate)",
            f"count = {self.pick('count * 3', '-count', 'count // 2', 'count + 0.5', '1 - count')}",
        )
        return None if self.run([line]) else [line]

    def helped(self):
        """A tensor by a helper, a method, a comprehension, a loop over Python objects."""
        x, who, k = self.x(), self.pick("thing", "mine"), self.world_number()
        expression = self.pick(
            f"scale({x}, {self.pick('', k, f'c={k}', f'k={k}')})",
            f"{who}.scaled({x})",
            f"{who}.scaled({x}, by={k})",
            f"apply({x})",
            f"{who}({x})",
            f"helper({x}, {k})",
            f"sum(pieces({x}, {self.pick('2', 'n', 'len(NAMES)')}))",
            f"[scale(v) for v in ({x}, {x} * 2)][{self.pick('0', '-1', f'{who}.n % 2')}]",
            f"sum(v * {x} for v in {who}.items[:3])",
            f"{x} * TABLE[NAMES[{who}.n % 2]]",
            f"(lambda z: z * rate + {k})({x})",
            f"({x} if isinstance({who}, Sub) else {x} * {k})",
            f"{x} * sum(v for _, v in sorted(TABLE.items()))",
            f"{x} * {{name: i for i, name in enumerate(NAMES)}}.get('a', 3)",
            f"{x} + len(f'{{{k}:.2f}}')",
            f"({x}, {x} + 1)[count % 2 == 0]",
            f"{x} * {k} - {self.world_number()}",
            f"{x} * sum(a * b for a, b in zip({who}.items, TABLE.values()))",
            f"part({x}{self.pick('', f', {k}', f', k={k}')})",
            f"maker({k})({x})",
            f"halved({x}, {k})",
            f"scale(*({x}, {k}), **{{'c': {k}}})",
            f"{x}[count % len({x})] + {x}",
            f"{x} * sorted(NAMES, key=TABLE.get).index('a')",
            f"{x} - sum({{v: i for i, v in enumerate({who}.items[:2])}}.values())",
        )
        name = self.fresh()
        body = [f"{name} = {expression}"]
        if self.chance(0.25):
            loop = self.pick(
                f"for i, v in enumerate({who}.items[:3]):",
                "for i, v in zip(range(3), TABLE.values()):",
                f"for i, v in enumerate(sorted([G1, rate, {who}.k])):",
            )
            body = [f"{name} = {x}", block(loop, f"{name} = {name} * 0.5 + (i - v)")]
        elif self.chance(0.2) and not self.quiet:
            inner = self.pick("count += 1", f"{who}.n += 2", "pass")
            body = [block(f"with {who} as k:", *body, inner, f"{name} = {name} + k")]
        elif self.chance(0.2) and not self.quiet:
            whole = ("try:", tuple(body)), ("finally:", (self.pick("count += 1", "rate = -rate"),))
            body = [Block(whole)]
        elif self.chance(0.1):
            asked = self.pick("TABLE['c']", "NAMES[3]", "thing.rate.missing", f"1 // ({who}.n - 4)")
            caught = ("except (LookupError, AttributeError, ZeroDivisionError):", ("_ = 0.25",))
            tried = Block((("try:", (f"_ = float({asked})",)), caught))
            body = [tried, *body, f"{name} = {name} * _"]
        if self.run(body) is None and self.good(name):
            return self.added(name, body)
        return None

    def world_condition(self):
        who = self.pick("thing", "mine")
        return self.pick(
            f"{who}.n % {self.pick(2, 3, 5)} == {self.pick(0, 1)}",
            f"count == {self.pick(3, 5, 6, 7, 8)}",
            f"count > {self.pick(4, 6)}",
            f"{who}.n > {self.pick(3, 6, 9)}",
            "G1 > 3",
            "rate < 0.1",
            "NAMES[0] == 'b'",
            "'c' in TABLE",
            f"{who}.t is None",
            f"isinstance({who}, Sub) and G0",
            f"len({who}.items) > {self.pick(3, 5)}",
            f"0 < {who}.k <= rate",
            f"{who}",
        )

    def chosen(self):
        """A branch on Python's state; sometimes an exception at some count."""
        condition = self.world_condition()
        if self.run([f"_ = bool({condition})"]):
            return None
        if self.chance(0.15):
            if self.env["_"]:
                condition = f"not ({condition})"
            return [
                block(f"if {condition}:", f"raise {self.pick('ValueError(count)', 'KeyError')}")
            ]
        if self.chance(0.15) and not self.quiet:
            turn = self.pick("count -= 2", "count = count // 2 - 1")
            # One that would not end is one that was never counted down.
            return [block("while count > 4 and count < 60:", turn, *self.inner(1))]
        pieces = [(f"if {condition}:", self.inner(self.pick(1, 2)))]
        if self.chance(0.5):
            pieces.append(("else:", self.inner(1)))
        return [Block(tuple(pieces))]

    # -- Changes between calls

    def world_changes(self):
        who, k = self.pick("thing", "mine"), self.pick("1", "1.0", "True", "0.75", "-0.0", "3")
        other = self.pick("lambda self, x, by=1.0: x + by", "lambda self, x, by=2: x * by - self.n")
        return [
            *(
                f"G0 = {k}",
                f"G1 = {k}",
                "del G0",
                "globals()['G1'] = 5",
                "exec('G0 = 4', globals())",
            ),
            *(f"thing = {self.pick('Thing', 'Sub')}(3)", "thing = mine", "mine = Sub(2)"),
            *[f"{who}.{self.pick('n', 'k')} = {k}", f"vars({who})['n'] = {k}"] * 2,
            f"object.__setattr__({who}, 'k', {k})",
            f"{who}.__dict__ = dict(vars({who}), k={k})",
            *(f"Thing.rate = {k}", f"Sub.rate = {k}", "del Sub.rate", f"{who}.rate = {k}"),
            *(f"del {who}.rate", f"del {who}.k", f"{who}.t = p0"),
            *[f"{self.pick('Thing', 'Sub')}.scaled = {other}"] * 2,
            *(f"{who}.scaled = lambda x, by=2: x - by", f"del {who}.scaled"),
            f"Thing.twice = {self.pick('property(lambda self: 3)', '7', 'property(scale)')}",
            f"Thing.__len__ = lambda self: {self.pick(0, 2)}",
            "Thing.__call__ = lambda self, z: z - self.k",
            "Thing.__getattr__ = lambda self, name: 0.125",
            "Thing.__enter__ = lambda self: 2",
            "Thing.__getitem__ = lambda self, i: 0.75",
            "Thing.__getattribute__ = lambda self, name: object.__getattribute__(self, name)",
            f"{who}.__class__ = {self.pick('Thing', 'Sub')}",
            "Thing.step = staticmethod(lambda by=2: by)",
            f"LAST.{self.pick('append(0.25)', 'clear()', 'reverse()', 'extend([1, 2])')}",
            "LAST = list(LAST)",
            "part = wrap(lambda z, k=3: z - k)",
            "part = lambda z, k=0.5: z * k",
            "maker = lambda k: fz.tanh",
            f"halved.__code__ = (lambda z, least: z * {k}).__code__",
            *(f"scale.__defaults__ = ({k},)", f"scale.__kwdefaults__ = {{'c': {k}}}"),
            "scale.__code__ = (lambda x, k, *, c: x - k + c).__code__",
            f"scale = lambda x, k=1.0, *, c={k}: x * k - c",
            f"apply.__defaults__ = ({self.pick('fz.tanh', 'scale', 'lambda z: -z')},)",
            "pieces = lambda x, n=2: [x] * n",
            f"{who}.items.append({k})",
            *(f"{who}.items.{m}" for m in ("reverse()", "clear()", "insert(0, 0.5)", "sort()")),
            f"{who}.items = list({who}.items)",
            f"{who}.items[0] = {self.pick(k, '2**62', 'float(2**70)', 'p0')}",
            *(
                f"TABLE['a'] = {k}",
                "TABLE['a'] = TABLE.pop('a')",
                "TABLE.update(c=1)",
                "TABLE.clear()",
            ),
            *(
                "TABLE = dict(TABLE)",
                "NAMES.reverse()",
                "NAMES[0] = 'b'",
                "NAMES = NAMES[1:] + ['c']",
            ),
            f"count = {self.pick('0', '-5', '6', '2**62', '0.5', 'count + 1')}",
            f"rate = {self.pick('1', '0.5', '-0.0', 'float(2**40)', 'fz.asarray(0.5)', 'True')}",
            "globals()['len'] = lambda v: 3",
            "globals().pop('len', None)",
            f"{who}.table = {{'a': {k}}}",
            "helper = lambda z, u: z * 0.5 + u",
        ]
