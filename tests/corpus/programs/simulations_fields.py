"""Fields, automata and filters."""

import enum
import math

from world import World, given, in_turn, numbers, program, trace

import frazil as fz

# -- Heat along a rod, by slices

ALPHA = 0.2


@trace
def heat_rod(u, steps, left=1.0, right=0.0):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + ALPHA * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[0] = left
        u[-1] = right
    return u.mean()


@program
def heat_in_a_rod():
    u, ends = fz.zeros(16), {"left": 1.0}

    def conduct():
        global ALPHA
        ALPHA = 0.4

    change = in_turn(conduct, lambda: ends.update(left=-1), lambda: ends.update(right=2.0))
    return World(heat_rod, lambda i: given(u, 5, **ends), change)


# -- Heat on a plate, by rolling


class Plate:
    def __init__(self, n, alpha=0.1):
        self.u = numbers(1, n, n)
        self.alpha = alpha
        self.edges = ("top",)

    def laplacian(self):
        u = self.u
        return sum(fz.roll(u, s, axis=a) for a in (0, 1) for s in (1, -1)) - 4 * u

    def apply_edges(self):
        for edge in self.edges:
            if edge == "top":
                self.u[0, :] = 1.0
            elif edge == "bottom":
                self.u[-1, :] = 0.0
            else:
                raise ValueError(f"no edge {edge!r}")

    @trace
    def step(self, count=3):
        for _ in range(count):
            self.u = self.u + self.alpha * self.laplacian()
            self.apply_edges()
        return self.u


@program
def heat_on_a_plate():
    plate = Plate(6)
    change = in_turn(
        lambda: setattr(plate, "edges", ("top", "bottom")),
        lambda: setattr(plate, "alpha", 0.2),
        lambda: setattr(plate, "edges", ("left",)),
        lambda: setattr(plate, "edges", ()),
    )
    return World(plate.step, lambda i: given(), change)


# -- A string that swings


class String:
    def __init__(self, n):
        x = fz.linspace(0, math.pi, n)
        self.now, self.before = fz.sin(x), fz.sin(x)
        self.speed = 0.5

    def tick(self):
        inner = self.now[1:-1]
        curve = self.now[2:] - 2 * inner + self.now[:-2]
        new = 2 * inner - self.before[1:-1] + self.speed**2 * curve
        self.before, self.now = self.now, fz.pad(new, 1)


@program
def waves_on_a_string():
    string = String(12)

    @trace
    def play(string, ticks):
        for _ in range(ticks):
            string.tick()
        return fz.sum(string.now**2)

    change = in_turn(
        lambda: setattr(string, "speed", 0.9),
        lambda: setattr(string, "before", string.now),
        lambda: setattr(string, "speed", 0),
    )
    return World(play, lambda i: given(string, 4), change)


# -- Conway's life


BORN, SURVIVES = {3}, {2, 3}


def neighbours(cells):
    shifts = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    return sum(fz.roll(cells, shift, axis=(0, 1)) for shift in shifts)


@trace
def life(cells):
    count = neighbours(cells)
    born = fz.zeros_like(cells, dtype="bool")
    for n in sorted(BORN):
        born = born | (count == n)
    stays = fz.zeros_like(cells, dtype="bool")
    for n in sorted(SURVIVES):
        stays = stays | (count == n)
    return fz.astype(fz.where(cells > 0, stays, born), fz.int32)


@program
def game_of_life():
    held = {"cells": fz.astype(numbers(1, 8, 8) > 0.3, fz.int32)}
    change = in_turn(lambda: BORN.add(6), lambda: SURVIVES.discard(3), lambda: BORN.remove(3))
    return World(life, lambda i: given(held["cells"]), change, lambda r: held.update(cells=r))


# -- An elementary automaton


@trace
def automaton(row, rule, generations):
    bits = [(rule >> k) & 1 for k in range(8)]
    table = fz.asarray(bits)
    rows = [row]
    for _ in range(generations):
        index = 4 * fz.roll(row, 1) + 2 * row + fz.roll(row, -1)
        row = fz.take(table, index)
        rows.append(row)
    return fz.stack(rows)


@program
def elementary_automaton():
    rules = {"rule": 30}
    start = fz.astype(fz.arange(16) == 8, fz.int64)
    return World(
        automaton, lambda i: given(start, rules["rule"], 5), lambda i: rules.update(rule=100 + i)
    )


# -- Ising's magnet, the two colours in turn


class Ising:
    def __init__(self, n, temperature):
        self.spins = fz.where(numbers(1, n, n) > 0, 1.0, -1.0)
        ij = fz.arange(n)[:, None] + fz.arange(n)[None, :]
        self.masks = [ij % 2 == colour for colour in (0, 1)]
        self.temperature = temperature
        self.sweeps = 0

    def sweep(self):
        for mask in self.masks:
            around = sum(fz.roll(self.spins, s, a) for s in (-1, 1) for a in (0, 1))
            cost = 2 * self.spins * around
            flip = fz.random.uniform(self.spins.shape) < fz.exp(-cost / self.temperature)
            self.spins = fz.where(flip & mask, -self.spins, self.spins)
        self.sweeps += 1
        return fz.mean(self.spins)


