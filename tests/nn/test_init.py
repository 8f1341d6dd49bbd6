"""nn.init: distributions, scales and patterns of what it writes, and errors."""

import math

import numpy as np
import pytest

import frazil as fz
from frazil import nn
from frazil.nn import init

SHAPE = (64, 32, 3, 3)
FANS = 32 * 9, 64 * 9


def filled(function, *args, shape=SHAPE, dtype="float32", **kwargs):
    """What a function writes into a parameter, which it returns, a leaf as before."""
    p = nn.Parameter(fz.full(shape, 7.0, dtype=dtype))
    generator = fz.random.Generator(3)
    if function not in (init.constant_, init.ones_, init.zeros_, init.eye_, init.dirac_):
        kwargs["generator"] = generator
    assert function(p, *args, **kwargs) is p
    assert p.requires_grad and p.is_leaf and p.dtype.name == dtype
    return np.asarray(p.detach().astype("float64"))


def check(a, mean, std, low=-math.inf, high=math.inf):
    n = math.sqrt(a.size)
    assert abs(a.mean() - mean) < 5 * std / n and abs(a.std() / std - 1) < 5 / n
    assert low <= a.min() and a.max() <= high


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype):
    check(filled(init.uniform_, dtype=dtype), 0.5, 12**-0.5, 0, 1)
    check(filled(init.uniform_, -3, 5, dtype=dtype), 1, 8 / 12**0.5, -3, 5)
    check(filled(init.normal_, dtype=dtype), 0, 1)
    check(filled(init.normal_, 2.0, 0.25, dtype=dtype), 2, 0.25)
    # of a normal number between -2 and 2 the variance is 0.7737
    check(filled(init.trunc_normal_, dtype=dtype), 0, 0.7737**0.5, -2, 2)
    check(filled(init.trunc_normal_, 1.0, 0.5, 0.0, 2.0, dtype=dtype), 1, 0.5 * 0.7737**0.5, 0, 2)


@pytest.mark.parametrize("kind", ["normal", "uniform"])
def test_scaled_by_inputs_and_outputs(kind):
    def bounds(std):
        return (-std * 3**0.5, std * 3**0.5) if kind == "uniform" else ()

    xavier, kaiming = getattr(init, f"xavier_{kind}_"), getattr(init, f"kaiming_{kind}_")
    std = math.sqrt(2 / sum(FANS))
    check(filled(xavier), 0, std, *bounds(std))
    check(filled(xavier, 5 / 3), 0, std * 5 / 3, *bounds(std * 5 / 3))
    for mode, fan in zip(("fan_in", "fan_out"), FANS, strict=True):
        std = math.sqrt(2 / fan)
        check(filled(kaiming, mode=mode), 0, std, *bounds(std))
        check(filled(kaiming, 0.5, mode=mode), 0, std / 1.25**0.5, *bounds(std))
        check(filled(kaiming, 0.5, mode, "relu"), 0, std, *bounds(std))


def test_gains():
    known = {"linear": 1, "conv2d": 1, "sigmoid": 1, "tanh": 5 / 3, "relu": 2**0.5, "selu": 0.75}
    assert {name: init.calculate_gain(name) for name in known} == known
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))
    assert init.calculate_gain("leaky_relu", 3) == math.sqrt(0.2)


