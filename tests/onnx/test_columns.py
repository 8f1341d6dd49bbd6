"""Long attributes of trees that are read from a file's bytes are those that the parser reads."""

import random

import numpy as np
import onnx
import pytest
from onnx import helper

import frazil as fz
from frazil.onnx import _columns

COUNT = 300


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """All attributes count as long, and parts are short."""
    monkeypatch.setattr(_columns, "_LARGE", 100)
    monkeypatch.setattr(_columns, "_PART", 64)


def columns_of():
    draw = np.random.default_rng(2)
    wide = draw.integers(-(1 << 62), 1 << 62, COUNT) >> draw.integers(0, 60, COUNT)
    return {
        "nodes_modes": draw.choice(["LEAF", "BRANCH_LEQ", "BRANCH_NEQ", "BRANCH_LT"], COUNT),
        "nodes_treeids": np.arange(COUNT), "nodes_nodeids": wide,
        "nodes_truenodeids": draw.integers(-3, 300, COUNT),
        "nodes_values": draw.normal(size=COUNT).astype(np.float32), "target_ids": np.zeros(200),
        "others": np.arange(COUNT),
    }  # fmt: skip


def model_of(columns):
    own = {n: v.tolist() if n != "target_ids" else [0] * 200 for n, v in columns.items()}
    nodes = [
        helper.make_node("Relu", ["x"], ["z"]),
        helper.make_node("TreeEnsembleRegressor", ["z"], ["y"], domain="ai.onnx.ml", **own),
    ]
    return helper.make_model(helper.make_graph(nodes, "g", [], []))


def attributes_of(content, columns):
    """By node and name, of a message and what was taken out."""
    model = onnx.ModelProto()
    model.ParseFromString(content)
    found = {}
    for i, node in enumerate(model.graph.node):
        for a in node.attribute:
            found[i, a.name] = (
                list(a.ints), np.asarray(a.floats, np.float32).tobytes(),
                [s.decode("latin-1") for s in a.strings],
            )  # fmt: skip
    for key, column in columns.items():
        assert found[key] == ([], b"", [])
        if isinstance(column, _columns.Words):
            found[key] = [], b"", [column.words[c] for c in column.codes]
        elif column.dtype.kind == "f":
            found[key] = [], column.tobytes(), []
        else:
            found[key] = column.tolist(), b"", []
    return found


def test_they_are_those_of_the_parser():
    content = model_of(columns_of()).SerializeToString()
    rest, columns = _columns.separated(content)
    assert {name for _, name in columns} == set(columns_of()) - {"others"}
    assert len(rest) < len(content) / 3
    assert attributes_of(rest, columns) == attributes_of(content, {})
    assert columns[1, "nodes_treeids"].dtype == np.int32
    assert columns[1, "nodes_nodeids"].dtype == np.int64


def test_models_with_functions_are_left_to_the_parser():
    model = model_of(columns_of())
    model.functions.add(name="f")
    content = model.SerializeToString()
    assert _columns.separated(content) == (content, {})


def test_damaged_files_are_read_as_the_parser_does():
    """Or left to it."""
    content, draw, apart = model_of(columns_of()).SerializeToString(), random.Random(3), 0
    for _ in range(120):
        damaged = bytearray(content)
        if draw.random() < 0.3:
            damaged = damaged[: draw.randrange(len(damaged))]
        else:
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        rest, columns = _columns.separated(bytes(damaged))
        try:
            wanted = attributes_of(bytes(damaged), {})
        except Exception:
            continue
        apart += bool(columns)
        assert attributes_of(rest, columns) == wanted
    assert apart > 8


@pytest.mark.parametrize("name", ["TreeEnsembleRegressor", "TreeEnsembleClassifier"])
def test_models_give_the_same(name, tmp_path, monkeypatch):
    from test_trees import MODES, grown, loaded, node_of, rows_of

    draw = np.random.default_rng(5)
    nodes, leaves = grown(draw, MODES, 1, (0, 1), trees=20)
    prefix = "target" if name.endswith("Regressor") else "class"
    more = {} if prefix == "target" else {"classlabels_int64s": [4, 7]}
    node = node_of(name, nodes, leaves, prefix, **more)
    x = fz.asarray(rows_of(draw, 30))
    taken = []
    separated = _columns.separated
    from frazil.onnx import _reading

    def watched(content):
        taken.append(separated(content))
        return taken[-1]

    monkeypatch.setattr(_reading, "separated", watched)
    apart = loaded(node, tmp_path)(x)
    assert len(taken[0][1]) == 12
    monkeypatch.setattr(_columns, "_LARGE", 1 << 30)
    whole = loaded(node, tmp_path)(x)
    apart, whole = (v if isinstance(v, tuple) else (v,) for v in (apart, whole))
    for a, b in zip(apart, whole, strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
