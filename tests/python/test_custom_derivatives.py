"""custom_vjp, custom_jvp and checkpoint: their rules under every transform, and what is refused."""

import functools

import numpy as np
import pytest

import frazil as fz


def array(*values, dtype="float64"):
    return fz.asarray(values, dtype=dtype)


def same(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-10, atol=1e-12)


def doubled():
    """x ** 2 whose gradient is said to be twice what it is, so that the rule shows."""
    f = fz.custom_vjp(lambda x: x**2)
    f.defvjp(lambda x: (x**2, x), lambda x, g: (4 * x * g,))
    return f


def doubled_forward():
    f = fz.custom_jvp(lambda x: x**2)
    f.defjvp(lambda p, t: (p[0] ** 2, 4 * p[0] * t[0]))
    return f


both = pytest.mark.parametrize("make", [doubled, doubled_forward])


@both
def test_the_rule_is_asked(make):
    f = make()
    assert f(fz.asarray(3.0)).item() == 9
    assert fz.grad(f)(3.0).item() == 12
    x = array(1, 2).requires_grad_()
    fz.sum(f(x)).backward()
    same(x.grad, [4, 8])
    same(fz.jacrev(f)(array(1, 2)), np.diag([4.0, 8.0]))


@both
def test_gradients_of_gradients_differentiate_the_rule(make):
    f = make()
    assert fz.grad(fz.grad(f))(3.0).item() == 4
    assert fz.grad(fz.grad(lambda x: f(x) * x))(3.0).item() == 4 * 3 + 4 * 3 + 12
    assert fz.jvp(fz.grad(f), (fz.asarray(3.0),), (fz.asarray(1.0),))[1].item() == 4


@both
def test_the_rule_holds_under_vmap_from_either_side(make):
    f = make()
    x = array(1, 2, 3)
    same(fz.vmap(f)(x), [1, 4, 9])
    same(fz.vmap(fz.grad(f))(x), [4, 8, 12])
    same(fz.grad(lambda v: fz.sum(fz.vmap(f)(v)))(x), [4, 8, 12])
    nested = fz.vmap(fz.vmap(f))
    same(fz.grad(lambda v: fz.sum(nested(v)))(fz.ones((2, 2), dtype="float64")), np.full((2, 2), 4))
    shared = fz.grad(lambda w: fz.sum(fz.vmap(lambda v: f(w) * v)(x)))
    same(shared(fz.asarray(2.0, dtype="float64")), 6 * 8)


@both
def test_the_rule_holds_for_what_differs_in_an_outer_vmap_only(make):
    f = make()
    x = array(1, 2)

    def inner(v):
        return fz.sum(fz.vmap(lambda w: f(v) * w)(array(1, 10)))

    same(fz.vmap(inner)(x), [11, 44])
    same(fz.vmap(fz.grad(inner))(x), [44, 88])
    same(fz.grad(lambda v: fz.sum(fz.vmap(inner)(v)))(x), [44, 88])


def test_custom_jvp_in_forward_mode():
    f = doubled_forward()
    x = array(1, 2)
    same(fz.jvp(f, (x,), (array(1, 10),))[1], [4, 80])
    same(fz.jvp(fz.vmap(f), (x,), (array(1, 10),))[1], [4, 80])
    same(fz.vmap(lambda v: fz.jvp(f, (v,), (v,))[1])(x), [4, 16])
    same(fz.hessian(lambda v: fz.sum(f(v)))(x), 4 * np.eye(2))
    same(fz.linearize(f, x)[1](array(1, 1)), [4, 8])


def test_traced_rules_are_the_eager_ones():
    for make in (doubled, doubled_forward):
        f = make()
        gradient = fz.trace(lambda v, f=f: fz.grad(lambda u: fz.sum(f(u) * u))(v))
        for n in range(12):
            x = array(1.0 + n, 2)
            same(gradient(x), 4 * np.asarray(x) ** 2 + np.asarray(x) ** 2)