@pytest.mark.parametrize("shape", [(5, 5), (3, 8), (8, 3), (6, 2, 2), (2, 3, 4), (1, 4), (4, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_orthogonal(shape, dtype):
    a = filled(init.orthogonal_, 2.0, shape=shape, dtype=dtype)
    a = a.reshape(shape[0], -1)
    product = a @ a.T if a.shape[0] <= a.shape[1] else a.T @ a
    exact = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 5e-2}[dtype]
    np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=exact)


def test_orthogonal_has_both_signs():
    signs = [filled(init.orthogonal_, shape=(1, 1)).item()]
    generator = fz.random.Generator(0)
    signs += [init.orthogonal_(fz.zeros((1, 1)), generator=generator).item() for _ in range(50)]
    assert 10 < sum(s > 0 for s in signs) < 40


def test_patterns():
    assert (filled(init.constant_, 0.5) == 0.5).all()
    assert (filled(init.ones_) == 1).all() and (filled(init.zeros_) == 0).all()
    np.testing.assert_array_equal(filled(init.eye_, shape=(3, 5)), np.eye(3, 5))
    assert init.zeros_(fz.ones(2, dtype="int32")).tolist() == [0, 0]
    for sparsity, zeros in ((0.15, 2), (0.5, 5), (0.0, 0)):
        a = filled(init.sparse_, sparsity, 2.0, shape=(10, 400))
        assert ((a == 0).sum(axis=0) == zeros).all()
        check(a[a != 0], 0, 2.0)
        places = (a == 0).mean(axis=1)
        assert sparsity == 0 or np.ptp(places) < 0.5  # not always the same rows


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_dirac_keeps_channels(rank, groups):
    layer = getattr(nn, f"Conv{rank}d")(4, 4, 3, padding=1, groups=groups, bias=False)
    init.dirac_(layer.weight, groups)
    x = fz.random.normal((2, 4) + (5,) * rank)
    np.testing.assert_array_equal(np.asarray(layer(x)), np.asarray(x))


def test_draws_from_a_stream():
    fz.random.seed(5)
    a = init.normal_(fz.zeros(4)).tolist()
    b = init.normal_(fz.zeros(4)).tolist()
    fz.random.seed(5)
    assert init.normal_(fz.zeros(4)).tolist() == a != b
    own = [init.uniform_(fz.zeros(4), generator=fz.random.Generator(1)).tolist() for _ in range(2)]
    assert own[0] == own[1]


def test_traced_like_eager():
    w = nn.Parameter(fz.zeros((4, 3)))

    def again(generator):
        init.kaiming_normal_(w, generator=generator)
        init.trunc_normal_(w, std=0.1, generator=generator)
        return w + init.orthogonal_(fz.zeros((4, 3)), generator=generator)

    generator = fz.random.Generator(2)
    wanted = [np.asarray(again(generator)) for _ in range(4)]
    traced, generator = fz.trace(again), fz.random.Generator(2)
    for want in wanted:
        np.testing.assert_array_equal(np.asarray(traced(generator)), want)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda: init.uniform_(fz.zeros(2), 1, 0), ValueError, "bounds must rise, got 1 and 0"),
        (lambda: init.normal_(fz.zeros(2), 0, -1), ValueError, "std must be at least 0, got -1"),
        (lambda: init.trunc_normal_(fz.zeros(2), b=-3), ValueError, "bounds rise: 1.0, -2.0 and"),
        (lambda: init.eye_(fz.zeros(2)), ValueError, r"\[eye_\] needs a matrix, got shape \(2,\)"),
        (lambda: init.dirac_(fz.zeros((2, 2))), ValueError, "3, 4 or 5 axes"),
        (
            lambda: init.dirac_(fz.zeros((3, 2, 2)), 2),
            ValueError,
            "must be a multiple of groups",
        ),
        (lambda: init.xavier_normal_(fz.zeros(2)), ValueError, "at least 2 axes, got shape"),
        (lambda: init.kaiming_uniform_(fz.zeros(2)), ValueError, r"\[kaiming_uniform_\] needs at"),
        (lambda: init.kaiming_normal_(fz.zeros((2, 2)), mode="in"), ValueError, "mode must be one"),
        (lambda: init.orthogonal_(fz.zeros(2)), ValueError, "at least 2 axes"),
        (lambda: init.sparse_(fz.zeros(2), 0.5), ValueError, "needs a matrix"),
        (lambda: init.calculate_gain("cube"), ValueError, "nonlinearity must be one of"),
        (lambda: init.normal_([1.0]), TypeError, "needs a tensor, got list"),
        (lambda: init.ones_(3.0), TypeError, "needs a tensor, got float"),
        (lambda: init.normal_(fz.zeros(2, dtype="int32")), TypeError, "floating-point numbers"),
    ],
)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()


def test_a_mean_far_from_the_bounds_is_warned_of():
    with pytest.warns(UserWarning, match="more than 2 std"):
        init.trunc_normal_(fz.zeros(3), mean=8.0)
