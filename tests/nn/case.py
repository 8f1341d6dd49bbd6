"""A case of NAME_cases.py, of which NAME_cases.npz has the outputs and gradients: text that means
the same over frazil's nn and PyTorch's: what makes the module m (or nothing), the call (m of all
inputs if not given), the inputs a, b, c ...: x normal, p between 0 and 1, i whole numbers below the
last argument, s -1 or 1, u (a, b) probabilities along axis b of shape a.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Case:
    make: str
    inputs: tuple[str, ...]
    call: str = ""
    evaluated: bool = False  # m.eval()

    @property
    def tolerance(self):
        """PyTorch's gradient of Hardsigmoid has 1/6 rounded to float32."""
        return 1e-7 if "Hardsigmoid" in self.make else 1e-10

    @property
    def name(self):
        text = ", ".join(part for part in (self.make, self.call, *self.inputs) if part)
        return text + (", in evaluation" if self.evaluated else "")


def arrays(case, seed):
    """The inputs, in steps of 1/1024, so that many compress well and some are equal."""
    rng = np.random.default_rng(seed)
    kinds = {
        "x": lambda *shape: np.round(rng.standard_normal(shape) * 1024) / 1024,
        "p": lambda *shape: rng.integers(20, 1004, shape) / 1024,
        "i": lambda *args: rng.integers(0, args[-1], args[:-1]),
        "s": lambda *shape: rng.integers(0, 2, shape) * 2.0 - 1,
        "u": lambda shape, axis: (lambda a: a / a.sum(axis, keepdims=True))(
            rng.integers(20, 1004, shape) / 1024
        ),
    }
    return [eval(text, dict(kinds)) for text in case.inputs]


def cotangent(size):
    """What outputs are multiplied with before they are added up and differentiated."""
    return np.cos(np.arange(size) * 0.7) + 0.25
