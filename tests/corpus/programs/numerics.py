"""Numerical methods: roots, linear algebra, clustering, quadrature, iteration."""

import math

from world import World, given, in_turn, numbers, plain, program, trace

import frazil as fz

# -- Newton's square root, until it stands

TOL = 1e-5


@trace
def newton_sqrt(a, start=1.0):
    x = fz.asarray(start)
    count = 0
    while abs(x * x - a) > TOL:
        x = 0.5 * (x + a / x)
        count += 1
        if count > 50:
            raise ArithmeticError(f"no root after {count} steps")
    return x, count


@program
def square_root_by_newton():
    def change(i):
        global TOL
        TOL = {8: 1e-2, 15: -1.0, 22: 0.5}.get(i, 1e-4)

    return World(newton_sqrt, lambda i: given(fz.asarray(2.0 + i % 4)), change)


# -- Newton's method for any function, by its gradient


def cubic(x):
    return x**3 - 2 * x - 5


@trace
def root(f, x, steps=6):
    slope = fz.grad(f)
    for _ in range(steps):
        x = x - f(x) / slope(x)
    return x, f(x)


@program
def root_of_a_function():
    shift = 5

    def moved(x):
        return x**3 - 2 * x - shift

    options = {"f": cubic}

    def change(i):
        nonlocal shift
        shift = i
        options.update(f=moved)

    return World(root, lambda i: given(options["f"], fz.asarray(2.0 + i / 10)), change)


# -- Conjugate gradients


@trace
def conjugate_gradients(matvec, b, tol=1e-4, limit=20):
    x = fz.zeros_like(b)
    r = p = b
    rr = fz.sum(r * r)
    n = 0
    while n < limit and rr.item() > tol**2:
        ap = matvec(p)
        step = rr / fz.sum(p * ap)
        x = x + step * p
        r = r - step * ap
        new = fz.sum(r * r)
        p = r + new / rr * p
        rr = new
        n += 1
    return x, n


@program
def conjugate_gradient_method():
    a = numbers(1, 5, 5)
    a = a @ a.T + 5 * fz.eye(5)
    damping = [0.0]
    change = in_turn(
        lambda: damping.append(1.0),
        lambda: plain(conjugate_gradients).__defaults__ and damping.append(9.0),
        lambda: setattr(plain(conjugate_gradients), "__defaults__", (1e-4, 2)),
    )

    def call(i):
        return given(lambda v: a @ v + damping[-1] * v, numbers(i % 4, 5))

    return World(conjugate_gradients, call, change)


# -- Power iteration


class PowerIteration:
    def __init__(self, matrix, sweeps=10):
        self.matrix, self.sweeps = matrix, sweeps
        self.vector = None
        self.history = []

    def run(self):
        v = self.vector if self.vector is not None else fz.ones(len(self.matrix))
        for _ in range(self.sweeps):
            v = self.matrix @ v
            v = v / fz.sqrt(fz.sum(v * v))
        self.vector = v
        value = fz.sum(v * (self.matrix @ v))
        self.history.append(value)
        return value


@program
def power_iteration():
    a = numbers(3, 4, 4)
    power = PowerIteration(a + a.T, sweeps=3)
    change = in_turn(
        lambda: setattr(power, "matrix", fz.eye(4) * 2),
        lambda: setattr(power, "vector", None),
        lambda: setattr(power, "matrix", a @ a.T),
        lambda: setattr(power, "sweeps", 1),
    )
    return World(trace(power.run), lambda i: given(), change)


# -- k means


@trace
def k_means(points, centres, rounds=3):
    k = centres.shape[0]
    for _ in range(rounds):
        apart = fz.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1)
        nearest = fz.argmin(apart, axis=1)
        member = fz.astype(nearest[:, None] == fz.arange(k), fz.float32)
        size = fz.sum(member, axis=0)
        centres = (member.T @ points) / fz.maximum(size, 1)[:, None]
    return centres, nearest, {f"cluster_{i}": size[i] for i in range(k)}


@program
def clusters():
    held = {"centres": numbers(5, 3, 2), "rounds": 3}

    def call(i):
        return given(numbers(i, 12, 2), held["centres"], rounds=held["rounds"])

    change = in_turn(
        lambda: held.update(rounds=1),
        lambda: held.update(centres=numbers(6, 2, 2)),
        lambda: held.update(rounds=True),
    )
    return World(k_means, call, change, lambda r: held.update(centres=r[0]))


