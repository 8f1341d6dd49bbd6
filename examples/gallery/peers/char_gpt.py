"""PyTorch."""

import math
from pydoc_data import topics

import torch
from torch import nn


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width, depth):
        super().__init__()
        self.context = context
        self.letters = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(
            width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(
            layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.head = nn.Linear(width, vocabulary)

    def forward(self, text):
        x = self.letters(text) + self.places.weight[: text.shape[1]]
        mask = nn.Transformer.generate_square_subsequent_mask(text.shape[1])
        return self.head(self.blocks(x, mask=mask, is_causal=True))


def loss_of(model, text):
    logits = model(text[:, :-1])
    return nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())


def peer(small=False):
    length, context, width, depth = (20_000, 16, 32, 1) if small else (200_000, 64, 64, 2)
    steps, batch = (120, 16) if small else (500, 16)
    text = "".join(topics.topics[name] for name in sorted(topics.topics))[:length]
    alphabet = sorted(set(text))
    codes = torch.tensor([alphabet.index(letter) for letter in text])
    train, held = codes[: length * 9 // 10], codes[length * 9 // 10 :]
    torch.manual_seed(0)
    model = GPT(len(alphabet), context, width, depth)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        at = torch.randint(0, len(train) - context - 1, (batch, 1))
        loss = loss_of(model, train[at + torch.arange(context + 1)])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    whole = len(held) // (context + 1) * (context + 1)
    with torch.no_grad():
        bits = loss_of(model, held[:whole].reshape(-1, context + 1)) / math.log(2)
        text = held[:context]
        for _ in range(20 if small else 200):
            logits = model(text[None, -context:])[0, -1]
            text = torch.cat([text, torch.distributions.Categorical(logits=logits).sample()[None]])
    return bits.item()
