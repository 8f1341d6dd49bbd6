"""fz.export and fz.load_program: the same bits as the function, of every size, branch and step."""

import contextlib
import copy
import hashlib
import pickle
from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np
import pytest
from exports import bits, exported, normal

import frazil as fz
from frazil import _export_file, nn, optim


def mlp():
    fz.random.seed(1)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


# Fixed shapes


def test_a_function_of_tensors(tmp_path):
    def f(x, y):
        return fz.exp(x) @ y + 1, fz.sum(x, axis=0)

    g = exported(tmp_path, f, (normal(3, 4), normal(4, 2)))
    x, y = normal(3, 4, seed=5), normal(4, 2, seed=6)
    for _ in range(4):
        assert bits(g(x, y)) == bits(f(x, y))
    assert g.inputs == {"x": "f32[3,4]", "y": "f32[4,2]"}
    assert g.stats()["skipped"] > 0


def test_weights_have_the_names_of_the_state_dict(tmp_path):
    model = mlp()
    program = exported(tmp_path, model, (normal(5, 8),))
    x = normal(5, 8, seed=3)
    assert bits(program(x)) == bits(model(x))
    assert sorted(program.state_dict()) == sorted(model.state_dict())
    tensors, _ = fz.io.load_safetensors(tmp_path / "program.frz", return_metadata=True)
    assert bits(tensors["0.weight"]) == bits(model.state_dict()["0.weight"])


def test_weights_of_a_closure_a_global_and_an_argument(tmp_path):
    model = mlp()

    def caught(x):
        return model(x) * 2

    def given(m, x):
        return m(x) * 2

    x = normal(2, 8)
    for fn, args in ((caught, (x,)), (given, (model, x)), (fz.trace(caught, pure=True), (x,))):
        program = exported(tmp_path, fn, args)
        assert set(program.state_dict()) == set(model.state_dict())
        assert bits(program(x)) == bits(model(x) * 2)
    with pytest.raises(TypeError, match=r"\[given\] takes x, got 2 by position"):
        exported(tmp_path, given, (model, x))(model, x)


def test_nests_of_arguments_and_results(tmp_path):
    def f(batch, scale, options):
        (a, b), c = batch["pair"], batch["last"]
        return {"sum": a + b * scale, "both": [c, (a, None, "name", scale)], "flag": options}

    batch = {"pair": (normal(2), normal(2, seed=1)), "last": normal(3)}
    g = exported(tmp_path, f, (batch, 2.5, True))
    assert bits(g(batch, 2.5, True)) == bits(f(batch, 2.5, True))
    with pytest.raises(ValueError, match=r"\[f\] scale was 2.5 when it was exported.*got 3.0"):
        g(batch, 3.0, True)
    with pytest.raises(TypeError, match=r"\[f\] batch.pair must be a tuple of 2, got list of 2"):
        g({**batch, "pair": list(batch["pair"])}, 2.5, True)
    with pytest.raises(TypeError, match=r"\[f\] batch must be a dict of \['pair', 'last'\]"):
        g({"pair": 1}, 2.5, True)


class State(NamedTuple):
    position: fz.Tensor
    rest: Any


def test_named_tuples_in_and_out(tmp_path):
    def step(s, options):
        return State(s.position + s.rest["speed"] * options.rest, s.rest), s.position

    x, speed = normal(3), normal(3, seed=1)
    state, options = State(x, {"speed": speed}), State(None, 0.5)
    more = [(State(normal(7), {"speed": normal(7)}), options)]
    dynamic = {"s.position": {0: "n"}, "s.rest.speed": {0: "n"}}
    g = exported(tmp_path, step, (state, options), dynamic=dynamic, examples=more)
    assert list(g.inputs) == ["s.position", "s.rest.speed"]
    for n in (3, 7, 5):
        s = State(normal(n), {"speed": normal(n, seed=2)})
        new, old = g(s, options)
        assert bits((new, old)) == bits(step(s, options))
        assert new._fields == State._fields and bits(g(new, options)) == bits(step(new, options))
    message = r"\[step\] s must be a named tuple of \['position', 'rest'\], got tuple of 2"
    with pytest.raises(TypeError, match=message):
        g((x, {"speed": speed}), options)
    with pytest.raises(ValueError, match=r"options.rest was 0.5 when it was exported"):
        g(state, State(None, 2.0))


Pair = namedtuple("Pair", "a b")
Renamed = namedtuple("Renamed", "a def", rename=True)


class Doubled(Pair):
    def __new__(cls, a):
        return super().__new__(cls, a, a * 2)


def test_named_tuples_that_classes_make_in_ways_of_their_own(tmp_path):
    x, y = normal(3), normal(3, seed=1)
    g = exported(tmp_path, lambda p: Doubled(p.a + p.b), (Doubled(x),))
    assert bits(g(Pair(x, y))) == bits(Doubled(x + y))
    g = exported(tmp_path, lambda p: Renamed(p.a, p[1] * 2), (Renamed(x, y),))
    assert g(Renamed(y, x))._fields == ("a", "_1") and bits(g(Renamed(y, x))) == bits((y, x * 2))

    class Marked(Pair):
        pass

    marked = Marked(x, y)
    marked.more = y
    claims = type("Claims", (tuple,), {"_fields": ("a", "b")})((x,))
    for p in (marked, claims):
        with pytest.raises(TypeError, match=f"p is of type {type(p).__name__}: a program takes"):
            exported(tmp_path, lambda p: p[0], (p,))

    def f(x):
        result = Marked(x, x)
        result.more = 1
        return result

    for pure in (False, True):
        with pytest.raises(ValueError, match="result holds an object of type Marked"):
            exported(tmp_path, f, (x,), pure=pure)


