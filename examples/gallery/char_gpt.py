"""A GPT of characters, trained on the pages that ship with Python as help().

It is measured in bits a character on a tenth of the text that it has not seen, and writes a line.
"""

import math
from pydoc_data import topics

import frazil as fz
from frazil import nn, optim


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, depth):
        self.context = context
        self.letters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(width))
        self.head = nn.Linear(width, vocabulary)

    def forward(self, text):
        x = self.letters(text) + self.places.weight[: text.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1])
        return self.head(self.blocks(x, mask=mask, is_causal=True))


def loss_of(model, text):
    """Of the next character at each place of the rows of text."""
    logits = model(text[:, :-1])
    return nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), text[:, 1:].reshape(-1))


@fz.trace
def step(model, optimizer, text):
    loss = loss_of(model, text)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def write(model, text, count):
    """Draws `count` characters that follow one after the other."""
    with fz.no_grad():
        for _ in range(count):
            logits = model(text[None, -model.context :])[0, -1]
            text = fz.concat([text, fz.random.categorical(logits)[None]])
    return text[-count:]


def main(small=False):
    length, context, width, depth = (20_000, 16, 32, 1) if small else (200_000, 64, 64, 2)
    steps, batch = (120, 16) if small else (500, 16)
    text = "".join(topics.topics[name] for name in sorted(topics.topics))[:length]
    alphabet = sorted(set(text))
    codes = fz.asarray([alphabet.index(letter) for letter in text])
    train, held = codes[: length * 9 // 10], codes[length * 9 // 10 :]
    fz.random.seed(0)
    model = GPT(len(alphabet), context, width, depth)
    optimizer = optim.AdamW(model.parameters(), lr=3e-3)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        at = fz.random.integers(0, train.size - context - 1, (batch, 1))
        losses.append(step(model, optimizer, train[at + fz.arange(context + 1)]))
        schedule.step()
    whole = held.size // (context + 1) * (context + 1)
    with fz.no_grad():
        bits = loss_of(model, held[:whole].reshape(-1, context + 1)) / math.log(2)
    written = write(model, held[:context], 20 if small else 200)
    return {
        "quality": bits.item(),
        "of": "bits a character",
        "figure": {"losses": fz.stack(losses)},
        "text": "".join(alphabet[code] for code in written.tolist()),
        "traced": step,
    }
