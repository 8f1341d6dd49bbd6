"""Differential equations: explicit schemes, planets, pendulums, populations."""

import dataclasses
import functools
from collections import namedtuple

from world import World, given, in_turn, numbers, program, trace

import frazil as fz

# -- Lorenz by Euler, three scalars

SIGMA, RHO, BETA = 10.0, 28.0, 8 / 3


@trace
def lorenz_euler(x, y, z, dt=0.01, steps=25):
    for _ in range(steps):
        dx = SIGMA * (y - x)
        dy = x * (RHO - z) - y
        dz = x * y - BETA * z
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
    return x, y, z


@program
def lorenz_of_three_scalars():
    point = [fz.asarray(1.0), fz.asarray(1.0), fz.asarray(1.0)]

    def after(result):
        point[:] = result

    def change(i):
        globals()[("SIGMA", "RHO", "BETA")[i % 3]] *= 1.1

    return World(lorenz_euler, lambda i: given(*point), change, after)


# -- Lorenz by Runge and Kutta, the state a vector


def slope(s):
    return fz.stack([SIGMA * (s[1] - s[0]), s[0] * (RHO - s[2]) - s[1], s[0] * s[1] - BETA * s[2]])


def rk4(f, s, h):
    k1 = f(s)
    k2 = f(s + h / 2 * k1)
    k3 = f(s + h / 2 * k2)
    k4 = f(s + h * k3)
    return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@trace
def lorenz_rk4(s, h, steps):
    path = []
    for _ in range(steps):
        s = rk4(slope, s, h)
        path.append(s)
    return s, fz.stack(path)


@program
def lorenz_as_a_vector():
    held = {"s": fz.asarray([1.0, 1.0, 1.0])}

    def calmer():
        global slope

        def slope(s):
            return fz.stack([s[1], -s[0], -s[2]])

    def euler():
        global rk4

        def rk4(f, s, h):
            return s + h * f(s)

    return World(
        lorenz_rk4,
        lambda i: given(held["s"], 0.01, 12),
        in_turn(calmer, euler),
        lambda r: held.update(s=r[0]),
    )


# -- Any right-hand side, by a partial


def decay(t, y, rate, source=0.0):
    return -rate * y + source * fz.cos(t)


@trace
def integrate(f, y, t0, t1, n):
    h = (t1 - t0) / n
    for i in range(n):
        t = fz.asarray(t0 + i * h)
        y = y + h * f(t + h / 2, y + h / 2 * f(t, y))
    return y


@program
def midpoint_rule_of_a_partial():
    f = functools.partial(decay, rate=1.5)
    change = in_turn(
        lambda: f.keywords.update(rate=0.5),
        lambda: f.keywords.update(source=2.0),
        lambda: setattr(decay, "__defaults__", (7.0,)) or f.keywords.pop("source"),
    )
    return World(integrate, lambda i: given(f, numbers(i, 3), 0.0, 1.0, 10), change)


# -- A dict of state, integrated by name


def derivatives(state, mass=1.0, stiffness=4.0, damping=0.1):
    force = -stiffness * state["x"] - damping * state["v"]
    return {"x": state["v"], "v": force / mass}


@trace
def spring(state, dt, steps, **constants):
    for _ in range(steps):
        d = derivatives(state, **constants)
        half = {k: state[k] + dt / 2 * d[k] for k in state}
        d = derivatives(half, **constants)
        state = {k: v + dt * d[k] for k, v in state.items()}
    energy = 0.5 * state["v"] ** 2 + 2.0 * state["x"] ** 2
    return state, energy


@program
def spring_as_a_dict():
    held, constants = {"x": fz.ones(2), "v": fz.zeros(2)}, {}
    change = in_turn(
        lambda: constants.update(damping=1.0), lambda: constants.update(mass=2), constants.clear
    )
    return World(
        spring, lambda i: given(held, 0.05, 8, **constants), change, lambda r: held.update(r[0])
    )


# -- A class with attributes


class Oscillator:
    """Van der Pol's."""

    def __init__(self, mu, dt=0.02):
        self.mu, self.dt = mu, dt
        self.x, self.v = fz.asarray(1.0), fz.asarray(0.0)
        self.time = 0.0

    def acceleration(self):
        return self.mu * (1 - self.x**2) * self.v - self.x

    @trace
    def advance(self, steps=10):
        for _ in range(steps):
            self.v = self.v + self.dt * self.acceleration()
            self.x = self.x + self.dt * self.v
            self.time += self.dt
        return self.x, self.time


@program
def van_der_pol_as_a_class():
    body = Oscillator(1.5)
    change = in_turn(
        lambda: setattr(body, "mu", 3.0),
        lambda: setattr(body, "dt", 0.01),
        lambda: setattr(Oscillator, "acceleration", lambda self: -self.x),
        lambda: setattr(body, "time", 0),
    )
    return World(body.advance, lambda i: given(), change)


# -- Verlet's positions


@dataclasses.dataclass
class Pendulum:
    angle: object
    before: object
    length: float = 1.0
    swings: int = 0


@trace
def verlet(p, g=9.81, dt=0.01):
    for _ in range(10):
        following = 2 * p.angle - p.before - (g / p.length) * fz.sin(p.angle) * dt**2
        p.before, p.angle = p.angle, following
        p.swings += 1
    return p.angle


