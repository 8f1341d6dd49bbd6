"""Products of 8-bit integers: exact whatever zero points and dtypes there are, traced as eager, of
constant and of computed weights."""

import numpy as np
import pytest
from onnx import helper
from small_models import answers, drawn, model_of, thrice

import frazil as fz


@pytest.mark.parametrize("zeros", ["none", "one", "many"])
@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("dtypes", [("uint8", "int8"), ("uint8", "uint8"), ("int8", "int8")])
def test_products_of_matrices_are_exact(dtypes, constant, zeros):
    rng = np.random.default_rng(0)
    for shape in ((5, 300), (1, 7), (2, 3, 9)):
        a, b = drawn(rng, dtypes[0], shape), drawn(rng, dtypes[1], (shape[-1], 6))
        a_zero = drawn(rng, dtypes[0], ()) if zeros != "none" else np.zeros((), dtypes[0])
        b_zero = drawn(rng, dtypes[1], (6,) if zeros == "many" else ())
        b_zero = np.zeros((), dtypes[1]) if zeros == "none" else b_zero
        names = ["a", "b"] if zeros == "none" else ["a", "b", "a_zero", "b_zero"]
        node = helper.make_node("MatMulInteger", names, ["y"])
        whole = {"a": a, "b": b, "a_zero": a_zero, "b_zero": b_zero}
        fixed = names[1::2] if constant else []
        free = [n for n in names if n not in fixed]
        model = model_of(
            [node], [(n, whole[n].dtype, whole[n].shape) for n in free], ["y"],
            [(n, whole[n]) for n in fixed],
        )  # fmt: skip
        got = thrice(model, *(whole[n] for n in free))
        wanted = (a.astype(np.int64) - a_zero) @ (b.astype(np.int64) - b_zero)
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, wanted)


def test_a_zero_point_for_each_row():
    rng = np.random.default_rng(1)
    a, b = drawn(rng, "uint8", (4, 9)), drawn(rng, "uint8", (9, 3))
    a_zero, b_zero = drawn(rng, "uint8", (4,)), drawn(rng, "uint8", (3,))
    node = helper.make_node("MatMulInteger", ["a", "b", "a_zero", "b_zero"], ["y"])
    model = model_of([node], [("a", "uint8", (4, 9)), ("a_zero", "uint8", (4,))], ["y"],
                     [("b", b), ("b_zero", b_zero)])  # fmt: skip
    wanted = (a.astype(int) - a_zero[:, None]) @ (b.astype(int) - b_zero)
    np.testing.assert_array_equal(thrice(model, a, a_zero), wanted)


@pytest.mark.parametrize(("dtype", "zero"), [("int8", 0), ("uint8", 131), ("uint8", 128)])
@pytest.mark.parametrize(
    ("shape", "kernel", "options"),
    [
        ((2, 3, 7, 6), (4, 3, 3, 2), {"pads": [1, 0, 2, 1], "strides": [2, 1]}),
        ((1, 4, 5, 5), (6, 4, 1, 1), {}),
        ((1, 4, 6, 6), (4, 1, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
        ((2, 3, 9), (5, 3, 2), {"dilations": [3], "auto_pad": "SAME_UPPER"}),
        ((1, 400, 4, 4), (4, 200, 3, 3), {"group": 2}),
    ],
)
def test_convolutions_are_exact(dtype, zero, shape, kernel, options):
    """Zero points stand around the image, too."""
    rng = np.random.default_rng(2)
    x, w = drawn(rng, "uint8", shape), drawn(rng, dtype, kernel)
    node = helper.make_node("ConvInteger", ["x", "w", "x_zero", "w_zero"], ["y"], **options)
    x_zero, w_zero = np.asarray(77, np.uint8), np.asarray(zero, dtype)
    model = model_of([node], [("x", "uint8", shape), ("x_zero", "uint8", ())], ["y"],
                     [("w", w), ("w_zero", w_zero)])  # fmt: skip
    plain = model_of(
        [helper.make_node("Conv", ["x", "w"], ["y"], **options)], [("x", "float64", shape)], ["y"],
        [("w", w.astype(np.float64) - zero)],
    )  # fmt: skip
    wanted = np.asarray(fz.onnx.load(plain)(x.astype(np.float64) - 77.0))
    np.testing.assert_array_equal(thrice(model, x, x_zero), wanted)


def test_zeros_alone_have_a_scale():
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    model = model_of([node], [("x", "float32", (2, 3))], ["y", "scale", "zero"])
    y, scale, zero = fz.onnx.load(model)(np.zeros((2, 3), np.float32))
    assert (scale.item(), zero.item()) == (1.0, 0) and not np.asarray(y).any()


def test_numbers_between_two_integers_round_as_in_onnxruntime():
    """An integer that differs here differs by much at the end of a deep model."""
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])
    model = model_of([node], [("x", "float32", (None,))], list(node.output))
    rng = np.random.default_rng(4)
    for low, high in ((-1, 1.55), (-0.3, 7.1), (0, 3), (-2, 0)):
        scale = np.float32(np.float32(high) - np.float32(low)) / np.float32(255)
        x = ((rng.integers(-300, 300, 4000) + 0.5) * scale).astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(9)), np.nextafter(x, np.float32(-9))])
        x = np.append(np.clip(x, low, high), [low, high]).astype(np.float32)
        for got, wanted in zip(thrice(model, x), answers(model, {"x": x}), strict=True):
            np.testing.assert_array_equal(got, wanted, strict=True)