@program
def ising_magnet():
    magnet = Ising(6, 2.0)
    change = in_turn(
        lambda: setattr(magnet, "temperature", 0.5),
        lambda: fz.random.seed(8),
        lambda: setattr(magnet, "temperature", 100),
        lambda: magnet.masks.pop(),
    )
    return World(trace(magnet.sweep), lambda i: given(), change)


# -- Gray and Scott's patterns


FEED, KILL = 0.055, 0.062


def spread(a):
    return fz.roll(a, 1, 0) + fz.roll(a, -1, 0) + fz.roll(a, 1, 1) + fz.roll(a, -1, 1) - 4 * a


@trace
def gray_scott(u, v, du=0.16, dv=0.08):
    for _ in range(4):
        reaction = u * v * v
        u = u + du * spread(u) - reaction + FEED * (1 - u)
        v = v + dv * spread(v) + reaction - (FEED + KILL) * v
    return u, v


@program
def reaction_and_diffusion():
    held = [fz.ones((6, 6)), fz.abs(numbers(1, 6, 6)) * 0.2]

    def after(result):
        held[:] = result

    def change(i):
        global FEED, KILL
        FEED, KILL = (FEED * 0.5, KILL) if i % 2 else (FEED, 0.05)

    return World(gray_scott, lambda i: given(*held), change, after)


# -- Advection with a choice of scheme


class Scheme(enum.Enum):
    UPWIND = "upwind"
    LAX = "lax"


scheme = Scheme.UPWIND


@trace
def advect(u, velocity, ratio=0.4):
    c = velocity * ratio
    if scheme is Scheme.UPWIND:
        return u - c * (u - fz.roll(u, 1 if velocity > 0 else -1)) * (1 if velocity > 0 else -1)
    forward, backward = fz.roll(u, -1), fz.roll(u, 1)
    return 0.5 * (forward + backward) - 0.5 * c * (forward - backward)


@program
def advection():
    held = {"u": fz.exp(-((fz.arange(12) - 6.0) ** 2))}

    def change(i):
        global scheme
        scheme = Scheme.LAX if i % 2 else Scheme("upwind")

    def call(i):
        return given(held["u"], -1.0 if i % 6 == 5 else 1.0)

    return World(advect, call, change, lambda r: held.update(u=r))


# -- Kalman's filter as a class


class Kalman:
    def __init__(self, dt=0.1):
        self.f = fz.asarray([[1.0, dt], [0.0, 1.0]])
        self.h = fz.asarray([[1.0, 0.0]])
        self.q = 0.01 * fz.eye(2)
        self.r = 0.5
        self.x, self.p = fz.zeros((2, 1)), fz.eye(2)

    def predict(self):
        self.x = self.f @ self.x
        self.p = self.f @ self.p @ self.f.T + self.q

    def update(self, z):
        innovation = z - self.h @ self.x
        gain = self.p @ self.h.T / (self.h @ self.p @ self.h.T + self.r)
        self.x = self.x + gain @ innovation
        self.p = (fz.eye(2) - gain @ self.h) @ self.p

    def __call__(self, measured):
        estimates = []
        for z in measured:
            self.predict()
            self.update(z.reshape((1, 1)))
            estimates.append(self.x[0, 0])
        return fz.stack(estimates)


@program
def kalman_filter():
    kalman = Kalman()
    change = in_turn(
        lambda: setattr(kalman, "r", 5.0),
        lambda: setattr(kalman, "q", fz.zeros((2, 2))),
        lambda: setattr(Kalman, "predict", lambda self: None),
    )
    return World(trace(kalman), lambda i: given(numbers(i, 5)), change)


# -- An alpha-beta filter over scalars


@trace
def track(state, measured, dt=1.0, alpha=0.85, beta=0.005):
    position, speed = state
    for z in measured:
        predicted = position + speed * dt
        residual = z - predicted
        position = predicted + alpha * residual
        speed = speed + beta / dt * residual
    return position, speed


@program
def alpha_beta_filter():
    held = {"state": (fz.asarray(0.0), 0.0), "gains": {}}
    change = in_turn(
        lambda: held["gains"].update(alpha=0.5),
        lambda: held["gains"].update(beta=0.1),
        lambda: held.update(state=(0.0, fz.asarray(1.0))),
    )

    def call(i):
        return given(held["state"], [float(i), i + 0.5, numbers(i)], **held["gains"])

    return World(track, call, change, lambda r: held.update(state=r))


# -- A forest that burns


EMPTY, TREE, FIRE = range(3)


class Forest:
    def __init__(self, n, growth=0.05, lightning=0.01):
        self.cells = fz.full((n, n), TREE)
        self.chances = {"growth": growth, "lightning": lightning}
        self.years = []

    def year(self):
        burning = self.cells == FIRE
        near = burning
        for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):
            near = near | fz.roll(burning, shift, axis)
        draw = fz.random.uniform(self.cells.shape)
        catches = (self.cells == TREE) & (near | (draw < self.chances["lightning"]))
        grows = (self.cells == EMPTY) & (draw < self.chances["growth"])
        self.cells = fz.where(
            burning, EMPTY, fz.where(catches, FIRE, fz.where(grows, TREE, self.cells))
        )
        self.years.append(fz.sum(self.cells == TREE))
        return self.cells


@program
def forest_fire():
    forest = Forest(6)
    change = in_turn(
        lambda: forest.chances.update(lightning=0.5),
        lambda: forest.chances.update(growth=1),
        forest.years.clear,
    )
    return World(trace(forest.year), lambda i: given(), change)
