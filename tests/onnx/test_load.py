"""Loading: names, weights, branches known beforehand; damaged and hostile files; refusals."""

import copy
import os
import pickle
import random
import subprocess
import sys

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

import frazil as fz

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'


def parsed(text, head=HEAD):
    return onnx.parser.parse_model(head + text)


def mlp():
    draw = np.random.RandomState(0)
    weights = [draw.randn(4, 8), draw.randn(8), draw.randn(8, 3), draw.randn(3)]
    names = ["fc.1.weight", "fc.1.bias", "fc.2.weight", "fc.2.bias"]
    model = parsed(
        """mlp (float[n, 4] x) => (float[n, 3] y) {
            a = MatMul(x, w1)  b = Add(a, b1)  c = Relu(b)  d = MatMul(c, w2)  y = Add(d, b2)
        }""".replace("w1", "fc_1_weight").replace("b1", "fc_1_bias")
        .replace("w2", "fc_2_weight").replace("b2", "fc_2_bias")
    )  # fmt: skip
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            if name.startswith("fc_"):
                node.input[i] = name.replace("_", ".")
    for name, w in zip(names, weights, strict=True):
        model.graph.initializer.append(numpy_helper.from_array(w.astype(np.float32), name))
    return model, dict(zip(names, weights, strict=True))


def by_hand(weights, x):
    w1, b1, w2, b2 = weights.values()
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


def test_weights_have_the_names_of_initializers_and_train(tmp_path):
    model, weights = mlp()
    onnx.save(model, tmp_path / "m.onnx")
    module = fz.onnx.load(tmp_path / "m.onnx")
    assert list(module.state_dict()) == list(weights)
    assert module.input_names == ("x",) and module.output_names == ("y",)
    assert module.operators == ["Add", "MatMul", "Relu"] and module.opsets == {"": 18}
    x = np.random.RandomState(1).randn(5, 4).astype(np.float32)
    np.testing.assert_allclose(np.asarray(module(x)), by_hand(weights, x), rtol=1e-4)
    assert (np.asarray(module(x=x)) == np.asarray(module(fz.asarray(x)))).all()
    optimizer = fz.optim.Adam(module.parameters(), lr=1e-2)

    @fz.trace
    def step(module, optimizer, x):
        optimizer.zero_grad()
        loss = fz.nn.mse_loss(module(x), fz.zeros((5, 3)))
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(module, optimizer, fz.asarray(x)).item() for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    frozen = fz.onnx.load(model.SerializeToString(), trainable=False)
    assert not list(frozen.parameters())


def test_another_state_is_used():
    model, weights = mlp()
    module = fz.onnx.load(model.SerializeToString())
    x = np.ones((1, 4), np.float32)
    module(x)
    module.load_state_dict({n: np.asarray(w * 2, np.float32) for n, w in weights.items()})
    doubled = {n: w * 2 for n, w in weights.items()}
    np.testing.assert_allclose(np.asarray(module(x)), by_hand(doubled, x), rtol=1e-4)


def test_shapes_are_computed_once_and_for_each_shape():
    model = parsed(
        """g (float[a, b] x) => (float[c, d] y) {
        s = Shape(x)  one = Constant<value = int64[1] {1}>()  zero = Constant<value = int64 {0}>()
        n = Gather<axis = 0>(s, zero)  m = Unsqueeze(n, zero_axes)
        last = Constant<value_ints = [-1]>()  t = Concat<axis = 0>(last, m)  y = Reshape(x, t)
    }""".replace("zero_axes", "axes").replace(
            "s = Shape(x)", "axes = Constant<value_ints = [0]>() s = Shape(x)"
        )
    )
    module = fz.onnx.load(model)
    traced = fz.trace(module)
    for shape in ((2, 3), (4, 5), (2, 3), (2, 3), (2, 3), (2, 3)):
        x = fz.arange(float(shape[0] * shape[1])).reshape(shape)
        assert module(x).shape == traced(x).shape == (shape[1], shape[0])
    (plan,) = [p for k, p in module._body.plans.items() if k[0][0] == (2, 3)]
    assert len(plan.steps) == 1  # the reshape alone


