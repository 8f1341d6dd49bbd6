"""Makes the golden files of the format's version: `./dev python tests/frozen/golden.py`.

Once a version has been released, its files are never made again: they tell that what was written
then is still read. golden_1.frz is a program with weights, a dynamic size, a branch, a loop, index
checks and a state; golden_1.npz holds inputs and what came out.
"""

from pathlib import Path

import numpy as np

import frazil as fz
from frazil import nn

HERE = Path(__file__).parent


class Golden(nn.Module):
    def __init__(self):
        self.first = nn.Linear(4, 8)
        self.last = nn.Linear(8, 3)
        self.register_buffer("calls", fz.asarray(0.0))

    def forward(self, x, i):
        self.calls += 1
        y = self.last(nn.functional.gelu(self.first(x)))
        if fz.sum(x) > 0:
            return nn.functional.softmax(y, -1)[i], self.calls * 1
        while fz.max(fz.abs(y)) > 1:
            y = y * 0.75
        return y[i], self.calls * 1


def main():
    fz.random.seed(7)
    model = Golden()
    rng = np.random.default_rng(7)
    up = [fz.asarray(rng.uniform(0.1, 3, (5, 4)).astype("float32")), fz.asarray([0, -1, 3])]
    down = [fz.asarray(rng.uniform(-30, -0.1, (5, 4)).astype("float32")), fz.asarray([4, 1, -5])]
    fz.export(
        model, tuple(up), HERE / "golden_1.frz", examples=[tuple(down)],
        dynamic={"x": {0: fz.Dim("batch", 5, 64)}}, name="golden",
    )  # fmt: skip
    kept = {}
    for name, (x, i) in {"up": up, "down": down}.items():
        for batch in (5, 9):
            x9 = fz.concat([x, x], axis=0)[:batch]
            y, _ = model(x9, i)
            key = f"{name}{batch}"
            kept |= {f"x_{key}": np.asarray(x9), f"i_{key}": np.asarray(i)}
            kept |= {f"y_{key}": np.asarray(y.detach())}
    np.savez(HERE / "golden_1.npz", **kept)


if __name__ == "__main__":
    main()
