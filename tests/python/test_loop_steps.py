"""Long loops whose body is traced by itself, where nothing is learnt from the call around them: the
results, effects and exceptions of the loop as it is written."""

import numpy as np
import pytest

import frazil as fz

STEPS = 100


def written(body, state, steps=STEPS):
    for i in range(steps):
        state = body(i, state)
    return state


def bits(nest):
    return [(str(x.dtype), np.asarray(x).tobytes()) for x in fz.tree.leaves(nest)]


def swing(_, s):
    return {"x": s["x"] + 0.01 * s["v"], "v": s["v"] - 0.01 * fz.sin(s["x"])}


def counted(i, s):
    x, n = s
    return x * 0.99 + i, n + 1


def every_third(i, x):
    return x + 1 if i % 3 == 0 else fz.sin(x)


def by_data(_, x):
    return x * 0.5 if fz.sum(x) > 1 else x + 1


def shared(_, x):
    return x @ WEIGHT + 0.1


WEIGHT = fz.asarray([[0.6, 0.2], [-0.3, 0.7]])
STATE = {"x": fz.asarray([1.0, 2.0]), "v": fz.asarray([0.5, 0.0])}
CASES = [
    (swing, STATE),
    (counted, (fz.ones(3), fz.asarray(0))),
    (every_third, fz.ones(2)),
    (by_data, fz.ones(2)),
    (shared, fz.ones(2)),
]
each = pytest.mark.parametrize(("body", "state"), CASES, ids=[b.__name__ for b, _ in CASES])


@each
def test_results_are_those_of_the_loop(body, state):
    want = bits(written(body, state))
    assert bits(fz.fori_loop(0, STEPS, body, state)) == want
    traced = fz.trace(lambda s: fz.fori_loop(0, STEPS, body, s))
    around = fz.trace(
        lambda s: fz.tree.map(
            lambda x: x * 2, fz.fori_loop(0, STEPS, body, fz.tree.map(fz.copy, s))
        )
    )
    doubled = bits(fz.tree.map(lambda x: x * 2, written(body, state)))
    for _ in range(6):
        assert bits(traced(state)) == want
        assert bits(around(state)) == doubled


@each
def test_tangents_are_those_of_the_loop(body, state):
    leaves, structure = fz.tree.flatten(state)
    kinds = [x.dtype.kind == "real floating" for x in leaves]
    moving = [x for x, k in zip(leaves, kinds, strict=True) if k]
    moves = [fz.cos(x) for x in moving]

    def run(loop):
        def f(*own):
            rest = iter(own)
            whole = [next(rest) if k else x for x, k in zip(leaves, kinds, strict=True)]
            return loop(structure.unflatten(whole))

        return lambda *d: fz.jvp(f, moving, d)

    plain = run(lambda s: written(body, s))
    aside = run(lambda s: fz.fori_loop(0, STEPS, body, s))
    want = bits(plain(*moves))
    assert bits(aside(*moves)) == want
    traced = fz.trace(aside)
    for _ in range(6):
        assert bits(traced(*moves)) == want


def test_gradients_and_batches_are_those_of_the_loop():
    def loss(loop):
        return lambda x: fz.sum(loop(shared, x))

    x = fz.asarray([0.3, -0.2])
    plain, aside = loss(written), loss(lambda b, s: fz.fori_loop(0, STEPS, b, s))
    assert bits(fz.grad(aside)(x)) == bits(fz.grad(plain)(x))
    assert bits(fz.hessian(aside)(x)) == bits(fz.hessian(plain)(x))
    rows = fz.stack([x, x + 1])
    assert bits(fz.vmap(aside)(rows)) == bits(fz.vmap(plain)(rows))
    assert bits(fz.vmap(fz.grad(aside))(rows)) == bits(fz.vmap(fz.grad(plain))(rows))


