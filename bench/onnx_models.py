"""Models, and weights of 4 bits, beside onnxruntime: latency of one input, throughput of 32, first
calls.

    PYTHONPATH=build/python PYTHON bench/onnx_models.py [PATTERN ...] [--rounds N] [--threads N]
    ... --model FILE.onnx [--extent width=320 ...] [--below 100]

--model takes a file in their place: its inputs are drawn, integers from 0 to below --below; a free
first axis is the batch, other free extents are told by name or are 64.

A line is a model at a batch: frazil's best time of a traced call, its eager one, onnxruntime's, and
onnxruntime's over the traced one (above 1 frazil is faster); then the same of reading the file and
the first call, in fresh processes. Needs onnxruntime, and the models (tests/onnx/models.py).
"""

import argparse
import fnmatch
import functools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measure import Rounds, readable

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "onnx"))
import models  # noqa: E402


def magika(batch):
    rows = np.random.default_rng(0).integers(0, 256, (batch, 2048)).astype(np.int32)
    return models.magika_path(), {"bytes": rows}


def silero(batch):
    sound = np.random.default_rng(0).normal(size=(batch, 576)).astype(np.float32) * 0.1
    state = np.zeros((2, batch, 128), np.float32)
    return models.silero_path(), {"input": sound, "state": state, "sr": np.asarray(16000)}


def silero_ifless(batch):
    path, feeds = silero(batch)
    return path.parent / "silero_vad_op18_ifless.onnx", feeds


def bits4(batch, level=0):
    """Eight products of onnxruntime's MatMulNBits, 1024 by 4096 and 4096 by 1024."""
    from onnx import helper, numpy_helper

    rng, nodes, weights, name = np.random.default_rng(0), [], [], "x"
    for i in range(8):
        k, n = (1024, 4096) if i % 2 == 0 else (4096, 1024)
        packed = rng.integers(0, 256, (n, k // 32, 16)).astype(np.uint8)
        scales = np.abs(rng.normal(size=(n, k // 32))).astype(np.float32) / 300
        weights += [numpy_helper.from_array(packed, f"b{i}")]
        weights += [numpy_helper.from_array(scales, f"s{i}")]
        options = {"K": k, "N": n, "bits": 4, "block_size": 32, "accuracy_level": level}
        nodes.append(
            helper.make_node(
                "MatMulNBits", [name, f"b{i}", f"s{i}"], [f"y{i}"], domain="com.microsoft",
                **options,
            )
        )  # fmt: skip
        name = f"y{i}"
    x = helper.make_tensor_value_info("x", 1, ["n", 1024])
    y = helper.make_tensor_value_info(name, 1, None)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    path = Path(tempfile.gettempdir()) / f"bits4_{level}.onnx"
    path.write_bytes(model.SerializeToString())
    return path, {"x": rng.normal(size=(batch, 1024)).astype(np.float32)}


def bits4_level4(batch):
    return bits4(batch, 4)


CASES = {
    f"{f.__name__} {batch}": (f, batch)
    for f in (magika, silero, silero_ifless, bits4, bits4_level4)
    for batch in (1, 32)
}


def drawn(path, batch, extents, below):
    """Inputs of a model by the types that it declares."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    rng, feeds = np.random.default_rng(0), {}
    weights = {t.name for t in graph.initializer}
    for value in graph.input:
        if value.name in weights:
            continue
        own, shape = value.type.tensor_type, []
        for axis, d in enumerate(own.shape.dim):
            free = batch if axis == 0 else int(extents.get(d.dim_param, 64))
            shape.append(d.dim_value if d.dim_value > 0 else free)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(own.elem_type)
        whole = rng.integers(0, 2 if dtype.kind == "b" else below, shape)
        feeds[value.name] = (rng.normal(size=shape) if dtype.kind == "f" else whole).astype(dtype)
    return path, feeds


def frazil_call(path, feeds, threads, traced=True):
    import frazil as fz

    fz.set_num_threads(threads)
    model = fz.onnx.load(path, trainable=False)
    given = [
        int(v) if v.ndim == 0 and v.dtype.kind in "iu" else fz.asarray(v)
        for v in (feeds[n] for n in model.input_names)
    ]
    if traced:
        model = fz.trace(model)

    def call():
        result = model(*given)
        return np.asarray(result[0] if isinstance(result, tuple) else result)

    return call


def onnxruntime_call(path, feeds, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda: session.run(None, feeds)[0]


def first(name, which, threads):
    """Seconds of reading the model and one call, in a process of its own, without the imports."""
    argv = [sys.executable, *sys.argv, "--first", which, "--case", name, "--threads", str(threads)]
    return min(
        float(subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()[-1])
        for _ in range(3)
    )


def run(name, rounds, threads):
    make, batch = CASES[name]
    path, feeds = make(batch)
    calls = {
        "traced": frazil_call(path, feeds, threads),
        "eager": frazil_call(path, feeds, threads, traced=False),
        "onnxruntime": onnxruntime_call(path, feeds, threads),
    }
    for _ in range(6):
        results = [call() for call in calls.values()]
    apart = np.abs(results[0].astype(np.float64) - results[2]).max()
    rounded = name.startswith(("model", "bits4_level4"))  # onnxruntime may round the inputs, too
    assert apart <= 2e-4 * max(1, np.abs(results[2]).max()) or rounded, apart
    times = Rounds(calls, rounds, 0.1).times
    best = {n: min(t) for n, t in times.items()}
    begun = {which: first(name, which, threads) for which in ("frazil", "onnxruntime")}
    print(
        f"{name:16} traced {readable(best['traced']):>8} eager {readable(best['eager']):>8} "
        f"onnxruntime {readable(best['onnxruntime']):>8} ratio "
        f"{best['onnxruntime'] / best['traced']:.2f}   first {readable(begun['frazil']):>8} "
        f"{readable(begun['onnxruntime']):>8} {begun['onnxruntime'] / begun['frazil']:.2f}"
        f"   apart {apart:.1e}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--first", choices=("frazil", "onnxruntime"), help=argparse.SUPPRESS)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--model")
    parser.add_argument("--extent", nargs="*", default=[])
    parser.add_argument("--below", type=int, default=100)
    options = parser.parse_args()
    if options.model:
        extents = dict(e.split("=") for e in options.extent)
        CASES.clear()
        for batch in (1, 32):
            make = functools.partial(drawn, options.model, extents=extents, below=options.below)
            CASES[f"model {batch}"] = make, batch
    if options.threads == 1:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in CASES:
        if not any(fnmatch.fnmatch(name, p) for p in options.patterns):
            continue
        if options.case not in (None, name):
            continue
        if options.first:
            import onnx  # noqa: F401

            import frazil as fz  # noqa: F401

            make, batch = CASES[name]
            path, feeds = make(batch)
            call = frazil_call if options.first == "frazil" else onnxruntime_call
            begin = time.perf_counter()
            call(path, feeds, options.threads)()
            print(time.perf_counter() - begin)
        else:
            run(name, options.rounds, options.threads)


if __name__ == "__main__":
    main()
