"""Two-dimensional turbulence: vorticity on a periodic square, by Fourier transforms.

Classical Runge-Kutta for the transport, an exact factor for the viscosity. The measured case is
the vortices of Taylor and Green, which decay and otherwise stay; the figure is of random ones.
"""

import math

import frazil as fz


def waves(n):
    k = fz.fft.fftfreq(n, d=1 / n, dtype=fz.float64)
    kx, ky = k[:, None], k[: n // 2 + 1]
    ky = fz.abs(ky)
    squared = kx**2 + ky**2
    kept = (fz.abs(kx) < n / 3) & (ky < n / 3)  # the rest would alias
    return kx, ky, squared, kept


def transport(w, kx, ky, squared, kept):
    """The transform of -(velocity . gradient of vorticity), of the transform of vorticity."""
    stream = w / fz.where(squared == 0, 1.0, squared)
    u, v = fz.fft.irfft2(1j * ky * stream), fz.fft.irfft2(-1j * kx * stream)
    wx, wy = fz.fft.irfft2(1j * kx * w), fz.fft.irfft2(1j * ky * w)
    return fz.where(kept, -fz.fft.rfft2(u * wx + v * wy), 0.0)


@fz.trace
def step(w, grid, dt, viscosity):
    half = fz.exp(-viscosity * grid[2] * dt / 2)
    a = transport(w, *grid)
    b = transport(half * (w + dt / 2 * a), *grid)
    c = transport(half * w + dt / 2 * b, *grid)
    d = transport(half * half * w + dt * half * c, *grid)
    return half * half * w + dt / 6 * (half * half * a + 2 * half * (b + c) + d)


def run(vorticity, steps, dt, viscosity):
    grid = waves(vorticity.shape[0])
    w = fz.fft.rfft2(vorticity)
    for _ in range(steps):
        w = step(w, grid, dt, viscosity)
    return fz.fft.irfft2(w)


def main(small=False):
    n, steps, dt, viscosity = (32, 20, 0.02, 0.02) if small else (128, 400, 0.01, 0.002)
    x = fz.arange(n, dtype=fz.float64) * (2 * math.pi / n)
    vortices = 2 * fz.cos(x)[:, None] * fz.cos(x)
    exact = vortices * math.exp(-2 * viscosity * steps * dt)
    error = fz.max(fz.abs(run(vortices, steps, dt, viscosity) - exact))
    fz.random.seed(0)
    rough = fz.fft.rfft2(fz.random.normal((n, n), dtype=fz.float64))
    smooth = fz.fft.irfft2(rough * fz.exp(-waves(n)[2] / 32))
    return {
        "quality": error.item(),
        "of": "largest error",
        "figure": {"image": run(4 * smooth / fz.std(smooth), steps, dt, viscosity)},
        "traced": step,
    }