def test_modules_in_nests_of_arguments(tmp_path):
    def f(parts):
        return parts["model"](parts["x"])

    parts = {"model": mlp(), "x": normal(2, 8)}
    g = exported(tmp_path, f, (parts,))
    assert list(g.inputs) == ["parts.x"] and bits(g(parts)) == bits(f(parts))
    assert bits(g({"model": None, "x": parts["x"]})) == bits(f(parts))


def test_arguments_by_keyword(tmp_path):
    def f(x, mask=None, *, scale, **more):
        if more["flag"].sum() > 0:
            x = x + 1
        return fz.where(mask, x * scale, 0.0) if mask is not None else x

    x, mask, scale = normal(3, 2), normal(3, 2) > 0, normal(2)
    on, off = fz.ones(1), fz.zeros(1)
    kwargs = {"scale": scale, "mask": mask, "flag": on}
    more = [((x,), {"flag": off, "mask": mask, "scale": scale})]
    dynamic = {"x": {0: "n"}, "mask": {0: "n"}}
    g = exported(tmp_path, f, (x,), kwargs=kwargs, dynamic=dynamic, examples=more)
    assert list(g.inputs) == ["x", "scale", "mask", "flag"]
    for n, flag in ((3, on), (5, off), (1, on)):
        a, b = normal(n, 2), normal(n, 2) > 0
        expected = bits(f(a, b, scale=scale, flag=flag))
        assert bits(g(a, mask=b, scale=scale, flag=flag)) == expected
        assert bits(g(a, scale, b, flag)) == expected
    with pytest.raises(TypeError, match=r"\[f\] takes x, scale, mask, flag, got 1 by position"):
        g(x)
    g = exported(tmp_path, nn.MultiheadAttention(4, 2), (normal(2, 3, 4),) * 3,
                 kwargs={"need_weights": False})  # fmt: skip
    assert len(g(*(normal(2, 3, 4),) * 3, need_weights=False)) == 2
    with pytest.raises(TypeError, match="example_args do not fit: missing a required"):
        fz.export(f, (x,), tmp_path / "p", kwargs={"flag": on})
    with pytest.raises(TypeError, match="kwargs must be a dict of arguments by their names, got"):
        fz.export(f, (x,), tmp_path / "p", kwargs=[mask])
    with pytest.raises(TypeError, match=r"examples\[0\] must be a pair of a tuple and a dict"):
        fz.export(f, (x,), tmp_path / "p", kwargs=kwargs, examples=[(x,)])
    with pytest.raises(ValueError, match=r"examples\[0\] has other arguments than example_args"):
        fz.export(f, (x,), tmp_path / "p", kwargs=kwargs,
                  examples=[((x,), {"scale": scale, "flag": on})])  # fmt: skip
    with pytest.raises(TypeError, match=r"mask is of type ndarray: .* fz.asarray, and bind what"):
        fz.export(f, (x,), tmp_path / "p", kwargs={**kwargs, "mask": np.ones(3)})


def test_arguments_that_are_returned_and_results_in_two_places(tmp_path):
    def f(x, y):
        z = x * y
        return x, z, (z, y)

    g = exported(tmp_path, f, (normal(3), normal(3, seed=1)))
    x, y = normal(3, seed=2), normal(3, seed=3)
    assert bits(g(x, y)) == bits(f(x, y))


def test_every_dtype_of_the_format(tmp_path):
    def f(x):
        return x, x.astype("float64") + 1, -x

    for dtype in ("int8", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64"):
        x = fz.asarray([1, 2, 3]).astype(dtype)
        g = exported(tmp_path, f, (x,))
        assert [t.dtype for t in g(x)] == [t.dtype for t in f(x)]
        assert [t.astype("float64").tolist() for t in g(x)] == [
            t.astype("float64").tolist() for t in f(x)
        ]
    z = fz.asarray([1 + 2j, 3j])
    assert bits(exported(tmp_path, lambda z: z * z + 1, (z,), name="square")(z)) == bits(z * z + 1)


def test_arguments_of_other_strides_are_taken(tmp_path):
    def f(x):
        return x.reshape(-1) * 2

    g = exported(tmp_path, f, (normal(3, 4),))
    x = normal(4, 3).T
    assert bits(g(x)) == bits(f(x))


def test_index_arrays_are_checked(tmp_path):
    table = normal(10, 3)

    def f(i):
        return table[i] + table[-1]

    g = exported(tmp_path, f, (fz.asarray([1, -2, 3]),))
    i = fz.asarray([0, 9, -10])
    for _ in range(4):
        assert bits(g(i)) == bits(f(i))
    for _ in range(3):
        with pytest.raises(IndexError, match="index 10 is out of range for 10"):
            g(fz.asarray([0, 10, 1]))
    assert bits(g(i)) == bits(f(i))


def test_the_precision_of_products_is_part_of_a_program(tmp_path):
    def f(x):
        with fz.precision("blas"):
            y = x @ x
        return y @ x

    x = normal(64, 64)
    g = exported(tmp_path, f, (x,), pure=True)
    assert bits(g(x)) == bits(f(x))
    assert "precision blas" in program_text(tmp_path)


def program_text(tmp_path):
    _, metadata = fz.io.load_safetensors(tmp_path / "program.frz", return_metadata=True)
    return metadata["frazil.program"]


# What a loaded program is to the rest


def test_gradients_through_a_program(tmp_path):
    model = mlp()
    g = exported(tmp_path, model, (normal(5, 8),))
    x = normal(5, 8, seed=4)
    mine = fz.grad(lambda x: fz.sum(g(x) ** 2))(x)
    theirs = fz.grad(lambda x: fz.sum(model(x) ** 2))(x)
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
    g.requires_grad_()
    for _ in range(3):
        for p in [*g.parameters(), *model.parameters()]:
            p.grad = None
        fz.sum(g(x) ** 2).backward()
        fz.sum(model(x) ** 2).backward()
        for name, p in model.named_parameters():
            np.testing.assert_array_equal(
                np.asarray(g._named[name].grad), np.asarray(p.grad), err_msg=name
            )


def test_weights_that_are_only_turned_lie_turned(tmp_path):
    w, both, large = normal(5, 7), normal(7, 7), normal(513, 1024)
    x = normal(3, 7)

    def f(x, y, flag):
        other = w.T if flag else w.T * 2
        return x @ other, (x @ both.T) @ both, y @ large.T

    y, on, off = normal(3, 1024), fz.asarray(True), fz.asarray(False)
    more, dynamic = [(x, y, off)], {0: {0: "n"}, 1: {0: "n"}}
    g = exported(tmp_path, f, (x, y, on), dynamic=dynamic, examples=more)

    def turned(program):
        return {t.shape: np.asarray(t).strides[0] == t.dtype.itemsize for t in program._tensors}

    def check(program):
        for n in (1, 2, 17):
            a, b = normal(n, 7, seed=n), normal(n, 1024, seed=n)
            for flag in (on, off) * 3:
                assert bits(program(a, b, flag)) == bits(f(a, b, flag))

    for program in (g, pickle.loads(pickle.dumps(g)), copy.deepcopy(g)):
        assert turned(program) == {(5, 7): True, (7, 7): False, (513, 1024): False}
        check(program)
    g.load_state_dict(g.state_dict())
    check(g)


def test_a_program_is_trained_further(tmp_path):
    model = mlp()
    g = exported(tmp_path, model, (normal(5, 8),))
    g.requires_grad_()
    optimizer = optim.SGD(g.parameters(), lr=0.1)
    x, losses = normal(5, 8), []
    for _ in range(5):
        optimizer.zero_grad()
        loss = fz.mean(g(x) ** 2)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)


