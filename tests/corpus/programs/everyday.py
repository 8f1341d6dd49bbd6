"""Python as it is written around tensors every day."""

import contextlib
import enum
import functools
import itertools
import math
from dataclasses import dataclass, field

from world import World, given, in_turn, numbers, plain, program, trace

import frazil as fz

# -- A scope that restores what it changed


class Scope:
    depth = 0

    def __init__(self, name, log):
        self.name, self.log = name, log

    def __enter__(self):
        Scope.depth += 1
        self.log.append(f"enter {self.name} at {Scope.depth}")
        return Scope.depth

    def __exit__(self, kind, value, traceback):
        Scope.depth -= 1
        self.log.append(f"leave {self.name}")
        return kind is ZeroDivisionError


@trace
def scoped(x, log, divisor):
    with Scope("outer", log) as depth:
        x = x * depth
        with Scope("inner", log) as deeper:
            x = x + deeper
            x = x * (1 / divisor)
    return x


@program
def scopes_that_count():
    log, held = [], {"divisor": 2}
    change = in_turn(
        lambda: held.update(divisor=0),
        lambda: setattr(Scope, "depth", 5),
        lambda: held.update(divisor=4.0),
        log.clear,
    )
    return World(scoped, lambda i: given(numbers(i, 3), log, held["divisor"]), change)


# -- try, except, else, finally


attempts = {"tried": 0, "failed": 0, "done": 0}


@trace
def guarded(x, index):
    attempts["tried"] += 1
    try:
        row = x[index]
        y = row / attempts["limits"] if "limits" in attempts else row * 2
    except IndexError as e:
        attempts["failed"] += 1
        y = fz.zeros(x.shape[1:]) + len(e.args)
    else:
        y = y + 1
    finally:
        attempts["done"] += 1
    return y


@program
def errors_that_are_caught():
    change = in_turn(
        lambda: attempts.update(limits=4.0),
        lambda: attempts.pop("limits"),
        lambda: attempts.update(tried=0),
        lambda: attempts.update(limits=None),
    )
    return World(guarded, lambda i: given(numbers(i, 3, 2), 7 if i % 6 == 5 else 1), change)


# -- A report by f-strings


@trace
def report(x, names, digits=2):
    stats = {}
    for i, name in enumerate(names):
        column = x[:, i]
        stats[f"{name}_mean"] = column.mean()
        stats[f"{name}_max"] = column.max()
    stats["title"] = f"{len(names)} columns of {x.shape[0]}: {', '.join(names)} ({digits:02d})"
    return stats


@program
def report_with_names():
    names, options = ["a", "b"], {}
    change = in_turn(
        lambda: names.append("c"), lambda: options.update(digits=3), lambda: names.reverse()
    )
    return World(report, lambda i: given(numbers(i, 4, 3), names, **options), change)


# -- Functions as arguments, and partials of them


def applied(f, *xs, times=1, **options):
    for _ in range(times):
        xs = [f(x, **options) for x in xs]
    return xs


def scaled(x, by=1.0, offset=0.0):
    return x * by + offset


@trace
def through(x, y, f, times):
    double = functools.partial(scaled, by=2.0)
    left, right = applied(f, x, y, times=times)
    return applied(double, left, offset=0.5)[0], applied(lambda v: v**2, right)[0]


@program
def functions_as_arguments():
    held = {"f": scaled, "times": 2}
    change = in_turn(
        lambda: held.update(f=functools.partial(scaled, offset=1.0)),
        lambda: setattr(scaled, "__defaults__", (3.0, 0.0)),
        lambda: held.update(f=lambda x: -x, times=3),
        lambda: held.update(f=fz.tanh),
    )
    return World(
        through, lambda i: given(numbers(i, 2), numbers(i + 1, 2), held["f"], held["times"]), change
    )


# -- Sums over generators


BASIS = {"sin": fz.sin, "cos": fz.cos}


@trace
def series(x, coefficients):
    total = sum(c * BASIS[kind](k * x) for k, (kind, c) in enumerate(coefficients, start=1))
    largest = max((abs(c) for _, c in coefficients), default=0)
    return total / largest if any(c for _, c in coefficients) else total


@program
def sum_of_a_generator():
    coefficients = [("sin", 1.0), ("cos", 0.5), ("sin", -2.0)]
    change = in_turn(
        lambda: coefficients.append(("cos", 4)),
        lambda: BASIS.update(cos=fz.tanh),
        lambda: coefficients.clear() or coefficients.append(("sin", 0.0)),
        lambda: coefficients.insert(0, ("tan", 1)),
    )
    return World(series, lambda i: given(numbers(i, 3), coefficients), change)


# -- Positional, keyword, starred


