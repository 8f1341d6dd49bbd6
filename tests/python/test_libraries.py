"""Other libraries take tensors and give them: what users write with pandas, Polars, scikit-learn,
SciPy, Matplotlib, einops and jaxtyping. PyTorch and JAX are tried where they are installed.
"""

import copy
import io
import pickle

import numpy as np
import pytest

import frazil as fz

A = np.array([[0.5, 0.25, 0.75], [0.125, 1.0, 0.375]], "float32")


@pytest.fixture
def t():
    return fz.asarray(A)


def test_pandas(t):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(t, columns=["a", "b", "c"])
    assert frame["b"].tolist() == [0.25, 1.0] and str(frame.dtypes["a"]) == "float32"
    assert pd.Series(t[0]).sum() == 1.5
    frame["d"] = t[:, 0]
    assert frame["d"].tolist() == [0.5, 0.125]
    assert fz.asarray(frame).shape == (2, 4) and fz.asarray(frame["a"]).tolist() == [0.5, 0.125]
    assert fz.sum(frame["a"]).item() == 0.625
    assert (fz.asarray(frame["a"]) * frame["a"]).tolist() == [0.25, 0.015625]


def test_polars(t):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": np.asarray(t[0]), "b": t[1].tolist()})
    assert frame["a"].sum() == 1.5
    series = pl.Series("x", np.asarray(t[0]))
    assert fz.asarray(series).tolist() == [0.5, 0.25, 0.75]
    assert fz.asarray(frame.to_numpy()).shape == (3, 2)
    assert fz.from_dlpack(series.to_numpy()).tolist() == [0.5, 0.25, 0.75]


def test_scikit_learn(t):
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import accuracy_score, mean_squared_error
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    x = fz.random.Generator(0).normal((50, 3))
    y = x @ fz.asarray([1.0, 2.0, -3.0]) + 0.5
    model = LinearRegression().fit(x, y)
    np.testing.assert_allclose(model.coef_, [1, 2, -3], rtol=1e-4)
    predicted = model.predict(x)
    assert fz.max(fz.abs(fz.asarray(predicted) - y)).item() < 1e-4
    assert mean_squared_error(y, predicted) < 1e-8
    assert abs(float(StandardScaler().fit_transform(x).mean())) < 1e-6
    first, second = train_test_split(np.asarray(x), test_size=0.5, random_state=0)
    assert len(first) == len(second) == 25
    assert accuracy_score(fz.asarray([1, 2, 3]), fz.asarray([1, 2, 4])) == pytest.approx(2 / 3)


def test_scipy(t):
    pytest.importorskip("scipy")
    import scipy.integrate
    import scipy.interpolate
    import scipy.optimize
    import scipy.signal
    import scipy.stats

    f = fz.trace(lambda x: fz.sum((x - fz.asarray([1.0, 2.0])) ** 2))
    g = fz.trace(fz.grad(f))
    found = scipy.optimize.minimize(
        lambda x: f(fz.asarray(x)).item(), np.zeros(2), jac=lambda x: np.asarray(g(fz.asarray(x)))
    )
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-4)
    assert scipy.stats.describe(np.asarray(t[0])).nobs == 3
    solved = scipy.integrate.solve_ivp(lambda _, y: np.asarray(-fz.asarray(y)), (0, 1), [1.0])
    assert abs(solved.y[0, -1] - np.exp(-1)) < 1e-3
    assert scipy.signal.convolve(np.asarray(t[0]), [1.0, 1.0]).shape == (4,)
    assert scipy.interpolate.CubicSpline(np.arange(3), np.asarray(t[0]))(1.0) == 0.25


def test_matplotlib(t):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 3)
    (line,) = axes[0, 0].plot(t[0], t[1])
    assert line.get_xdata().tolist() == [0.5, 0.25, 0.75]
    axes[0, 1].imshow(t)
    axes[0, 2].scatter(t[0], t[1], c=t[0])
    axes[1, 0].hist(t[0])
    axes[1, 1].bar(fz.arange(3), t[0])
    axes[1, 2].fill_between(fz.arange(3), t[0], t[1])
    axes[0, 0].errorbar(fz.arange(3), t[0], yerr=t[1])
    figure.savefig(io.BytesIO())
    plt.close(figure)