def test_a_program_under_trace_vmap_and_jvp(tmp_path):
    def f(x):
        return fz.tanh(x) * fz.sum(x)

    g = exported(tmp_path, f, (normal(4),))
    xs = normal(6, 4)
    assert bits(fz.vmap(g)(xs)) == bits(fz.vmap(f)(xs))
    assert bits(fz.jvp(g, (xs[0],), (xs[1],))) == bits(fz.jvp(f, (xs[0],), (xs[1],)))
    traced = fz.trace(lambda x: g(x) + 1, pure=True)
    for _ in range(6):
        assert bits(traced(xs[2])) == bits(f(xs[2]) + 1)
    assert traced.stats()["skipped"] > 0


def test_state_dicts_go_in_and_out(tmp_path):
    model, other = mlp(), mlp()
    with fz.no_grad():
        for p in other.parameters():
            p *= 2
    g = exported(tmp_path, model, (normal(5, 8),))
    g.load_state_dict(other.state_dict())
    x = normal(5, 8)
    assert bits(g(x)) == bits(other(x))
    with pytest.raises(ValueError, match=r"\[load_state_dict\] model lacks|Sequential lacks"):
        g.load_state_dict({})
    wrong = {**other.state_dict(), "0.bias": fz.zeros(3)}
    with pytest.raises(ValueError, match=r"'0.bias' is float32\[16\], got float32\[3\]"):
        g.load_state_dict(wrong)
    assert bits(g(x)) == bits(other(x))


# Sizes


def test_a_batch_of_any_size(tmp_path):
    model = mlp()
    g = exported(tmp_path, model, (normal(5, 8),), dynamic={0: {0: "batch"}})
    for n in (1, 2, 3, 64, 100):
        for _ in range(3):
            x = normal(n, 8, seed=n)
            assert bits(g(x)) == bits(model(x))
    assert list(g.inputs.values()) == ["f32[batch,8]"]


def test_sizes_in_shapes_attributes_and_numbers(tmp_path):
    def f(x, y):
        n, m, d = x.shape
        flat = x.reshape(n * m, d)
        rows = fz.arange(n * m).astype("float32").reshape(n * m, 1)
        pairs = fz.concat([flat, rows], axis=1)
        halves = x[:, : m // 2].sum(axis=(1, 2)) / (m * d)
        padded = fz.pad(x, ((0, 0), (1, 2), (0, 0)))
        return pairs, halves, padded, fz.mean(x) / n**0.5, fz.zeros((m + 3,)) + 1, y[::2] * n

    g = exported(
        tmp_path, f, (normal(4, 6, 3), normal(9)),
        dynamic={"x": {0: "n", 1: fz.Dim("m", min=2)}, "y": {0: "k"}},
    )  # fmt: skip
    for n, m, k in ((4, 6, 9), (1, 2, 1), (3, 5, 4), (10, 11, 12), (64, 33, 100)):
        x, y = normal(n, m, 3), normal(k)
        assert bits(g(x, y)) == bits(f(x, y)), (n, m, k)


def test_a_convolution_of_any_image(tmp_path):
    fz.random.seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(2)
    )  # fmt: skip
    sizes = {0: "batch", 2: fz.Dim("height", 8, 64), 3: fz.Dim("width", 8, 64)}
    g = exported(tmp_path, model, (normal(2, 1, 16, 16),), dynamic={0: sizes})
    for shape in ((1, 1, 8, 8), (3, 1, 9, 64), (2, 1, 31, 17)):
        x = normal(*shape)
        assert bits(g(x)) == bits(model(x)), shape


