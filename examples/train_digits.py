"""Trains a small network on handwritten digits: first eagerly, then with the step traced.

    ./dev python examples/train_digits.py [--export FILE]

The traced run gives the same bits, faster. --export writes the data and the first weights for
train_digits.cc.
"""

import argparse
import time

import frazil as fz
from frazil import nn, optim

EPOCHS, BATCH = 60, 64


def load_digits():
    """1797 images of 8x8 pixels; a random fifth is held back for the test."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit(
            "The data set comes with scikit-learn: pip install scikit-learn."
        ) from None

    digits = load_digits()
    fz.random.seed(0)
    order = [i for _, i in sorted((r, i) for i, r in enumerate(fz.random.uniform(1797).tolist()))]
    x = fz.asarray(digits.data[order], dtype="float32") / 16  # pixels are 0 to 16
    y = fz.asarray(digits.target[order])
    held = len(order) // 5
    return x[held:], y[held:], x[:held], y[:held]


def make_model():
    fz.random.seed(1)
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def train(name, traced, x, y):
    """Trains a new model; returns it and what the table shows."""
    model = make_model()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step(images, labels):
        loss = nn.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    if traced:
        step = fz.trace(step)
    fz.memory.reset_peak()
    kernels_before = fz.kernels_run()
    steps, start = 0, time.perf_counter()
    for epoch in range(EPOCHS):
        for images, labels in fz.data.batches(x, y, batch_size=BATCH, drop_last=True):
            loss = step(images, labels)
            steps += 1
        bar = "#" * (30 * (epoch + 1) // EPOCHS)
        print(f"\r{name:6} [{bar:30}] loss {loss:.4f}", end="", flush=True)
    seconds = time.perf_counter() - start
    print()
    return (
        model,
        step,
        {
            "final loss": loss.item(),
            "steps per second": steps / seconds,
            "kernels per step": (fz.kernels_run() - kernels_before) / steps,
            "peak bytes": fz.memory.stats()["peak_bytes"],
        },
    )


def accuracy(model, x, y):
    return (model(x).argmax(axis=-1) == y).astype("float32").mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export", metavar="FILE", help="write data and first weights for C++")
    args = parser.parse_args()

    x, y, x_test, y_test = load_digits()
    if args.export:
        first, _, second = make_model()
        fz.save(args.export, {
            "x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test,
            "w1": first.weight.T, "b1": first.bias, "w2": second.weight.T, "b2": second.bias,
        })  # fmt: skip

    results = []
    for name, traced in (("eager", False), ("traced", True)):
        model, step, figures = train(name, traced, x, y)
        results.append({"test accuracy": accuracy(model, x_test, y_test)} | figures)

    eager, traced = results
    print(f"\n{'':18}{'eager':>14}{'traced':>14}")
    forms = ("{:.4f}", "{!r:.12}", "{:,.0f}", "{:.1f}", "{:,}")
    for key, form in zip(eager, forms, strict=True):
        print(f"{key:18}{form.format(eager[key]):>14}{form.format(traced[key]):>14}")
    ratio = traced["steps per second"] / eager["steps per second"]
    print(f"traced / eager: {ratio:.2f} times as fast")
    same = eager["final loss"] == traced["final loss"]
    print(f"final loss: {'identical bits' if same else 'THE BITS DIFFER'}")
    print(step.explain())
    if not same or min(eager["test accuracy"], traced["test accuracy"]) < 0.97:
        raise SystemExit("The runs differ, or the accuracy is below 0.97.")


if __name__ == "__main__":
    main()
