"""vmap, jvp, vjp, linearize, Jacobians and structured control flow: what users rely on. Every op
under them: tests/gradients/test_transforms.py."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import frazil as fz


def array(*values, dtype="float32"):
    return fz.asarray(values, dtype=dtype)


def same(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-5, atol=1e-6)


# -- vmap


def test_axes_of_arguments_and_results_are_prefixes_of_their_nests():
    params = {"w": fz.ones((3, 2)), "b": fz.ones(2)}
    x = fz.reshape(fz.arange(12.0), (3, 4))
    got = fz.vmap(lambda p, v: {"y": v @ p["w"], "b": p["b"]}, (None, 1), {"y": 1, "b": None})(
        params, x
    )
    same(got["y"], (np.asarray(x).T @ np.ones((3, 2))).T)
    assert got["b"].shape == (2,)
    per = fz.vmap(lambda p, v: v * p["a"] + p["b"], ({"a": 0, "b": None}, 0))
    same(per({"a": array(1, 2), "b": array(5)[0]}, array(1, 1)), [6, 7])
    by_name = fz.vmap(lambda a, *, b: a + b)(array(1, 2), b=array(10, 20))
    same(by_name, [11, 22])


def test_results_that_are_the_same_for_all_are_repeated():
    same(fz.vmap(lambda x: 3.0)(array(1, 2)), [3, 3])
    same(fz.vmap(lambda x: fz.ones(2), out_axes=1)(array(1, 2, 3)), np.ones((2, 3)))
    same(fz.vmap(lambda: fz.ones(2), axis_size=3)(), np.ones((3, 2)))


def test_vmaps_nest():
    x, y = fz.arange(3.0), fz.arange(4.0)
    outer = fz.vmap(fz.vmap(lambda a, b: a * b + a, (None, 0)), (0, None))
    same(outer(x, y), np.outer(np.arange(3), np.arange(4)) + np.arange(3)[:, None])
    back = fz.vmap(fz.vmap(lambda a, b: a - b, (0, None)), (None, 0), 1)
    same(back(x, y), np.arange(3)[:, None] - np.arange(4))


def test_a_batched_value_has_one_examples_shape_and_no_elements():
    seen = []

    def look(x):
        seen.append((x.shape, x.ndim, x.dtype, x.size))
        return x

    fz.vmap(look)(fz.ones((5, 2, 3)))
    assert seen == [((2, 3), 2, fz.float32, 6)]
    for ask in (bool, float, lambda x: x.item(), lambda x: x.tolist(), np.asarray):
        with pytest.raises(RuntimeError, match="differ between 2 examples"):
            fz.vmap(ask)(array(1, 2))


def test_what_escapes_says_so():
    kept = []
    fz.vmap(lambda x: kept.append(x * 2) or x)(array(1, 2))
    with pytest.raises(RuntimeError, match=r"f32\[\] was made inside a vmap that has ended"):
        kept[0].item()
    with pytest.raises(RuntimeError, match="was made inside a vmap that has ended"):
        (kept[0] + 1).item()
    with pytest.raises(RuntimeError, match="was made inside a vmap that has ended"):
        fz.trace(lambda x: x + 1)(kept[0])


def test_indices_of_examples_are_their_own():
    x = fz.reshape(fz.arange(12.0), (3, 4))
    i = fz.asarray([3, -1, 0])
    same(fz.vmap(lambda v, n: v[n])(x, i), [3, 7, 8])
    with pytest.raises(IndexError, match="index 4 is out of range for 4"):
        fz.vmap(lambda v, n: v[n])(x, fz.asarray([0, 4, 0]))

    def put(v, n):
        v = fz.asarray(v, copy=True)
        v[n] = 100.0
        return v

    want = np.arange(12.0).reshape(3, 4)
    want[[0, 1, 2], [3, 3, 0]] = 100
    same(fz.vmap(put)(x, i), want)


def test_random_numbers_are_stated():
    x = fz.zeros(4)
    with pytest.raises(RuntimeError, match="say randomness='different'"):
        fz.vmap(lambda v: v + fz.random.normal((2,)))(x)
    equal = fz.vmap(lambda v: v + fz.random.normal((2,)), randomness="same")(x)
    assert len({tuple(row) for row in equal.tolist()}) == 1
    draw = fz.vmap(
        lambda v: (fz.random.uniform((3,)), fz.random.uniform((3,))), randomness="different"
    )
    a, b = draw(x)
    c, _ = draw(x)
    numbers = np.asarray(fz.concat([a, b, c])).ravel()
    assert len(set(numbers.tolist())) == numbers.size
    fz.random.seed(3)
    first = draw(x)[0].tolist()
    fz.random.seed(3)
    assert draw(x)[0].tolist() == first


def test_a_traced_function_in_a_vmap_is_part_of_it():
    inner = fz.trace(lambda v: fz.sin(v) * 2)
    pure = fz.trace(lambda v: fz.cos(v) * 2, pure=True)
    x = fz.arange(5.0)
    for _ in range(3):
        same(
            fz.vmap(lambda v: inner(v) + pure(v))(x),
            2 * np.sin(np.arange(5)) + 2 * np.cos(np.arange(5)),
        )
        same(fz.jvp(inner, (x,), (fz.ones(5),))[1], 2 * np.cos(np.arange(5)))
        same(fz.jvp(pure, (x,), (fz.ones(5),))[1], -2 * np.sin(np.arange(5)))


def test_traced_transforms_skip_their_bodies():
    x = fz.arange(6.0)
    for function in (
        fz.vmap(lambda v: fz.sin(v) * v),
        lambda v: fz.jvp(fz.sin, (v,), (v,))[1],
        fz.hessian(lambda v: fz.sum(fz.sin(v) * v)),
        fz.vmap(lambda v: fz.while_loop(lambda s: s < 50, lambda s: s * 2 + 1, v)),
        lambda v: fz.linearize(fz.sin, v)[1](v),
        lambda v: fz.scan(lambda c, e: (c * 0.5 + e, c), fz.zeros(()), v),
    ):
        want = [np.asarray(t).tobytes() for t in fz.tree.leaves(function(x))]
        traced = fz.trace(function)
        for _ in range(12):
            assert [np.asarray(t).tobytes() for t in fz.tree.leaves(traced(x))] == want
        assert traced.stats()["skipped"] > 0, traced.explain()


# -- Forward mode and Jacobians


def test_tangents_of_nests_and_integers_along():
    def f(state, n):
        return {"y": state["x"] * n, "n": n, "sum": fz.sum(state["x"])}

    value, tangent, aux = fz.jvp(
        lambda s: (f(s, 3), "kept"), ({"x": array(1, 2)},), ({"x": array(1, 0)},), has_aux=True
    )
    assert aux == "kept"
    same(value["y"], [3, 6])
    same(tangent["y"], [3, 0])
    same(tangent["sum"], 1)
    same(tangent["n"], 0)


def test_nested_tangents_do_not_mix():
    """d/dx (x * d/dy (x + y)) is 1: perturbation confusion (Siskind and Pearlmutter 2005)."""

    def derivative(f, x):
        return fz.jvp(f, (x,), (fz.ones(()),))[1]

    x = fz.asarray(1.0)
    assert derivative(lambda a: a * derivative(lambda b: a + b, fz.asarray(1.0)), x).item() == 1
    third = derivative(lambda a: derivative(lambda b: derivative(lambda c: c**3 * a, b), a), x)
    assert third.item() == 6 + 6  # of 6 a^2


def test_no_grad_and_stop_gradient_make_constants():
    x = fz.asarray(3.0)

    def f(v):
        with fz.no_grad():
            w = v * 2
        return v * w

    assert fz.jvp(f, (x,), (fz.ones(()),))[1].item() == 6
    assert fz.jvp(lambda v: v * fz.stop_gradient(v), (x,), (fz.ones(()),))[1].item() == 3
    assert fz.grad(lambda v: v * fz.stop_gradient([v])[0])(x).item() == 3


def test_what_escapes_from_forward_mode_keeps_its_value_and_outer_history():
    kept = []

    def outer(x):
        fz.jvp(lambda v: kept.append(v * x) or v, (x,), (fz.ones(()),))
        return kept[-1] * 2

    value, slope = fz.value_and_grad(outer)(fz.asarray(3.0))
    assert value.item() == 18
    assert slope.item() == 12


def test_tangents_go_to_threads_that_the_function_waits_for():
    def elsewhere(f, *args):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(f, *args).result()

    x, d = array(0.5, 2), array(1, 10)
    want = fz.jvp(lambda v: fz.sin(v) * v, (x,), (d,))[1]
    same(fz.jvp(lambda v: elsewhere(lambda: fz.sin(v) * v), (x,), (d,))[1], want)
    same(fz.jvp(lambda v: elsewhere(fz.grad(lambda u: fz.sum(u**3)), v), (x,), (d,))[1], [3, 120])

    def inner(v):
        return fz.jvp(lambda u: u * u * v, (v,), (fz.ones(2),))[1]

    same(fz.jvp(lambda v: elsewhere(inner, v), (x,), (d,))[1], 4 * x * d)
    kept = []
    fz.jvp(lambda v: kept.append(v) or v, (x,), (d,))
    assert elsewhere(lambda: kept[0] * 2).tolist() == [1, 4]  # a scope that was left


def test_vjp_is_pulled_back_again_and_differentiated():
    x, y = array(1, 2, 3), array(4, 5, 6)
    value, pull = fz.vjp(lambda a, b: (a * b, fz.sum(a)), x, y)
    same(value[0], [4, 10, 18])
    for _ in range(2):
        gx, gy = pull((fz.ones(3), fz.asarray(2.0)))
        same(gx, np.asarray(y) + 2)
        same(gy, x)
    slope = fz.grad(lambda g: fz.sum(pull((g, fz.asarray(0.0)))[0] ** 2))(fz.ones(3))
    same(slope, 2 * np.asarray(y) ** 2)
    many = fz.vmap(lambda g: pull((g, fz.asarray(0.0)))[1])(fz.eye(3))
    same(many, np.diag(np.asarray(x)))


def test_linearize_runs_the_function_once():
    runs = []

    def f(x, y):
        runs.append(1)
        return fz.sin(x) * y

    value, push = fz.linearize(f, array(1, 2), array(3, 4))
    same(value, np.sin([1, 2]) * [3, 4])
    for _ in range(3):
        same(push(array(1, 0), array(0, 1)), [np.cos(1) * 3, np.sin(2)])
    assert runs == [1]


def test_jacobians_of_nests():
    def f(p, x):
        return {"s": fz.sum(p["w"] * x), "v": p["w"] ** 2 + p["b"]}

    p, x = {"w": array(1, 2), "b": fz.asarray(3.0)}, array(5, 6)
    for jacobian in (fz.jacfwd, fz.jacrev):
        j = jacobian(f)(p, x)
        same(j["s"]["w"], [5, 6])
        same(j["s"]["b"], 0)
        same(j["v"]["w"], [[2, 0], [0, 4]])
        same(j["v"]["b"], [1, 1])
        jp, jx = jacobian(f, argnums=(0, 1))(p, x)["s"]
        same(jx, [1, 2])
        same(jp["w"], [5, 6])
        j, aux = jacobian(lambda v: (v * 2, {"kept": v}), has_aux=True)(x)
        same(j, 2 * np.eye(2))
        same(aux["kept"], x)


def test_holomorphic_jacobians():
    z = fz.asarray([1 + 2j, 3 - 1j])
    for jacobian in (fz.jacfwd, fz.jacrev):
        same(jacobian(lambda v: v**2 * 1j, holomorphic=True)(z), np.diag(2j * np.asarray(z)))
        with pytest.raises(TypeError, match="holomorphic=True"):
            jacobian(lambda v: v**2)(z)


def test_hessians_agree():
    def f(x):
        return fz.sum(fz.sin(x) * x[::-1] ** 2)

    x = array(0.3, -1.2, 2.0, dtype="float64")
    want = np.asarray(fz.hessian(f)(x))
    same(want, want.T)
    for other in (fz.jacrev(fz.jacfwd(f)), fz.jacfwd(fz.jacfwd(f)), fz.jacrev(fz.grad(f))):
        same(other(x), want)
    v = array(1, 2, 3, dtype="float64")
    same(fz.hvp(f, (x,), (v,))[0], want @ np.asarray(v))


# -- Control flow


def written(x):
    if fz.sum(x) > 0:
        return fz.sin(x) * 2
    return fz.cos(x)


def chosen(x):
    return fz.cond(fz.sum(x) > 0, lambda v: fz.sin(v) * 2, fz.cos, x)


def switched(x):
    return fz.switch(fz.astype(fz.sum(x) > 0, fz.int32), [fz.cos, lambda v: fz.sin(v) * 2], x)


@pytest.mark.parametrize("f", [written, chosen, switched], ids=lambda f: f.__name__)
@pytest.mark.parametrize("convert", [False, True])
def test_a_script_has_both_ways(f, convert):
    """Of a condition that is data: a skipped call takes either, and Python runs in none."""
    traced = fz.trace(f, convert=convert)
    ways = array(1, 2), array(-1, -2)
    for _ in range(8):
        for x in ways:
            assert np.asarray(traced(x)).tobytes() == np.asarray(f(x)).tobytes()
    before = traced.stats()["skipped"]
    for _ in range(3):
        for x in ways:
            assert np.asarray(traced(x)).tobytes() == np.asarray(f(x)).tobytes()
    assert traced.stats()["skipped"] == before + 6
    gradient = fz.grad(lambda v: fz.sum(f(v)))
    again = fz.trace(gradient)
    for _ in range(3):
        for x in ways:
            assert np.asarray(again(x)).tobytes() == np.asarray(gradient(x)).tobytes()


def test_cond_runs_one_branch_and_in_a_vmap_both():
    ran = []

    def up(x):
        ran.append("up")
        return x + 1

    def down(x):
        ran.append("down")
        return x - 1

    assert fz.cond(fz.asarray(True), up, down, fz.asarray(1.0)).item() == 2
    assert ran == ["up"]
    same(fz.vmap(lambda x: fz.cond(x > 1, up, down, x))(array(1, 2)), [0, 3])
    assert ran == ["up", "up", "down"]
    slopes = fz.vmap(fz.grad(lambda x: fz.cond(x > 0, lambda v: v**2, lambda v: -v, x)))
    same(slopes(array(3, -2)), [6, -1])
    nested = fz.vmap(lambda r: fz.vmap(lambda x: fz.cond(x > 1, lambda v: v, lambda v: -v, x))(r))
    same(nested(fz.asarray([[0.5, 2.0], [3.0, -1.0]])), [[-0.5, 2], [3, 1]])


def test_switch():
    branches = [lambda x: x, lambda x: x * 10, lambda x: x * 100]
    for index, want in ((0, 2), (1, 20), (5, 200), (-3, 2)):
        assert fz.switch(index, branches, fz.asarray(2.0)).item() == want
        assert fz.switch(fz.asarray(index), branches, fz.asarray(2.0)).item() == want
    got = fz.vmap(lambda i: fz.switch(i, branches, fz.asarray(2.0)))(fz.asarray([2, 0, 1, 9, -1]))
    same(got, [200, 2, 20, 200, 2])


def test_loops_over_examples_of_different_length():
    def collatz(n):
        return fz.while_loop(
            lambda s: s[0] != 1,
            lambda s: (fz.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
            (n, fz.asarray(0)),
        )[1]

    start = fz.asarray([1, 2, 7, 27])
    want = [0, 1, 16, 111]
    assert fz.vmap(collatz)(start).tolist() == want
    assert [collatz(fz.asarray(n)).item() for n in (1, 2, 7, 27)] == want
    traced = fz.trace(fz.vmap(collatz))
    for _ in range(6):
        assert traced(start).tolist() == want


def test_gradients_of_masked_loops():
    def f(x):
        return fz.while_loop(lambda s: s < 10, lambda s: s * x, x)

    got = fz.vmap(fz.grad(f))(array(2, 3, 20))
    same(got, [4 * 2.0**3, 3 * 3.0**2, 1])
    same(fz.jvp(fz.vmap(f), (array(2, 3, 20),), (fz.ones(3),))[1], got)


@pytest.mark.parametrize("checkpoint", [True, 1, 3, 100])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_with_checkpoints_has_the_same_bits(checkpoint, reverse):
    xs = {"a": fz.asarray(np.linspace(0.1, 2, 22).reshape(11, 2)), "b": fz.arange(11)}
    w = fz.asarray([[0.3, -0.2], [0.5, 0.7]], dtype=fz.float64)
    calls = []

    def loss(w, h, xs, **kwargs):
        def step(h, x):
            calls.append(1)
            h = fz.tanh(w @ h + x["a"] * fz.random.uniform())
            return h, (h * x["b"], h.sum())

        last, (ys, sums) = fz.scan(step, h, xs, reverse=reverse, **kwargs)
        return last.sum() + (ys * ys).sum() + sums.prod()

    h = fz.asarray([0.5, -0.5], dtype=fz.float64)
    results = []
    for options in ({}, {"checkpoint": checkpoint}):
        fz.random.seed(5)
        calls.clear()
        pull = fz.value_and_grad(
            lambda w, h, a, o=options: loss(w, h, xs | {"a": a}, **o), (0, 1, 2)
        )
        value, gradients = pull(w, h, xs["a"])
        results.append(
            (value.tolist(), [g.tolist() for g in gradients], fz.random.uniform().item())
        )
    assert results[0][0] == results[1][0] and results[0][2] == results[1][2]
    for plain, again in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-13)
    assert len(calls) == (11 if checkpoint == 100 else 22)


def test_loops_with_checkpoints_keep_a_part_of_the_states():
    x = fz.ones((64, 1024))

    def peak(**options):
        def loss(x):
            y = fz.fori_loop(0, 64, lambda _, s: fz.sin(fz.sin(fz.sin(s))), x, **options)
            return y.sum()

        fz.grad(loss)(x)
        fz.memory.reset_peak()
        gradient = fz.grad(loss)(x)
        return fz.memory.stats()["peak_bytes"], np.asarray(gradient).tobytes()

    (plain, want), (less, got) = peak(), peak(checkpoint=True)
    assert got == want
    assert less * 4 < plain, (less, plain)


def test_fori_loop():
    assert fz.fori_loop(2, 5, lambda i, s: s + i, fz.asarray(0)).item() == 9
    assert fz.fori_loop(5, 2, lambda i, s: s + i, fz.asarray(7)).item() == 7
    assert fz.fori_loop(fz.asarray(2), fz.asarray(5), lambda i, s: s + i, fz.asarray(0)).item() == 9
    got = fz.vmap(lambda n: fz.fori_loop(0, n, lambda i, s: s + i, fz.asarray(0)))(
        fz.asarray([0, 3, 5])
    )
    assert got.tolist() == [0, 3, 10]
    state = fz.fori_loop(
        0, 3, lambda i, s: {"a": s["a"] * 2, "n": i + 1}, {"a": array(1, 2), "n": 0}
    )
    same(state["a"], [8, 16])
    assert state["n"].item() == 3


def test_scan():
    xs = {"a": array(1, 2, 3), "b": fz.ones((3, 2))}

    def step(carry, x):
        carry = carry * 0.5 + x["a"]
        return carry, (carry, x["b"] * x["a"])

    last, (sums, products) = fz.scan(step, 0.0, xs)
    same(sums, [1, 2.5, 4.25])
    same(last, 4.25)
    same(products, [[1, 1], [2, 2], [3, 3]])
    last, (sums, _) = fz.scan(step, 0.0, xs, reverse=True)
    same(sums, [2.75, 3.5, 3])
    same(fz.scan(lambda c, _: (c + 1, c), 0, length=3)[1], [0, 1, 2])
    slope = fz.grad(lambda x: fz.scan(lambda c, v: (c * v, c), fz.asarray(1.0), x)[0])
    same(slope(array(2, 3, 4)), [12, 8, 6])
    many = fz.vmap(lambda x: fz.scan(lambda c, v: (c + v, c + v), fz.asarray(0.0), x)[1])
    same(many(fz.ones((2, 3))), [[1, 2, 3], [1, 2, 3]])


def test_associative_scan():
    for n in (0, 1, 2, 3, 7, 8, 33):
        x = np.random.default_rng(n).standard_normal((n, 2)).astype(np.float32)
        same(fz.associative_scan(fz.add, fz.asarray(x)), np.cumsum(x, 0))
        same(
            fz.associative_scan(fz.add, fz.asarray(x.T), reverse=True, axis=1),
            np.cumsum(x[::-1], 0)[::-1].T,
        )

    def affine(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    a, b = array(2, 3, 4), array(1, 1, 1)
    same(fz.associative_scan(affine, (a, b))[1], [1, 4, 17])


def test_map():
    same(fz.map(lambda x: fz.sum(x) * 2, fz.ones((3, 2))), [4, 4, 4])
    same(fz.map(lambda x: x if x > 0 else -x, array(1, -2)), [1, 2])


# -- Wrong input: the class and the whole message


def loop(**changes):
    return lambda s: {**s, **changes}


WRONG = [
    (lambda: fz.vmap(3), TypeError, "[vmap] needs a function, got int."),
    (
        lambda: fz.vmap(fz.sin, randomness="any"),
        ValueError,
        "[vmap] randomness must be 'error', 'same' or 'different', got 'any'.",
    ),
    (
        lambda: fz.vmap(fz.add)(fz.ones(3), fz.ones(4)),
        ValueError,
        "[vmap] the mapped axes have different extents: 3 of args[0], 4 of args[1].",
    ),
    (
        lambda: fz.vmap(fz.sin)(fz.ones(())),
        ValueError,
        "[vmap] in_axes is 0 for args[0], which has 0 axes: shape ().",
    ),
    (
        lambda: fz.vmap(fz.sin, in_axes=2)(fz.ones((2, 2))),
        ValueError,
        "[vmap] in_axes is 2 for args[0], which has 2 axes: shape (2, 2).",
    ),
    (
        lambda: fz.vmap(fz.sin, in_axes=None)(fz.ones(2)),
        ValueError,
        "[vmap] nothing is mapped over: in_axes is None for every argument, so say axis_size.",
    ),
    (
        lambda: fz.vmap(fz.add, in_axes=(0,))(fz.ones(2), fz.ones(2)),
        ValueError,
        "[vmap] in_axes has 1 entries for 2 positional arguments.",
    ),
    (
        lambda: fz.vmap(lambda x, y: x)(fz.ones(2), 3.0),
        TypeError,
        "[vmap] only tensors have an axis to be mapped over, got float at args[1]: say None for "
        "it in in_axes.",
    ),
    (
        lambda: fz.vmap(lambda x: x, out_axes=3)(fz.ones((2, 2))),
        ValueError,
        "[vmap] out_axes is 3, but the result, f32[2], has places for an axis from -2 to 1.",
    ),
    (
        lambda: fz.vmap(lambda x: x, out_axes=None)(fz.ones(2)),
        ValueError,
        "[vmap] out_axes is None for a result that differs between examples: float32 of shape ().",
    ),
    (
        lambda: fz.vmap(lambda x: "text")(fz.ones(2)),
        TypeError,
        "[vmap] <lambda> must return tensors or nests of them, got str at result.",
    ),
    (
        lambda: fz.vmap(lambda x: {"a": [x, None, "b"]})(fz.ones(2)),
        TypeError,
        "[vmap] <lambda> must return tensors or nests of them, got str at result['a'][2].",
    ),
    (
        lambda: fz.vmap(fz.nonzero)(fz.ones((2, 2))),
        RuntimeError,
        "[nonzero] the elements of i64[] differ between 2 examples, so the program cannot look at "
        "them: use where, cond or while_loop in place of if and while.",
    ),
    (
        lambda: fz.vmap(lambda a, b: a @ b)(fz.ones((2, 3)), fz.ones((2, 4))),
        ValueError,
        "[matmul] inner dimensions differ: a is f32[1,3], b is f32[4,1] (3 vs 4).",
    ),
    (
        lambda: fz.jvp(fz.sin, fz.ones(2), fz.ones(2)),
        TypeError,
        "[jvp] primals and tangents are tuples of arguments, got Tensor and Tensor.",
    ),
    (
        lambda: fz.jvp(fz.sin, (fz.ones(2),), (fz.ones(3),)),
        ValueError,
        "[jvp] a tangent has the shape and dtype of its primal: f32[3] for f32[2].",
    ),
    (
        lambda: fz.jvp(fz.sin, (fz.ones(2),), (fz.ones(2, dtype=fz.float64),)),
        ValueError,
        "[jvp] a tangent has the shape and dtype of its primal: f64[2] for f32[2].",
    ),
    (
        lambda: fz.jvp(fz.sin, (fz.arange(2),), (fz.arange(2),)),
        TypeError,
        "[jvp] only floating-point tensors are differentiated, got an array of int64 at primals[0]:"
        ' convert it (fz.asarray(x, dtype="float32")).',
    ),
    (
        lambda: fz.jvp(lambda x: (x, 1, 2), (1.0,), (1.0,), has_aux=True),
        TypeError,
        "[jvp] with has_aux=True the function must return (value, aux).",
    ),
    (
        lambda: fz.vjp(fz.sin, fz.ones(2))[1](fz.ones(3)),
        ValueError,
        "[vjp] the gradient must have the shape and dtype of the result: float32 of shape (3,), "
        "and float32 of shape (2,).",
    ),
    (
        lambda: fz.linearize(fz.sin, fz.ones(2))[1](fz.ones(2), fz.ones(2)),
        TypeError,
        "[linearize] takes 1 tangents, got 2.",
    ),
    (
        lambda: fz.jacfwd(fz.sin, argnums=1)(fz.ones(2)),
        TypeError,
        "[jacfwd] argnums=1, but the call has 1 positional arguments.",
    ),
    (
        lambda: fz.hvp(fz.sin, (fz.ones(2),), (fz.ones(2),)),
        TypeError,
        "[hvp] the function must return one floating-point number (0-d).",
    ),
    (
        lambda: fz.cond(fz.ones(2) > 0, fz.sin, fz.cos, 1.0),
        TypeError,
        "[cond] pred must be one bool, got bool of shape (2,).",
    ),
    (
        lambda: fz.cond(1.0, fz.sin, fz.cos, 1.0),
        TypeError,
        "[cond] pred must be one bool, got float32 of shape ().",
    ),
    (
        lambda: fz.vmap(lambda x: fz.cond(x > 0, lambda v: (v,), lambda v: v, x))(fz.ones(2)),
        TypeError,
        "[cond] <lambda>'s result must have the structure of <lambda>'s: Structure(*) and "
        "Structure((*,)).",
    ),
    (
        lambda: fz.vmap(lambda x: fz.cond(x > 0, lambda v: v, lambda v: v > 1, x))(fz.ones(2)),
        TypeError,
        "[cond] <lambda>'s result must have the shapes and dtypes of <lambda>'s: at it bool of "
        "shape (), and float32 of shape ().",
    ),
    (lambda: fz.switch(0, []), ValueError, "[switch] needs at least one branch, got none."),
    (
        lambda: fz.while_loop(lambda s: s, lambda s: s, fz.ones(())),
        TypeError,
        "[while_loop] <lambda> must be one bool, got float32 of shape ().",
    ),
    (
        lambda: fz.while_loop(lambda s: s < 1, lambda s: (s, s), fz.zeros(())),
        TypeError,
        "[while_loop] <lambda>'s result must have the structure of its argument: Structure((*, *)) "
        "and Structure(*).",
    ),
    (
        lambda: fz.fori_loop(0, 2, lambda i, s: {"a": fz.ones(2)}, {"a": fz.ones(3)}),
        TypeError,
        "[fori_loop] <lambda>'s result must have the shapes and dtypes of its state: at ['a'] "
        "float32 of shape (2,), and float32 of shape (3,).",
    ),
    (
        lambda: fz.fori_loop(0, 2.5, lambda i, s: s, 0.0),
        TypeError,
        "[fori_loop] upper must be an integer, got float.",
    ),
    (
        lambda: fz.scan(lambda c, x: c, 0.0, fz.ones(3)),
        TypeError,
        "[scan] <lambda> must return (carry, y), got Tensor.",
    ),
    (
        lambda: fz.scan(lambda c, x: (c, x), 0.0, (fz.ones(3), fz.ones(2))),
        ValueError,
        "[scan] the first axis has 2 entries at xs[1], and 3 elsewhere.",
    ),
    (
        lambda: fz.scan(lambda c, x: (c, x), 0.0, fz.ones(())),
        ValueError,
        "[scan] xs is 0-d: there is no axis to go along.",
    ),
    (
        lambda: fz.scan(lambda c, x: (c, c), 0.0),
        ValueError,
        "[scan] xs holds no tensor, so say length.",
    ),
    (
        lambda: fz.map(lambda x: x, fz.ones(3), batch_size=0),
        ValueError,
        "[map] batch_size must be at least 1, got 0.",
    ),
    (
        lambda: fz.associative_scan(fz.add, fz.ones(3), axis=1),
        ValueError,
        "[associative_scan] axis 1 is not there: shape (3,).",
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_input(number):
    call, kind, message = WRONG[number]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert type(caught.value) is kind


def test_what_differs_is_not_left_in_tensors_from_outside():
    x = fz.asarray([1.0, 2.0, 3.0])
    buffer, other = fz.zeros(3), fz.zeros(2)
    kept = []

    def outside(v):
        other[1] = 5.0  # the same for all
        buffer[0] = v
        return v

    def leaked(v):
        own = fz.zeros(2)
        own[0] = v
        kept.append(own)
        return v

    for f in (outside, leaked):
        with pytest.raises(RuntimeError) as caught:
            fz.vmap(f)(x)
        assert str(caught.value) == (
            "[vmap] the function wrote what differs between examples to a tensor that outlives it, "
            "and that has its old content again: return the new content."
        )
    with pytest.raises(ZeroDivisionError):
        fz.vmap(lambda v: outside(v) + 1 / 0)(x)
    assert buffer.tolist() == [0, 0, 0]
    assert other.tolist() == [0, 5]
    assert kept[0].tolist() == [0, 0]

    def local(v):
        own = fz.zeros(2)
        own[0] = v
        own += v
        again = [lambda: (own, again)]  # held in a cycle
        return own

    assert fz.vmap(local)(x).tolist() == [[2, 1], [4, 2], [6, 3]]
    inner = fz.vmap(lambda v: fz.vmap(lambda w: local(v * w))(x))(x)
    assert inner[1, 2].tolist() == [12, 6]
    weight = fz.ones(3).requires_grad_()

    def backward(v):
        fz.sum(weight * v).backward()
        return v

    with pytest.raises(RuntimeError, match="the gradient of a tensor that all examples"):
        fz.vmap(backward)(fz.ones((2, 3)))
    assert weight.grad is None

    def own_gradient(v):
        leaf = (v * 2).detach().requires_grad_()
        (leaf * leaf).backward()
        return leaf.grad

    assert fz.vmap(own_gradient)(x).tolist() == [4, 8, 12]


def test_backward_in_forward_mode_is_refused():
    def f(v):
        (v * v).backward()
        return v

    with pytest.raises(RuntimeError, match=r"\[backward\] .* has a tangent of jvp"):
        fz.jvp(f, (2.0,), (1.0,))


def test_searching_under_vmap():
    rng = np.random.default_rng(3)
    for n in (0, 1, 5, 8, 13):
        points = np.sort(rng.integers(0, 6, (4, n)).astype("float64"), axis=1)
        points[:, n - 1 :] = np.nan
        values = rng.integers(-1, 7, (4, 6)).astype("float64")
        values[0, 0] = np.nan
        for side in ("left", "right"):
            got = fz.vmap(lambda p, v, side=side: fz.searchsorted(p, v, side=side))(
                fz.asarray(points), fz.asarray(values)
            )
            want = [np.searchsorted(p, v, side=side) for p, v in zip(points, values, strict=True)]
            assert got.tolist() == np.asarray(want).tolist()
    x, y = fz.asarray([[0.0, 1.0, 2.0], [1.0, 2.0, 4.0]]), fz.asarray([0.5, 3.0])
    got = fz.vmap(lambda p, v: fz.interp(v, p, p * 10))(x, y)
    assert got.tolist() == [5, 30]


def test_no_entries():
    carry, ys = fz.scan(lambda c, v: (c + v, {"y": c * 2.0, "v": v}), 1.0, fz.zeros((0, 3))[:, 0])
    assert carry.item() == 1
    assert ys["y"].shape == (0,)
    assert ys["v"].dtype == fz.float32
    assert fz.map(lambda v: v[:2] * 2, fz.zeros((0, 3))).shape == (0, 2)
    assert fz.scan(lambda c, _: (c, c), fz.ones(2), length=0)[1].shape == (0, 2)


def test_arguments_of_jax():
    x = fz.arange(7.0)
    assert fz.map(lambda v: v * 2, x, batch_size=3).tolist() == (x * 2).tolist()
    assert fz.map(lambda v: v * 2, x[:0], batch_size=3).shape == (0,)
    assert fz.scan(lambda c, v: (c + v, c), 0.0, x, unroll=2)[0].item() == 21
    assert fz.fori_loop(0, 3, lambda i, s: s + i, 0.0, unroll=True).item() == 3
    three = fz.asarray(3, dtype="int32")
    assert fz.fori_loop(0, three, lambda i, s: s + i, three).dtype == fz.int32


def test_inner_examples_are_not_the_outer_ones():
    x = fz.ones((2, 3))
    nested = fz.vmap(lambda row: fz.vmap(lambda v: row * 2, out_axes=None)(row))
    assert nested(x).tolist() == (x * 2).tolist()


def test_columns_of_a_jacobian_share_random_numbers():
    def f(x):
        return x * fz.random.uniform((2,))

    fz.random.seed(5)
    scale = f(fz.ones(2))
    for jacobian in (fz.jacfwd, fz.jacrev):
        fz.random.seed(5)
        assert jacobian(f)(fz.ones(2)).tolist() == fz.diag(scale).tolist()


def test_one_example_prints():
    seen = []
    fz.vmap(lambda v: seen.extend([repr(v), str(v), f"{v}"]) or v)(fz.ones((2, 3)))
    assert seen == ["fz.Tensor(<one of a vmap's examples>, shape=(3,), dtype=float32)"] * 3