def test_sizes_are_checked(tmp_path):
    def f(x, y):
        return x + y

    g = exported(
        tmp_path, f, (normal(4, 2), normal(4, 2)),
        dynamic={"x": {0: fz.Dim("n", 2, 9)}, "y": {0: fz.Dim("n", 2, 9)}},
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"\[f\] n is from 2 to 9, got 10 in 'x'"):
        g(normal(10, 2), normal(10, 2))
    with pytest.raises(ValueError, match=r"\[f\] n is 3 in one input and 4 in 'y'"):
        g(normal(3, 2), normal(4, 2))
    with pytest.raises(ValueError, match=r"\[f\] 'x' must be f32\[n,2\], got f32\[3,5\]"):
        g(normal(3, 5), normal(3, 5))
    with pytest.raises(TypeError, match=r"\[f\] 'x' must be f32\[n,2\], got f64\[3,2\]"):
        g(normal(3, 2).astype("float64"), normal(3, 2))


def test_what_depends_on_a_size_in_another_way_is_refused(tmp_path):
    def unrolled(x):
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total * 2 + x[i]
        return total

    with pytest.raises(
        ValueError, match=r"\[export\] unrolled cannot be exported: it .*test_export"
    ):
        exported(tmp_path, unrolled, (normal(4, 3),), dynamic={"x": {0: "n"}})

    def powers(x):
        return fz.zeros((2 ** x.shape[0],)) + 1

    with pytest.raises(ValueError, match="is no sum, product or quotient of the dynamic ones"):
        exported(tmp_path, powers, (normal(4),), dynamic={"x": {0: fz.Dim("n", 2, 9)}})

    def picky(x):
        if x.shape[0] % 2:
            raise ValueError("odd")
        return x * 2

    with pytest.raises(ValueError, match=r"\[export\] picky fails at n=7, .*: odd"):
        exported(tmp_path, picky, (normal(4),), dynamic={"x": {0: "n"}})
    g = exported(tmp_path, picky, (normal(4),), dynamic={"x": {0: fz.Dim("n", 2, multiple_of=2)}})
    assert bits(g(normal(6))) == bits(normal(6) * 2)
    with pytest.raises(ValueError, match=r"\[picky\] n is at least 2, a multiple of 2, got 5"):
        g(normal(5))


def agree_at(g, f, sizes):
    for n in sizes:
        for x in (normal(n), normal(n).astype("float64").astype("float32") - 1):
            assert bits(g(x)) == bits(f(x)), n


