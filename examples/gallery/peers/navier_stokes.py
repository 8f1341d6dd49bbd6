"""NumPy."""

import math

import numpy as np


def waves(n):
    k = np.fft.fftfreq(n, d=1 / n)
    kx, ky = k[:, None], np.abs(k[: n // 2 + 1])
    kept = (np.abs(kx) < n / 3) & (ky < n / 3)
    return kx, ky, kx**2 + ky**2, kept


def transport(w, kx, ky, squared, kept):
    stream = w / np.where(squared == 0, 1.0, squared)
    u, v = np.fft.irfft2(1j * ky * stream), np.fft.irfft2(-1j * kx * stream)
    wx, wy = np.fft.irfft2(1j * kx * w), np.fft.irfft2(1j * ky * w)
    return np.where(kept, -np.fft.rfft2(u * wx + v * wy), 0.0)


def run(vorticity, steps, dt, viscosity):
    grid = waves(vorticity.shape[0])
    w = np.fft.rfft2(vorticity)
    half = np.exp(-viscosity * grid[2] * dt / 2)
    for _ in range(steps):
        a = transport(w, *grid)
        b = transport(half * (w + dt / 2 * a), *grid)
        c = transport(half * w + dt / 2 * b, *grid)
        d = transport(half * half * w + dt * half * c, *grid)
        w = half * half * w + dt / 6 * (half * half * a + 2 * half * (b + c) + d)
    return np.fft.irfft2(w)


def peer(small=False):
    n, steps, dt, viscosity = (32, 20, 0.02, 0.02) if small else (128, 400, 0.01, 0.002)
    x = np.arange(n) * (2 * math.pi / n)
    vortices = 2 * np.cos(x)[:, None] * np.cos(x)
    exact = vortices * math.exp(-2 * viscosity * steps * dt)
    error = np.abs(run(vortices, steps, dt, viscosity) - exact).max()
    rough = np.fft.rfft2(np.random.default_rng(0).normal(size=(n, n)))
    smooth = np.fft.irfft2(rough * np.exp(-waves(n)[2] / 32))
    run(4 * smooth / np.std(smooth), steps, dt, viscosity)
    return error
