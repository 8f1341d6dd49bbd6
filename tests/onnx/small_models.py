"""Small models for tests, and what they give."""

import numpy as np
import onnx
import onnxruntime
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


def answers(model, feeds):
    """What onnxruntime gives."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, feeds)


def agrees(name, given, options, wanted, fixed=(), valid=None, rtol=1e-4):
    """Whether an operator of onnxruntime gives its answers, eager and traced. `given`: inputs with
    None for what is not given; `wanted`: which outputs; `fixed`: which inputs are constants;
    `valid`: how many rows of the first output are told, by batch."""
    names = ["" if v is None else f"x{i}" for i, v in enumerate(given)]
    outputs = [f"y{i}" if w else "" for i, w in enumerate(wanted)]
    arrays = {n: v for n, v in zip(names, given, strict=True) if n}
    free = [n for i, n in enumerate(names) if n and i not in fixed]
    node = helper.make_node(name, names, outputs, domain="com.microsoft", **options)
    model = model_of(
        [node], [(n, arrays[n].dtype, arrays[n].shape) for n in free], [o for o in outputs if o],
        [(n, v) for n, v in arrays.items() if n not in free], ["com.microsoft"],
    )  # fmt: skip
    if name == "MultiHeadAttention" and "y3" in outputs:  # its type is not inferred
        shown = helper.make_tensor_value_info("y3", onnx.TensorProto.FLOAT, None)
        model.graph.output[-1].CopyFrom(shown)
    feeds = {n: arrays[n] for n in free}
    got = thrice(model, *feeds.values())
    got = got if isinstance(got, list) else [got]
    for i, (a, b) in enumerate(zip(got, answers(model, feeds), strict=True)):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if valid is not None and i == 0:
            a, b = (np.concatenate([r[:n] for r, n in zip(y, valid, strict=True)]) for y in (a, b))
        if a.dtype.kind in "iu" and name.startswith("Q"):  # a rounding may fall either way
            assert (np.abs(a.astype(int) - b.astype(int)) <= 1).all() and (a == b).mean() > 0.9
        else:
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-5)
