"""What gradient rules promise at special points, and how gradients are asked for and kept."""

import numpy as np
import pytest

import frazil as fz
from frazil import nn

FLOATS = ["float64", "float32", "float16", "bfloat16"]
nan, inf = float("nan"), float("inf")


def tensor(values, dtype="float64"):
    return fz.asarray(values, dtype=dtype)


def gradient(f, *values, dtype="float64"):
    t = [tensor(v, dtype) for v in values]
    out = fz.grad(lambda *t: fz.sum(f(*t)), argnums=tuple(range(len(t))))(*t)
    return out[0].tolist() if len(out) == 1 else [g.tolist() for g in out]


# -- Ties and kinks


@pytest.mark.parametrize("dtype", FLOATS)
def test_equal_operands_share(dtype):
    for f in (fz.maximum, fz.minimum):
        assert gradient(f, [2.0, 0.0], [2.0, -0.0], dtype=dtype) == [[0.5, 0.5], [0.5, 0.5]]
    assert gradient(fz.maximum, [1.0, 3.0], [2.0, 2.0], dtype=dtype) == [[0, 1], [1, 0]]
    assert gradient(fz.minimum, [1.0, 3.0], [2.0, 2.0], dtype=dtype) == [[1, 0], [0, 1]]


@pytest.mark.parametrize("dtype", FLOATS)
def test_equal_extremes_share(dtype):
    x = [[3.0, 1.0, 3.0], [1.0, 1.0, 0.0]]
    assert gradient(lambda x: fz.max(x, axis=1), x, dtype=dtype) == [[0.5, 0, 0.5], [0.5, 0.5, 0]]
    assert gradient(fz.max, x, dtype=dtype) == [[0.5, 0, 0.5], [0, 0, 0]]
    assert gradient(lambda x: fz.min(x, axis=0), x, dtype=dtype) == [[0, 0.5, 0], [1, 0.5, 1]]
    assert gradient(fz.max, [7.0] * 4, dtype=dtype) == [0.25] * 4


def test_kinks():
    assert gradient(nn.relu, [-1.0, 0.0, -0.0, 2.0]) == [0, 0, 0, 1]
    assert gradient(abs, [-1.0, 0.0, -0.0, 2.0]) == [-1, 0, 0, 1]
    for f in (fz.floor, fz.ceil, fz.trunc, fz.round, fz.sign):
        assert gradient(lambda x, f=f: f(x) + 0 * x, [-1.5, 0.0, 0.3]) == [0, 0, 0]
    assert gradient(lambda x: fz.clip(x, -1, 1), [-2.0, 0.5, 2.0]) == [0, 1, 0]


def test_gradients_at_the_edges():
    assert gradient(fz.sqrt, [0.0, 4.0]) == [inf, 0.25]
    assert gradient(fz.log, [0.0, 2.0]) == [inf, 0.5]
    # The side that where() does not take gives 0, not NaN, if what leads to it is finite.
    safe = lambda x: fz.where(x > 0, fz.log(fz.where(x > 0, x, 1.0)), 0.0)  # noqa: E731
    assert gradient(safe, [-1.0, 0.0, 2.0]) == [0, 0, 0.5]


# -- Powers


def nth(f, n):
    for _ in range(n):
        f = fz.grad(f)
    return f


def test_derivatives_of_a_polynomial():
    p = lambda x: 2 * x**4 - x**3 + 5 * x * x - 7  # noqa: E731
    for x in (0.0, 1.0, -2.0):
        t = tensor(x)
        assert fz.grad(p)(t).item() == 8 * x**3 - 3 * x**2 + 10 * x
        assert nth(p, 2)(t).item() == 24 * x**2 - 6 * x + 10
        assert nth(p, 3)(t).item() == 48 * x - 6
        assert nth(p, 4)(t).item() == 48
        assert nth(p, 5)(t).item() == 0


def test_powers_at_zero():
    for exponent in range(5):
        for order in range(1, 7):
            got = nth(lambda x, n=exponent: x**n, order)(tensor(0.0)).item()
            wanted = [1, 1, 2, 6, 24][exponent] if order == exponent else 0
            assert got == wanted, f"derivative {order} of x**{exponent}"


