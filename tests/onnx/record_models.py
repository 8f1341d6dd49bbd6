"""Writes models.npz: what onnxruntime answers to the inputs of test_models.py.

    python tests/onnx/record_models.py FOLDER...

Needs onnxruntime. Of the files in the folders the beginnings and ends become inputs of magika.
"""

import io
import sys
import zlib
from pathlib import Path

import models
import numpy as np
import onnxruntime

HERE = Path(__file__).parent
VOICES = [(seed, 16000 if seed % 3 else 8000) for seed in range(8)]


def contents(folders):
    """Files of as many kinds as there are, and what is made of them by the library."""
    import bz2
    import gzip
    import json
    import lzma
    import tarfile
    import wave
    import zipfile

    by_kind = {}
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and not path.is_symlink() and 40 < path.stat().st_size < 10**6:
                by_kind.setdefault(path.suffix, []).append(path)
    taken = []
    for paths in by_kind.values():
        taken += paths[:: max(len(paths) // 24, 1)][:24]
    found = [p.read_bytes() for p in taken]
    text = b" ".join(found)[:5000]
    made = [zlib.compress(text), gzip.compress(text), bz2.compress(text), lzma.compress(text)]
    for kind in ("w", "w:gz"):
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=kind) as archive:
            info = tarfile.TarInfo("a.txt")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        made.append(buffer.getvalue())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", text)
    made.append(buffer.getvalue())
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(text)
    made.append(buffer.getvalue())
    made.append(json.dumps({"a": list(range(100)), "b": {"c": None}}).encode())
    made.append(np.random.RandomState(0).bytes(3000))
    return found + made


def shortened(content):
    """With the same features: blocks of 4096 bytes are looked at."""
    return content if len(content) <= 2600 else content[:1300] + content[-1300:]


def main():
    session = onnxruntime.InferenceSession(models.magika_path())
    files = [shortened(c) for c in contents(sys.argv[1:])]
    rows = np.stack([models.magika_features(c) for c in files])
    scores = np.concatenate([session.run(None, {"bytes": rows[i : i + 1]})[0] for i in
                             range(len(rows))])  # fmt: skip
    keep = np.argsort(-scores.max(axis=1), kind="stable")[:230]
    session = onnxruntime.InferenceSession(models.silero_path())
    spoken = []
    for seed, rate in VOICES:
        state = np.zeros((2, 1, 128), np.float32)
        for part in models.chunks(models.voice(seed, rate), rate):
            p, state = session.run(None, {"input": part, "state": state, "sr": np.asarray(rate)})
            spoken.append(p[0, 0])
    joined = b"".join(files[i] for i in keep)
    np.savez_compressed(
        HERE / "models.npz",
        files=np.frombuffer(joined, np.uint8),
        lengths=np.asarray([len(files[i]) for i in keep]),
        best=scores[keep].argmax(axis=1).astype(np.uint8),
        scores=scores[keep].max(axis=1),
        voices=np.asarray(VOICES),
        spoken=np.asarray(spoken, np.float32),
    )
    print(
        len(keep), "files,", len(spoken), "chunks,", (HERE / "models.npz").stat().st_size, "bytes"
    )
    print(sum(p > 0.5 for p in spoken), "spoken;", len(set(scores[keep].argmax(axis=1))), "kinds")


if __name__ == "__main__":
    main()