def test_einops(t):
    pytest.importorskip("einops")
    from einops.array_api import rearrange, reduce, repeat

    assert rearrange(t, "a b -> b a").tolist() == A.T.tolist()
    assert rearrange(t, "a b -> (b a)").shape == (6,)
    assert reduce(t, "a b -> b", "max").tolist() == A.max(0).tolist()
    assert repeat(t, "a b -> a b c", c=2).shape == (2, 3, 2)
    for result in (rearrange(t, "a b -> b a"), reduce(t, "a b -> a", "mean")):
        assert isinstance(result, fz.Tensor)
    traced = fz.trace(lambda x: reduce(rearrange(x, "a b -> b a") * 2, "b a -> b", "sum"))
    for _ in range(4):
        np.testing.assert_allclose(np.asarray(traced(t)), 2 * A.sum(0), rtol=1e-6)
    gradient = fz.grad(lambda x: fz.sum(reduce(x * x, "a b -> a", "sum")))(t)
    np.testing.assert_allclose(np.asarray(gradient), 2 * A, rtol=1e-6)


def test_jaxtyping(t):
    jaxtyping = pytest.importorskip("jaxtyping")
    shaped = jaxtyping.Float[fz.Tensor, "batch features"]
    assert isinstance(t, shaped) and not isinstance(t[0], shaped)
    assert not isinstance(fz.arange(6).reshape(2, 3), shaped)
    assert isinstance(fz.arange(3), jaxtyping.Int[fz.Tensor, "n"])
    assert isinstance(fz.asarray([1j]), jaxtyping.Complex[fz.Tensor, "1"])
    assert isinstance(t > 0, jaxtyping.Bool[fz.Tensor, "2 3"])
    assert isinstance(t, jaxtyping.Float32[fz.Tensor, "..."])


def test_torch(t):
    torch = pytest.importorskip("torch")
    theirs = torch.from_dlpack(t)
    assert theirs.tolist() == A.tolist()
    assert torch.asarray(np.asarray(t).copy()).sum().item() == 3.0
    assert fz.asarray(theirs).tolist() == A.tolist()
    assert fz.from_dlpack(theirs, copy=False).shape == (2, 3)
    assert fz.sum(theirs).item() == 3.0


def test_jax(t):
    pytest.importorskip("jax")
    import jax.numpy as jnp

    theirs = jnp.asarray(t)
    assert theirs.tolist() == A.tolist()
    assert fz.asarray(theirs).tolist() == A.tolist()
    # Its functions take what jnp.asarray makes: since 0.10 they do not ask other arrays to convert.
    assert jnp.sum(theirs).item() == 3.0 and fz.sum(theirs).item() == 3.0
    assert (theirs + t).tolist() == (2 * A).tolist()


def test_python_s_own(t):
    for x in (
        t,
        t > 0.3,
        fz.arange(3),
        fz.asarray([1 + 2j]),
        t.astype("bfloat16"),
        fz.zeros((0, 2)),
    ):
        for made in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            assert made.dtype == x.dtype and made.shape == x.shape and made.tolist() == x.tolist()
    assert memoryview(t).shape == (2, 3) and memoryview(t).readonly
    assert bytes(memoryview(fz.arange(2, dtype="uint8"))) == b"\x00\x01"


@pytest.mark.parametrize("save", [np.save, lambda f, x: np.savez(f, x=x)])
def test_npy_and_npz(save, t, tmp_path):
    for x in (t, fz.arange(3), t > 0.3, fz.asarray([1 + 2j]), fz.zeros((0, 2))):
        path = tmp_path / "x.npy"
        with open(path, "wb") as file:
            save(file, x)
        with open(path, "rb") as file:
            loaded = np.load(file)
            loaded = loaded if isinstance(loaded, np.ndarray) else loaded["x"]
        back = fz.asarray(loaded)
        assert back.dtype == x.dtype and back.tolist() == x.tolist() and back.shape == x.shape
