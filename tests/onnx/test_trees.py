"""Ensembles of trees against walks node by node; suppression against one box at a time."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import frazil as fz

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
TESTS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)


def grown(rng, modes, targets, missing, trees=6, features=3, apart=False):
    """Attributes of random trees whose node numbers are in no order."""
    nodes, leaves = [], []
    for tree in range(trees):
        free = iter((rng.permutation(400) + 7).tolist())
        todo = [(next(free), 0)]
        while todo:
            node, depth = todo.pop()
            if depth and (depth == 6 or rng.random() < 0.3):
                nodes.append((tree, node, "LEAF", 0, 0.0, 0, 0, 0))
                own = [tree % targets] if apart else range(targets)
                leaves += [(tree, node, t, float(rng.normal())) for t in own]
                continue
            yes, no = next(free), next(free)
            todo += [(yes, depth + 1), (no, depth + 1)]
            split = float(rng.integers(-2, 3))
            mode, lost = str(rng.choice(modes)), int(rng.choice(missing))
            nodes.append((tree, node, mode, int(rng.integers(features)), split, yes, no, lost))
    return nodes, leaves


def walked(x, nodes, leaves, trees=6):
    """The weights that rows collect: {target: [...]} for each row."""
    of, first = {(n[0], n[1]): n for n in nodes}, {}
    for n in nodes:
        first.setdefault(n[0], n)
    weights = {}
    for tree, node, target, w in leaves:
        weights.setdefault((tree, node), []).append((target, w))
    rows = []
    for row in x:
        found = {}
        for tree in range(trees):
            n = first[tree]
            while n[2] != "LEAF":
                own = row[n[3]]
                true = TESTS[MODES.index(n[2])](own, np.float32(n[4])) or (n[7] and np.isnan(own))
                n = of[tree, n[5] if true else n[6]]
            for target, w in weights[tree, n[1]]:
                found.setdefault(target, []).append(w)
        rows.append(found)
    return rows


def node_of(op, nodes, leaves, prefix, **more):
    columns = list(zip(*nodes, strict=True))
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")  # fmt: skip
    given = {f"nodes_{n}": list(c) for n, c in zip(names, columns, strict=True)}
    for n, c in zip(("treeids", "nodeids", "ids", "weights"), zip(*leaves, strict=True),
                    strict=True):  # fmt: skip
        given[f"{prefix}_{n}"] = list(c)
    outputs = ["y"] if prefix == "target" else ["labels", "y"]
    return helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **given, **more)


def loaded(node, tmp_path):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 3])
    kinds = {"labels": TensorProto.INT64}
    outputs = [helper.make_tensor_value_info(o, kinds.get(o, TensorProto.FLOAT), None)
               for o in node.output]  # fmt: skip
    graph = helper.make_graph([node], "trees", [x], outputs)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    path = tmp_path / "trees.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return fz.onnx.load(path)


def rows_of(rng, count):
    x = rng.integers(-3, 4, (count, 3)).astype(np.float32)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[rng.random(x.shape) < 0.1] = np.inf
    x[rng.random(x.shape) < 0.1] = -np.inf
    return x


@pytest.mark.parametrize("missing", [(0,), (1,), (0, 1)], ids=str)
@pytest.mark.parametrize("modes", [*[(m,) for m in MODES], MODES[1:3], MODES], ids=str)
def test_all_tests_and_missing_values(modes, missing, tmp_path):
    rng = np.random.default_rng(len(modes) + 7 * len(missing))
    nodes, leaves = grown(rng, modes, 1, missing)
    module = loaded(node_of("TreeEnsembleRegressor", nodes, leaves, "target"), tmp_path)
    traced = fz.trace(module)
    for count in (1, 33, 33, 33):
        x = rows_of(rng, count)
        expected = [[sum(f[0])] for f in walked(x, nodes, leaves)]
        got = np.asarray(module(fz.asarray(x)))
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        assert np.asarray(traced(fz.asarray(x))).tobytes() == got.tobytes()


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_aggregates_of_targets(how, apart, tmp_path):
    rng = np.random.default_rng(3)
    nodes, leaves = grown(rng, MODES[:1], 3, (0, 1), apart=apart)
    node = node_of("TreeEnsembleRegressor", nodes, leaves, "target", n_targets=3,
                   aggregate_function=how, base_values=[1.0, 2.0, 3.0])  # fmt: skip
    x = rows_of(rng, 20)
    fold = {"SUM": sum, "AVERAGE": lambda w: sum(w) / 6, "MIN": min, "MAX": max}[how]
    expected = [[fold(f[t]) + t + 1 for t in range(3)] for f in walked(x, nodes, leaves)]
    got = np.asarray(loaded(node, tmp_path)(fz.asarray(x)))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("targets", [1, 3])
def test_classes(targets, tmp_path):
    rng = np.random.default_rng(4)
    nodes, leaves = grown(rng, MODES[:1], targets, (0,), apart=True)
    labels, base = ([5, 9], [0.25]) if targets == 1 else ([5, 9, 2], [0.5, 0.0, -0.5])
    node = node_of("TreeEnsembleClassifier", nodes, leaves, "class", base_values=base,
                   classlabels_int64s=labels)  # fmt: skip
    x = rows_of(rng, 40)
    scores = np.asarray([[sum(f[t]) + b for t, b in enumerate(base)]
                         for f in walked(x, nodes, leaves)])  # fmt: skip
    if targets == 1:
        scores = np.concatenate([-scores, scores], axis=1)
    got = [np.asarray(v) for v in loaded(node, tmp_path)(fz.asarray(x))]
    np.testing.assert_allclose(got[1], scores, rtol=1e-5, atol=1e-6)
    assert got[0].tolist() == np.asarray(labels)[scores.argmax(axis=1)].tolist()


def test_trees_are_exported_for_any_batch(tmp_path):
    rng = np.random.default_rng(5)
    nodes, leaves = grown(rng, MODES[:1], 1, (0, 1))
    module = loaded(node_of("TreeEnsembleRegressor", nodes, leaves, "target"), tmp_path)
    path = tmp_path / "trees.frz"
    fz.export(module, (fz.asarray(rows_of(rng, 4)),), path, dynamic={"args.0": {0: "batch"}})
    program = fz.load_program(path)
    for count in (2, 9):
        x = fz.asarray(rows_of(rng, count))
        assert np.asarray(program(x)).tobytes() == np.asarray(module(x)).tobytes()


def test_a_node_below_itself_is_an_error(tmp_path):
    nodes = [(0, 0, "BRANCH_LEQ", 0, 0.0, 1, 2, 0), (0, 1, "BRANCH_LEQ", 0, 0.0, 1, 2, 0),
             (0, 2, "LEAF", 0, 0.0, 0, 0, 0)]  # fmt: skip
    node = node_of("TreeEnsembleRegressor", nodes, [(0, 2, 0, 1.0)], "target")
    with pytest.raises(ValueError, match="leads back"):
        loaded(node, tmp_path)(fz.zeros((1, 3)))


def one_by_one(boxes, scores, most, threshold, least):
    """Non-maximum suppression as it is defined, boxes as corners in order."""
    boxes, found = boxes.astype(np.float64), []
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in np.argsort(-scores, kind="stable"):
        if not scores[i] > least or len(found) == most:
            continue
        for k in found:
            sides = np.minimum(boxes[i, 2:], boxes[k, 2:]) - np.maximum(boxes[i, :2], boxes[k, :2])
            common = np.prod(np.maximum(sides, 0))
            union = areas[i] + areas[k] - common
            if union > 0 and common / union > threshold:
                break
        else:
            found.append(i)
    return [int(i) for i in found]


@pytest.mark.parametrize("most", [0, 1, 30, 1000])
@pytest.mark.parametrize("width", [1, 8, 60])
def test_suppression_keeps_the_same_boxes(most, width):
    from frazil.onnx.images import non_max_suppression

    rng = np.random.default_rng(most + width)
    corner = rng.integers(0, 100, (500, 2))
    boxes = np.concatenate([corner, corner + rng.integers(0, width + 1, (500, 2))], axis=1)
    boxes = boxes.astype(np.float32)
    boxes[::50, rng.integers(4)] = np.nan
    scores = rng.integers(0, 50, 500).astype(np.float32)  # many ties
    scores[::37] = np.nan
    got = non_max_suppression(boxes[None], scores[None, None], most, 0.5, 2.0)
    clean = np.concatenate([np.minimum(boxes[:, :2], boxes[:, 2:]),
                            np.maximum(boxes[:, :2], boxes[:, 2:])], axis=1)  # fmt: skip
    assert got[:, 2].tolist() == one_by_one(clean, scores, most, 0.5, 2.0)
