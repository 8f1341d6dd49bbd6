"""Random walks, Markov chains and diffusion."""

import math

from world import World, given, in_turn, numbers, program, trace

import frazil as fz

# -- A walk, one step a call


class Walker:
    def __init__(self, step=1.0):
        self.position = fz.zeros(2)
        self.step = step
        self.taken = 0

    def walk(self):
        self.position = self.position + self.step * fz.random.normal((2,))
        self.taken += 1
        return self.position, self.taken


@program
def walker():
    w = Walker()
    change = in_turn(
        lambda: setattr(w, "step", 0.1),
        lambda: setattr(w, "taken", -1),
        lambda: fz.random.seed(5),
        lambda: setattr(w, "position", fz.ones(2)),
    )
    return World(trace(w.walk), lambda i: given(), change)


# -- Many walks, all steps kept


DRIFT = 0.0


@trace
def walks(count, steps):
    position = fz.zeros(count)
    path = [position]
    for _ in range(steps):
        position = position + DRIFT + fz.where(fz.random.uniform((count,)) < 0.5, -1.0, 1.0)
        path.append(position)
    path = fz.stack(path, axis=1)
    return path, fz.max(path, axis=1)


@program
def many_walks():
    def change(i):
        global DRIFT
        DRIFT = 1 / i

    return World(walks, lambda i: given(4, 8), change)


# -- Metropolis with a branch


def log_density(x):
    return -0.5 * fz.sum(x**2)


@trace
def metropolis(x, width=0.5, steps=6):
    accepted = 0
    for _ in range(steps):
        proposal = x + width * fz.random.normal(x.shape)
        ratio = log_density(proposal) - log_density(x)
        if fz.log(fz.random.uniform(())) < ratio:
            x = proposal
            accepted += 1
    return x, accepted


@program
def metropolis_with_a_branch():
    held, options = {"x": fz.zeros(2)}, {}

    def other():
        global log_density

        def log_density(x):
            return -fz.sum(fz.abs(x - 3))

    change = in_turn(other, lambda: options.update(width=2.0), lambda: options.update(steps=2))
    return World(
        metropolis, lambda i: given(held["x"], **options), change, lambda r: held.update(x=r[0])
    )


# -- Metropolis of many chains


class Chains:
    def __init__(self, count, log_prob, width=0.3):
        self.x = fz.zeros(count)
        self.log_prob, self.width = log_prob, width
        self.rate = fz.zeros(())
        self.steps = 0

    def step(self):
        new = self.x + self.width * fz.random.normal(self.x.shape)
        accept = fz.log(fz.random.uniform(self.x.shape)) < self.log_prob(new) - self.log_prob(
            self.x
        )
        self.x = fz.where(accept, new, self.x)
        self.steps += 1
        self.rate += (fz.mean(fz.astype(accept, fz.float32)) - self.rate) / self.steps
        return self.rate


@program
def metropolis_of_many_chains():
    scale = 1.0
    chains = Chains(8, lambda x: -((x / scale) ** 4))

    def wider():
        nonlocal scale
        scale = 3.0

    change = in_turn(
        wider,
        lambda: setattr(chains, "log_prob", lambda x: -fz.abs(x)),
        lambda: setattr(chains, "steps", 0),
        lambda: setattr(chains, "width", 5),
    )
    return World(trace(chains.step), lambda i: given(), change)


# -- Langevin's dynamics, by the gradient


def potential(x, depth):
    return depth * fz.sum((x**2 - 1) ** 2)


@trace
def langevin(x, depth, temperature, dt=0.01):
    force = fz.grad(potential)
    for _ in range(5):
        noise = math.sqrt(2 * temperature * dt) * fz.random.normal(x.shape)
        x = x - dt * force(x, depth) + noise
    return x


@program
def langevin_dynamics():
    held = {"x": fz.ones(3), "depth": 1.0, "temperature": 0.1}

    def call(i):
        return given(held["x"], held["depth"], temperature=held["temperature"])

    change = in_turn(lambda: held.update(temperature=2), lambda: held.update(depth=0.0))
    return World(langevin, call, change, lambda r: held.update(x=r))


# -- Hamiltonian Monte Carlo


class Hamiltonian:
    def __init__(self, energy, step=0.1, leaps=4):
        self.energy, self.step, self.leaps = energy, step, leaps
        self.force = fz.grad(energy)

    def leapfrog(self, q, p):
        p = p - self.step / 2 * self.force(q)
        for i in range(self.leaps):
            q = q + self.step * p
            p = p - (self.step if i < self.leaps - 1 else self.step / 2) * self.force(q)
        return q, -p

    @trace
    def sample(self, q):
        p = fz.random.normal(q.shape)
        new_q, new_p = self.leapfrog(q, p)
        before = self.energy(q) + 0.5 * fz.sum(p**2)
        after = self.energy(new_q) + 0.5 * fz.sum(new_p**2)
        accept = fz.random.uniform(()) < fz.exp(before - after)
        return fz.where(accept, new_q, q), accept


