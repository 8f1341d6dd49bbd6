"""An LSTM over characters of the licence, which it learns so well that it can recite it."""

from pathlib import Path

import frazil as fz
from frazil import nn, optim

LICENCE = Path(__file__).resolve().parents[2] / "LICENSE"


class Model(nn.Module):
    def __init__(self, vocabulary, width):
        self.letters = nn.Embedding(vocabulary, 16)
        self.lstm = nn.LSTM(16, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, text, state=None):
        output, state = self.lstm(self.letters(text), state)
        return self.head(output), state


@fz.trace
def step(model, optimizer, text, state):
    """A step on a piece of text; the state comes from the piece before."""
    logits, state = model(text[:, :-1], state)
    loss = nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), text[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach(), tuple(s.detach() for s in state)


def main(small=False):
    length, width, epochs = (2000, 64, 15) if small else (11_000, 128, 20)
    rows, piece = 8, 25
    text = LICENCE.read_text()[:length]
    alphabet = sorted(set(text))
    codes = fz.asarray([alphabet.index(letter) for letter in text])
    codes = codes[: length // rows * rows].reshape(rows, -1)
    fz.random.seed(0)
    model = Model(len(alphabet), width)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(epochs):
        state = fz.zeros((1, rows, width)), fz.zeros((1, rows, width))
        for at in range(0, codes.shape[1] - piece, piece):
            loss, state = step(model, optimizer, codes[:, at : at + piece + 1], state)
            losses.append(loss)
    with fz.no_grad():
        logits, _ = model(codes[:, :-1])
    right = fz.argmax(logits, axis=-1) == codes[:, 1:]
    return {
        "quality": fz.mean(right.astype(fz.float32)).item(),
        "of": "characters known from those before",
        "figure": {"losses": fz.stack(losses)},
        "traced": step,
    }
