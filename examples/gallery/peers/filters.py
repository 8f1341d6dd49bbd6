"""NumPy and SciPy's ndimage."""

import numpy as np
from scipy import ndimage


def peer(small=False):
    n, frames = (64, 5) if small else (512, 30)
    x = np.linspace(-1, 1, n, dtype=np.float32)
    image = 0.5 + 0.3 * np.cos(12 * (x[:, None] ** 2 + x**2))
    image[n // 8 : n // 3, n // 8 : n // 3] = 0.95
    rng = np.random.default_rng(0)
    for _ in range(frames):
        u = rng.random((n, n), np.float32)
        noisy = np.where(u < 0.05, np.float32(0), np.where(u > 0.95, np.float32(1), image))
        clean = ndimage.median_filter(noisy, 3, mode="mirror")
        soft = ndimage.gaussian_filter(clean, 1.5, mode="mirror", truncate=3)
        outline = np.hypot(
            ndimage.sobel(soft, 1, mode="mirror"), ndimage.sobel(soft, 0, mode="mirror")
        )
        sharp = clean + (clean - ndimage.gaussian_filter(clean, 2.0, mode="mirror", truncate=3))
        del outline, sharp
    return np.mean((clean - image) ** 2) / np.mean((noisy - image) ** 2)