@pytest.mark.filterwarnings("error")
def test_casts_of_what_fits_in_no_integer_do_not_warn():
    """As models with distances in logarithms have them: of 0."""
    steps = (("Shape", {}), ("Cast", {"to": 1}), ("Log", {}), ("Cast", {"to": 7}))
    nodes = [helper.make_node(name, ["xabc"[i]], ["abcy"[i]], **options)
             for i, (name, options) in enumerate(steps)]  # fmt: skip
    model = model_of(nodes, [("x", "float32", (None,))], ["y"])
    x = np.zeros(0, np.float32)
    np.testing.assert_array_equal(thrice(model, x), answers(model, {"x": x})[0])


def test_free_extents_may_be_negative():
    """As some converters write them."""
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], [("x", "float32", [-1, 2])], ["y"])
    module = fz.onnx.load(model)
    assert module(np.ones((3, 2), np.float32)).shape == (3, 2)
    with pytest.raises(ValueError, match=r"must have the shape \(\?, 2\)"):
        module(np.ones((3, 3), np.float32))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_tiles_of_transposed_convolutions(axes):
    """A stride that is the kernel: as one that is computed in the general way, with a dilation."""
    rng = np.random.default_rng(3)
    kernel = (2, 3, 1)[:axes]
    x = rng.integers(-3, 4, (2, 4, 5, 3, 2)[: axes + 2]).astype(np.float32)
    w, b = rng.integers(-3, 4, (4, 6, *kernel)), rng.integers(-3, 4, (6,))
    w, b = w.astype(np.float32), b.astype(np.float32)
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], strides=list(kernel))
    model = model_of([node], [("x", "float32", x.shape)], ["y"], [("w", w), ("b", b)])
    got = thrice(model, x)
    wanted = np.zeros((2, 6, *(n * k for n, k in zip(x.shape[2:], kernel, strict=True))))
    for place in np.ndindex(*kernel):
        part = np.tensordot(x, w[(slice(None), slice(None), *place)], axes=(1, 0))
        index = tuple(slice(j, None, k) for j, k in zip(place, kernel, strict=True))
        wanted[(slice(None), slice(None), *index)] = np.moveaxis(part, -1, 1)
    np.testing.assert_array_equal(got, wanted + b.reshape((-1,) + (1,) * axes))
    layer = getattr(fz.nn.functional, f"conv_transpose{axes}d")
    own = layer(fz.asarray(x), fz.asarray(w), fz.asarray(b), stride=kernel)
    np.testing.assert_array_equal(np.asarray(own), got)


def test_traced_calls_of_quantised_models_are_skipped():
    """Scales and zero points are tensors of the plan, not read from the host at each call."""
    rng = np.random.default_rng(6)
    w, k = drawn(rng, "int8", (8, 3)), drawn(rng, "int8", (8, 2, 3, 3))
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        helper.make_node("ConvInteger", ["q", "k", "z"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Cast", ["c"], ["f"], to=1),
        helper.make_node("MaxPool", ["f"], ["p"], kernel_shape=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["a"]),
        helper.make_node("Flatten", ["a"], ["flat"]),
        helper.make_node("DynamicQuantizeLinear", ["flat"], ["d", "ds", "dz"]),
        helper.make_node("MatMulInteger", ["d", "w", "dz"], ["m"]),
        helper.make_node("Cast", ["m"], ["mf"], to=1),
        helper.make_node("QuantizeLinear", ["mf", "s", "z"], ["mq"]),
        helper.make_node("DequantizeLinear", ["mq", "s", "z"], ["y"]),
    ]
    weights = [("w", w), ("k", k), ("s", np.float32(0.5)), ("z", np.uint8(120))]
    model = model_of(nodes, [("x", "float32", (1, 2, 6, 6))], ["y"],
                     [(n, np.asarray(v)) for n, v in weights])  # fmt: skip
    traced = fz.trace(fz.onnx.load(model, trainable=False))
    x = fz.asarray(rng.normal(size=(1, 2, 6, 6)).astype(np.float32))
    for _ in range(8):
        traced(x)
    with fz.profile() as p:
        for _ in range(4):
            traced(x)
    assert sum(call.skipped for call in p.calls) == 4, traced.explain()


def test_plans_of_other_shapes_share_what_is_computed_of_constants(tmp_path):
    """So that such a model is exported for all sizes of a batch."""
    rng = np.random.default_rng(7)
    weights = [
        ("k", rng.normal(size=(4, 2, 3, 3)).astype(np.float32)), ("q", drawn(rng, "int8", (4, 3))),
        ("s", np.asarray(0.1, np.float32)),
    ]  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "k"], ["c"]),
        helper.make_node("GlobalAveragePool", ["c"], ["a"]),
        helper.make_node("Flatten", ["a"], ["flat"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"]),
        helper.make_node("MatMul", ["flat", "w"], ["y"]),
    ]
    module = fz.onnx.load(
        model_of(nodes, [("x", "float32", ["n", 2, "h", 6])], ["y"], weights), trainable=False
    )
    for shape in ((1, 2, 5, 6), (3, 2, 8, 6)):
        module(np.ones(shape, np.float32))
    first, second = (
        {id(v) for v in plan.constants.values() if isinstance(v, fz.Tensor)}
        for plan in module._body.plans.values()
    )
    assert len(first) == 2 and first == second
    x = fz.asarray(np.ones((2, 2, 5, 6), np.float32))
    fz.export(lambda x: module(x), (x,), tmp_path / "m.frz", dynamic={"x": {0: "batch"}})
    program = fz.load_program(tmp_path / "m.frz")
    for n in (1, 7, 40):
        x = rng.normal(size=(n, 2, 5, 6)).astype(np.float32)
        np.testing.assert_array_equal(np.asarray(program(fz.asarray(x))), np.asarray(module(x)))