def test_nests_several_results_and_arguments_that_are_no_tensors():
    f = fz.custom_vjp(lambda p, mode, y: {"s": p["a"] * y, "d": p["a"] - y}, nondiff_argnums=(1,))
    seen = []

    def fwd(p, mode, y):
        return {"s": p["a"] * y, "d": p["a"] - y}, (p, "kept", y)

    def bwd(mode, residuals, g):
        p, kept, y = residuals
        seen.append((mode, kept))
        return {"a": g["s"] * y + g["d"], "b": None}, g["s"] * p["a"] - g["d"]

    f.defvjp(fwd, bwd)
    p = {"a": array(1, 2), "b": array(5)}

    def loss(p, y):
        out = f(p, "fast", y)
        return fz.sum(out["s"] * 3)

    gp, gy = fz.grad(loss, argnums=(0, 1))(p, array(3, 4))
    same(gp["a"], [9, 12])
    same(gp["b"], [0])
    same(gy, [3, 6])
    assert seen == [("fast", "kept")]


def test_errors_of_a_rule_are_the_users_own():
    f = fz.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fz.grad(f)(1.0)
    x = array(1)[0].requires_grad_()
    with pytest.raises(ZeroDivisionError):
        f(x).backward()
    assert x.grad is None


def test_a_long_chain_of_rules_is_freed_and_walked():
    f = doubled_forward()
    x = fz.asarray(1.0).requires_grad_()
    y = x
    for _ in range(20000):
        y = f(y) * 0.25
        y = y + (1 - y).detach()
    y.backward()
    assert np.isfinite(x.grad.item())
    del y