BRANCHES = """g (bool c, float[n] x) => (float[n] y) {
    y = If(c) <
        then_branch = t () => (float[n] a) { a = Add(x, x) },
        else_branch = e () => (float[n] b) { b = Neg(x) }
    >
}"""


def test_a_branch_that_is_known_is_taken_beforehand():
    module = fz.onnx.load(parsed(BRANCHES))
    x = fz.asarray([1.0, 2.0])
    assert module(True, x).tolist() == [2, 4] and module(False, x).tolist() == [-1, -2]
    assert module(fz.asarray(True), x).tolist() == [2, 4]
    assert module(fz.asarray(False), x).tolist() == [-1, -2]
    many = fz.vmap(module)(fz.asarray([True, False]), fz.asarray([[1.0, 2.0], [1.0, 2.0]]))
    assert many.tolist() == [[2, 4], [-1, -2]]


def test_traced_branches_and_loops_are_the_eager_ones():
    loop = parsed("""g (int64 n, float[m] x) => (float[m] y, float[k, m] all) {
        go = Constant<value = bool {1}>()
        y, all = Loop(n, go, x) <
            body = b (int64 i, bool c, float[m] s) => (bool d, float[m] t, float[m] u) {
            d = Identity(c)  half = Constant<value = float {0.5}>()
            t = Mul(s, half)  u = Identity(t)
        }>
    }""")
    module = fz.onnx.load(loop)
    traced = fz.trace(module)
    for n in (3, 4, 3, 3, 3):
        for count in (n, fz.asarray(n)):
            a, b = module(count, fz.ones(2)), traced(count, fz.ones(2))
            assert all((p == q).all() for p, q in zip(a, b, strict=True))
            assert a[0].tolist() == [0.5**n] * 2 and a[1].shape == (n, 2)
    module = fz.onnx.load(parsed(BRANCHES))
    traced = fz.trace(module)
    for c in (True, False, True, False, True):
        assert (traced(fz.asarray(c), fz.ones(3)) == module(fz.asarray(c), fz.ones(3))).all()


LOOPS = {
    "counted": """f (float[n] x, int64 m) => (float[n] y) {
        go = Constant<value = bool {1}>()
        y = Loop(m, go, x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t) {
            d = Identity(c)  t = Sin(s)
        }>
    }""",
    "tested": """f (float[n] x, int64 m) => (float[n] y) {
        go = Constant<value = bool {1}>()  most = Cast<to = 1>(m)
        y = Loop("", go, x) <body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t) {
            half = Constant<value = float {1.5}>()  t = Mul(s, half)
            all = ReduceSum<keepdims = 0>(t)  d = Less(all, most)
        }>
    }""",
    "collected": """f (float[n] x, int64 m) => (float[n] y, float[k, n] z) {
        go = Constant<value = bool {1}>()
        y, z = Loop(m, go, x) <
            body = b (int64 i, bool c, float[n] s) => (bool d, float[n] t, float[n] u) {
            d = Identity(c)  k = Cast<to = 1>(i)  t = Sin(s)  u = Mul(t, k)
        }>
    }""",
}


@pytest.mark.parametrize("kind", LOOPS)
def test_loops_over_tensors_are_skipped_when_traced(kind):
    module = fz.onnx.load(parsed(LOOPS[kind]))
    traced = fz.trace(module)

    def tensors(result):
        return [
            np.asarray(r).tobytes() for r in (result if isinstance(result, tuple) else [result])
        ]

    for n in (4, 4, 4, 4, 4, 4, 4, 7, 1, 4):
        args = fz.ones(3) * 0.5, fz.asarray(n)
        assert tensors(traced(*args)) == tensors(module(*args))
    assert traced.stats()["skipped"] > 0, traced.explain()
    for _ in range(7):
        traced(args[0], 4)
    assert tensors(traced(args[0], 4)) == tensors(module(*args))


