"""PyTorch."""

import torch
from sklearn.datasets import load_digits
from torch import nn


class ViT(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.places = nn.Parameter(0.02 * torch.randn(17, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(
            layer, depth, norm=nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.head = nn.Linear(width, 10)

    def forward(self, images):
        n = images.shape[0]
        patches = images.reshape(n, 4, 2, 4, 2).permute(0, 1, 3, 2, 4).reshape(n, 16, 4)
        x = torch.cat([self.token.expand(n, -1, -1), self.embed(patches)], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


def peer(small=False):
    count, epochs, width, depth = (600, 8, 32, 1) if small else (1797, 20, 64, 2)
    data = load_digits()
    x = torch.tensor(data.images[:count] / 16, dtype=torch.float32)
    y = torch.tensor(data.target[:count])
    held = count // 5
    torch.manual_seed(0)
    model = ViT(width, depth)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    losses = []
    for _ in range(epochs):
        for rows in (held + torch.randperm(count - held)).split(32):
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.detach())
        schedule.step()
    with torch.no_grad():
        return (model(x[:held]).argmax(1) == y[:held]).float().mean().item()
