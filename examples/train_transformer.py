"""Trains a small transformer to put digits in order: 4 0 7 7 1 becomes 0 1 4 7 7.

    ./dev python examples/train_transformer.py

Its layers are those of frazil.nn, and its step is traced as that of train_digits.py is.
"""

import time

import frazil as fz
from frazil import nn, optim

LENGTH, DIGITS, WIDTH, HEADS = 8, 10, 32, 4
BATCH, STEPS, ROUNDS = 16, 20, 40


class Block(nn.Module):
    """Attention, then a network of two layers, each added to what it read."""

    def __init__(self):
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        n, t, d = x.shape
        qkv = self.qkv(x).reshape(n, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        q, k, v = qkv
        return self.out(nn.attention(q, k, v).permute(0, 2, 1, 3).reshape(n, t, d))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(nn.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, blocks=2):
        self.digits, self.places = nn.Embedding(DIGITS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = [Block() for _ in range(blocks)]
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, DIGITS)

    def forward(self, digits):
        x = self.digits(digits) + self.places.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def make_model():
    fz.random.seed(1)
    return Transformer()


def train_step(model, optimizer, digits, ordered):
    logits = model(digits)
    loss = nn.cross_entropy(logits.reshape(-1, DIGITS), ordered.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def start(wrap, model=None):
    """A function that makes STEPS training steps and returns the last loss and the parameters."""
    model = model or make_model()
    optimizer = optim.Adam(model.parameters(), lr=0.003)
    step = wrap(train_step)
    draws = fz.random.Generator(2)

    def some_steps():
        for _ in range(STEPS):
            digits = draws.integers(0, DIGITS, (BATCH, LENGTH))
            loss = step(model, optimizer, digits, fz.sort(digits, axis=-1))
        return [loss, *model.parameters()]

    return some_steps


def main():
    model = make_model()
    some_steps = start(fz.trace(pure=True), model)
    begin = time.perf_counter()
    for i in range(1, ROUNDS + 1):
        loss, *_ = some_steps()
        if i % 10 == 0:
            print(f"{i * STEPS} steps: loss {loss:.5f}")
    print(f"{time.perf_counter() - begin:.2f} s of training.")
    digits = fz.random.integers(0, DIGITS, (1, LENGTH))
    print(*digits[0].tolist(), "->", *model(digits).argmax(axis=-1)[0].tolist())


if __name__ == "__main__":
    main()