AGAIN = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as f:
    module = pickle.load(f)
np.save(sys.argv[2], np.asarray(module(np.ones((2, 4), np.float32)).detach()))
"""


def test_a_module_is_pickled_and_copied(tmp_path):
    model, _ = mlp()
    module = fz.onnx.load(model)
    x = fz.ones((2, 4))
    before = np.asarray(module(x).detach())
    for again in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert list(again.state_dict()) == list(module.state_dict())
        assert again.input_names == ("x",) and again.operators == module.operators
        assert (np.asarray(again(x).detach()) == before).all()
        for p in again.parameters():
            p.requires_grad_(False)[...] = 0.0
        assert (np.asarray(again(x)) == 0).all()
        assert (np.asarray(module(x).detach()) == before).all()
    (tmp_path / "m.pickle").write_bytes(pickle.dumps(module))
    argv = [sys.executable, "-c", AGAIN, tmp_path / "m.pickle", tmp_path / "y.npy"]
    subprocess.run(argv, check=True, timeout=300)
    assert (np.load(tmp_path / "y.npy") == before).all()
    branches = fz.onnx.load(parsed(BRANCHES))
    expected = branches(True, fz.ones(2)).tolist()  # with a plan
    assert pickle.loads(pickle.dumps(branches))(True, fz.ones(2)).tolist() == expected
    for text in LOOPS.values():
        loop = fz.onnx.load(parsed(text))
        results = [m(fz.ones(2), 3) for m in (loop, pickle.loads(pickle.dumps(loop)))]
        assert str(results[0]) == str(results[1])


def test_functions_of_a_model_are_expanded():
    head = '<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n'
    model = parsed(
        """g (float[n] x) => (float[n] y) { y = own.twice<by = 3.0>(x) }
        <domain: "own", opset_import: ["" : 18]>
        twice <by>(a) => (b) { k = Constant<value_float: float = @by>()  b = Mul(a, k) }""",
        head,
    )
    assert fz.onnx.load(model)(fz.ones(2)).tolist() == [3, 3]


# What is refused


def test_all_that_is_not_supported_is_told_at_once():
    head = '<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>\n'
    model = parsed(
        """g (float[n] x) => (float[n] y) {
        a = com.microsoft.FusedThing(x)  y = Nonsense(a)
    }""",
        head,
    )
    model.graph.node[0].name = "first"
    with pytest.raises(ValueError, match="first.*FusedThing.*opset 1.*\n.*Nonsense.*opset 18"):
        fz.onnx.load(model)
    old = parsed("g (float[n] x) => (float[n] y) { y = Gelu(x) }")
    with pytest.raises(ValueError, match="Gelu, opset 18.*from opset 20.*version_converter"):
        fz.onnx.load(old)
    odd = parsed("g (float[n] x) => (float[n] y) { y = Relu<slope = 1>(x) }")
    with pytest.raises(ValueError, match="attributes slope are not supported"):
        fz.onnx.load(odd)


def test_wrong_inputs_are_named():
    module = fz.onnx.load(mlp()[0])
    with pytest.raises(TypeError, match="takes 1 inputs, x: got 2"):
        module(1, 2)
    with pytest.raises(TypeError, match="not wanted by name: z, missing: x"):
        module(z=1)
    with pytest.raises(TypeError, match="'x' must be float32, got int32"):
        module(np.ones((2, 4), np.int32))
    with pytest.raises(ValueError, match=r"'x' must have the shape \(\?, 4\), got \(2, 5\)"):
        module(np.ones((2, 5), np.float32))


def test_an_error_while_it_runs_names_the_node():
    module = fz.onnx.load(parsed("g (float[n] x, float[m] z) => (float[k] y) { y = Add(x, z) }"))
    with pytest.raises(ValueError) as error:
        module(fz.ones(2), fz.ones(3))
    assert "node 0 (Add, opset 18)" in " ".join(error.value.__notes__)


# Damaged and hostile files


def with_tensor(**fields):
    model = parsed("g (float[n] x) => (float[n] y) { y = Add(x, w) }")
    tensor = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT)
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(tensor, name).extend(value)
        else:
            setattr(tensor, name, value)
    return model


@pytest.mark.parametrize("fields", [
    {"dims": [2], "raw_data": b"1234"},
    {"dims": [2], "float_data": [1.0]},
    {"dims": [-1], "raw_data": b""},
    {"dims": [2**40, 2**40], "raw_data": b"1234"},
    {"dims": [2**62, 4], "raw_data": b""},
    {"dims": [1] * 65, "raw_data": b"1234"},
    {"dims": [1], "raw_data": b"1234", "data_type": 99},
    {"dims": [3], "raw_data": b"1", "data_type": TensorProto.INT4},
    {"dims": [2], "string_data": [b"a"], "data_type": TensorProto.STRING},
    {"dims": [1], "string_data": [b"\xff"], "data_type": TensorProto.STRING},
])  # fmt: skip
def test_tensors_must_hold_what_they_claim(fields):
    with pytest.raises(ValueError, match="tensor 'w'"):
        fz.onnx.load(with_tensor(**fields).SerializeToString())


def sparse(dims, places, values):
    model = parsed("g (float[n] x) => (float[n] y) { y = Add(x, w) }")
    made = model.graph.sparse_initializer.add(dims=dims)
    made.values.CopyFrom(numpy_helper.from_array(np.asarray(values, np.float32), "w"))
    made.indices.CopyFrom(numpy_helper.from_array(np.asarray(places, np.int64), "i"))
    return model.SerializeToString()


def test_sparse_tensors():
    for places in ([1, 3], [[1], [3]]):
        module = fz.onnx.load(sparse([5], places, [2, 4]))
        assert module(fz.zeros(5)).tolist() == [0, 2, 0, 4, 0]
    assert fz.onnx.load(sparse([0], np.zeros((0, 1)), []))(fz.zeros(1)).tolist() == []
    for dims, places, values, words in (
        ([5], [5], [1], "outside of its shape"),
        ([5], [-1], [1], "outside of its shape"),
        ([2, 2], [[0, 2]], [1], "outside of its shape"),
        ([5], [1, 2], [1], "has indices of shape"),
        ([2, 2], [[0]], [1], "has indices of shape"),
        ([100_000, 100_000], [5], [1], "claims to be of shape"),
        ([1 << 62, 1 << 62], [5], [1], "claims to be of shape"),
        ([-5], [0], [1], "claims to be of shape"),
    ):
        with pytest.raises(ValueError, match=rf"sparse tensor 'w' .*{words}"):
            fz.onnx.load(sparse(dims, places, values))


def test_what_asks_for_too_much_is_refused():
    for text, words in (
        ("y = Split<num_outputs = 1099511627776>(x)", "3 elements do not part into"),
        ("y = Split<num_outputs = 0>(x)", "3 elements do not part into 0"),
        ("y = Cast<to = 999>(x)", "no data type 999"),
        ("a = Constant<value_float = 0.0>() b = Constant<value_float = 1e30>() "
         "c = Constant<value_float = 1.0>() y = Range(a, b, c)", "no range goes from 0.0 to 1.0"),
        ("a = Constant<value_int = 0>() b = Constant<value_int = 4611686018427387904>() "
         "c = Constant<value_int = 1>() y = Range(a, b, c)", "no range goes from 0 to 46116"),
        ("a = Constant<value_int = 0>() b = Constant<value_int = 4>() y = Range(a, b, a)",
         "no range goes from 0 to 4 by 0"),
    ):  # fmt: skip
        module = fz.onnx.load(parsed(f"g (float[n] x) => (float[n] y) {{ {text} }}"))
        with pytest.raises(ValueError, match=words):
            module(fz.ones(3))


def test_graphs_within_nodes_take_and_make_what_the_nodes_do():
    one = "{ z = Relu(x) }"
    for text, words in (
        (f"y = Loop(n, , x) <body = b () => (float[n] z) {one}>", "body has 0 inputs and 1 out"),
        (f"y = If(c) <then_branch = b (float[n] v) => (float[n] z) {one}, "
         f"else_branch = d () => (float[n] z) {one}>", "then_branch has 1 inputs"),
        (f"y = Scan(x) <num_scan_inputs = 3, body = b (float v) => (float[n] z) {one}>",
         "body has 1 inputs"),
    ):  # fmt: skip
        model = parsed(f"g (float[n] x, bool c, int64 n) => (float[n] y) {{ {text} }}")
        with pytest.raises(ValueError, match=words):
            fz.onnx.load(model)


def test_a_message_does_not_repeat_a_whole_file():
    with pytest.raises(ValueError, match="claims to be of shape") as error:
        fz.onnx.load(with_tensor(dims=[1] * 100_000, raw_data=b"1234").SerializeToString())
    assert len(str(error.value)) < 400


def external(tmp_path, location, **more):
    model = with_tensor(dims=[2])
    tensor = model.graph.initializer[0]
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    folder = tmp_path / "model"
    (folder / "data").mkdir(parents=True, exist_ok=True)
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_is_read_from_below_the_model(tmp_path):
    path = external(tmp_path, "data/w.bin", offset=4, length=8)
    (path.parent / "data" / "w.bin").write_bytes(np.asarray([0, 1, 2], np.float32).tobytes())
    assert fz.onnx.load(path)(fz.zeros(2)).tolist() == [1, 2]
    with pytest.raises(ValueError, match="bytes has no folder"):
        fz.onnx.load(path.read_bytes())


@pytest.mark.parametrize("location", [
    "../w.bin", "data/../../w.bin", "/etc/hostname", "", "C:/w.bin", "data\\..\\..\\w.bin", "link",
    "folder/w.bin", "data/none.bin", "data",
])  # fmt: skip
def test_external_data_elsewhere_is_refused(tmp_path, location):
    path = external(tmp_path, location)
    (tmp_path / "w.bin").write_bytes(bytes(8))
    os.symlink(tmp_path / "w.bin", path.parent / "link")
    os.symlink(tmp_path, path.parent / "folder")
    with pytest.raises(ValueError, match="tensor 'w' lies in the file"):
        fz.onnx.load(path)


@pytest.mark.parametrize("more", [
    {"offset": 8}, {"offset": -4}, {"length": 4}, {"length": 800}, {"offset": "x"},
    {"offset": 2**70},
])  # fmt: skip
def test_external_data_must_be_there(tmp_path, more):
    path = external(tmp_path, "data/w.bin", **more)
    (path.parent / "data" / "w.bin").write_bytes(bytes(8))
    with pytest.raises(ValueError, match="tensor 'w' lies in the file"):
        fz.onnx.load(path)


def test_graphs_must_be_in_order_and_names_unique():
    for text, words in (
        ("g (float[n] x) => (float[n] y) { y = Relu(z)  z = Relu(x) }", "uses 'z'"),
        ("g (float[n] x) => (float[n] y) { y = Relu(x)  y = Relu(x) }", "'y' is defined twice"),
        ("g (float[n] x) => (float[n] z) { y = Relu(x) }", "graph 'g' uses 'z'"),
    ):
        with pytest.raises(ValueError, match=words):
            fz.onnx.load(parsed(text))


def test_calls_that_never_end_are_refused(monkeypatch):
    head = '<ir_version: 8, opset_import: ["" : 18, "own" : 1]>\n'
    model = parsed(
        """g (float[n] x) => (float[n] y) { y = own.f(x) }
        <domain: "own", opset_import: ["" : 18, "own" : 1]> f (a) => (b) { b = own.f(a) }""",
        head,
    )
    with pytest.raises(ValueError, match="calls itself"):
        fz.onnx.load(model)
    # Functions that call the next one twice: 2**60 nodes.
    monkeypatch.setattr("frazil.onnx._build.NODES", 2000)
    functions = [
        helper.make_function("own", f"f{i}", ["a"], ["b"],
                             [helper.make_node(f"f{i + 1}", ["a"], ["c"], domain="own"),
                              helper.make_node(f"f{i + 1}", ["c"], ["b"], domain="own")],
                             [helper.make_opsetid("own", 1)])
        for i in range(60)
    ]  # fmt: skip
    functions.append(
        helper.make_function("own", "f60", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])],
                             [helper.make_opsetid("", 18)])
    )  # fmt: skip
    model = parsed("g (float[n] x) => (float[n] y) { y = own.f0(x) }", head)
    model.functions.extend(functions)
    with pytest.raises(ValueError, match="more than 2000 nodes"):
        fz.onnx.load(model)


def test_newer_opsets_are_told():
    model = parsed("g (float[n] x) => (float[n] y) { y = Relu(x) }")
    model.opset_import[0].version = 999
    with pytest.raises(ValueError, match="opset 999.*version_converter"):
        fz.onnx.load(model)


@pytest.mark.parametrize("version", [-1, 1 << 40])
def test_opsets_that_no_package_counts_to_are_told(version):
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "other" : 1]> f (float[1] x) => (float[1] y) '
        "{ y = Neg(x) }"
    )
    model.opset_import[1].version = version
    with pytest.raises(ValueError, match=f"other has no opset {version}"):
        fz.onnx.load(model)


def test_damaged_files_raise_value_errors():
    """Truncated, and with changed bits: a ValueError, or a model that is another one."""
    content = mlp()[0].SerializeToString()
    draw = random.Random(3)
    for n in range(0, len(content), 7):
        damaged = bytearray(content[:n])
        with pytest.raises(ValueError):
            fz.onnx.load(bytes(damaged))
    refused = 0
    for _ in range(400):
        damaged = bytearray(content)
        for _ in range(draw.randint(1, 3)):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        try:
            fz.onnx.load(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused > 50


@pytest.mark.parametrize("content", [b"", b"\x00" * 100, b"not a model", b"\x08" * 64])
def test_what_is_no_model_is_refused(content):
    with pytest.raises(ValueError, match="no ONNX model"):
        fz.onnx.load(content)


def test_the_page_is_that_of_the_table():
    import subprocess
    import sys

    root = os.environ["FRAZIL_ROOT"]
    run = subprocess.run([sys.executable, f"{root}/tools/gen_onnx.py", "--check"], text=True,
                         capture_output=True)  # fmt: skip
    assert run.returncode == 0, run.stderr


def test_without_the_package_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install onnx"):
        fz.onnx.load(b"")


def test_resized_images_are_proved():
    """The places of a Resize are computed of sizes: a traced call skips the body."""
    resize = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    graph = helper.make_graph(
        [resize],
        "resize",
        [helper.make_tensor_value_info("x", 1, ["n", 3, 6, 5])],
        [helper.make_tensor_value_info("y", 1, ["n", 3, 12, 7])],
        [helper.make_tensor("scales", 1, [4], [1.0, 1.0, 2.0, 1.5])],
    )
    opset = [helper.make_opsetid("", 18)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=9)
    module = fz.onnx.load(model, trainable=False)
    x = fz.asarray(np.random.default_rng(0).normal(size=(2, 3, 6, 5)).astype("float32"))
    want, traced = np.asarray(module(x)), fz.trace(module)
    for _ in range(8):
        np.testing.assert_array_equal(np.asarray(traced(x)), want)
    assert traced.stats()["skipped"] > 0