@program
def hamiltonian_monte_carlo():
    hmc = Hamiltonian(lambda q: 0.5 * fz.sum(q * q) + 0.1 * fz.sum(fz.cos(3 * q)))
    held = {"q": fz.zeros(3)}
    change = in_turn(
        lambda: setattr(hmc, "leaps", 2),
        lambda: setattr(hmc, "step", 1.5),
        lambda: setattr(hmc, "force", lambda q: q),
    )
    return World(hmc.sample, lambda i: given(held["q"]), change, lambda r: held.update(q=r[0]))


# -- Noise added by a schedule


class Schedule:
    def __init__(self, steps, first=1e-3, last=0.2):
        self.betas = fz.linspace(first, last, steps)
        self.alphas = fz.cumulative_prod(1 - self.betas)
        self.steps = steps

    def __len__(self):
        return self.steps

    def __getitem__(self, t):
        return fz.sqrt(self.alphas[t]), fz.sqrt(1 - self.alphas[t])


schedule = Schedule(20)


@trace
def noised(x, t):
    keep, add = schedule[t % len(schedule)]
    noise = fz.random.normal(x.shape)
    return keep * x + add * noise, noise


@program
def noise_by_a_schedule():
    def change(i):
        global schedule
        if i % 2:
            schedule.steps = 5
        else:
            schedule = Schedule(30, last=0.5)

    return World(noised, lambda i: given(numbers(i, 3), i), change)


# -- Noise taken away, step by step


@trace
def denoise(model, x, betas):
    alphas = [1 - b for b in betas]
    for t in range(len(betas) - 1, -1, -1):
        total = math.prod(alphas[: t + 1])
        guess = model(x, t)
        x = (x - betas[t] / math.sqrt(1 - total) * guess) / math.sqrt(alphas[t])
        if t > 0:
            x = x + math.sqrt(betas[t]) * fz.random.normal(x.shape)
    return x


@program
def denoising():
    w = numbers(4, 3, 3) * 0.3
    betas = [0.01, 0.05, 0.1, 0.2]
    shift = 0.1

    def model(x, t):
        return fz.tanh(x @ w + shift * t)

    def change(i):
        nonlocal shift, w
        if i % 2:
            shift = 1 / i
        else:
            betas[i % 4] = 0.02

    return World(denoise, lambda i: given(model, numbers(i, 3), betas), change)


# -- Gibbs: two variables in turn


@trace
def gibbs(x, y, correlation, sweeps):
    spread = math.sqrt(1 - correlation**2)
    kept = []
    for i in range(sweeps):
        x = correlation * y + spread * fz.random.normal(())
        y = correlation * x + spread * fz.random.normal(())
        if i >= sweeps // 2:
            kept.append(fz.stack([x, y]))
    return x, y, fz.mean(fz.stack(kept), axis=0)


@program
def gibbs_of_two_variables():
    held = {"x": fz.asarray(0.0), "y": fz.asarray(0.0), "c": 0.5}

    def call(i):
        return given(held["x"], held["y"], held["c"], sweeps=6)

    def after(result):
        held.update(x=result[0], y=result[1])

    return World(gibbs, call, lambda i: held.update(c=1.5 if i == 22 else 1 / i), after)


# -- The price of an option, by simulation


MARKET = {"rate": 0.03, "volatility": 0.2}


@trace
def option_price(spot, strike, years, paths=16, steps=4):
    dt = years / steps
    price = fz.full((paths,), float(spot))
    for _ in range(steps):
        z = fz.random.normal((paths,))
        drift = (MARKET["rate"] - 0.5 * MARKET["volatility"] ** 2) * dt
        price = price * fz.exp(drift + MARKET["volatility"] * math.sqrt(dt) * z)
    payoff = fz.maximum(price - strike, 0)
    return math.exp(-MARKET["rate"] * years) * fz.mean(payoff)


@program
def price_of_an_option():
    change = in_turn(
        lambda: MARKET.update(volatility=0.5),
        lambda: MARKET.update(rate=0),
        lambda: MARKET.__setitem__("rate", 0.1),
    )
    return World(option_price, lambda i: given(100, 95 + i % 3, 1.0), change)


# -- Normals out of uniforms, with a generator of one's own


class Normals:
    def __init__(self, seed):
        self.generator = fz.random.Generator(seed)
        self.spare = None

    def draw(self, n):
        if self.spare is not None:
            out, self.spare = self.spare, None
            return out
        u, v = self.generator.uniform((n,)), self.generator.uniform((n,))
        radius = fz.sqrt(-2 * fz.log(1 - u))
        self.spare = radius * fz.sin(2 * math.pi * v)
        return radius * fz.cos(2 * math.pi * v)


@program
def box_and_muller():
    normals = Normals(7)
    change = in_turn(
        lambda: setattr(normals, "spare", None),
        lambda: setattr(normals, "generator", fz.random.Generator(1)),
        lambda: normals.generator.seed(3),
    )
    return World(trace(normals.draw), lambda i: given(3), change)
