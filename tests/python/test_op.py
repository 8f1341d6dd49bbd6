"""fz.op: bodies over NumPy arrays and of frazil's functions, under every transform, and traced."""

import itertools
import re

import numpy as np
import pytest

import frazil as fz

F64 = "float64"


def array(*values, dtype=F64):
    return fz.asarray(values, dtype=dtype)


def same(got, want):
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-10, atol=1e-12)


def cube_rule(args, result, gradient):
    return (gradient * 3 * args[0] ** 2,)


def host_cube(**rules):
    calls = []

    @fz.op(**rules)
    def cube(x):
        calls.append(x.shape)
        return x**3

    return cube, calls


cube, CALLS = host_cube(vjp=cube_rule, jvp=lambda args, moved: moved[0] * 3 * args[0] ** 2)


@fz.op(
    vjp=lambda args, result, gradient, shift: (
        {"b": gradient[0] * args[0]["w"], "w": gradient[0] * args[0]["b"]},
        gradient[1][0],
    )
)
def nested(params, x, *, shift=0):
    return params["w"] * params["b"], [x + shift]


@fz.op(vjp=lambda args, result, gradient: (gradient * result,))
def host_exp(x):
    return np.exp(x)


def both_kinds(fn):
    """The function as a body over NumPy arrays, and as one of frazil's functions."""
    rules = {"vjp": cube_rule, "jvp": lambda args, moved: moved[0] * 3 * args[0] ** 2}
    return [fz.op(**rules)(fn), fz.op(body="frazil", **rules)(fn), fz.op(body="frazil")(fn)]


every = pytest.mark.parametrize("f", both_kinds(lambda x: x**3), ids=["numpy", "rules", "frazil"])


# -- Eagerly


def test_the_body_gets_read_only_arrays_and_gives_arrays():
    seen = []

    @fz.op
    def f(x, y, *, k=1):
        seen.append((type(x), x.flags.writeable, x.dtype, y.shape, k))
        return x + k, np.float32(2), {"n": 3}

    total, two, rest = f(fz.ones((2, 3), dtype="int32").T, np.ones(2), k=5)
    assert seen == [(np.ndarray, False, np.dtype("int32"), (2,), 5)]
    assert total.shape == (3, 2) and total.dtype == fz.int32 and total[0, 0].item() == 6
    assert two.dtype == fz.float32 and rest["n"].dtype == fz.int64
    assert repr(f) == "<op f>" and f.__name__ == "f"


def test_results_are_memory_of_their_own():
    held = np.zeros(3)
    t = fz.op(lambda x: held)(array(1, 2, 3))
    held += 1
    same(t, [0, 0, 0])
    x = array(1, 2)
    y = fz.op(lambda v: v)(x)
    x += 1
    same(y, [1, 2])


def test_bfloat16_comes_and_goes():
    pytest.importorskip("ml_dtypes")
    x = fz.asarray([1.0, 2.5], dtype="bfloat16")
    assert fz.op(lambda v: v)(x).dtype == fz.bfloat16


def test_complex_numbers_come_and_go():
    assert fz.op(np.conj)(array(1j, dtype="complex64")).dtype == fz.complex64


def test_an_op_without_operands():
    assert fz.op(lambda *, n: np.arange(n))(n=3).tolist() == [0, 1, 2]


# -- Gradients


@every
def test_derivatives_of_every_order(f):
    x = array(1, 2)
    same(f(x), [1, 8])
    same(fz.grad(lambda v: fz.sum(f(v)))(x), [3, 12])
    same(fz.jvp(f, (x,), (array(1, 10),))[1], [3, 120])
    same(fz.hessian(lambda v: fz.sum(f(v)))(x), np.diag([6.0, 12.0]))
    same(fz.jacrev(fz.jacrev(f))(x)[1, 1], [0, 12])
    leaf = array(1, 2).requires_grad_()
    fz.sum(f(leaf) * leaf).backward()
    same(leaf.grad, [4, 32])


def test_a_rule_that_reads_the_result():
    same(fz.grad(fz.grad(host_exp))(fz.asarray(1.0, dtype=F64)), np.e)
    same(fz.vmap(fz.grad(fz.grad(host_exp)))(array(0, 1)), [1, np.e])