def test_gradient_of_the_exponent():
    base, exponent = [0.0, 0.0, 1.0, 2.0], [2.0, 0.5, 3.0, 2.0]
    by_base, by_exponent = gradient(fz.pow, base, exponent)
    assert by_base == [0, inf, 3, 4]
    np.testing.assert_allclose(by_exponent, [0, 0, 0, 4 * np.log(2)])
    second = fz.grad(lambda b: fz.sum(fz.grad(lambda b: fz.sum(tensor(base) ** b))(b)))
    assert np.isfinite(np.asarray(second(tensor(exponent)))).all()


# -- Products


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("traced", [False, True])
def test_zeros_in_a_product(dtype, traced):
    f = lambda x: fz.prod(x, axis=1)  # noqa: E731
    x = [[2.0, 3.0, 4.0], [0.0, 3.0, 4.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]]
    wanted = [[12, 8, 6], [12, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert gradient(fz.trace(f) if traced else f, x, dtype=dtype) == wanted


def test_second_derivatives_of_a_product_with_zeros():
    def row(i):
        return lambda x: fz.grad(fz.prod)(x)[i]

    for values in ([0.0, 2.0, 3.0], [2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 3.0]):
        got = [fz.grad(row(i))(tensor(values)).tolist() for i in range(3)]
        a, b, c = values
        assert got == [[0, c, b], [c, 0, a], [b, a, 0]]


def test_long_products():
    x = np.linspace(0.9, 1.1, 1037)
    g = np.asarray(fz.grad(fz.prod)(tensor(x)))
    np.testing.assert_allclose(g, np.prod(x) / x, rtol=1e-12)
    x[7] = 0
    g = np.asarray(fz.grad(fz.prod)(tensor(x)))
    assert np.flatnonzero(g).tolist() == [7]


def test_product_over_some_axes():
    x = np.random.default_rng(0).uniform(0.5, 2, (3, 4, 5))
    g = np.asarray(fz.grad(lambda x: fz.sum(fz.prod(x, axis=(0, 2))))(tensor(x)))
    np.testing.assert_allclose(g, x.prod(axis=(0, 2), keepdims=True) / x, rtol=1e-12)


# -- Parts of tensors


def test_slices_put_gradients_back():
    x = np.arange(10.0)
    for index in (np.s_[::-1], np.s_[8:1:-3], np.s_[-1:-6:-2], np.s_[3:3], np.s_[::4], np.s_[4]):
        g = gradient(lambda x, i=index: x[i] * 2, x)
        wanted = np.zeros(10)
        wanted[index] = 2
        assert g == wanted.tolist()


def test_repeated_indices_add_up():
    assert gradient(lambda x: fz.take(x, fz.asarray([1, 1, -2, 0]), axis=0), [1.0, 2.0, 3.0]) == [
        1,
        3,
        0,
    ]
    g = gradient(lambda x: x[fz.asarray([[0, 0], [2, 0]])] * tensor([[1.0, 2], [3, 4]]), [5.0] * 3)
    assert g == [7, 0, 3]


@pytest.mark.parametrize("shape", [(4,), (4, 2)])
def test_only_the_last_update_to_a_position_counts(shape):
    index = fz.asarray([1, 3, 1, -1])

    def assigned(x, v):
        x = x * 1
        x[index] = v
        return x

    by_x, by_v = gradient(assigned, np.ones(shape), np.full((4, *shape[1:]), 2.0))
    rest = shape[1:]
    assert by_x == np.stack([np.full(rest, v) for v in (1.0, 0, 1, 0)]).tolist()
    assert by_v == np.stack([np.full(rest, v) for v in (0.0, 0, 1, 1)]).tolist()


def test_concat_pad_where():
    f = lambda x, y: fz.concat([x, y, x]) * tensor([1.0, 2, 3, 4, 5])  # noqa: E731
    assert gradient(f, [0.0, 0.0], [0.0]) == [[5, 7], [3]]
    f = lambda x: fz.pad(x, ((1, 2),), constant_values=9) * tensor([1.0, 2, 3, 4, 5])  # noqa: E731
    assert gradient(f, [0.0, 0.0]) == [2, 3]
    f = lambda x, y: fz.where(fz.asarray([True, False]), x, y)  # noqa: E731
    assert gradient(f, [1.0, 1.0], 1.0) == [[1, 0], 1]


def test_assignment_to_parts():
    def f(x, v):
        y = x * 3
        y[1:] = v
        y[0] += v[0]
        return y * y

    by_x, by_v = gradient(f, [1.0, 2.0, 3.0], [5.0, 6.0])
    assert by_x == [2 * 8 * 3, 0, 0]
    assert by_v == [2 * 5 + 2 * 8, 2 * 6]


# -- Types


def test_casts_bring_gradients_back():
    x = fz.asarray([1.0, 2.0], dtype=fz.float16)
    g = fz.grad(lambda x: fz.sum(fz.astype(x, fz.float64) ** 2).astype(fz.float32))(x)
    assert g.dtype == fz.float16 and g.tolist() == [2, 4]
    x, y = fz.ones(2, dtype=fz.float16), fz.ones(2, dtype=fz.float64)
    gx, gy = fz.grad(lambda x, y: fz.sum(x * y), argnums=(0, 1))(x, y)
    assert gx.dtype == fz.float16 and gy.dtype == fz.float64
    g = fz.grad(lambda x: fz.sum(fz.astype(fz.astype(x, fz.int32), fz.float32) * x))(fz.ones(2))
    assert g.tolist() == [1, 1]  # nothing flows through integers


# -- Leaves


def test_gradients_add_up_in_the_order_of_the_calls():
    x = fz.asarray([1.0], dtype=fz.float32, requires_grad=True)
    parts = [1e8, 1.0, -1e8, 1.0]
    total = np.float32(0)
    for p in parts:
        (x * p).sum().backward()
        total = np.float32(total + np.float32(p))
    assert x.grad.item() == total
    # Within one pass the later use comes first.
    x.grad = None
    uses = [x * p for p in parts]
    (((uses[0] + uses[1]) + uses[2]) + uses[3]).sum().backward()
    total = np.float32(0)
    for p in reversed(parts):
        total = np.float32(total + np.float32(p))
    assert x.grad.item() == total


def test_a_failed_backward_changes_no_grad():
    x = fz.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    y = x * 3
    with pytest.raises(ValueError):
        y.backward(fz.ones(4))
    assert x.grad.tolist() == [2, 2, 2]


def test_in_place_on_leaves():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="in-place on a leaf"):
        x += 1
    with pytest.raises(RuntimeError, match="in-place on a leaf"):
        x[0] = 5.0
    assert x.tolist() == [1, 2] and x.is_leaf
    y = (x * x).sum()
    with fz.no_grad():
        x *= 10
        x[0] = 7.0
    y.backward()  # of the values at the time
    assert x.tolist() == [7, 20] and x.grad.tolist() == [2, 4]
    assert x.is_leaf and x.requires_grad


def test_in_place_on_results():
    x = fz.asarray([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y
    y += x
    y *= y
    assert z is y
    y.sum().backward()
    assert x.grad.tolist() == [18, 36]


@pytest.mark.parametrize("traced", [False, True])
def test_no_grad_inside_a_function(traced):
    def f(x):
        with fz.no_grad():
            scale = x * 2
        return fz.sum(scale * x)

    g = fz.trace(f) if traced else f
    for _ in range(3):
        assert fz.grad(g)(tensor([1.0, 3.0])).tolist() == [2, 6]


@pytest.mark.parametrize("traced", [False, True])
def test_no_grad_outside_a_function(traced):
    f = lambda x: fz.sum(x**3)  # noqa: E731
    g = fz.trace(f) if traced else f
    with fz.no_grad():
        for _ in range(3):
            got = fz.grad(g)(tensor([1.0, 2.0]))
            assert got.tolist() == [3, 12] and not got.requires_grad


def test_detach_stops_gradients():
    assert gradient(lambda x: x.detach() * x, [3.0]) == [3]


def test_levels_do_not_mix():
    # d/dx (x * d/dy (x + y)) at 1: the inner gradient is 1 whatever x is.
    inner = lambda x: fz.grad(lambda y: x + y)(tensor(1.0))  # noqa: E731
    assert fz.grad(lambda x: x * inner(x))(tensor(1.0)).item() == 1
    # The same with a product: d/dx (x * x) = 2 x.
    inner = lambda x: fz.grad(lambda y: x * y)(tensor(1.0))  # noqa: E731
    assert fz.grad(lambda x: x * inner(x))(tensor(4.0)).item() == 8


def test_tape_and_function_style_nest():
    w = fz.asarray(3.0, dtype=fz.float64, requires_grad=True)
    outer = fz.grad(lambda x: fz.grad(lambda y: y**3 * x * w)(x))(tensor(2.0))  # 3 y^2 x w at y = x
    outer.backward()
    assert outer.item() == 9 * 4 * 3 and w.grad.item() == 9 * 4


def test_traced_training_step_is_eager():
    def make():
        w = fz.asarray([[0.5, -0.25], [0.125, 1.0]], requires_grad=True)
        b = fz.asarray([0.1, 0.2], requires_grad=True)

        def step(x, labels):
            loss = nn.cross_entropy(fz.tanh(x @ w) + b, labels)
            loss.backward()
            with fz.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
                    p.grad = None
            return loss

        return step, [w, b]

    eager, p = make()
    step, q = make()
    traced = fz.trace(step)
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = fz.asarray(rng.normal(size=(6, 2)), dtype=fz.float32)
        labels = fz.asarray(rng.integers(0, 2, 6))
        assert eager(x, labels).item() == traced(x, labels).item()
        for a, b in zip(p, q, strict=True):
            assert np.asarray(a.detach()).tobytes() == np.asarray(b.detach()).tobytes()


def test_backward_lets_go_of_history():
    w = fz.asarray([1.0, 2.0], requires_grad=True)
    trunk = w * w
    first, second = fz.sum(trunk * 3), fz.sum(trunk * trunk)
    first.backward(retain_graph=False)  # others may still need what lies below
    second.backward(retain_graph=False)
    assert w.grad.tolist() == [6 + 4, 12 + 32]
    for lost in (first, second * 2):
        with pytest.raises(RuntimeError, match="retain_graph=False"):
            lost.backward()
    assert first.requires_grad and not first.is_leaf
    w.backward(fz.ones(2), retain_graph=False)  # a leaf has no history to lose
    w.backward(fz.ones(2))
    assert w.grad.tolist() == [12, 46]


@pytest.mark.parametrize("traced", [False, True])
def test_released_history_frees_memory(traced):
    def step(w, retain):
        y = w
        for _ in range(12):
            y = fz.sin(y) * y
        loss = fz.sum(y)
        loss.backward(retain_graph=retain)
        w.grad = None
        return loss

    peaks = []
    for retain in (True, False):
        run = fz.trace(step) if traced else step
        w = fz.ones(1 << 18, dtype="float32").requires_grad_()
        for _ in range(3):
            kept = run(w, retain)
        fz.memory.reset_peak()
        kept = run(w, retain)
        peaks.append(fz.memory.stats()["peak_bytes"])
        assert kept.requires_grad
        del kept
    if traced:
        assert peaks[1] < peaks[0] / 2, peaks
    else:
        assert peaks[1] <= peaks[0], peaks


def test_pure_call_with_released_history():
    def step(w, x):
        loss = fz.sum(w * x * w)
        loss.backward(retain_graph=False)
        g, w.grad = w.grad, None
        return loss, g

    f = fz.trace(step, pure=True)
    w = fz.asarray([1.0, 3.0], requires_grad=True)
    for i in range(5):
        loss, g = f(w, fz.asarray([1.0, float(i)]))
        assert g.tolist() == [2.0, 6.0 * i]
        with pytest.raises(RuntimeError, match="retain_graph=False"):
            loss.backward()
    assert f.stats()["skipped"] > 0


# -- Slices with steps: all axes are spread at once, or as many as the rank leaves room for


@pytest.mark.parametrize(
    "rank, extent, part",
    [
        (1, 17, slice(1, None, 2)), (1, 17, slice(None, None, -3)), (3, 7, slice(5, 0, -2)),
        (10, 3, slice(None, None, 2)), (15, 2, slice(None, None, -1)),
    ],
)  # fmt: skip
def test_slices_with_steps(rank, extent, part):
    index = (part,) * rank
    x = fz.zeros((extent,) * rank, dtype="float32").requires_grad_()
    y = x[index]
    g = np.arange(1, y.size + 1, dtype="float32").reshape(y.shape)
    y.backward(fz.asarray(g))
    want = np.zeros(x.shape, "float32")
    want[index] = g
    assert np.array_equal(np.asarray(x.grad), want)
