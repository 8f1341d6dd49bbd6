"""Indices and masks against NumPy, eager and traced: what they read, write, keep and refuse."""

import numpy as np
import pytest

import frazil as fz

RNG = np.random.default_rng(11)
N = 1 << 17


def arrays(shape, dtype="float64"):
    """The same numbers twice: NumPy's and frazil's."""
    a = (RNG.normal(size=shape) * 50).astype(dtype)
    return a, fz.asarray(a.copy())


MASK = RNG.random((6, 7)) < 0.5
INDICES = {
    "array": np.array([3, -1, 0, 3]),
    "array of two axes": np.array([[0, 5], [-6, 2]]),
    "narrow array": np.array([1, -2], "int8"),
    "two arrays": (np.array([0, -1, 2]), np.array([6, 0, -7])),
    "two arrays that broadcast": (np.array([[0], [4]]), np.array([1, -1, 3])),
    "array and slice": (slice(1, 5), np.array([0, -1, 0])),
    "slice backwards and array": (slice(None, None, -2), np.array([2, 3])),
    "integer and array": (2, np.array([0, -1])),
    "array and integer": (np.array([5, 1]), -3),
    "array and new axis": (np.array([5, 1]), None, slice(2, 4)),
    "mask": MASK,
    "mask of rows": MASK[:, 0],
    "mask of columns": (slice(None), MASK[0]),
    "mask and integer": (MASK[:, 1], 3),
    "mask and array": (np.array([True, False, True, False, False, True]), np.array([1, 0, -1])),
    "mask of nothing": np.zeros((6, 7), bool),
    "mask without axes": np.array(True),
    "no indices": np.array([], int),
}


def entries(index, f):
    return tuple(map(f, index)) if isinstance(index, tuple) else f(index)


def ours(index):
    return entries(index, lambda i: fz.asarray(i) if isinstance(i, np.ndarray) else i)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_every_index_reads_and_writes_as_in_numpy(name, dtype):
    index = INDICES[name]

    def write(z, v, index):
        z[index] = v
        return z * 1 if z.dtype != "bool" else z

    read = fz.trace(lambda z: z[ours(index)])
    for transposed in (False, True):
        a, z = arrays((7, 6) if transposed else (6, 7), dtype)
        a, z = (a.T, z.T) if transposed else (a, z)
        for got in (z[ours(index)], read(z), read(z)):
            assert got.shape == a[index].shape and np.array_equal(np.asarray(got), a[index])
        part = a[index].shape
        values = [np.array(1, dtype), (RNG.normal(size=part) * 9).astype(dtype)]
        values += [(RNG.normal(size=part[-1:]) * 9).astype(dtype)] if part else []
        for v in values:
            wanted = a.copy()
            wanted[index] = v
            eager = fz.asarray(a.copy())
            eager[ours(index)] = fz.asarray(v)
            np.testing.assert_array_equal(np.asarray(eager), wanted)
            traced = fz.trace(lambda z, v: write(z, v, ours(index)))
            for _ in range(3):
                z = fz.asarray(a.copy())
                traced(z, fz.asarray(v))
                np.testing.assert_array_equal(np.asarray(z), wanted)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (np.array([0, 6]), "index 6 is out of range for 6 elements along axis 0 of f64[6,7]"),
        (np.array([-7, 9]), "index -7 is out of range for 6 elements along axis 0 of f64[6,7]"),
        ((slice(1, 3), np.array([7])), "index 7 is out of range for 7 elements along axis 1"),
        ((np.array([0]), np.array([2**40])), "is out of range for 7 elements along axis 1"),
        ((np.array([-(2**63)]), 0), f"index {-(2**63)} is out of range for 6 elements"),
        (np.zeros((6, 6), bool), "mask is bool[6,6] but the array is f64[6,7] (axis 1: 6 vs 7)"),
        ((np.array([0, 1]), np.array([0, 1, 2])), "index arrays do not broadcast: [2] and [3]"),
    ],
)
def test_a_wrong_index_changes_nothing(index, message):
    a, z = arrays((6, 7))
    for write in (lambda z: z.__setitem__(ours(index), 1.0), lambda z: z[ours(index)]):
        with pytest.raises(IndexError) as error:
            write(z)
        assert message in str(error.value)
        np.testing.assert_array_equal(np.asarray(z), a)


def test_a_value_that_does_not_fit_changes_nothing():
    a, z = arrays((6, 7))
    for index in (np.array([0, 1]), MASK, (slice(0, 2), np.array([1]))):
        with pytest.raises(ValueError, match=r"\[setitem\] cannot assign f64\[5\]"):
            z[ours(index)] = fz.ones(5)
        np.testing.assert_array_equal(np.asarray(z), a)