# -- Principal components, one taken away after the other


def leading(c, steps):
    v = fz.ones(c.shape[0]) / math.sqrt(c.shape[0])
    for _ in range(steps):
        v = c @ v
        v = v / (fz.sqrt(fz.sum(v**2)) + 1e-12)
    return v


@trace
def principal_components(x, count=2, steps=8):
    x = x - fz.mean(x, axis=0)
    c = x.T @ x / (len(x) - 1)
    found = []
    while len(found) < count:
        v = leading(c, steps)
        found.append(v)
        c = c - fz.sum(v * (c @ v)) * fz.outer(v, v)
    axes = fz.stack(found)
    return axes, x @ axes.T


@program
def components():
    options = {}

    def unit():
        global leading

        def leading(c, steps):
            return fz.eye(c.shape[0])[0]

    change = in_turn(lambda: options.update(count=1), lambda: options.update(steps=2), unit)
    return World(principal_components, lambda i: given(numbers(i, 9, 3), **options), change)


# -- A curve through points


class Curve:
    def __init__(self, xs, ys):
        self.xs, self.ys = fz.asarray(xs), fz.asarray(ys)
        self.outside = None

    def __call__(self, x):
        i = fz.clip(fz.searchsorted(self.xs, x) - 1, 0, len(self.xs) - 2)
        x0, x1 = fz.take(self.xs, i), fz.take(self.xs, i + 1)
        y0, y1 = fz.take(self.ys, i), fz.take(self.ys, i + 1)
        y = y0 + (x - x0) / (x1 - x0) * (y1 - y0)
        if self.outside is not None:
            y = fz.where((x < self.xs[0]) | (x > self.xs[-1]), self.outside, y)
        return y


@program
def curve_through_points():
    curve = Curve([-1.0, 0.0, 0.5, 1.0], [0.0, 2.0, 1.0, 3.0])
    change = in_turn(
        lambda: setattr(curve, "outside", 0.0),
        lambda: curve.ys.__setitem__(1, 5.0),
        lambda: setattr(curve, "ys", curve.ys * 2),
    )
    return World(trace(curve), lambda i: given(numbers(i, 5)), change)


# -- A Jacobian by differences


STEP = 1e-2


@trace
def jacobian(f, x):
    columns = []
    for i in range(x.shape[0]):
        e = fz.zeros_like(x)
        e[i] = STEP
        columns.append((f(x + e) - f(x - e)) / (2 * STEP))
    return fz.stack(columns, axis=1)


@program
def jacobian_by_differences():
    power = 2

    def f(x):
        return fz.stack([x[0] * x[1], fz.sin(x[0]) + x[1] ** power])

    def change(i):
        nonlocal power
        global STEP
        power, STEP = (3, STEP) if i % 2 else (power, 1 / i)

    return World(jacobian, lambda i: given(f, numbers(i, 2)), change)


# -- Rules of quadrature, by name


def trapezium(y, h):
    return h * (fz.sum(y) - 0.5 * (y[0] + y[-1]))


def simpson(y, h):
    return h / 3 * (y[0] + y[-1] + 4 * fz.sum(y[1:-1:2]) + 2 * fz.sum(y[2:-1:2]))


RULES = {"trapezium": trapezium, "simpson": simpson}


@trace
def integral(f, a, b, n=8, rule="simpson"):
    try:
        how = RULES[rule]
    except KeyError:
        raise ValueError(f"no rule {rule!r}; there are {sorted(RULES)}") from None
    h = (b - a) / n
    return how(f(fz.linspace(a, b, n + 1)), h)