def test_sizes_with_which_a_function_does_other_things_are_ranges_of_their_own(tmp_path):
    def steps(x):
        if x.shape[0] >= 16:
            x = fz.exp(x)
        elif x.shape[0] < 5:
            return x.sum() - x[0]
        return x * 2 + x.shape[0]

    g = exported(tmp_path, steps, (normal(7),), dynamic={"x": {0: "n"}})
    agree_at(g, steps, (1, 2, 4, 5, 6, 15, 16, 17, 300))

    def few(x):  # other calls at each size
        total = x[0]
        for i in range(1, x.shape[0]):
            total = total * 2 + x[i]
        return total

    g = exported(tmp_path, few, (normal(4),), dynamic={"x": {0: fz.Dim("n", 1, 6)}})
    agree_at(g, few, range(1, 7))

    def cut(x):
        return x[:100].sum(), x[: x.shape[0] // 2][:9]

    g = exported(tmp_path, cut, (normal(7),), dynamic={"x": {0: "n"}})
    for n in (1, 2, 7, 17, 18, 19, 20, 99, 100, 101, 102, 1000):
        x = normal(n)
        assert [bits(y) for y in g(x)] == [bits(y) for y in cut(x)], n

    def two(x, y):  # compares two sizes: its ranges are no boxes
        return fz.matmul(x, y) if x.shape[0] > y.shape[1] else x @ y * 2

    dynamic = {0: {0: "n"}, 1: {1: fz.Dim("m", multiple_of=4)}}
    with pytest.raises(ValueError, match="two cannot be exported: it makes 1 calls at"):
        exported(tmp_path, two, (normal(7, 3), normal(3, 8)), dynamic=dynamic)


def test_what_fills_up_to_a_multiple_is_an_expression(tmp_path):
    def padded(x):
        return fz.pad(x, ((0, -x.shape[0] % 8),)).reshape((-1, 8)).sum(axis=1)

    g = exported(tmp_path, padded, (normal(7),), dynamic={"x": {0: "n"}})
    agree_at(g, padded, (*range(1, 20), 63, 64, 65, 200))

    def root(x):  # a range for each value
        return x[: int(x.shape[0] ** 0.5)]

    with pytest.raises(ValueError, match="is no sum, product or quotient of the dynamic ones"):
        exported(tmp_path, root, (normal(7),), dynamic={"x": {0: "n"}})


def test_a_size_that_the_code_names_is_tried(tmp_path):
    class Long(nn.Module):
        def __init__(self, limit):
            self.limit = limit

        def forward(self, x):
            return x * 2 if x.shape[0] > self.limit else x

    for f in (lambda x: x * 2 if x.shape[0] > 300 else x, Long(300)):
        g = exported(tmp_path, f, (normal(7),), dynamic={0: {0: "n"}})
        agree_at(g, f, (1, 7, 299, 300, 301, 302, 1000))

    def one(x):
        return x * 2 if x.shape[0] == 64 else x + 1 if x.shape[0] > 5000 else x

    g = exported(tmp_path, one, (normal(7),), dynamic={0: {0: "n"}})
    agree_at(g, one, (1, 7, 63, 64, 65, 300, 5000, 5001))


def test_a_range_ends_where_the_function_fails(tmp_path):
    table = normal(40)

    def placed(x):
        return x + table[: x.shape[0]]

    g = exported(tmp_path, placed, (normal(7),), dynamic={"x": {0: "n"}})
    agree_at(g, placed, (1, 7, 39, 40))
    with pytest.raises(ValueError, match=r"\[placed\] n is from 1 to 40, got 41"):
        g(normal(41))
    with pytest.raises(ValueError, match="fails at n=50, which its dynamic sizes allow"):
        exported(tmp_path, placed, (normal(7),), dynamic={"x": {0: fz.Dim("n", max=50)}})


# Branches and loops


def test_branches_that_were_seen_and_one_that_was_not(tmp_path):
    def f(x):
        if fz.sum(x) > 0:
            return x * 2
        if x[0] > -5:
            return x - 1
        return fz.exp(x)

    up, down, far = fz.asarray([1.0, 2.0]), fz.asarray([-1.0, -2.0]), fz.asarray([-9.0, -2.0])
    g = exported(tmp_path, f, (up,), examples=[(down,)])
    for x in (up, down, up + 1, down - 1):
        for _ in range(3):
            assert bits(g(x)) == bits(f(x))
    for _ in range(3):
        with pytest.raises(
            RuntimeError,
            match=r"\[f\] at test_export.py:\d+ the program reads False, and was exported wi",
        ):
            g(far)
    whole = exported(tmp_path, f, (up,), examples=[(down,), (far,)])
    for x in (up, down, far):
        assert bits(whole(x)) == bits(f(x))


def test_a_loop_of_any_length(tmp_path):
    def newton(x):
        y = x
        while fz.abs(y * y - x) > 1e-6 * x:
            y = 0.5 * (y + x / y)
        return y

    g = exported(tmp_path, newton, (fz.asarray(2.0, dtype="float64"),))
    assert " = while 1 of " in program_text(tmp_path)
    for v in (2.0, 10.0, 1e6, 1e-3):
        for _ in range(3):
            x = fz.asarray(v, dtype="float64")
            assert bits(g(x)) == bits(newton(x))


def test_results_that_are_written_tensors_are_what_was_written(tmp_path):
    count = fz.zeros(())
    norm = nn.BatchNorm1d(2)

    def argument(x):
        x += 1
        return x

    def item(x):
        x[0] = 5
        return {"x": [x, x * 2]}

    def state(x):
        count[...] = count + 1
        return count

    def buffer(x):
        return norm(x), norm.running_mean

    def branch(x):
        if fz.sum(x) > 3:
            x *= 2
        return x, x + 1

    for fn in (argument, item, state, buffer, branch):
        count[...] = 0
        norm.running_mean[...] = 0
        again = [(fz.zeros((2, 2)),)] if fn is branch else []
        g = exported(tmp_path, fn, (fz.ones((2, 2)),), examples=again)
        count[...] = 0
        norm.running_mean[...] = 0
        norm.running_var[...] = 1
        for i in range(3):
            x, y = fz.ones((2, 2)) * i, fz.ones((2, 2)) * i
            assert bits(g(x)) == bits(fn(y)), fn
            assert bits(x) == bits(y)


def test_a_loop_of_any_length_beside_handlers(tmp_path):
    """What has a handler of exceptions (from Python 3.12 on, what has a list in brackets, too)."""

    def listed(x):
        while fz.sum(x) < 100:
            (y,) = [v * 1.5 for v in (x,)]
            x = y
        return x

    def caught(x):
        before = x
        try:
            while True:
                if fz.sum(x) > 100:
                    raise ArithmeticError
                before = x
                x = x * 1.5
        except ArithmeticError:
            return before  # read nowhere else

    def closed(x):
        with contextlib.nullcontext() as nothing:
            while fz.sum(x) < 100:
                y = x * 1.5
                x = y if nothing is None else nothing
        return x

    for f in (listed, caught, closed):
        g = exported(tmp_path, f, (fz.ones(3),), examples=[(fz.ones(3) * 1e4,)])
        assert " = while " in program_text(tmp_path), f
        traced = fz.trace(f)
        for x in [fz.ones(3) * 1.1**n for n in range(40)] + [fz.ones(3) * 1e-4, fz.ones(3) * 50]:
            assert bits(g(x)) == bits(traced(x)) == bits(f(x))


def test_loops_of_frazils_functions_are_of_any_length(tmp_path):
    def until(x):
        return fz.while_loop(lambda s: fz.sum(s) < 100, lambda s: s * 1.5, x)

    def counted(x, n):
        return fz.fori_loop(0, n, lambda i, s: (fz.sin(s[0]) + i.astype("float32"), s[1] + 1), x)

    g = exported(tmp_path, until, (fz.ones(3),), examples=[(fz.ones(3) * 1e4,)])
    assert " = while " in program_text(tmp_path)
    for x in (fz.ones(3), fz.ones(3) * 1e-4, fz.ones(3) * 50, normal(3) + 3):
        assert bits(g(x)) == bits(until(x))
    n, pair = fz.asarray(9), (fz.ones(3), fz.zeros(()))
    few = [(pair, fz.asarray(0)), (pair, fz.asarray(1))]
    g = exported(tmp_path, counted, (pair, n), examples=few)
    assert " = while " in program_text(tmp_path)
    for n in (1, 2, 0, 40, 3):
        assert bits(g(pair, fz.asarray(n))) == bits(counted(pair, fz.asarray(n)))


def test_a_long_loop_stays_a_loop(tmp_path):
    def steps(x):
        for _ in range(9000):
            x = x + 0.01 * (fz.sin(x) - x)
        return x

    g = exported(tmp_path, steps, (normal(3),))
    assert " = repeat " in program_text(tmp_path)
    for _ in range(3):
        assert bits(g(normal(3))) == bits(steps(normal(3)))


# Training


def training_step(kind=optim.Adam, **options):
    fz.random.seed(3)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.25), nn.Linear(16, 4))
    optimizer = kind(model.parameters(), **options)

    def step(x, labels):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), labels)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


