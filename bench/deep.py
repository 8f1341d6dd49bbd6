"""A training step of transformers of many depths, eager and under `@fz.trace`: what it takes in
all and by the layer, the kernels and plans, and what planning it takes.

    PYTHONPATH=build/python PYTHON bench/deep.py [--layers 2,8,32,96] [--rounds N]

Steps are timed in rounds that take turns, the best counts. Planning is what the call that plans
takes more than a later one, in a process without what earlier ones kept on disk.
"""

import argparse
import time

import transformer

import frazil as fz


class Run:
    """Steps one after the other, each from the state that the last one left."""

    def __init__(self, step, layers, args):
        self.step = step
        self.state = transformer.state(layers, args.width, args.length)
        self.data = transformer.tokens(args.batch, args.length)

    def __call__(self):
        begin = time.perf_counter()
        loss, *self.state = self.step(*self.state, *self.data)
        loss.item()
        return time.perf_counter() - begin


def measure(layers, args):
    step = fz.trace(transformer.step)
    runs = {"eager": Run(transformer.step, layers, args), "traced": Run(step, layers, args)}
    if args.pure:
        runs["pure"] = Run(fz.trace(transformer.step, pure=True), layers, args)
    first = {name: [run() for _ in range(6)] for name, run in runs.items()}
    best = dict.fromkeys(runs, 1e9)
    for _ in range(args.rounds):
        for name, run in runs.items():
            best[name] = min([best[name], *(run() for _ in range(3))])
    stats = step.stats()
    return first, best, stats


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", default="2,8,32,96")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--pure", action="store_true", help="by promise, too")
    args = parser.parse_args()
    print("layers  eager ms  traced ms  ratio  us/layer  plans  record ms  plan ms  ms/layer")
    for layers in map(int, args.layers.split(",")):
        first, best, stats = measure(layers, args)
        eager, traced = 1e3 * best["eager"], 1e3 * best["traced"]
        recorded = 1e3 * first["traced"][0] - eager
        planned = 1e3 * max(first["traced"][1:]) - traced
        print(
            f"{layers:6} {eager:9.2f} {traced:10.2f} {traced / eager:6.2f} "
            f"{1e3 * traced / layers:9.0f} {stats['plans']:6} {recorded:10.1f} {planned:8.1f} "
            f"{planned / layers:9.2f}"
            + (f"  pure {1e3 * best['pure']:.2f} ms" if args.pure else ""),
            flush=True,
        )


if __name__ == "__main__":
    main()
