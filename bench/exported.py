"""Exported programs: latency at batch 1 beside onnxruntime, and what a fresh process waits for.

    python bench/exported.py [ROUNDS]

In one process, on one thread, interleaved, best of all rounds: the digits MLP (64-128-64-10) as a
program of fz.load_program and as an onnxruntime session, both called from Python on an array that
is there, and `frazil-run --bench` for the same without Python. Then a program of 10 MB of weights:
load and first call in processes of their own. Needs onnx and onnxruntime.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("FRAZIL_NUM_THREADS", "1")

import numpy as np  # noqa: E402

import frazil as fz  # noqa: E402
from frazil import nn  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / "build" / "bindings" / "cli" / "frazil-run"


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1]).eval().requires_grad_(False)


def session_of(model):
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, at = [], [], "x"
    linears = [layer for layer in model if isinstance(layer, nn.Linear)]
    for i, layer in enumerate(linears):
        for name in ("weight", "bias"):
            array = np.ascontiguousarray(np.asarray(getattr(layer, name)))
            weights.append(numpy_helper.from_array(array, f"{name}{i}"))
        out = f"y{i}"
        nodes.append(helper.make_node("Gemm", [at, f"weight{i}", f"bias{i}"], [out], transB=1))
        at = out
        if i + 1 < len(linears):
            nodes.append(helper.make_node("Relu", [at], [f"r{i}"]))
            at = f"r{i}"
    shape = ["batch", linears[0].weight.shape[1]]
    graph = helper.make_graph(
        nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(at, TensorProto.FLOAT, ["batch", 10])], weights,
    )  # fmt: skip
    opset = [helper.make_opsetid("", 18)]
    made = helper.make_model(graph, opset_imports=opset, ir_version=10)
    onnx.checker.check_model(made)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        made.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def best(f, rounds, calls=200):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            f()
        times.append((time.perf_counter() - start) / calls)
    return times


def latency(rounds):
    fz.random.seed(0)
    model = mlp(64, 128, 64, 10)
    x = np.random.default_rng(0).normal(size=(1, 64)).astype("float32")
    path = Path(tempfile.mkdtemp()) / "digits.frz"
    fz.export(model, (fz.asarray(x),), path, dynamic={0: {0: "batch"}}, name="digits")
    program, session, given = fz.load_program(path), session_of(model), fz.asarray(x)
    theirs = session.run(None, {"x": x})[0]
    np.testing.assert_allclose(np.asarray(program(given)), theirs, rtol=1e-4, atol=1e-5)
    for _ in range(5):
        program(given)
    ours, other = [], []
    for _ in range(rounds):
        ours += best(lambda: program(given), 1)
        other += best(lambda: session.run(None, {"x": x}), 1)
    mine, his = min(ours) * 1e6, min(other) * 1e6
    print(f"digits, batch 1, from Python: frazil {mine:.2f} us, onnxruntime {his:.2f} us: "
          f"{his / mine:.1f} times")  # fmt: skip
    told = subprocess.run(
        [RUN, path, "--size", "batch=1", "--bench"], capture_output=True, text=True, check=True
    ).stdout
    print(told)
    alone = float(told.split("best ")[1].split(" us")[0])
    print(f"digits, batch 1, frazil-run: {alone:.2f} us: {his / alone:.1f} times")


def start(rounds):
    fz.random.seed(0)
    model = mlp(1024, 1600, 512, 10)
    path = Path(tempfile.mkdtemp()) / "large.frz"
    fz.export(model, (fz.ones((1, 1024)),), path, name="large")
    print(f"{path.stat().st_size / 1e6:.1f} MB")
    for _ in range(rounds):
        told = subprocess.run(
            [RUN, path, "--bench", "--seconds", "0.01"], capture_output=True, text=True, check=True
        ).stdout
        print(", ".join(line.strip() for line in told.splitlines()[:2]))


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    latency(count)
    start(5)
