"""Networks for images beside onnxruntime: MobileNets, U-Nets, a residual network.

    PYTHONPATH=build/python PYTHON bench/onnx_images.py [PATTERN ...] [--rounds N] [--threads N]
    ... [--batch 1 32]

The models are written here, with weights that are drawn and normalisations folded into
convolutions, as exporters leave them. A line is a model at a batch: the best times of frazil's
traced call and of onnxruntime's, and onnxruntime's over frazil's (above 1 frazil is faster). Needs
onnx, onnxruntime.
"""

import argparse
import fnmatch
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from measure import Rounds, readable
from onnx import helper, numpy_helper
from onnx_models import frazil_call, onnxruntime_call


class Writer:
    """A model whose operators are added one by one; a value is a name."""

    def __init__(self, channels, side):
        self.nodes, self.weights, self.channels = [], [], {"x": channels}
        self.rng, self.side = np.random.default_rng(0), side

    def constant(self, value, dtype=np.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, op, *inputs, channels=None, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name], **attributes))
        self.channels[name] = self.channels.get(inputs[0]) if channels is None else channels
        return name

    def drawn(self, *shape):
        fan = np.prod(shape[1:])
        return self.constant(self.rng.normal(size=shape) * (2 / fan) ** 0.5)

    def conv(self, x, out, kernel, stride=1, groups=1):
        w = self.drawn(out, self.channels[x] // groups, kernel, kernel)
        b = self.constant(self.rng.normal(size=out) * 0.1)
        return self.add(
            "Conv", x, w, b, channels=out, group=groups, kernel_shape=[kernel] * 2,
            pads=[kernel // 2] * 4, strides=[stride] * 2,
        )  # fmt: skip

    def act(self, x, kind):
        if kind == "relu6":
            return self.add("Clip", x, self.constant(0), self.constant(6))
        return x if kind is None else self.add({"relu": "Relu", "hswish": "HardSwish"}[kind], x)

    def classes(self, x, hidden):
        x = self.add("Flatten", self.add("GlobalAveragePool", x))
        for width in (*hidden, 1000):
            w = self.drawn(width, self.channels[x])
            x = self.add("Gemm", x, w, self.constant(np.zeros(width)), channels=width, transB=1)
        return x

    def save(self, y, path):
        def value(name, shape):
            return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)

        image = ["batch", self.channels["x"], self.side, self.side]
        graph = helper.make_graph(
            self.nodes, "images", [value("x", image)], [value(y, None)], self.weights
        )
        opset = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), path)


def inverted(net, x, wide, out, stride, kernel=3, act="relu6", gate=False):
    """Wider, each channel by itself, narrower, and the sum with what it began with."""
    y = net.act(net.conv(x, wide, 1), act) if wide != net.channels[x] else x
    y = net.act(net.conv(y, wide, kernel, stride, wide), act)
    if gate:
        g = net.act(net.conv(net.add("GlobalAveragePool", y), max(8, wide // 4), 1), "relu")
        y = net.add("Mul", y, net.add("HardSigmoid", net.conv(g, wide, 1), alpha=1 / 6))
    y = net.conv(y, out, 1)
    return net.add("Add", x, y) if stride == 1 and net.channels[x] == out else y


def mobilenet_v2():
    net = Writer(3, 224)
    x = net.act(net.conv("x", 32, 3, 2), "relu6")
    for factor, out, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            x = inverted(net, x, net.channels[x] * factor, out, 1 if i else stride)
    return net, net.classes(net.act(net.conv(x, 1280, 1), "relu6"), ())


def mobilenet_v3():
    net = Writer(3, 224)
    x = net.act(net.conv("x", 16, 3, 2), "hswish")
    for kernel, wide, out, gate, act, stride in (
        (3, 16, 16, True, "relu", 2), (3, 72, 24, False, "relu", 2), (3, 88, 24, False, "relu", 1),
        (5, 96, 40, True, "hswish", 2), (5, 240, 40, True, "hswish", 1),
        (5, 240, 40, True, "hswish", 1), (5, 120, 48, True, "hswish", 1),
        (5, 144, 48, True, "hswish", 1), (5, 288, 96, True, "hswish", 2),
        (5, 576, 96, True, "hswish", 1), (5, 576, 96, True, "hswish", 1),
    ):  # fmt: skip
        x = inverted(net, x, wide, out, stride, kernel, act, gate)
    return net, net.classes(net.act(net.conv(x, 576, 1), "hswish"), (1024,))


def unet(up):
    net, skips = Writer(3, 128), []

    def double(x, out):
        return net.act(net.conv(net.act(net.conv(x, out, 3), "relu"), out, 3), "relu")

    x = "x"
    for i in range(5):
        if i:
            x = net.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
        x = double(x, 16 << i)
        skips.append(x)
    for i in (3, 2, 1, 0):
        out = 16 << i
        if up in ("2", "4"):
            k = int(up)
            w, b = net.drawn(2 * out, out, k, k), net.constant(np.zeros(out))
            x = net.add("ConvTranspose", x, w, b, channels=out, kernel_shape=[k, k],
                        strides=[2, 2], pads=[(k - 2) // 2] * 4)  # fmt: skip
        else:
            x = net.conv(x, out, 1)
            x = net.add("Resize", x, "", net.constant([1, 1, 2, 2]), mode=up)
        x = double(net.add("Concat", skips[i], x, channels=2 * out, axis=1), out)
    return net, net.conv(x, 2, 1)


def resnet():
    net = Writer(3, 224)
    x = net.act(net.conv("x", 64, 7, 2), "relu")
    x = net.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for out, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for i in range(2):
            step = 1 if i else stride
            y = net.conv(net.act(net.conv(x, out, 3, step), "relu"), out, 3)
            x = x if net.channels[x] == out and step == 1 else net.conv(x, out, 1, step)
            x = net.act(net.add("Add", x, y), "relu")
    return net, net.classes(x, ())


MODELS = {
    "mobilenet_v2": mobilenet_v2,
    "mobilenet_v3": mobilenet_v3,
    "unet_transposed": lambda: unet("2"),
    "unet_transposed_4": lambda: unet("4"),
    "unet_linear": lambda: unet("linear"),
    "unet_nearest": lambda: unet("nearest"),
    "resnet_18": resnet,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, nargs="*", default=[1, 32])
    options = parser.parse_args()
    clock = time.process_time if options.threads == 1 else time.perf_counter
    if options.threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        for name, make in MODELS.items():
            if not any(fnmatch.fnmatch(name, p) for p in options.patterns):
                continue
            net, y = make()
            path = Path(folder) / f"{name}.onnx"
            net.save(y, path)
            for batch in options.batch:
                shape = (batch, 3, net.side, net.side)
                feeds = {"x": np.random.default_rng(1).normal(size=shape).astype(np.float32)}
                calls = {
                    "traced": frazil_call(path, feeds, options.threads),
                    "onnxruntime": onnxruntime_call(path, feeds, options.threads),
                }
                for _ in range(5):
                    got, want = (call() for call in calls.values())
                assert np.abs(got - want).max() <= 2e-4 * np.abs(want).max(), name
                best = {
                    n: min(t) for n, t in Rounds(calls, options.rounds, 0.1, clock).times.items()
                }
                print(
                    f"{name:18} batch {batch:<3} traced {readable(best['traced']):>8} onnxruntime "
                    f"{readable(best['onnxruntime']):>8} ratio "
                    f"{best['onnxruntime'] / best['traced']:.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
