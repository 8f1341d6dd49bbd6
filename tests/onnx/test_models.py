"""magika (file types) and silero-vad (speech): from bytes and sound to the answers of onnxruntime,
which models.npz holds (record_models.py)."""

from pathlib import Path

import models
import numpy as np
import pytest

import frazil as fz


@pytest.fixture(scope="module")
def recorded():
    return np.load(Path(__file__).parent / "models.npz")


@pytest.fixture(scope="module")
def files(recorded):
    ends = np.cumsum(recorded["lengths"])
    return [p.tobytes() for p in np.split(recorded["files"], ends[:-1])]


def test_magika_tells_what_files_are(recorded, files):
    model = fz.trace(fz.onnx.load(models.magika_path()))
    rows = np.stack([models.magika_features(c) for c in files])
    assert len(rows) >= 200
    scores = np.concatenate([np.asarray(model(rows[i : i + 46])) for i in range(0, 230, 46)])
    assert (scores.argmax(axis=1) == recorded["best"]).all()
    np.testing.assert_allclose(scores.max(axis=1), recorded["scores"], rtol=1e-4, atol=1e-5)
    labels = models.magika_config()["target_labels_space"]
    for row, best, score in zip(scores, recorded["best"], recorded["scores"], strict=True):
        label, sure = models.magika_answer(row)
        assert label in (labels[best], "unsure", "txt", "unknown") and abs(sure - score) < 1e-4


def test_magika_one_by_one_is_magika_of_many(files):
    model = fz.onnx.load(models.magika_path(), trainable=False)
    rows = np.stack([models.magika_features(c) for c in files[:3]])
    many = np.asarray(model(rows))
    for i in range(3):
        np.testing.assert_allclose(np.asarray(model(rows[i : i + 1]))[0], many[i], atol=1e-5)


def spoken(model, seed, rate, sr):
    state, found = fz.zeros((2, 1, 128)), []
    for part in models.chunks(models.voice(seed, rate), rate):
        p, state = model(part, state, sr)
        found.append(p.item())
    return found


@pytest.mark.parametrize("given", ["number", "tensor"])
def test_silero_hears_who_speaks(recorded, given):
    """Both sampling rates are branches of an If: taken beforehand for a number, at each call for a
    tensor."""
    model = fz.trace(fz.onnx.load(models.silero_path()))
    at = 0
    for seed, rate in recorded["voices"].tolist():
        got = spoken(model, seed, rate, rate if given == "number" else fz.asarray(rate))
        expected = recorded["spoken"][at : at + len(got)]
        at += len(got)
        np.testing.assert_allclose(got, expected, atol=2e-4)
        assert models.speech(got) == models.speech(expected.tolist())
    assert at == len(recorded["spoken"]) >= 200


@pytest.mark.parametrize("name", ["silero_vad_16k_op15.onnx", "silero_vad_op18_ifless.onnx"])
def test_other_forms_of_silero_say_the_same(recorded, name):
    model = fz.onnx.load(models.silero_path(name))
    order = model.input_names
    state, got = fz.zeros((2, 1, 128)), []
    seed, rate = next((s, r) for s, r in recorded["voices"].tolist() if r == 16000)
    first = next(i for i, (s, _) in enumerate(recorded["voices"].tolist()) if s == seed)
    begin = sum(len(list(models.chunks(models.voice(s, r), r)))
                for s, r in recorded["voices"].tolist()[:first])  # fmt: skip
    for part in list(models.chunks(models.voice(seed, rate), rate))[:20]:
        given = {"input": part, "state": state, "sr": 16000}
        p, state = model(**{n: given[n] for n in order})
        got.append(p.item())
    np.testing.assert_allclose(got, recorded["spoken"][begin : begin + 20], atol=2e-4)


def test_magika_trains(files):
    """A step against a wrong label makes it less likely."""
    model = fz.onnx.load(models.magika_path())
    rows = fz.asarray(np.stack([models.magika_features(c) for c in files[:4]]))
    assert len(list(model.named_parameters())) > 10

    def loss(module, rows):
        return fz.log(module(rows)[:, 7] + 1e-6).mean()

    before, gradients = fz.value_and_grad(loss)(model, rows)
    assert all(np.isfinite(np.asarray(g)).all() for g in fz.tree.leaves(gradients))
    optimizer = fz.optim.SGD(model.parameters(), lr=0.05)
    optimizer.zero_grad()
    loss(model, rows).backward()
    optimizer.step()
    assert loss(model, rows).item() < before.item()
