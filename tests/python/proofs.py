"""Programs that are run traced and untraced, side by side, while what they read is changed."""

import sys
import types

import frazil as fz


class Program:
    """`source` defines f and perhaps call(), which calls it; names: X, fz, trace, out (a list)."""

    def __init__(self, source, traced=True, **options):
        self.module = types.ModuleType("program")
        sys.modules["program"] = self.module
        self.names = vars(self.module)
        self.names |= {"fz": fz, "X": fz.asarray([1.0, 2.0]), "out": []}
        self.names["trace"] = (lambda f: fz.trace(f, **options)) if traced else (lambda f: f)
        self.run(source)
        self.names.setdefault("call", lambda: self.names["f"](self.names["X"]))

    def run(self, source):
        exec(compile(source, "program.py", "exec"), self.names)

    def calls(self, n):
        """What n calls give: results or exceptions, and what they wrote to `out`."""
        given = []
        for _ in range(n):
            try:
                given.append(plain(self.names["call"]()))
            except Exception as error:
                given.append((type(error), str(error)))
        given.append(list(self.names["out"]))
        return given

    @property
    def f(self):
        return self.names["f"]

    @property
    def skipped(self):
        return self.f.stats()["skipped"]


def plain(tree):
    """With the bits of its tensors."""
    if isinstance(tree, fz.Tensor):
        return (str(tree.dtype), tree.shape, tree.numpy().tobytes())
    if isinstance(tree, (tuple, list)):
        return type(tree).__name__, [plain(t) for t in tree]
    if isinstance(tree, dict):
        return [(k, plain(v)) for k, v in tree.items()]
    return repr(tree)


def both(source, *changes, calls=10, after=6, **options):
    """Runs it both ways, with changes between; what they give is equal. The traced program, and
    how many calls had been skipped before the first change."""
    untraced, traced = Program(source, traced=False), Program(source, **options)
    assert traced.calls(calls) == untraced.calls(calls)
    skipped = traced.skipped
    for change in changes:
        for program in (untraced, traced):
            sys.modules["program"] = program.module
            program.run(change)
        assert traced.calls(after) == untraced.calls(after), change
    return traced, skipped


def cases(text):
    """{name: [program, change ...]} of a text: '## name' begins one, '# then' a change."""
    found = {}
    for part in text.split("\n## ")[1:]:
        name, _, body = part.partition("\n")
        found[name] = body.split("\n# then\n")
    return found
