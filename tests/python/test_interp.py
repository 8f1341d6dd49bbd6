"""interp at once and by ops: NumPy's numbers, and the same bits in a trace."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(8)
ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 2, 40])
@pytest.mark.parametrize("ends", [{}, {"left": -7, "right": 2.5}])
def test_as_numpy_and_as_traced(dtype, n, ends):
    xp = np.sort(RNG.standard_normal(n)).astype(dtype)
    x = np.concatenate([RNG.standard_normal(300) * 2, xp, ODD]).astype(dtype)
    fp = RNG.standard_normal(n).astype(dtype)
    given = [fz.asarray(a) for a in (x, xp, fp)]
    now = fz.interp(*given, **ends)
    want = np.where(np.isnan(x), np.nan, np.interp(x, xp, fp, **ends))  # also of one point
    limit = 3e-5 if dtype == "f4" else 1e-11
    np.testing.assert_allclose(np.asarray(now), want, rtol=limit, atol=limit)
    traced = fz.trace(lambda *a: fz.interp(*a, **ends))
    for _ in range(3):
        assert np.asarray(traced(*given)).tobytes() == np.asarray(now).tobytes()


def test_points_that_fall_together_and_zeros():
    xp, fp = np.array([-0.0, 0.0, 0.0, 1.0, 1.0]), np.array([-0.0, 2.0, 3.0, 4.0, 5.0])
    x = np.array([-0.0, 0.0, 0.5, 1.0, -1.0, 2.0])
    given = [fz.asarray(a) for a in (x, xp, fp)]
    now = np.asarray(fz.interp(*given))
    assert np.array_equal(now, np.interp(x, xp, fp))
    assert np.asarray(fz.trace(fz.interp)(*given)).tobytes() == now.tobytes()