@pytest.mark.parametrize(
    ("kind", "options"),
    [(optim.SGD, {"lr": 0.1, "momentum": 0.9}), (optim.Adam, {"lr": 0.01}), (optim.AdamW, {})],
)
def test_a_training_step_goes_on_with_the_same_bits(tmp_path, kind, options):
    model, _, step = training_step(kind, **options)
    x, labels = normal(6, 8), fz.asarray([0, 1, 2, 3, 0, 1])
    step(x, labels)
    before = bits(model.state_dict())
    program = exported(tmp_path, step, (x, labels))
    assert bits(model.state_dict()) == before
    state = {n: p for n, p in program.state_dict().items() if n in model.state_dict()}
    assert bits(state) == before
    mine = [bits(program(x, labels)) for _ in range(6)]
    theirs = [bits(step(x, labels)) for _ in range(6)]
    assert mine == theirs
    kept = program.state_dict()
    assert bits({n: kept[n] for n in model.state_dict()}) == bits(model.state_dict())
    assert "random.state" in kept


def test_training_is_resumed_from_its_state(tmp_path):
    _, _, step = training_step(lr=0.01)
    x, labels = normal(6, 8), fz.asarray([0, 1, 2, 3, 0, 1])
    step(x, labels)
    whole = exported(tmp_path, step, (x, labels))
    half = fz.load_program(tmp_path / "program.frz")
    straight = [bits(whole(x, labels)) for _ in range(8)]
    first = [bits(half(x, labels)) for _ in range(4)]
    fz.io.save_safetensors(tmp_path / "half.safetensors", half.state_dict())
    resumed = fz.load_program(tmp_path / "program.frz")
    resumed.load_state_dict(fz.io.load_safetensors(tmp_path / "half.safetensors"))
    assert first + [bits(resumed(x, labels)) for _ in range(4)] == straight


def test_batch_norm_in_training_writes_its_buffers(tmp_path):
    fz.random.seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6))
    program = exported(tmp_path, model, (normal(5, 4),))
    for i in range(5):
        x = normal(5, 4, seed=i)
        assert bits(program(x)) == bits(model(x))
    state = program.state_dict()
    assert bits(state) == bits({name: model.state_dict()[name] for name in state})


def test_a_tensor_that_is_two_arguments(tmp_path):
    def f(q, k, more):
        return q @ k.T + more[0]

    x, y, z = normal(3, 3), normal(3, 3, seed=1), normal(3, 3, seed=2)
    g = exported(tmp_path, f, (x, x, [x]))
    assert bits(g(x, y, [z])) == bits(f(x, y, [z]))
    assert bits(g(x, x, [x])) == bits(f(x, x, [x]))

    def written(a, b):
        a += 1
        return a + b

    for example in ((x, y), (x, x)):
        g = exported(tmp_path, written, example)
        a, b = x.copy(), x.copy()
        assert bits(g(a, y)) == bits(written(b, y)) and bits(a) == bits(b)
    assert bits(g(a, a)) == bits(written(b, b)) and bits(a) == bits(b)
    g = exported(tmp_path, written, (x, y))
    with pytest.raises(ValueError, match="writes to 'a', which is the same tensor as 'b'"):
        g(a, a)
    assert bits(a) == bits(b)


def test_arrays_and_fixed_numbers(tmp_path):
    def f(x, scale, how):
        return x * scale if how == "times" else x

    g = exported(tmp_path, f, (normal(3), float("nan"), "times"))
    assert np.isnan(np.asarray(g(np.ones(3, np.float32), float("nan"), "times"))).all()
    with pytest.raises(ValueError, match="scale was nan when it was exported"):
        g(np.ones(3, np.float32), 1.0, "times")


def test_arguments_that_are_written(tmp_path):
    def f(x, y):
        x += y
        return x * 2

    g = exported(tmp_path, f, (normal(3), normal(3, seed=1)))
    for i in range(4):
        a, b, y = normal(3, seed=i), normal(3, seed=i), normal(3, seed=9)
        assert bits(g(a, y)) == bits(f(b, y))
        assert bits(a) == bits(b)


# What is refused


COUNT = [0]


def test_what_a_program_cannot_be_is_refused_with_its_line(tmp_path):
    def prints(x):
        print("x")
        return x * 2

    def counts(x):
        COUNT[0] += 1
        return x * COUNT[0]

    def reads(x):
        return x * x.sum().item()

    def file(x):
        with open(__file__) as f:
            return x * len(f.read())

    for fn, why in (
        (prints, r"test_export.py:\d+"),
        (counts, ""),
        (reads, r"reads a float"),
        (file, r"test_export.py:\d+"),
    ):
        refused = rf"\[export\] {fn.__name__} cannot be exported: .*{why}"
        with pytest.raises(ValueError, match=refused):
            exported(tmp_path, fn, (normal(3),))
        assert not (tmp_path / "program.frz").exists()
    COUNT[0] = 0