@program
def quadrature():
    def call(i):
        return given(fz.sin, 0.0, 1.0 + i % 3, rule=("simpson", "trapezium", "boole")[i % 7 // 3])

    change = in_turn(
        lambda: RULES.update(simpson=lambda y, h: h * fz.sum(y)),
        lambda: RULES.update(boole=trapezium),
        lambda: RULES.pop("simpson"),
        lambda: RULES.update(simpson=simpson),
    )
    return World(integral, call, change)


# -- Mandelbrot's set


BOUND = 2.0


@trace
def mandelbrot(cx, cy, iterations):
    x, y = fz.zeros_like(cx), fz.zeros_like(cy)
    count = fz.zeros(cx.shape, dtype="int32")
    for _ in range(iterations):
        inside = x * x + y * y <= BOUND**2
        x, y = fz.where(inside, x * x - y * y + cx, x), fz.where(inside, 2 * x * y + cy, y)
        count += inside
    return count


@program
def mandelbrot_set():
    cx, cy = fz.meshgrid(fz.linspace(-2, 1, 6), fz.linspace(-1, 1, 5))
    depth = {"n": 9}

    def change(i):
        global BOUND
        BOUND = 0.5 if i % 2 else 2
        depth["n"] = i

    return World(mandelbrot, lambda i: given(cx, cy, depth["n"]), change)


# -- Bisection over Python numbers


@trace
def bisect(f, low, high, rounds=12):
    left = f(fz.asarray(low))
    for _ in range(rounds):
        middle = (low + high) / 2
        value = f(fz.asarray(middle))
        if bool(value * left > 0):
            low, left = middle, value
        else:
            high = middle
    return low, high


@program
def bisection():
    target = {"value": 0.5}
    change = in_turn(lambda: target.update(value=0.25), lambda: target.update(value=-0.9))
    return World(bisect, lambda i: given(lambda x: fz.tanh(x) - target["value"], -3.0, 4.0), change)


# -- Horner's rule


COEFFICIENTS = [1.0, -0.5, 0.25, 2.0]


@trace
def horner(x):
    y = fz.zeros_like(x)
    for c in reversed(COEFFICIENTS):
        y = y * x + c
    return y


@program
def polynomial_by_horner():
    change = in_turn(
        lambda: COEFFICIENTS.append(1.5),
        lambda: COEFFICIENTS.__setitem__(0, -7),
        lambda: COEFFICIENTS.pop(1),
        lambda: COEFFICIENTS.insert(0, fz.asarray(3.0)),
        COEFFICIENTS.clear,
    )
    return World(horner, lambda i: given(numbers(i, 4)), change)


# -- Vectors made orthogonal


@trace
def gram_schmidt(vectors, normalise=True):
    basis = []
    for v in vectors:
        w = v - sum((fz.sum(v * b) / fz.sum(b * b) * b for b in basis), start=fz.zeros_like(v))
        basis.append(w / fz.sqrt(fz.sum(w * w)) if normalise else w)
    return fz.stack(basis)


@program
def orthogonal_vectors():
    options = {}
    change = in_turn(lambda: options.update(normalise=False), lambda: options.update(normalise=1))
    return World(
        gram_schmidt, lambda i: given([numbers(i + k, 4) for k in range(3)], **options), change
    )


# -- Jacobi's method for linear systems, watched


class Solver:
    def __init__(self, a, relax=1.0):
        self.a, self.relax = a, relax
        self.diagonal = fz.stack([a[i, i] for i in range(a.shape[0])])
        self.residuals = []

    def solve(self, b, sweeps=5):
        x = fz.zeros_like(b)
        for sweep in range(sweeps):
            r = b - self.a @ x
            x = x + self.relax * r / self.diagonal
            if sweep % 2 == 0:
                self.residuals.append(fz.max(fz.abs(r)))
        del self.residuals[:-6]
        return x


@program
def jacobi_method():
    solver = Solver(numbers(1, 4, 4) + 6 * fz.eye(4))
    change = in_turn(
        lambda: setattr(solver, "relax", 0.5),
        solver.residuals.clear,
        lambda: setattr(solver, "diagonal", fz.ones(4) * 9),
    )
    return World(trace(solver.solve), lambda i: given(numbers(i, 4)), change)


# -- LU, written out


@trace
def lu(a, b):
    n = len(b)
    rows = [[a[i, j] for j in range(n)] for i in range(n)]
    y = [b[i] for i in range(n)]
    for k in range(n):
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            for j in range(k, n):
                rows[i][j] = rows[i][j] - factor * rows[k][j]
            y[i] = y[i] - factor * y[k]
    x = [None] * n
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return fz.stack(x)


@program
def linear_system_by_elimination():
    size = [3]

    def call(i):
        n = size[0]
        return given(numbers(i, n, n) + 4 * fz.eye(n), numbers(i, n))

    return World(lu, call, lambda i: size.__setitem__(0, 2 + i % 3))