def test_what_the_body_closes_over_is_followed():
    """Tangents and gradients come from there in the middle of a loop, too."""
    x, w = fz.asarray([0.3, -0.2]), fz.asarray([0.9, 1.1])

    def run(loop):
        return lambda v: loop(lambda i, s: s * v + 0.1 if i > 50 else s * 0.9 + 0.1, x)

    plain, aside = run(written), run(lambda b, s: fz.fori_loop(0, STEPS, b, s))
    d = fz.asarray([1.0, 2.0])
    np.testing.assert_allclose(
        np.asarray(fz.jvp(aside, (w,), (d,))[1]),
        np.asarray(fz.jvp(plain, (w,), (d,))[1]),
        rtol=1e-6,
    )
    both = fz.jvp(lambda v: fz.fori_loop(0, STEPS, lambda _, s: s * v, v), (w,), (d,))[1]
    want = fz.jvp(lambda v: written(lambda _, s: s * v, v), (w,), (d,))[1]
    np.testing.assert_allclose(np.asarray(both), np.asarray(want), rtol=1e-5)
    leaf = fz.asarray([0.9, 1.1], requires_grad=True)
    fz.sum(run(lambda b, s: fz.fori_loop(0, STEPS, b, s))(leaf)).backward()
    got = leaf.grad
    leaf.grad = None
    fz.sum(plain(leaf)).backward()
    np.testing.assert_allclose(np.asarray(got), np.asarray(leaf.grad), rtol=1e-6)


def test_effects_and_exceptions_are_those_of_the_loop(capsys):
    seen, states, calls = [], [], {"n": 0}

    def body(i, x):
        seen.append(i)
        calls["n"] += 1
        if i % 40 == 0:
            states.append(x)
        return x + 1

    fz.fori_loop(0, STEPS, body, fz.zeros(2))
    assert seen == list(range(STEPS))
    assert calls["n"] == STEPS
    assert [s.tolist() for s in states] == [[0, 0], [40, 40], [80, 80]]

    def says(i, x):
        if i > 95:
            print(i)
        return x + 1

    fz.fori_loop(0, STEPS, says, fz.zeros(2))
    assert capsys.readouterr().out == "96\n97\n98\n99\n"

    def fails(i, x):
        if i == 60:
            raise KeyError(x.tolist())
        return x + 1

    with pytest.raises(KeyError, match=r"\[60.0, 60.0\]"):
        fz.fori_loop(0, STEPS, fails, fz.zeros(2))
    with pytest.raises(TypeError, match=r"\[fori_loop\] .* must have the shapes and dtypes"):
        fz.fori_loop(0, STEPS, lambda i, x: x if i < 70 else x[:1], fz.zeros(2))
    got = fz.trace(lambda x: fz.sin(fz.fori_loop(0, STEPS, lambda _, s: s + 1, fz.cos(x))))
    for _ in range(3):
        np.testing.assert_allclose(got(fz.zeros(2)).tolist(), [np.sin(101.0)] * 2, rtol=1e-4)


def test_random_numbers_are_those_of_the_loop():
    def noisy(_, x):
        return x + fz.random.normal((2,))

    fz.random.seed(4)
    want = bits(written(noisy, fz.zeros(2)))
    fz.random.seed(4)
    assert bits(fz.fori_loop(0, STEPS, noisy, fz.zeros(2))) == want
    traced = fz.trace(lambda x: fz.fori_loop(0, STEPS, noisy, x))
    for _ in range(4):
        fz.random.seed(4)
        assert bits(traced(fz.zeros(2))) == want


def test_a_call_that_may_be_the_only_one_records_no_steps():
    traced = fz.trace(lambda x: fz.fori_loop(0, 5000, lambda _, v: v * 0.5 + 1, x))
    assert traced(fz.zeros(2)).tolist() == [2, 2]
    assert traced.stats()["segments"] == 0
    for _ in range(6):
        assert traced(fz.zeros(2)).tolist() == [2, 2]
    assert traced.stats()["skipped"] >= 2