def test_checkpoint_computes_again_and_gives_the_same():
    runs = []

    def layer(x, w):
        runs.append(1)
        return fz.tanh(x @ w)

    rng = np.random.default_rng(0)
    ws = [fz.asarray(rng.standard_normal((3, 3))) for _ in range(4)]
    x = fz.asarray(rng.standard_normal(3))

    def loss(layers):
        def f(ws, x):
            for w in ws:
                x = layers(x, w)
            return fz.sum(x**2)

        return f

    want = fz.grad(loss(layer), argnums=(0, 1))(ws, x)
    runs.clear()
    got = fz.grad(loss(fz.checkpoint(layer)), argnums=(0, 1))(ws, x)
    assert len(runs) == 8
    for a, b in zip(fz.tree.leaves(got), fz.tree.leaves(want), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    same(
        fz.hessian(lambda v: loss(fz.checkpoint(layer))(ws, v))(x),
        fz.hessian(lambda v: loss(layer)(ws, v))(x),
    )
    traced = fz.trace(fz.grad(loss(fz.checkpoint(layer)), argnums=(0, 1)))
    for _ in range(6):
        for a, b in zip(fz.tree.leaves(traced(ws, x)), fz.tree.leaves(want), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


WRONG = [
    (lambda: fz.custom_vjp(3), TypeError, "[custom_vjp] needs a function, got int."),
    (
        lambda: fz.custom_vjp(fz.sin)(1.0),
        TypeError,
        "[custom_vjp] sin has no rule yet: call defvjp(fwd, bwd).",
    ),
    (
        lambda: fz.custom_jvp(fz.sin)(1.0),
        TypeError,
        "[custom_jvp] sin has no rule yet: call defjvp(rule).",
    ),
    (
        lambda: fz.jacrev(rule(lambda x: x, lambda r, g: (g,)))(fz.ones(2)),
        TypeError,
        "[custom_vjp] fwd must return (result, residuals), got Tensor.",
    ),
    (
        lambda: fz.grad(rule(lambda x: (x, None), lambda r, g: g))(1.0),
        TypeError,
        "[custom_vjp] bwd must return a tuple of 1 gradients, one for each argument; got Tensor.",
    ),
    (
        lambda: fz.grad(rule(lambda x: (x, None), lambda r, g: (g, g)))(1.0),
        TypeError,
        "[custom_vjp] bwd must return a tuple of 1 gradients, one for each argument; got 2.",
    ),
    (
        lambda: fz.grad(rule(lambda x: (x, None), lambda r, g: (fz.ones(2),)))(1.0),
        TypeError,
        "[custom_vjp] the gradient that bwd returned: at [0] needed float32 of shape (), got "
        "float32 of shape (2,).",
    ),
    (
        lambda: fz.jvp(rule(lambda x: (x, None), lambda r, g: (g,)), (1.0,), (1.0,)),
        TypeError,
        "[custom_vjp] identity has a rule for reverse mode only: forward mode (jvp, jacfwd, "
        "hessian) needs custom_jvp.",
    ),
    (
        lambda: fz.jvp(forward_rule(lambda p, t: p[0]), (1.0,), (1.0,)),
        TypeError,
        "[custom_jvp] the rule must return (result, tangent), got Tensor.",
    ),
    (
        lambda: fz.jvp(forward_rule(lambda p, t: (p[0], fz.ones(3))), (1.0,), (1.0,)),
        TypeError,
        "[custom_jvp] the tangent that the rule returned: at it needed float32 of shape (), got "
        "float32 of shape (3,).",
    ),
    (
        lambda: fz.custom_vjp(fz.sin, nondiff_argnums=(2,)).defvjp(fz.sin, 4),
        TypeError,
        "[custom_vjp] needs a function, got int.",
    ),
    (
        lambda: rule(lambda x: (x, None), lambda r, g: (g,), nondiff_argnums=(1,))(1.0),
        TypeError,
        "[custom_vjp] nondiff_argnums has 1, but the call has 1 arguments.",
    ),
    (lambda: fz.checkpoint(1), TypeError, "[checkpoint] needs a function, got int."),
]


def identity(x):
    return x


def rule(fwd, bwd, **options):
    f = fz.custom_vjp(identity, **options)
    f.defvjp(fwd, bwd)
    return f


def forward_rule(function):
    f = fz.custom_jvp(identity)
    f.defjvp(function)
    return f


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_input(number):
    call, kind, message = WRONG[number]
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_gradients_outside_of_a_vmap_of_gradients_follow_the_rule():
    """The residuals are the examples' own, with the history that they have outside."""
    cubed = fz.custom_vjp(lambda x: x**3)
    cubed.defvjp(lambda x: (x**3, x), lambda x, g: (3 * x**2 * g,))
    moved = fz.custom_jvp(lambda x: x**3)
    moved.defjvp(lambda p, t: (p[0] ** 3, 3 * p[0] ** 2 * t[0]))
    x = array(1, 2, 3)
    for f in (cubed, moved, fz.checkpoint(lambda x: x**3)):
        same(fz.grad(lambda v, f=f: fz.sum(fz.vmap(fz.grad(f))(v)))(x), 6 * np.asarray(x))
        third = fz.grad(lambda v, f=f: fz.sum(fz.vmap(fz.grad(fz.grad(f)))(v)))(x)
        same(third, [6, 6, 6])


def test_the_function_itself_runs_where_no_gradient_is_wanted():
    ran = []
    f = fz.custom_vjp(lambda x: ran.append("fn") or x * 2)
    f.defvjp(lambda x: (f(x), ran.append("fwd")), lambda _, g: (g * 5,))  # as JAX's users write it
    assert f(fz.asarray(3.0)).item() == 6
    assert ran == ["fn"]
    assert fz.grad(f)(3.0).item() == 5
    assert ran == ["fn", "fn", "fwd"]


def test_arguments_by_name_and_from_the_end():
    f = fz.custom_vjp(lambda x, scale=2.0, mode="a": x * scale, nondiff_argnums=-1)
    f.defvjp(lambda x, scale, mode: (x * scale, mode), lambda mode, kept, g: (g * 7, None))
    assert f(fz.asarray(3.0), mode="b", scale=4).item() == 12
    assert fz.grad(lambda x: f(x, mode="b"))(3.0).item() == 7
    only = fz.custom_vjp(lambda x, *, k: x)
    only.defvjp(lambda x: (x, None), lambda _, g: (g,))
    with pytest.raises(TypeError, match="takes k by name only"):
        only(fz.asarray(1.0), k=2)


@both
def test_a_rule_says_nothing_of_what_is_closed_over(make):
    f = make()
    w = array(2).requires_grad_()
    g = type(f)(lambda x: f(x) * w)
    if isinstance(g, fz.custom_vjp):
        g.defvjp(lambda x: (x * w, x), lambda x, d: (d,))
    else:
        g.defjvp(lambda p, t: (p[0] * w, t[0]))
    for call in (
        lambda: g(array(1).requires_grad_()),
        lambda: fz.vmap(g)(array(1)),
        lambda: fz.grad(lambda u: fz.sum(g(u)))(array(1)),
    ):
        with pytest.raises(TypeError, match="reads a tensor that a gradient is wanted of"):
            call()
    with fz.no_grad():
        same(g(array(1)), [2])


class Layer(fz.nn.Module):
    def __init__(self):
        self.w = array(2, 3).requires_grad_()

    def __call__(self, x):
        return fz.sin(x * self.w)


def test_checkpoint_follows_what_the_function_reads_besides_its_arguments():
    layer = Layer()
    x = array(0.5, 1.5)
    fz.sum(layer(x)).backward()
    want, layer.w.grad = layer.w.grad, None
    fz.sum(fz.checkpoint(layer)(x)).backward()
    assert np.asarray(layer.w.grad).tobytes() == np.asarray(want).tobytes()

    def loss(w, wrap):
        f = wrap(lambda v: fz.sin(v * w) * fz.grad(lambda u: fz.sum(u**2 * w))(v))
        return fz.sum(f(x) ** 2)

    w = array(2, 3)
    for transform in (
        fz.grad,
        fz.hessian,
        lambda f: fz.grad(lambda *a: fz.sum(fz.grad(f)(*a) ** 2)),
    ):
        got = transform(lambda w: loss(w, fz.checkpoint))(w)
        same(got, transform(lambda w: loss(w, lambda f: f))(w))


def test_checkpoint_of_values_that_a_vmap_around_it_has():
    """Arguments and closed-over values, of one example each or of all."""
    x, y = array(0.5, 1.5, 2.5), array(1, 2, 3)
    w = array(3)[0]

    def total(x, y, w, wrap):
        return fz.sum(fz.vmap(lambda a, b: wrap(lambda u: fz.sin(u * b) * w)(a))(x, y))

    def inner(x, y, w, wrap):
        one = fz.grad(lambda a, b: wrap(lambda u: fz.sin(u * b) * w)(a), argnums=(0, 1))
        p, q = fz.vmap(one)(x, y)
        return fz.sum(p * p + q)

    for f in (total, inner):
        got, want = (
            fz.grad(functools.partial(f, wrap=wrap), argnums=(0, 1, 2))(x, y, w)
            for wrap in (fz.checkpoint, lambda function: function)
        )
        for g, v in zip(got, want, strict=True):
            same(g, v)


def test_checkpoint_draws_the_same_numbers_once():
    def noisy(x):
        return (
            x * fz.random.uniform((2,), dtype="float64") * fz.random.normal((2,), dtype="float64")
        )

    x = array(1, 2)
    fz.random.seed(7)
    want = fz.grad(lambda x: fz.sum(noisy(noisy(x))))(x)
    after = fz.random.uniform((2,))
    for f in (fz.checkpoint(noisy), lambda x: fz.checkpoint(lambda v: fz.checkpoint(noisy)(v))(x)):
        fz.random.seed(7)
        got = fz.grad(lambda x, f=f: fz.sum(f(f(x))))(x)
        assert np.asarray(got).tobytes() == np.asarray(want).tobytes()
        assert np.asarray(fz.random.uniform((2,))).tobytes() == np.asarray(after).tobytes()
    calls = []

    def changes(x):
        calls.append(1)
        return x * fz.random.uniform(()) if len(calls) == 1 else noisy(x) * fz.random.uniform(())

    with pytest.raises(RuntimeError, match="more often when checkpoint computes its results again"):
        fz.grad(lambda x: fz.sum(fz.checkpoint(changes)(x)))(x)


@pytest.mark.parametrize("policy", ["nothing_saveable", "dots_saveable", "everything_saveable"])
def test_policies_of_checkpoint_give_the_same_gradients(policy):
    w = fz.random.normal((4, 4), dtype="float64")
    x = fz.random.normal((3, 4), dtype="float64")

    def layer(x):
        x = fz.tanh(x @ w) * fz.random.uniform((4,), dtype="float64")
        return fz.nn.softmax(x @ w, axis=-1)

    def run(wrap, transform):
        fz.random.seed(3)
        f = wrap(layer)
        return transform(lambda v: fz.sum(f(f(v)) ** 2))(x)

    def wrap(f):
        return fz.checkpoint(fz.checkpoint(f, policy=policy), policy=policy)

    def batched(f):
        return fz.grad(lambda v: fz.sum(fz.vmap(f, randomness="same")(v)))

    for transform in (fz.grad, batched, lambda f: fz.vmap(fz.grad(f), randomness="same")):
        got, want = run(wrap, transform), run(lambda f: f, transform)
        same(got, want)
    with fz.detect_anomaly():
        same(run(wrap, fz.grad), run(lambda f: f, fz.grad))


def test_a_policy_keeps_results():
    """Seen by a function that computes something else the second time."""
    x, first, second = fz.ones((2, 2)), fz.ones((2, 2)) * 0.5, fz.ones((2, 2)) * 0.25

    def gradient(policy):
        factors = iter([first, second])
        return fz.grad(
            lambda v: fz.sum(fz.checkpoint(lambda u: fz.exp(u @ next(factors)), policy=policy)(v))
        )(x)

    same(gradient("nothing_saveable"), fz.exp(x @ second) @ second)
    for policy in ("everything_saveable", lambda op: op in ("matmul", "exp")):
        same(gradient(policy), fz.exp(x @ first) @ second)

    def of_examples(policy):
        factors = iter([first, second])

        def loss(v):
            layer = fz.checkpoint(lambda u: fz.exp(u @ next(factors)), policy=policy)
            return fz.sum(layer(v))

        return fz.vmap(fz.grad(loss))(x)

    same(of_examples("nothing_saveable"), fz.exp(x @ second) @ second)
    same(of_examples("everything_saveable"), fz.exp(x @ first) @ second)
    with pytest.raises(ValueError, match=r"\[checkpoint\] policy must be .* got 'all'"):
        fz.checkpoint(fz.sin, policy="all")


def test_a_policy_has_no_effect_in_a_traced_call():
    """Where plans say what is kept: they are the same, and so are the bits."""
    w, x = fz.random.normal((64, 64)), fz.random.normal((32, 64))
    kernels, results = set(), set()
    for policy in ("nothing_saveable", "dots_saveable", "everything_saveable"):
        layer = fz.checkpoint(lambda v: fz.tanh(fz.tanh(v @ w) * 2 + v), policy=policy)
        traced = fz.trace(fz.grad(lambda v, layer=layer: fz.sum(layer(layer(v)) ** 2)))
        for _ in range(5):
            results.add(np.asarray(traced(x)).tobytes())
        assert traced.stats()["skipped"] > 0
        kernels.add(traced.stats()["last_kernels"])
    assert len(kernels) == len(results) == 1


def test_a_checkpoint_has_what_its_names_held_at_the_call():
    def rebound(x):
        b = x + 1
        a = fz.checkpoint(lambda t: t * b)(x)
        b = b * 100
        return a.sum()

    def grown(x):
        b = x + 1
        a = fz.checkpoint(lambda t, n=1, *, m=2: t * b * n * m)(x)
        b = b + a
        return b.sum()

    def loop(x):
        w = x + 1
        for _ in range(3):
            w = fz.checkpoint(lambda t: fz.sin(t * w))(x)  # noqa: B023
        return w.sum()

    def same_loop(x):
        w = x + 1
        for _ in range(3):
            w = fz.sin(x * w)
        return w.sum()

    x = fz.asarray([0.5, -1.0, 2.0])
    assert fz.grad(rebound)(x).tolist() == [2.0, -1.0, 5.0]
    assert fz.grad(grown)(x).tolist() == [5.0, -1.0, 11.0]
    expected = fz.grad(same_loop)(x).tolist()
    assert fz.grad(loop)(x).tolist() == expected
    traced = fz.trace(fz.grad(loop))
    for _ in range(6):
        assert traced(x).tolist() == expected
    assert traced.stats()["skipped"] > 0, traced.explain()