def test_a_step_trained_on_one_device_goes_on_on_another(tmp_path):
    losses = {}
    for home in ("cpu", "npu"):
        fz.random.seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 4))
        model.to(home)
        optimizer = optim.Adam(model.parameters(), lr=1e-2)
        x, t = normal(6, 8), fz.asarray([0, 1, 2, 3, 0, 1])

        def step(x, t, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            loss = nn.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
            return loss

        path = tmp_path / f"{home}.frz"
        fz.export(
            step,
            (x.to_device(home), t.to_device(home)),
            path,
            dynamic={"x": {0: "n"}, "t": {0: "n"}},
        )
        for place in ("cpu", "npu"):
            program = fz.load_program(path, place)
            there = x.to_device(place), t.to_device(place)
            losses[home, place] = [bits(program(*there).to_device("cpu")) for _ in range(4)]
            with pytest.raises(ValueError, match=r"\[step\] 'x' is on .*, and the program on"):
                program(*(a.to_device("npu" if place == "cpu" else "cpu") for a in (x, t)))
    assert len({str(each) for each in losses.values()}) == 1

    def back(x):
        return (x + 1).to_device("cpu")

    with pytest.raises(ValueError, match="moves a tensor to the CPU"):
        fz.export(back, (x.to_device("npu"),), tmp_path / "x.frz")


@pytest.mark.parametrize("structure", [
    {"arguments": [["x", {"output": 0}]], "result": {"input": 0}},
    {"arguments": [["x", {"input": 0}], ["x", {"fixed": 0}]], "result": {"output": 0}},
    {"arguments": [[1, {"input": 0}]], "result": {"output": 0}},
    {"arguments": [["x", {"input": 1}]], "result": {"output": 0}},
    {"arguments": [["x", {"input": 0}]], "result": {"named": ["class", [["a", {"output": 0}]]]}},
    {"arguments": [["x", {"input": 0}]], "result": {"named": ["A", [["_a", {"output": 0}]]]}},
    {"arguments": [["x", {"input": 0}]], "result": {"named": ["A", [["a()", {"output": 0}]]]}},
    {"arguments": [["x", {"input": 0}]], "result": [{"output": 0}]},
    {"arguments": [["x", {"input": 0}]]},
])  # fmt: skip
def test_a_structure_of_arguments_that_is_none(tmp_path, structure):
    program = 'frazil-program 1 input "x" f32[2] program { return p0 }'
    good = {"arguments": [["x", {"input": 0}]], "result": {"named": ["A", [["a", {"output": 0}]]]}}
    _export_file.write(tmp_path / "x.frz", "f", program, good, [])
    assert fz.load_program(tmp_path / "x.frz")(fz.ones(2)).a.tolist() == [1, 1]
    _export_file.write(tmp_path / "x.frz", "f", program, structure, [])
    with pytest.raises(ValueError, match="structure of its arguments is damaged"):
        fz.load_program(tmp_path / "x.frz")


def test_wrong_arguments_of_export(tmp_path):
    path = tmp_path / "x.frz"

    def f(x):
        return x

    x = normal(3)
    for error, call, message in (
        (TypeError, lambda: fz.export(1, (x,), path), "needs a callable, got int"),
        (TypeError, lambda: fz.export(f, x, path), "example_args must be a tuple of arguments"),
        (TypeError, lambda: fz.export(f, (x, x), path), "example_args do not fit: too many"),
        (TypeError, lambda: fz.export(f, ({1},), path), "x is of type set"),
        (ValueError, lambda: fz.export(f, (x,), path, dynamic={"z": {0: "n"}}), "'z', which is no"),
        (ValueError, lambda: fz.export(f, (x,), path, dynamic={"x": {1: "n"}}), "x has no axis 1"),
        (TypeError, lambda: fz.export(f, (x,), path, dynamic={"x": "n"}), "must be a dict of axes"),
        (ValueError, lambda: fz.export(f, (x,), path, dynamic={"x": {0: "a b"}}), "needs a name"),
        (ValueError, lambda: fz.Dim("n", 3, 2), "'n' is from 3 to 2"),
        (ValueError, lambda: fz.Dim("n", -1), "min of 'n' must be an integer from 0 on"),
        (ValueError, lambda: fz.export(f, (x,), path, examples=[(1.0,)]), "has other arguments"),
        (ValueError, lambda: fz.export(f, (x,), path, examples=[(normal(4),)]), "dynamic axes may"),
        (OSError, lambda: fz.export(f, (x,), tmp_path / "no" / "x.frz"), "No such file"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert not path.exists()


# Files


def test_files_that_are_none(tmp_path):
    path = tmp_path / "x.frz"
    with pytest.raises(OSError, match=r"\[load_program\] cannot open"):
        fz.load_program(path)
    with pytest.raises(OSError, match="directory"):
        fz.load_program(tmp_path)
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=r"is no safetensors file or is damaged: it has 0 bytes"):
        fz.load_program(path)
    fz.io.save_safetensors(path, {"w": fz.ones(3)})
    with pytest.raises(ValueError, match="it holds no program, but tensors: read it with fz.load"):
        fz.load_program(path)


def test_a_damaged_file_is_an_error_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "program.frz"
    fz.export(lambda x: fz.exp(x) + 1, (normal(2),), path, name="f")
    whole = path.read_bytes()
    bad = tmp_path / "bad.frz"
    for end in range(len(whole)):
        bad.write_bytes(whole[:end])
        with pytest.raises(ValueError, match=r"\[load_program\]"):
            fz.load_program(bad)
    rng = np.random.default_rng(0)
    for at in [*range(16), *rng.integers(0, len(whole), 400)]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        bad.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"\[load_program\]"):
            fz.load_program(bad)


def rewritten(tmp_path, change):
    """A file with another program, whose digests are right."""
    from frazil import _export_file

    tensors, metadata = fz.io.load_safetensors(tmp_path / "program.frz", return_metadata=True)
    text = change(metadata["frazil.program"])
    path = tmp_path / "changed.frz"
    rows = [(name, t, False) for name, t in tensors.items()]
    structure = __import__("json").loads(metadata["frazil.python"])
    _export_file.write(path, "f", text, structure, rows)
    return path


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("frazil-program 1", "frazil-program 2", "has format version 2, this frazil reads 1"),
        ("p0", "p7", "'p7' names no earlier value"),
        ("%0 = exp", "%0 = exq", "'exq' is no op"),
        ("return %1", "return %9", "'%9' names no earlier value"),
        ("program {", "program { program {", "cannot stand here"),
        ('input "x" f32[2]', 'input "x" f32[9223372036854775807]', None),
        ('input "x" f32[2]', 'input "x" f99[2]', "'f99' is no dtype"),
        ("number f32 bits 3f800000", "number f32 bits 13f800000", "has 4 bytes"),
        ("return %1", "return %1 }", "stands behind the program"),
        ("}", "", "'}' is missing at the end"),
    ],
)
def test_programs_that_are_none(tmp_path, old, new, message):
    path = tmp_path / "program.frz"
    fz.export(lambda x: fz.exp(x) + 1, (normal(2),), path, name="f")
    if message is None:
        with pytest.raises(ValueError, match="must be"):
            fz.load_program(rewritten(tmp_path, lambda t: t.replace(old, new)))(normal(2))
        return
    with pytest.raises(ValueError, match=r"\[load_program\].*" + message.replace("%", "%")):
        fz.load_program(rewritten(tmp_path, lambda t: t.replace(old, new, 1)))