@pytest.mark.parametrize(
    "name", ["Z[I] = 1", "Z[I] = V", "Z[mask] = 0", "Y[I, J] = 1", "Y[a:b, J] = V"]
)
def test_assignment_writes_where_the_array_lies(name):
    _, z = arrays((N,))
    y = fz.reshape(z * 1, (N // 64, 64))
    i, j = fz.asarray(RNG.integers(0, N // 64, 64)), fz.asarray(RNG.integers(0, 64, 64))
    mask, v = fz.asarray(RNG.random(N) < 0.5), fz.ones(64, dtype="float64")
    y = y + 0.0

    def write():
        if name == "Z[I] = 1":
            z[i] = 1
        elif name == "Z[I] = V":
            z[i] = v
        elif name == "Z[mask] = 0":
            z[mask] = 0
        elif name == "Y[I, J] = 1":
            y[i, j] = 1
        else:
            y[1:3, j] = v

    write()
    fz.memory.reset_peak()
    before = fz.memory.stats()["peak_bytes"]
    write()
    assert fz.memory.stats()["peak_bytes"] - before < N  # bytes: an eighth of the array


def test_assignment_never_shows_through_other_holders():
    for write in (
        lambda z: z.__setitem__(fz.asarray([0, 2]), 9.0),
        lambda z: z.__setitem__(fz.asarray([True, False, True]), 9.0),
        lambda z: z.__setitem__(fz.asarray([True, False, True]), fz.asarray([9.0, 9.0])),
    ):
        z = fz.asarray([1.0, 2.0, 3.0])
        copy, view, outside = z.detach(), z[1:], np.asarray(z)
        write(z)
        assert z.tolist() == [9, 2, 9]
        assert copy.tolist() == outside.tolist() == [1, 2, 3] and view.tolist() == [2, 3]


def test_an_array_may_be_its_own_index_mask_and_value():
    z = fz.asarray([2, 0, 1])
    z[z] = z
    assert z.tolist() == [0, 1, 2]
    z = fz.asarray([2, 0, 1, 3])
    z[fz.asarray([0, 1, 2, 3])] = z[::-1]
    assert z.tolist() == [3, 1, 0, 2]
    b = fz.asarray([True, False, True])
    b[b] = False
    assert b.tolist() == [False] * 3


def test_the_last_of_many_writes_wins_and_sums_have_an_order():
    """Also where threads share the work."""
    n = 1 << 18
    index = RNG.integers(0, 1000, n)
    z, wanted = fz.zeros(1000, dtype="float32"), np.zeros(1000, "float32")
    z[fz.asarray(index)] = fz.arange(n, dtype="float32")
    wanted[index] = np.arange(n, dtype="float32")
    np.testing.assert_array_equal(np.asarray(z), wanted)
    w = RNG.normal(size=n).astype("float32")
    got = fz.grad(lambda x: (x[fz.asarray(index)] * fz.asarray(w)).sum())(z)
    wanted = np.zeros(1000, "float32")
    np.add.at(wanted, index, w)
    np.testing.assert_array_equal(np.asarray(got), wanted)


def test_a_mask_ends_no_segment_where_nothing_depends_on_its_number():
    def body(x):
        x = x * 2
        x[x > 1] = 0.0
        return fz.cumsum(fz.sort(x))

    f = fz.trace(body, proof=False)
    x = fz.asarray([0.25, 3.0, -1.0])
    for _ in range(4):
        assert f(x).tolist() == body(x).tolist() == [-2.0, -2.0, -1.5]
    assert f.stats()["plans"] == 1


def test_choosing_by_a_mask_may_be_promised():
    f = fz.trace(lambda x: x[x > 1] * 2, pure=True)
    for _ in range(8):
        assert f(fz.asarray([1.0, 2.0, 3.0])).tolist() == [4, 6]
        assert f(fz.asarray([5.0, 0.0, 0.0])).tolist() == [10]
    assert f.stats()["skipped"] > 4


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "float16"])
def test_large_arrays_are_sorted_alike_by_any_threads(dtype):
    a = (RNG.normal(size=200_000) * 1000).astype(dtype)
    if a.dtype.kind == "f":
        a[::1001], a[1::997], a[2::991] = np.nan, -0.0, 0.0
    order = np.argsort(a, kind="stable")
    x = fz.asarray(a)
    np.testing.assert_array_equal(np.asarray(fz.argsort(x)), order)
    got, wanted = np.asarray(fz.sort(x)), a[order]
    np.testing.assert_array_equal(got, wanted)
    assert np.array_equal(np.signbit(got[got == 0]), np.signbit(wanted[wanted == 0]))
    few = np.round(a / 500)
    np.testing.assert_array_equal(
        np.asarray(fz.argsort(fz.asarray(few))), np.argsort(few, kind="stable")
    )


def test_positions_among_wide_keys_are_stable():
    """Keys of more bits than fit beside a position, most of them equal in the upper ones."""
    a = RNG.integers(0, 50, 30_000)
    a[[7, 9000]] = 2**62, -(2**62)
    np.testing.assert_array_equal(
        np.asarray(fz.argsort(fz.asarray(a))), np.argsort(a, kind="stable")
    )


def test_lists_hold_python_numbers():
    for dtype in ("bool", "int8", "uint8", "int64", "uint64", "float16", "float32"):
        a = np.array([[0, 1, 1], [1, 0, 1]], dtype)
        for t, wanted in ((fz.asarray(a), a), (fz.asarray(a).T, a.T)):
            assert t.tolist() == wanted.tolist()
            assert {type(v) for row in t.tolist() for v in row} == {type(a.item(0))}
    assert fz.asarray(2**64 - 1, dtype="uint64").tolist() == 2**64 - 1
    assert fz.asarray([2**64 - 1, 2**63, 0], dtype="uint64").tolist() == [2**64 - 1, 2**63, 0]
    assert fz.zeros((2, 0)).tolist() == [[], []]