@trace
def flexible(*args, scale=1.0, **named):
    first, *rest = args
    total = first * scale
    for i, x in enumerate(rest):
        total = total + (i + 1) * x
    for name in sorted(named):
        total = total - named[name] * len(name)
    return total, len(args), tuple(named)


@program
def starred_arguments():
    extra, named = [], {}
    change = in_turn(
        lambda: extra.append(fz.ones(2)),
        lambda: named.update(bias=0.5),
        lambda: named.update(a=2),
        lambda: named.update(scale=3.0),
    )
    return World(flexible, lambda i: given(numbers(i, 2), *extra, **named), change)


# -- Properties, static and class methods, slots


class Tracker:
    __slots__ = ("value", "_rate", "count")
    instances = 0

    def __init__(self, rate):
        self.value, self._rate, self.count = None, rate, 0
        Tracker.instances += 1

    @property
    def rate(self):
        return self._rate / (1 + self.count // 5)

    @rate.setter
    def rate(self, new):
        if not 0 < new <= 1:
            raise ValueError(f"rate must be in (0, 1], got {new}")
        self._rate = new

    @staticmethod
    def mix(a, b, share):
        return a + share * (b - a)

    @classmethod
    def named(cls, name):
        return f"{cls.__name__}.{name} of {cls.instances}"

    def update(self, x):
        self.value = x if self.value is None else self.mix(self.value, x, self.rate)
        self.count += 1
        return self.value, self.named("value")


@program
def tracker_with_slots():
    tracker = Tracker(0.5)
    change = in_turn(
        lambda: setattr(tracker, "rate", 0.1),
        lambda: Tracker(1),
        lambda: setattr(Tracker, "mix", staticmethod(lambda a, b, share: b)),
        lambda: setattr(tracker, "count", 0),
    )
    return World(trace(tracker.update), lambda i: given(numbers(i, 2)), change)


# -- Recursion over a tree of lists


def depth_of(tree):
    return 1 + max(map(depth_of, tree), default=0) if isinstance(tree, list) else 0


def total_of(tree, weight=1.0):
    if isinstance(tree, list):
        return sum(total_of(t, weight / 2) for t in tree)
    return weight * tree


@trace
def tree_total(tree):
    return total_of(tree), depth_of(tree)


@program
def tree_of_lists():
    branch = [1.0, [2.0]]

    def call(i):
        return given([numbers(i, 2), branch, [numbers(i + 1, 2)]])

    change = in_turn(
        lambda: branch.append(3),
        lambda: branch[1].append([4.0]),
        lambda: setattr(total_of, "__defaults__", (8.0,)),
        branch.clear,
    )
    return World(tree_total, call, change)


# -- A decorator of the user's


def counted(f):
    @functools.wraps(f)
    def inner(*args, **keywords):
        inner.calls += 1
        return f(*args, **keywords)

    inner.calls = 0
    return inner


@counted
def energy(x):
    return 0.5 * fz.sum(x * x)


@trace
def total_energy(x, steps):
    parts = [energy(x * k) for k in range(steps)]
    return fz.stack(parts), energy.calls


@program
def counting_decorator():
    change = in_turn(
        lambda: setattr(energy, "calls", 100),
        lambda: setattr(energy.__wrapped__, "__code__", (lambda x: fz.sum(fz.abs(x))).__code__),
        lambda: globals().update(energy=counted(lambda x: fz.max(x))),
    )
    return World(total_energy, lambda i: given(numbers(i, 3), 3), change)


# -- An enum chooses


class Norm(enum.Enum):
    L1 = 1
    L2 = 2
    MAX = math.inf


@dataclass
class Regulariser:
    norm: Norm = Norm.L2
    strength: float = 0.1
    seen: list = field(default_factory=list)

    def __call__(self, x):
        match self.norm:
            case Norm.L1:
                value = fz.sum(fz.abs(x))
            case Norm.L2:
                value = fz.sqrt(fz.sum(x * x))
            case Norm(value=order):
                value = fz.max(fz.abs(x)) if order == math.inf else None
        self.seen.append(self.norm.name)
        return self.strength * value


@program
def norm_by_enum():
    penalty = Regulariser()
    change = in_turn(
        lambda: setattr(penalty, "norm", Norm.L1),
        lambda: setattr(penalty, "norm", Norm(math.inf)),
        penalty.seen.clear,
        lambda: setattr(penalty, "strength", 1),
    )
    return World(trace(penalty), lambda i: given(numbers(i, 4)), change)


# -- Logging now and then


class Logger:
    def __init__(self, every):
        self.every, self.calls, self.total = every, 0, fz.zeros(())

    def log(self, x):
        self.calls += 1
        self.total = self.total + fz.sum(x)
        if self.calls % self.every == 0:
            print(f"call {self.calls}: total {self.total.item():.3f}")
        return self.total / self.calls


@program
def printing_now_and_then():
    logger = Logger(6)
    change = in_turn(lambda: setattr(logger, "every", 2), lambda: setattr(logger, "calls", 1))
    return World(trace(logger.log), lambda i: given(numbers(i, 2)), change)


# -- Layers by name, from a registry


REGISTRY = {}


def register(name):
    def add(f):
        REGISTRY[name] = f
        return f

    return add


@register("scale")
def _scale(x, by=2.0):
    return x * by


@register("shift")
def _shift(x, by=1.0):
    return x + by


@trace
def run_spec(x, spec):
    for item in spec:
        name, options = (item, {}) if isinstance(item, str) else item
        x = REGISTRY[name](x, **options)
    return x


@program
def registry_of_layers():
    spec = ["scale", ("shift", {"by": 0.5})]
    change = in_turn(
        lambda: spec[1][1].update(by=3),
        lambda: register("scale")(lambda x: -x),
        lambda: spec.append("shift"),
        lambda: REGISTRY.pop("shift"),
    )
    return World(run_spec, lambda i: given(numbers(i, 2), spec), change)


# -- Sets, walrus, chained comparisons, conditional expressions


ACTIVE = {"a", "c"}
LIMITS = (0.5, 2.0)


@trace
def selected(parts, weights):
    used = [name for name in sorted(parts) if name in ACTIVE]
    total = fz.zeros(2)
    for name in used:
        if (w := weights.get(name, 1.0)) and LIMITS[0] <= w < LIMITS[1]:
            total = total + w * parts[name]
    return total if used else None, [*used, not used]


@program
def parts_selected_by_sets():
    weights = {"a": 1.5}

    def call(i):
        return given({name: numbers(i + k, 2) for k, name in enumerate("cab")}, weights)

    change = in_turn(
        lambda: ACTIVE.add("b"),
        lambda: weights.update(a=2),
        lambda: globals().update(LIMITS=(0, 9)),
        ACTIVE.clear,
    )
    return World(selected, call, change)


# -- An object used as a number, a sequence and a function


class Poly:
    def __init__(self, *coefficients):
        self.coefficients = coefficients

    def __len__(self):
        return len(self.coefficients)

    def __iter__(self):
        return iter(self.coefficients)

    def __getitem__(self, i):
        return self.coefficients[i]

    def __add__(self, other):
        pairs = itertools.zip_longest(self, other, fillvalue=0)
        return Poly(*(a + b for a, b in pairs))

    def __call__(self, x):
        return sum(c * x**k for k, c in enumerate(self))

    def __bool__(self):
        return any(self.coefficients)


@trace
def polynomials(p, q, x):
    r = p + q
    return r(x) if r else x, len(r), r[0]


@program
def objects_as_polynomials():
    p, q = Poly(1.0, 2.0), Poly(0.5, 0.0, 3.0)
    change = in_turn(
        lambda: setattr(p, "coefficients", (1.0, -2.0, 4)),
        lambda: setattr(Poly, "__getitem__", lambda self, i: 7),
        lambda: setattr(q, "coefficients", (-1.0, 2.0, -4)),
        lambda: setattr(Poly, "__len__", lambda self: 1),
    )
    return World(polynomials, lambda i: given(p, q, numbers(i, 2)), change)


# -- Settings pushed on a stack by a context manager


stack = [{"scale": 1.0}]


@contextlib.contextmanager
def override(**settings):
    stack.append(stack[-1] | settings)
    try:
        yield stack[-1]
    finally:
        stack.pop()


@trace
def with_settings(x):
    y = x * stack[-1]["scale"]
    with override(scale=2.0) as now:
        y = y + x * now["scale"]
        with override(shift=1.0):
            y = y + stack[-1].get("shift", 0) * len(stack)
    return y, len(stack)


@program
def settings_on_a_stack():
    change = in_turn(
        lambda: stack[0].update(scale=5.0),
        lambda: stack.append({"scale": 3}),
        lambda: stack[0].update(shift=9),
    )
    return World(with_settings, lambda i: given(numbers(i, 2)), change)


# -- A traced function that calls another, and a default that is a list


@trace
def inner_step(x, seen=[]):  # noqa: B006
    seen.append(len(seen))
    return fz.tanh(x) * len(seen)


@trace
def outer_step(x, times=2):
    for _ in range(times):
        x = inner_step(x) + 1
    return x


@program
def traced_inside_traced():
    def seen():
        return plain(inner_step).__defaults__[0]

    change = in_turn(
        lambda: seen().clear(),
        lambda: setattr(plain(inner_step), "__defaults__", ([0, 1],)),
        lambda: setattr(plain(outer_step), "__defaults__", (3,)),
        lambda: seen().pop(),
    )
    return World(outer_step, lambda i: given(numbers(i, 2)), change)
