"""PyTorch."""

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers.minilm import Encoder  # noqa: E402
from search import QUESTIONS, ROOT, passages  # noqa: E402


def peer(small=False):
    model = Encoder.pretrained()
    text = passages((ROOT / "core" / "SEMANTICS.md").read_text(encoding="utf-8"))
    if small:
        text = [part[:160] for part in text if any(key in part[:160] for _, key in QUESTIONS)]
    parts = model.embed(text)
    likeness = model.embed([question for question, _ in QUESTIONS]) @ parts.T
    first = torch.argsort(likeness, dim=1, descending=True)[:, :3].tolist()
    found = [
        any(key in text[i] for i in row) for row, (_, key) in zip(first, QUESTIONS, strict=True)
    ]
    return sum(found) / len(found)
