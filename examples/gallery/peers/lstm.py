"""PyTorch."""

from pathlib import Path

import torch
from torch import nn

LICENCE = Path(__file__).resolve().parents[3] / "LICENSE"


class Model(nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.letters = nn.Embedding(vocabulary, 16)
        self.lstm = nn.LSTM(16, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, text, state=None):
        output, state = self.lstm(self.letters(text), state)
        return self.head(output), state


def peer(small=False):
    length, width, epochs = (2000, 64, 15) if small else (11_000, 128, 20)
    rows, piece = 8, 25
    text = LICENCE.read_text()[:length]
    alphabet = sorted(set(text))
    codes = torch.tensor([alphabet.index(letter) for letter in text])
    codes = codes[: length // rows * rows].reshape(rows, -1)
    torch.manual_seed(0)
    model = Model(len(alphabet), width)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(epochs):
        state = torch.zeros(1, rows, width), torch.zeros(1, rows, width)
        for at in range(0, codes.shape[1] - piece, piece):
            part = codes[:, at : at + piece + 1]
            logits, state = model(part[:, :-1], state)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), part[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            state = tuple(s.detach() for s in state)
            losses.append(loss.detach())
    with torch.no_grad():
        logits, _ = model(codes[:, :-1])
    return (logits.argmax(-1) == codes[:, 1:]).float().mean().item()
