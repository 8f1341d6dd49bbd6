"""Signals: Fourier transforms, windows, mel frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

import frazil as fz
from frazil.onnx._table import converts
from frazil.onnx._values import dtype_of


def _pairs(z: Any) -> Any:
    return fz.stack([fz.real(z), fz.imag(z)], axis=-1)


def _dft(x: Any, length: int | None, axis: int, inverse: int, onesided: int) -> Any:
    dtype = x.dtype
    axis = axis + x.ndim if axis < 0 else axis
    x = x.astype("float32") if dtype.itemsize < 4 else x
    is_complex = x.shape[-1] == 2
    z = fz.complex(x[..., 0], x[..., 1]) if is_complex else x[..., 0]
    if inverse and onesided:
        return fz.fft.irfft(z, n=length, axis=axis)[..., None].astype(dtype)
    if inverse:
        return _pairs(fz.fft.ifft(z, n=length, axis=axis)).astype(dtype)
    if onesided and not is_complex:
        return _pairs(fz.fft.rfft(z, n=length, axis=axis)).astype(dtype)
    y = fz.fft.fft(z, n=length, axis=axis)
    if onesided:
        y = y[(slice(None),) * axis + (slice(0, y.shape[axis] // 2 + 1),)]
    return _pairs(y).astype(dtype)


def _number(x: Any) -> int | None:
    return None if x is None else int(x)


@converts("DFT", 17, host="length")
def dft_attribute(
    x: Any, length: Any = None, *, axis: int = 1, inverse: int = 0, onesided: int = 0
) -> Any:
    return _dft(x, _number(length), axis, inverse, onesided)


@converts("DFT", 20, host="length axis")
def dft(
    x: Any, length: Any = None, axis: Any = None, *, inverse: int = 0, onesided: int = 0
) -> Any:
    return _dft(x, _number(length), -2 if axis is None else int(axis), inverse, onesided)


@converts("STFT", 17, host="step length")
def stft(x: Any, step: Any, window: Any = None, length: Any = None, *, onesided: int = 1) -> Any:
    hop: Any = _number(step)
    size: Any = (
        _number(length)
        if length is not None
        else window.shape[0]
        if window is not None
        else (x.shape[1])
    )
    if x.ndim == 2:
        x = x[..., None]
    frames = (x.shape[1] - size) // hop + 1
    at = np.arange(frames)[:, None] * hop + np.arange(size)[None, :]
    parts = fz.take(x, fz.asarray(at), axis=1)  # (batch, frames, size, 1 or 2)
    if window is not None:
        parts = parts * window.reshape((-1, 1))
    return _dft(parts, None, 2, 0, onesided)


def _window(name: str, *cosines: float) -> None:
    @converts(name, 17, host="size")
    def window(size: Any, *, output_datatype: int = 1, periodic: int = 1) -> Any:
        n = int(size)
        angle = 2 * np.pi * np.arange(n) / (n if periodic else n - 1)
        total = np.zeros(n)
        for k, a in enumerate(cosines):
            total += a * np.cos(k * angle)
        return total.astype(dtype_of(output_datatype))


_window("HannWindow", 0.5, -0.5)
_window("HammingWindow", 25 / 46, -21 / 46)
_window("BlackmanWindow", 0.42, -0.5, 0.08)


@converts("MelWeightMatrix", 17, host="bins length rate low high")
def mel_weights(
    bins: Any, length: Any, rate: Any, low: Any, high: Any, *, output_datatype: int = 1
) -> Any:
    """Triangles over the frequencies of a transform, evenly apart in mel."""
    count, size, sampling = (int(v) for v in (bins, length, rate))
    edges = [float(v) for v in (low, high)]
    least, most = (2595 * np.log10(1 + f / 700) for f in edges)
    mels = np.arange(count + 2) * ((most - least) / (count + 2)) + least
    at = ((size + 1) * (700 * (10 ** (mels / 2595) - 1)) // sampling).astype(np.int64)
    weights = np.zeros((size // 2 + 1, count))
    for i in range(count):
        first, peak, last = at[i : i + 3]
        if peak == first:
            weights[peak, i] = 1
        else:
            rising = np.arange(first, peak + 1)
            weights[rising, i] = (rising - first) / (peak - first)
        if last > peak:
            falling = np.arange(peak, last)
            weights[falling, i] = (last - falling) / (last - peak)
    return weights.astype(dtype_of(output_datatype))
