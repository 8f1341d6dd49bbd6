"""PyTorch."""

import sys
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from finetune import pairs_of  # noqa: E402
from peers.minilm import Encoder  # noqa: E402


def padded(model, texts, length):
    words = [model.tokenizer(text)[:length] for text in texts]
    table = torch.tensor([row + [0] * (length - len(row)) for row in words])
    return table, torch.tensor([len(row) for row in words])


def found(model, pairs):
    one, other = (model.embed(list(texts)) for texts in zip(*pairs, strict=True))
    nearest = (one @ other.T).argmax(1)
    return (nearest == torch.arange(len(pairs))).float().mean().item()


def peer(small=False):
    count, batch, length, rounds = (12, 4, 16, 4) if small else (70, 10, 48, 3)
    model = Encoder.pretrained()
    pairs = list(pairs_of(60 if small else 200))[:count]
    held = count // 3 if small else 20
    learnt = pairs[held:]
    found(model, pairs[:held])
    for block in model.encoder.layer[-2:]:
        block.requires_grad_()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=2e-5 if small else 5e-5)
    losses, right = [], torch.arange(batch)
    for _ in range(rounds):
        for at in range(0, len(learnt) - batch + 1, batch):
            one, other = zip(*learnt[at : at + batch], strict=True)
            one, other = padded(model, one, length), padded(model, other, length)
            likeness = model(*one) @ model(*other).T * 20
            loss = (F.cross_entropy(likeness, right) + F.cross_entropy(likeness.T, right)) / 2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return found(model, pairs[:held])