def test_nests_and_several_results():
    params = {"w": fz.asarray(3.0), "b": fz.asarray(4.0)}

    def loss(p, x):
        product, (moved,) = nested(p, x, shift=10)
        return product + 2 * moved

    assert loss(params, fz.asarray(1.0)).item() == 34
    gradients, x = fz.grad(loss, argnums=(0, 1))(params, fz.asarray(1.0))
    assert gradients["w"].item() == 4 and gradients["b"].item() == 3 and x.item() == 2


def test_a_forward_rule_is_transposed():
    @fz.op(jvp=lambda args, moved: moved[0] * args[1] + args[0] * moved[1])
    def product(x, y):
        return x * y

    same(fz.grad(lambda x, y: product(x, y), argnums=(0, 1))(2.0, 3.0), [3, 2])
    x = array(1, 2)
    same(fz.vmap(fz.grad(product), in_axes=(0, None))(x, x[0]), [1, 1])
    same(fz.grad(lambda y: fz.sum(fz.vmap(product, in_axes=(0, None))(x, y)))(x[0]), 3)


def test_operands_that_share_are_given_the_sum():
    weigh = fz.op(lambda w, x: w * x, vjp=lambda args, _, g: (g * args[1], None))
    shared = fz.grad(lambda w: fz.sum(fz.vmap(lambda v: weigh(w, v))(array(1, 2, 3))))
    same(shared(fz.asarray(2.0, dtype=F64)), 6)


def test_a_rule_may_be_host_code_itself():
    square = fz.op(vjp=lambda args, _, g: (g * twice(args[0]),))(lambda x: x * x)
    twice = fz.op(vjp=lambda args, _, g: (2 * g,))(lambda x: 2 * x)
    same(fz.grad(square)(3.0), 6)
    same(fz.grad(fz.grad(square))(3.0), 2)
    same(fz.vmap(fz.grad(square))(array(1, 2)), [2, 4])


def test_rules_of_a_frazil_body_replace_those_of_its_ops():
    f = fz.op(body="frazil", vjp=lambda args, _, g: (g * 100,))(lambda x: x * x)
    same(fz.grad(f)(3.0), 100)
    same(fz.jvp(f, (fz.asarray(3.0),), (fz.asarray(1.0),))[1], 6)
    g = fz.op(body="frazil", jvp=lambda args, moved: moved[0] * 100)(lambda x: x * x)
    same(fz.grad(g)(3.0), 100)
    h = fz.op(body="frazil", batch=lambda n, which, x: x * 100)(lambda x: x * x)
    same(fz.vmap(h)(array(1, 2)), [100, 200])
    same(fz.grad(h)(3.0), 6)


def test_a_constant_needs_no_rule():
    plain, _ = host_cube()
    x = array(1, 2).requires_grad_()
    same(plain(x), [1, 8])
    same(fz.grad(lambda v: fz.sum(v * plain(fz.stop_gradient(v))))(array(2)), [8])


# -- Batching


@every
def test_vmap_from_either_side(f):
    x = array(1, 2, 3)
    same(fz.vmap(f)(x), [1, 8, 27])
    same(fz.vmap(fz.grad(f))(x), [3, 12, 27])
    same(fz.grad(lambda v: fz.sum(fz.vmap(f)(v)))(x), [3, 12, 27])
    same(fz.vmap(fz.vmap(f))(fz.stack([x, x])), [[1, 8, 27]] * 2)
    same(fz.jvp(fz.vmap(f), (x,), (x,))[1], [3, 24, 81])
    same(fz.vmap(lambda v: fz.jvp(f, (v,), (v,))[1])(x), [3, 24, 81])


def test_ways_to_batch():
    x, y = fz.reshape(fz.arange(6, dtype=F64), (3, 2)), array(10, 20)
    for batch, shapes in {
        "sequential": [((2,), (2,))] * 3,
        "expand_dims": [((3, 2), (1, 2))],
        "broadcast_all": [((3, 2), (3, 2))],
    }.items():
        seen = []

        @fz.op(batch=batch)
        def f(a, b, seen=seen):
            seen.append((a.shape, b.shape))
            return a * b

        same(fz.vmap(f, in_axes=(0, None))(x, y), np.asarray(x) * np.asarray(y))
        assert seen == shapes, batch
        twice = fz.vmap(fz.vmap(f, in_axes=(0, None)), in_axes=(None, 0))
        same(twice(x, fz.stack([y, 2 * y])), np.stack([x * y, x * (2 * y)]))


