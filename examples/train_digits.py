"""Trains a small network on handwritten digits.

    ./dev python examples/train_digits.py

A training step is an ordinary function. It gets the model and the optimizer as arguments, so that
all it depends on is among them: that is what pure=True promises, and what it writes to them still
happens.
"""

import time

import frazil as fz
from frazil import nn, optim

BATCH, EPOCHS = 64, 60
STEPS = 22  # whole batches of an epoch


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


def train_step(model, optimizer, images, labels):
    loss = nn.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def start(wrap, model=None):
    """A function that trains a model for an epoch and returns its last loss and its parameters.

    `wrap` is what becomes of the step: fz.trace, fz.trace(pure=True), or the step as it is.
    """
    x, y, _, _ = load_digits()
    model = model or make_model()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = wrap(train_step)

    def epoch():
        for images, labels in fz.data.batches(x, y, batch_size=BATCH, drop_last=True):
            loss = step(model, optimizer, images, labels)
        return [loss, *model.parameters()]

    return epoch


def export(path):
    """Writes the data and the first weights for train_digits.cc."""
    x, y, x_test, y_test = load_digits()
    first, _, second = make_model()
    fz.save(path, {
        "x_train": x, "y_train": y, "x_test": x_test, "y_test": y_test,
        "w1": first.weight, "b1": first.bias, "w2": second.weight, "b2": second.bias,
    })  # fmt: skip


def main():
    model = make_model()
    epoch = start(fz.trace(pure=True), model)
    begin = time.perf_counter()
    for i in range(1, EPOCHS + 1):
        loss, *_ = epoch()
        if i % 10 == 0:
            print(f"epoch {i}: loss {loss:.5f}")
    seconds = time.perf_counter() - begin
    _, _, x, y = load_digits()
    right = (model(x).argmax(axis=-1) == y).astype("float32").mean()
    print(f"{right:.1%} of the test images are read right, after {seconds:.2f} s of training.")


if __name__ == "__main__":
    main()
