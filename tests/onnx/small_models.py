"""Small models for tests, and what they give."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import frazil as fz


def model_of(nodes, inputs, outputs, weights=(), domains=()):
    """A model of nodes; inputs are (name, dtype, shape)."""
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(d, 1) for d in domains)]
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.dtype(d)), s)
         for n, d, s in inputs],
        [onnx.ValueInfoProto(name=n) for n in outputs],
        [numpy_helper.from_array(w, n) for n, w in weights],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def thrice(model, *given):
    """What a model gives: eager, then traced, with the same bits."""
    module = fz.onnx.load(model, trainable=False)
    traced, eager = fz.trace(module), _arrays(module(*given))
    for _ in range(3):
        for got, wanted in zip(_arrays(traced(*given)), eager, strict=True):
            assert got.dtype == wanted.dtype and got.tobytes() == wanted.tobytes()
    return eager[0] if len(eager) == 1 else eager


def _arrays(results):
    results = results if isinstance(results, tuple) else (results,)
    return [np.asarray(r) for r in results]


def drawn(rng, dtype, shape):
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
