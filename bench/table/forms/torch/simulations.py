"""Array code: an ODE, option prices, a fractal, gravity, clusters."""

import torch

from .. import Form, applied
from . import several, tensor


def lorenz_step(x, y, z, h):
    """One step of Runge and Kutta's fourth order."""

    def slope(x, y, z):
        return 10.0 * (y - x), x * (28.0 - z) - y, x * y - (8.0 / 3.0) * z

    a1, b1, c1 = slope(x, y, z)
    a2, b2, c2 = slope(x + h / 2 * a1, y + h / 2 * b1, z + h / 2 * c1)
    a3, b3, c3 = slope(x + h / 2 * a2, y + h / 2 * b2, z + h / 2 * c2)
    a4, b4, c4 = slope(x + h * a3, y + h * b3, z + h * c3)
    return (
        x + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4),
        y + h / 6 * (b1 + 2 * b2 + 2 * b3 + b4),
        z + h / 6 * (c1 + 2 * c2 + 2 * c3 + c4),
    )


def lorenz(inp):
    start = [torch.tensor(v) for v in inp["state"]]
    h, steps = inp["dt"], inp["steps"]

    def run_with(step):
        def run():
            x, y, z = start
            for _ in range(steps):
                x, y, z = step(x, y, z, h)
            return x, y, z

        return run

    # The loop as a whole takes the compiler many minutes; its body is compiled.
    compiled = torch.compile(lorenz_step, dynamic=False)
    return {
        "plain": Form(run_with(lorenz_step)),
        "inference mode": Form(run_with(lorenz_step), around=torch.inference_mode),
        "compile a step, inference mode": Form(run_with(compiled), around=torch.inference_mode),
    }


def black_scholes(inp):
    r, v = inp["r"], inp["v"]

    def prices(s, k, t):
        root = v * torch.sqrt(t)
        d1 = (torch.log(s / k) + (r + 0.5 * v * v) * t) / root
        d2 = d1 - root
        n1 = 0.5 * (1 + torch.erf(d1 * 0.5**0.5))
        n2 = 0.5 * (1 + torch.erf(d2 * 0.5**0.5))
        discounted = k * torch.exp(-r * t)
        call = s * n1 - discounted * n2
        return call, call - s + discounted

    return several(prices, *(tensor(inp[name]) for name in ("s", "k", "t")))


def mandelbrot(inp):
    n = inp["n"]

    def counts(cr, ci):
        zr, zi = cr, ci
        inside = torch.zeros_like(cr)
        for _ in range(n):
            rr, ii = zr * zr, zi * zi
            inside = inside + (rr + ii <= 4.0)
            zr, zi = rr - ii + cr, 2.0 * zr * zi + ci
        return inside

    def in_place(cr, ci):
        zr, zi = cr.clone(), ci.clone()
        rr, ii, sums = (torch.empty_like(cr) for _ in range(3))
        inside = torch.zeros_like(cr)
        for _ in range(n):
            torch.mul(zr, zr, out=rr)
            torch.mul(zi, zi, out=ii)
            torch.add(rr, ii, out=sums)
            inside += sums <= 4.0
            torch.addcmul(ci, zr, zi, value=2.0, out=zi)
            torch.sub(rr, ii, out=zr).add_(cr)
        return inside

    cr, ci = tensor(inp["cr"]), tensor(inp["ci"])
    body = torch.compile(_mandelbrot_ten, dynamic=False)

    def by_ten(cr, ci):
        zr, zi, inside = cr, ci, torch.zeros_like(cr)
        for _ in range(n // 10):
            zr, zi, inside = body(zr, zi, inside, cr, ci)
        return inside

    return {
        "plain": applied(counts, cr, ci),
        "in place, inference mode": applied(in_place, cr, ci, around=torch.inference_mode),
        "compile ten iterations": applied(by_ten, cr, ci, around=torch.inference_mode),
    }


def _mandelbrot_ten(zr, zi, inside, cr, ci):
    for _ in range(10):
        rr, ii = zr * zr, zi * zi
        inside = inside + (rr + ii <= 4.0)
        zr, zi = rr - ii + cr, 2.0 * zr * zi + ci
    return zr, zi, inside


def n_body(inp):
    eps = inp["eps"]

    def accelerations(x, m):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d * d).sum(dim=-1) + eps
        w = m / (r2 * torch.sqrt(r2))
        return (d * w[:, :, None]).sum(dim=1)

    return several(accelerations, tensor(inp["x"]), tensor(inp["m"]))


def k_means(inp):
    k = inp["c"].shape[0]

    def step(x, c):
        nearest = ((c * c).sum(dim=1) - 2.0 * (x @ c.T)).argmin(dim=1)
        member = (nearest[:, None] == torch.arange(k)).float()
        return (member.T @ x) / member.sum(dim=0)[:, None]

    def indexed(x, c):
        nearest = torch.addmm((c * c).sum(dim=1), x, c.T, alpha=-2.0).argmin(dim=1)
        sums = torch.zeros_like(c).index_add_(0, nearest, x)
        return sums / torch.bincount(nearest, minlength=k)[:, None]

    x, c = tensor(inp["x"]), tensor(inp["c"])
    forms = several(step, x, c)
    forms["index_add, inference mode"] = applied(indexed, x, c, around=torch.inference_mode)
    return forms
