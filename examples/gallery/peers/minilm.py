"""The encoder of examples/minilm.py in PyTorch, for the twins of search and finetune and for
bench/minilm.py.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from minilm import Tokenizer, find_model  # noqa: E402


class Output(nn.Module):
    def __init__(self, n, d, eps):
        super().__init__()
        self.dense, self.LayerNorm = nn.Linear(n, d), nn.LayerNorm(d, eps)

    def forward(self, x, y):
        return self.LayerNorm(x + self.dense(y))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d, inner, eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.heads = config["num_attention_heads"]
        self.attention = nn.ModuleDict({
            "self": nn.ModuleDict({name: nn.Linear(d, d) for name in ("query", "key", "value")}),
            "output": Output(d, d, eps),
        })  # fmt: skip
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(d, inner)})
        self.output = Output(inner, d, eps)

    def forward(self, x, mask):
        n, t, d = x.shape

        def heads(name):
            return self.attention["self"][name](x).view(n, t, self.heads, -1).transpose(1, 2)

        y = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), mask)
        x = self.attention["output"](x, y.transpose(1, 2).reshape(n, t, d))
        return self.output(x, F.gelu(self.intermediate["dense"](x)))


class Layers(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.ModuleList(Block(config) for _ in range(config["num_hidden_layers"]))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config["hidden_size"]
        self.embeddings = nn.ModuleDict({
            "word_embeddings": nn.Embedding(config["vocab_size"], d),
            "position_embeddings": nn.Embedding(config["max_position_embeddings"], d),
            "token_type_embeddings": nn.Embedding(config["type_vocab_size"], d),
            "LayerNorm": nn.LayerNorm(d, config["layer_norm_eps"]),
        })  # fmt: skip
        self.encoder = Layers(config)

    @classmethod
    def pretrained(cls):
        folder = Path(find_model())
        model = cls(json.loads((folder / "config.json").read_text())).eval().requires_grad_(False)
        model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        words = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        model.tokenizer = Tokenizer(words)
        return model

    def forward(self, words, lengths=None):
        table, t = self.embeddings, words.shape[1]
        x = table["word_embeddings"](words) + table["position_embeddings"].weight[:t]
        x = table["LayerNorm"](x + table["token_type_embeddings"].weight[0])
        seen = None if lengths is None else torch.arange(t) < lengths[:, None]
        for block in self.encoder.layer:
            x = block(x, None if seen is None else seen[:, None, None])
        if seen is None:
            return F.normalize(x.mean(1))
        return F.normalize((x * seen[..., None]).sum(1) / lengths[:, None])

    @torch.inference_mode()
    def embed(self, texts, batch_size=32):
        words = [self.tokenizer(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(words[i]))
        rows = [None] * len(texts)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            lengths = [len(words[i]) for i in batch]
            t = max(lengths)
            table = torch.tensor([words[i] + [0] * (t - len(words[i])) for i in batch])
            found = self(table, None if min(lengths) == t else torch.tensor(lengths))
            for i, row in zip(batch, found, strict=True):
                rows[i] = row
        return torch.stack(rows)