@pytest.mark.parametrize(
    "call",
    [
        "sum p0 {0}", "sum p0 {256, 0}", "argmax p0 {3, 7}", "slice p0 {0, 1}",
        "slice p0 {0, 4611686018427387904, 3}", "slice p0 {-5, 1, 2}", "reshape p0 {-1}",
        "concat p0 {5}", "take p0, t0 {9}", "put p0, t0, p0 {0, 0, 9}", "positions t1 {99, 0}",
        "iota {99, 5}", "iota {5, 4611686018427387904}", "astype p0 {77}", "fft_c2c p0 {1}",
        "conv2d p0, p0 {1, 1}", "permute_dims p0 {0, 0}", "broadcast_to p0 {3}", "pad p0, p0 {1}",
        "matmul p0, p0", "attend p0, p0, p0 {0}", "lu_solve p0, p0, p0 {0}", "svd_factors p0 {9}",
        "random_bits p0 {3}", "cumulative_sum p0 {4}", "sort p0 {5}",
        "sparse_matmul p0, t0, p0 {0}",
        "to_device p0 {1, 0}", "call softmax p0", "call layer_norm p0, p0 {9}",
        "call positions_of t0 {3}", "call cross_entropy p0",
    ],
)  # fmt: skip
def test_calls_that_cannot_be_made_are_errors(tmp_path, call):
    path = tmp_path / "program.frz"
    table = fz.asarray([5, -7, 1])
    mask = fz.asarray([True, False])
    fz.export(lambda x: (x + table[0], fz.where(mask, x, x)), (normal(2),), path, name="f")
    text = '\n'.join([
        "frazil-program 1", 'input "x" f32[2]', 'constant "a" i64[3]', 'constant "b" bool[2]',
        "program {", f"  %0 = {call}  # here.py:1", "  return %0", "}",
    ])  # fmt: skip
    from frazil import _export_file

    structure = {"arguments": [["x", {"input": 0}]], "result": {"output": 0}}
    _export_file.write(path, "f", text, structure, [("a", table, True), ("b", mask, True)])
    try:
        program = fz.load_program(path)
    except ValueError as error:
        assert "[load_program]" in str(error)  # noqa: PT017
        return
    for _ in range(2):
        with pytest.raises((ValueError, TypeError, IndexError, NotImplementedError, MemoryError,
                            OverflowError)) as error:  # fmt: skip
            program(normal(2))
        assert str(error.value).startswith("[")


def test_digests_are_those_of_hashlib(tmp_path):
    """What Python writes C++ checks; here that the chunks are what the page says."""
    from frazil import _export_file

    for n in (0, 1, 16447, 16448, 16449, 300_000):
        data = np.random.default_rng(n).integers(0, 256, n, dtype=np.uint8).tobytes()
        chunks = [data[i : i + 16448] for i in range(0, n, 16448)]
        digests = b"".join(hashlib.sha256(c).digest() for c in chunks)
        assert _export_file.digest(data) == hashlib.sha256(digests).hexdigest()
        model = fz.asarray(np.frombuffer(data, dtype=np.uint8))
        g = exported(tmp_path, lambda x, m=model: x + m, (model,), name="add", pure=True)
        assert g(model).shape == (n,)


def test_what_keeps_an_argument_is_refused(tmp_path):
    """Though the examples are called more than once with the same tensors."""
    kept, items = {}, [None]

    class Model:
        def __call__(self, x):
            self.last = x
            return x * 2

    def key(x):
        kept["x"] = x
        return x * 2

    def update(x):
        kept.update(x=x)
        return x * 2

    def item(x):
        items[0] = x
        return x * 2

    for fn in (Model(), key, update, item):
        with pytest.raises(ValueError, match="changes Python objects besides tensors"):
            fz.export(fn, (fz.ones(3),), tmp_path / "m.frz")


def test_sizes_that_do_not_fit_each_other_are_a_value_error(tmp_path):
    def add(x, y):
        return x + y

    sizes = {"x": {0: "n"}, "y": {0: "m"}}
    with pytest.raises(ValueError, match="one name for sizes that are equal") as error:
        fz.export(add, (fz.ones(4), fz.ones(4)), tmp_path / "m.frz", dynamic=sizes)
    assert type(error.value) is ValueError
