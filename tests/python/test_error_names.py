"""Errors carry the name of the function that was called, not of the op inside it that failed."""

import pytest

import frazil as fz

X = fz.arange(5)
F = fz.asarray([1.5, 2.25])


def assign(index):
    x = fz.arange(5)
    x[index] = 1


def assign_float(index):
    x = fz.ones((3, 4))
    x[index] = 1


CASES = [
    (lambda: assign([9]), IndexError,
     "[setitem] index 9 is out of range for 5 elements along axis 0 of i64[5]."),
    (lambda: assign_float(5), IndexError,
     "[setitem] index 5 is out of range for axis 0 of f32[3,4]."),
    (lambda: assign(9), IndexError, "[setitem] index 9 is out of range for axis 0 of i64[5]."),
    (lambda: X[[9]], IndexError,
     "[getitem] index 9 is out of range for 5 elements along axis 0 of i64[5]."),
    (lambda: fz.zeros((-1,)), ValueError, "[zeros] negative extent -1 in shape [-1]."),
    (lambda: fz.empty((2**62, 4)), MemoryError,
     "[empty] shape [4611686018427387904,4] has more bytes than an address can count."),
    (lambda: fz.full((2,), X), ValueError, "[full] cannot broadcast i64[5] to shape [2]."),
    (lambda: fz.argmin(fz.zeros(0)), ValueError,
     "[argmin] an empty axis has no argmin: shape [0]."),
    (lambda: fz.zeros(0).argmin(), ValueError, "[argmin] an empty axis has no argmin: shape [0]."),
    (lambda: fz.random.normal((-1,)), ValueError,
     "[random.normal] negative extent -1 in shape [-1]."),
    (lambda: fz.random.uniform((-1,), dtype="float64"), ValueError,
     "[random.uniform] negative extent -1 in shape [-1]."),
    (lambda: fz.random.integers(3, shape=(-1,)), ValueError,
     "[random.integers] negative extent -1 in shape [-1]."),
    (lambda: fz.random.normal(3, dtype="int32"), TypeError,
     "[random.normal] needs a floating-point dtype, got int32."),
    (lambda: fz.tile(X, -1), ValueError, "[tile] repetitions must not be negative: [-1]."),
    (lambda: fz.mean(X, axis=3), IndexError, "[mean] axis 3 is out of range for rank 1."),
    (lambda: X.var(3), IndexError, "[var] axis 3 is out of range for rank 1."),
    (lambda: fz.nn.softmax(X, axis=3), IndexError, "[softmax] axis 3 is out of range for rank 1."),
    (lambda: fz.nn.mse_loss(X, F), ValueError,
     "[mse_loss] shapes do not broadcast: [5] and [2] (5 vs 2)."),
    (lambda: fz.clip(X, F), ValueError, "[clip] shapes do not broadcast: [5] and [2] (5 vs 2)."),
    (lambda: fz.logical_and(X, F), ValueError,
     "[logical_and] shapes do not broadcast: [5] and [2] (5 vs 2)."),
    (lambda: fz.take_along_axis(X, fz.asarray([9])), IndexError,
     "[take_along_axis] index 9 is out of range for 5 elements along axis 0 of i64[5]."),
    (lambda: fz.outer(X, "a"), TypeError,
     "[outer] cannot make a tensor from str."),
    (lambda: fz.roll(X, 1, axis=3), IndexError, "[roll] axis 3 is out of range for rank 1."),
    (lambda: fz.split(X, 5, axis=3), IndexError, "[split] axis 3 is out of range for rank 1."),
    (lambda: fz.repeat(X, 2, axis=3), IndexError, "[repeat] axis 3 is out of range for rank 1."),
    (lambda: fz.diff(X, axis=3), IndexError, "[diff] axis 3 is out of range for rank 1."),
    (lambda: fz.vecdot(X, F), ValueError,
     "[vecdot] axis -1 has 5 elements in (5,) and 2 in (2,)."),
]  # fmt: skip


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
@pytest.mark.parametrize("i", range(len(CASES)))
def test_name(i, traced):
    call, kind, message = CASES[i]
    call = fz.trace(call) if traced else call
    for _ in range(2):
        with pytest.raises(kind) as error:
            call()
        assert str(error.value) == message


class Raises:
    def __array__(self, dtype=None, copy=None):
        raise ValueError("mine: [not a name] stays")


def test_other_messages_stay():
    with pytest.raises(ValueError, match="^mine: \\[not a name\\] stays$"):
        fz.asarray(Raises())
    with pytest.raises(TypeError, match="^sum\\(\\) got an unexpected keyword argument 'foo'$"):
        fz.sum(X, foo=1)