def test_a_function_that_batches():
    seen = []

    def batch(size, batched, a, b, *, k):
        seen.append((size, batched, a.shape, b.shape, k))
        return f(a, b, k=k)

    @fz.op(batch=batch)
    def f(a, b, *, k):
        return (a + b) * k

    same(fz.vmap(lambda a, b: f(a, b, k=2), in_axes=(0, None))(array(1, 2), array(5)[0]), [12, 14])
    assert seen == [(2, (True, False), (2,), (), 2)]


def test_what_differs_in_an_outer_vmap_only():
    f, calls = host_cube()
    got = fz.vmap(lambda a: fz.vmap(lambda b: f(a) + b)(array(0, 1)))(array(1, 2))
    same(got, [[1, 2], [8, 9]])
    assert calls == [(), ()]  # once for each of the outer examples


def test_a_vmap_without_examples():
    f = fz.op(shape=lambda x: ((2,), x.dtype))(lambda x: np.stack([x, x]))
    assert fz.vmap(f)(fz.zeros((0,), dtype="int16")).shape == (0, 2)
    assert fz.vmap(fz.vmap(f))(fz.zeros((3, 0))).shape == (3, 0, 2)
    assert fz.vmap(fz.vmap(f))(fz.zeros((0, 3))).shape == (0, 3, 2)
    with pytest.raises(ValueError, match=r"\[f\] is called for 0 examples .* give the op shape="):
        fz.vmap(fz.op(name="f")(lambda x: x))(fz.zeros((0,)))


# -- All of them

TRANSFORMS = {
    "vmap": fz.vmap,
    "grad": lambda f: fz.grad(lambda x: fz.sum(f(x) * x)),
    "jvp": lambda f: lambda x: fz.jvp(f, (x,), (x * 2,))[1],
    "vjp": lambda f: lambda x: fz.vjp(f, x)[1](x)[0],
    "checkpoint": fz.checkpoint,
    "trace": fz.trace,
    "inner vmap": lambda f: lambda x: fz.vmap(lambda y: f(x) + y)(x)[0] if x.ndim else f(x),
}
BODIES = {
    "sequential": {},
    "expand_dims": {"batch": "expand_dims"},
    "batch": {"batch": lambda n, which, x: x**3},
    "transposed": {"vjp": None},
    "frazil": {"body": "frazil"},
    "ops": {"body": "frazil", "vjp": None, "jvp": None, "batch": lambda n, which, x: x**3},
}


@pytest.mark.parametrize("body", BODIES)
def test_transforms_of_transforms(body):
    rules = {"vjp": cube_rule, "jvp": lambda args, moved: moved[0] * 3 * args[0] ** 2}
    f = fz.op(lambda x: x**3, **rules | BODIES[body])
    x = fz.reshape(fz.arange(1, 7, dtype=F64), (2, 3)) / 4
    compared = 0
    for names in itertools.product(TRANSFORMS, repeat=3):
        if names.count("vmap") > x.ndim:
            continue
        got, want = f, lambda x: x**3
        for name in names:
            got, want = TRANSFORMS[name](got), TRANSFORMS[name](want)
        same(got(x), want(x))
        compared += 1
    assert compared > 300


# -- Traced


def test_traced_calls_have_the_same_bits_and_effects():
    f, calls = host_cube(vjp=cube_rule)

    def step(x, n):
        y = fz.sin(x) * n
        return fz.sum(f(y) + y), fz.grad(lambda v: fz.sum(f(v * 2)))(x), fz.vmap(f)(x)

    for traced in (fz.trace(step), fz.trace(step, pure=True)):
        for i in range(6):
            x = array(0.1 * i, 2, -1)
            calls.clear()
            want = step(x, 3)
            effects = list(calls)
            calls.clear()
            got = traced(x, 3)
            assert calls == effects
            for a, b in zip(got, want, strict=True):
                assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_traced_calls_of_a_body_that_returns_something_else_each_time():
    turns = iter(range(100))
    f = fz.op(lambda x: x + next(turns))
    traced = fz.trace(lambda x: f(x * 2) * 10)
    assert [traced(array(0)).item() for _ in range(6)] == [0, 10, 20, 30, 40, 50]


