"""Image filters: Gaussian blur, Sobel's edges, and a median that takes salt and pepper away."""

import frazil as fz
from frazil import nn


def reflected(image, width):
    return nn.functional.pad(image[None], (width,) * 4, mode="reflect")[0]


def blur(image, sigma):
    radius = int(3 * sigma)
    x = fz.arange(-radius, radius + 1, dtype=image.dtype)
    weights = fz.exp(-((x / sigma) ** 2) / 2)
    weights = weights / fz.sum(weights)
    padded = reflected(image, radius)[None, :, :, None]
    rows = nn.conv2d(padded, weights[:, None, None, None])
    return nn.conv2d(rows, weights[None, :, None, None])[0, :, :, 0]


def windows(image):
    """The nine shifts of the image by a pixel: (9, height, width)."""
    padded = reflected(image, 1)
    h, w = image.shape
    return fz.stack([padded[i : i + h, j : j + w] for i in range(3) for j in range(3)])


def edges(image):
    weights = fz.asarray([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    around = windows(image)
    across = fz.tensordot(weights.reshape(9), around, axes=1)
    down = fz.tensordot(weights.T.reshape(9), around, axes=1)
    return fz.hypot(across, down)


@fz.trace
def process(noisy):
    """The image without noise, its edges, and what an unsharp mask makes of it."""
    clean = fz.median(windows(noisy), axis=0)
    return clean, edges(blur(clean, 1.5)), clean + (clean - blur(clean, 2.0))


def picture(n):
    """Rings and a bright square."""
    x = fz.linspace(-1, 1, n)
    image = 0.5 + 0.3 * fz.cos(12 * (x[:, None] ** 2 + x**2))
    image[n // 8 : n // 3, n // 8 : n // 3] = 0.95
    return image


def main(small=False):
    n, frames = (64, 5) if small else (512, 30)
    fz.random.seed(0)
    image = picture(n)
    for _ in range(frames):
        u = fz.random.uniform((n, n))
        noisy = fz.where(u < 0.05, 0.0, fz.where(u > 0.95, 1.0, image))
        clean, outline, sharp = process(noisy)
    left = fz.mean((clean - image) ** 2) / fz.mean((noisy - image) ** 2)
    both = fz.concat([fz.concat([noisy, clean], axis=1), fz.concat([outline, sharp], axis=1)])
    return {
        "quality": left.item(),
        "of": "squared error left by the median",
        "figure": {"image": both},
        "traced": process,
    }