@program
def pendulum_by_verlet():
    p = Pendulum(fz.asarray([0.5, 0.2]), fz.asarray([0.5, 0.2]))
    change = in_turn(
        lambda: setattr(p, "length", 2.0),
        lambda: setattr(p, "before", p.angle),
        lambda: setattr(p, "length", 1),
    )
    return World(verlet, lambda i: given(p), change)


# -- Steps that adapt to their error


TOLERANCE = 1e-3


def heun(f, y, h):
    k1 = f(y)
    k2 = f(y + h * k1)
    return y + h / 2 * (k1 + k2), h / 2 * fz.max(fz.abs(k2 - k1))


@trace
def adaptive(y, until, h=0.3):
    t, taken, refused = 0.0, 0, 0
    while t < until:
        h = min(h, until - t)
        new, err = heun(lambda s: fz.stack([s[1], -4 * s[0]]), y, h)
        if err > TOLERANCE:
            h *= 0.5
            refused += 1
            continue
        t += h
        y = new
        taken += 1
        h *= 1.2
    return y, taken, refused


@program
def adaptive_heun():
    def change(i):
        global TOLERANCE
        TOLERANCE = 1 / i**2

    return World(adaptive, lambda i: given(numbers(i % 4, 2), 0.5), change)


# -- Predators and prey


@dataclasses.dataclass(frozen=True)
class Rates:
    birth: float = 1.1
    eaten: float = 0.4
    growth: float = 0.1
    death: float = 0.4


rates = Rates()


@trace
def lotka_volterra(prey, predators, dt=0.02):
    history = [prey]
    for _ in range(15):
        born, lost = rates.birth * prey, rates.eaten * prey * predators
        prey, predators = (
            prey + dt * (born - lost),
            predators + dt * (rates.growth * prey * predators - rates.death * predators),
        )
        history.append(prey)
    return prey, predators, fz.stack(history)


@program
def predators_and_prey():
    held = [fz.asarray(10.0), fz.asarray(5.0)]

    def after(result):
        held[:] = result[:2]

    def change(i):
        global rates
        rates = dataclasses.replace(rates, death=1 / i) if i % 2 else Rates(birth=2)

    return World(lotka_volterra, lambda i: given(*held), change, after)


# -- An epidemic in compartments


Compartments = namedtuple("Compartments", ["s", "i", "r"])
CONTACT = {"open": 0.3, "closed": 0.05}


@trace
def epidemic(c, days, policy="open", recovery=0.1):
    peak = c.i
    for day in range(days):
        contact = CONTACT[policy if day < 5 else "closed"]
        infections = contact * c.s * c.i
        recoveries = recovery * c.i
        c = c._replace(s=c.s - infections, i=c.i + infections - recoveries, r=c.r + recoveries)
        peak = fz.maximum(peak, c.i)
    return c, peak


@program
def epidemic_in_compartments():
    start = Compartments(fz.asarray(0.99), fz.asarray(0.01), fz.asarray(0.0))
    change = in_turn(
        lambda: CONTACT.update(open=0.9),
        lambda: CONTACT.update(closed=0),
        lambda: CONTACT.pop("closed"),
    )

    def call(i):
        return given(start, 9, policy="closed" if i % 5 == 4 else "open")

    return World(epidemic, call, change)


# -- Bodies that attract each other, all pairs at once


SOFTENING = 0.05


def accelerations(position, mass):
    apart = position[None, :, :] - position[:, None, :]
    squared = fz.sum(apart**2, axis=-1) + SOFTENING**2
    return fz.sum(apart * (mass / squared**1.5)[:, :, None], axis=1)


@trace
def n_body(position, velocity, mass, dt=0.01, steps=6):
    a = accelerations(position, mass)
    for _ in range(steps):
        velocity = velocity + dt / 2 * a
        position = position + dt * velocity
        a = accelerations(position, mass)
        velocity = velocity + dt / 2 * a
    kinetic = 0.5 * fz.sum(mass[:, None] * velocity**2)
    return position, velocity, kinetic


@program
def bodies_all_pairs():
    held = [numbers(1, 5, 2), numbers(2, 5, 2) * 0.1]

    def after(result):
        held[:] = result[:2]

    def change(i):
        global SOFTENING
        SOFTENING = 2 / i

    return World(n_body, lambda i: given(*held, fz.ones(5)), change, after)


# -- Planets as objects in a list


class Planet:
    def __init__(self, mass, position, velocity):
        self.mass, self.position, self.velocity = mass, position, velocity

    def pull(self, other):
        d = other.position - self.position
        return other.mass * d / (fz.sum(d * d) + 0.01) ** 1.5

    def move(self, force, dt):
        self.velocity = self.velocity + dt * force
        self.position = self.position + dt * self.velocity


class System:
    def __init__(self, planets):
        self.planets = list(planets)
        self.age = 0

    def step(self, dt):
        forces = [sum(p.pull(q) for q in self.planets if q is not p) for p in self.planets]
        for p, f in zip(self.planets, forces, strict=True):
            p.move(f, dt)
        self.age += 1
        return [p.position for p in self.planets]


@program
def planets_as_objects():
    system = System(Planet(1.0 + k, numbers(k, 2), numbers(k + 9, 2) * 0.1) for k in range(3))
    change = in_turn(
        lambda: setattr(system.planets[0], "mass", 9.0),
        lambda: system.planets.pop(),
        lambda: system.planets.append(Planet(0.1, fz.zeros(2), fz.ones(2))),
        lambda: setattr(Planet, "move", lambda self, force, dt: None),
    )
    return World(trace(system.step), lambda i: given(0.05), change)