def test_explanations_name_the_op():
    f, _ = host_cube()
    traced = fz.trace(lambda x: f(x * 2) * 10)
    for _ in range(3):
        traced(array(1))
    assert "calls the op 'cube', which runs host code" in traced.explain()


def test_what_a_body_raises_arrives():
    class OwnError(Exception):
        pass

    @fz.op(vjp=lambda args, _, g: fail(args[0]))
    def f(x):
        if x[0] > 3:
            raise OwnError("too much")
        return x

    def fail(x):
        raise OwnError("no gradient")

    for call in (f, fz.trace(lambda v: f(v + 0)), fz.vmap(lambda v: f(fz.stack([v, v])))):
        for value in (1, 1, 1, 4, 1, 4):
            if value < 3:
                assert call(array(value)).shape[0] == 1
            else:
                with pytest.raises(OwnError, match="too much"):
                    call(array(value))
    with pytest.raises(OwnError, match="no gradient"):
        fz.grad(lambda v: fz.sum(f(v)))(array(1))


def test_a_frazil_body_is_fused():
    f = fz.op(body="frazil")(lambda x: fz.tanh(x * 2) + 1)
    traced = fz.trace(lambda x: f(x) * f(x + 1))
    for _ in range(3):
        traced(array(1, 2, 3))
    before = fz.kernels_run()
    traced(array(1, 2, 3))
    assert fz.kernels_run() - before == 1


def test_checkpoint_runs_the_body_again():
    f, calls = host_cube(vjp=cube_rule)
    same(fz.grad(lambda v: fz.sum(fz.checkpoint(lambda u: f(u) * f(u))(v)))(array(2)), [192])
    assert len(calls) == 4


def test_the_first_nan_of_a_body_is_found():
    log = fz.op(lambda x: np.log(np.abs(x)), name="host_log")
    blamed = r"\[host_log\] makes the first infinity: element \[1\] of f64\[2\]"
    with fz.detect_anomaly(), np.errstate(all="ignore"):
        same(log(array(1, np.e)), [0, 1])
        for f in (log, fz.vmap(log)):
            with pytest.raises(FloatingPointError, match=blamed):
                f(array(1, 0))


# -- What is refused


def refused(kind, text, call):
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_rules_that_are_missing_are_named():
    plain, _ = host_cube()
    x = array(1, 2)
    refused(TypeError, "[cube] has no gradient: give the op the rule vjp (or jvp)",
            lambda: fz.grad(lambda v: fz.sum(plain(v)))(x))  # fmt: skip
    refused(TypeError, "[cube] has no gradient",
            lambda: fz.vmap(fz.grad(plain))(x))  # fmt: skip
    refused(TypeError, "[host_exp] has no rule for forward mode",
            lambda: fz.jvp(host_exp, (x,), (x,)))  # fmt: skip
    refused(TypeError, "[host_exp] has no rule for forward mode",
            lambda: fz.hessian(lambda v: fz.sum(host_exp(v)))(x))  # fmt: skip


def test_wrong_results_are_named():
    x = array(1, 2)

    def f(result, **rules):
        return fz.op(name="f", **rules)(lambda v: result(v))

    refused(TypeError, "[f] the body must return NumPy arrays or nests of them, got a tensor at "
            'result: with frazil\'s functions in it say body="frazil".',
            lambda: f(fz.asarray)(x))  # fmt: skip
    refused(TypeError, "[f] the body must return NumPy arrays of frazil's dtypes or nests of them, "
            "got str of dtype <U1 at result['a'].", lambda: f(lambda v: {"a": "b"})(x))  # fmt: skip
    refused(ValueError, "[f] the body returned float64 of shape (2,) as result 0, and shape= says "
            "float32 of shape (2,).",
            lambda: f(lambda v: v, shape=lambda v: (v.shape, "float32"))(x))  # fmt: skip
    refused(ValueError, "[f] the body returned float64 of shape (2,) as result 0, and shape= says "
            "float64 of shape (3,).",
            lambda: f(lambda v: v, body="frazil", shape=lambda v: ((3,), v.dtype))(x))  # fmt: skip
    two = {"shape": lambda v: (((2,), v.dtype), ((2,), v.dtype))}
    refused(TypeError, "[f] shape= must return (shape, dtype) for each result, in a nest like the "
            "body's", lambda: f(lambda v: v, **two)(x))  # fmt: skip
    refused(TypeError, "[f] shape= must return (shape, dtype)",
            lambda: f(lambda v: v, shape=lambda v: v.shape)(x))  # fmt: skip
    refused(ValueError, "[f] the body's results must be alike for all examples of a vmap: float64 "
            "of shape (1,), and float64 of shape (2,).",
            lambda: fz.vmap(f(lambda v: np.zeros(int(v))))(x))  # fmt: skip
    refused(ValueError, "[f] must give 2 examples along axis 0 when it is batched, got f64[].",
            lambda: fz.vmap(f(np.sum, batch="expand_dims"))(x))  # fmt: skip
    refused(ValueError, "[f] must give 2 examples along axis 0 when it is batched, got f64[3].",
            lambda: fz.vmap(f(np.sum, batch=lambda n, which, v: fz.zeros(3, dtype=F64)))(x),
            )  # fmt: skip


def test_wrong_rules_are_named():
    x = array(1, 2)

    def slope(made):
        return fz.grad(lambda v: fz.sum(fz.op(name="f", vjp=lambda *_: made)(np.sin)(v)))(x)

    refused(TypeError, "[f] vjp= must return a tuple of 1 gradients, one for each positional "
            "argument; got Tensor.", lambda: slope(x))  # fmt: skip
    refused(TypeError, "[f] vjp= must return a tuple of 1 gradients, one for each positional "
            "argument; got 2.", lambda: slope((x, x)))  # fmt: skip
    refused(TypeError, "[f] the gradient that vjp= returned: at [0] needed float64 of shape (2,), "
            "got float64 of shape ().", lambda: slope((fz.sum(x),)))  # fmt: skip
    moved = fz.op(name="f", jvp=lambda args, tangents: fz.ones(3))(np.sin)
    refused(TypeError, "[f] the tangent that jvp= returned: at it needed float64 of shape (2,), "
            "got float32 of shape (3,).", lambda: fz.jvp(moved, (x,), (x,)))  # fmt: skip


def test_errors_after_that_of_an_op_have_their_own_names():
    x = fz.ones((2, 3))
    calls = [lambda: fz.jvp(host_exp, (x,), (x,))] + [lambda: fz.count_nonzero(x, axis=-3)] * 3
    said = set()
    for _ in range(100):
        for call in calls:  # the next exception may lie where that of the op lay
            try:
                call()
            except (TypeError, IndexError) as error:
                said.add(str(error).partition(" ")[0])
    assert said == {"[host_exp]", "[count_nonzero]"}


def test_wrong_arguments_are_named():
    refused(TypeError, "[op] needs a function, got int.", lambda: fz.op(5))
    refused(ValueError, "[op] body must be 'numpy' or 'frazil', got 'c'.",
            lambda: fz.op(body="c")(np.sin))  # fmt: skip
    refused(ValueError, "[op] name must be a name such as 'solve', got 'a b'.",
            lambda: fz.op(name="a b")(np.sin))  # fmt: skip
    refused(TypeError, "[op] vjp must be a function, got str.",
            lambda: fz.op(vjp="sin")(np.sin))  # fmt: skip
    refused(ValueError, "[op] batch must be a function or one of 'sequential', 'expand_dims', "
            "'broadcast_all', got 'all'.", lambda: fz.op(batch="all")(np.sin))  # fmt: skip
    refused(ValueError, "[op] batch must be a function, got 'sequential'.",
            lambda: fz.op(body="frazil", batch="sequential")(np.sin))  # fmt: skip
    f = fz.op(name="f")(lambda *args, **keywords: args[0])
    refused(TypeError, "[f] takes arrays by position and anything else by name, got str at "
            "args[1].", lambda: f(1.0, "a"))  # fmt: skip
    refused(TypeError, "[f] takes arrays by position: k is one, or holds one.",
            lambda: f(1.0, k=[array(1)]))  # fmt: skip


def test_tensors_of_a_vmap_that_has_ended_are_refused():
    kept = []
    fz.vmap(lambda v: kept.append(v) or v)(array(1, 2))
    with pytest.raises(RuntimeError, match=r"was made inside a vmap that has ended"):
        cube(kept[0])
    with pytest.raises(RuntimeError, match=r"the elements of .* differ"):
        fz.vmap(lambda v: fz.op(lambda x: np.asarray(v) + x)(fz.ones(2)))(array(1, 2))
