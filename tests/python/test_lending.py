"""DLPack: consumers get a copy, or ask for the memory, which is lent if nobody else holds it."""

import ctypes
import gc

import numpy as np
import pytest

import frazil as fz


def lend(x):
    return np.from_dlpack(x, copy=False)


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
    ]


def flags_of(capsule):
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Versioned.from_address(pointer(capsule, b"dltensor_versioned")).flags


def test_writing_to_what_was_exported_changes_nothing():
    layer = fz.nn.Linear(3, 2)
    x = fz.arange(6, dtype="float32").reshape(2, 3)
    tensors = [x, x.detach(), x.T, x[1:], fz.asarray(7.0), fz.zeros((0, 2))]
    tensors += [*layer.state_dict().values(), *layer.parameters()]
    before = [t.tolist() for t in tensors]
    for t in tensors:
        a = np.from_dlpack(t.detach())
        assert a.flags.writeable and a.tolist() == t.tolist()
        a[...] = 99
    assert [t.tolist() for t in tensors] == before
    assert flags_of(x.__dlpack__(max_version=(1, 0))) == 2  # copied
    assert flags_of(x.__dlpack__(max_version=(1, 1), copy=True)) == 2
    assert flags_of(x.copy().__dlpack__(max_version=(1, 0), copy=False)) == 0
    for keywords in ({}, {"max_version": (0, 8)}, {"max_version": None}):
        assert '"dltensor"' in repr(x.__dlpack__(**keywords))


def test_the_buffer_protocol_still_shares():
    x = fz.arange(6)
    a, b = np.asarray(x), np.asarray(x)
    assert a.ctypes.data == b.ctypes.data and not a.flags.writeable
    assert np.from_dlpack(x).ctypes.data != a.ctypes.data


def test_what_nobody_else_holds_is_lent():
    for x in (fz.zeros((2, 3)), fz.zeros((300, 300)), fz.zeros(6).reshape(3, 2), fz.ones(4) - 1):
        a = lend(x)
        assert a.flags.writeable and a.shape == x.shape
        a[0] = 5
        assert x[0].tolist() == a[0].tolist() and x.sum().item() == a.sum() > 0
        assert np.asarray(x).ctypes.data == a.ctypes.data
        y = x * 2
        a[0] = 7
        assert y.max().item() == 10 and x.max().item() == 7


def test_writing_to_what_was_lent_does_not_reach_the_borrower():
    x = fz.zeros(3)
    a = lend(x)
    x += 1
    x[0] = 5
    assert a.tolist() == [0, 0, 0] and x.tolist() == [5, 1, 1]
    a[:] = 9
    assert x.tolist() == [5, 1, 1]
    b = lend(x)  # it has memory of its own again
    b[1] = 2
    assert x.tolist() == [5, 2, 1]


def test_the_borrower_keeps_the_memory():
    x = fz.arange(1000) * 3
    a = lend(x)
    del x
    gc.collect()
    junk = [fz.zeros(1000, dtype="int64") for _ in range(20)]
    assert a.tolist() == list(range(0, 3000, 3)) and len(junk) == 20


def test_it_may_be_lent_again_when_it_is_back():
    x = fz.zeros(100)
    a = lend(x)
    with pytest.raises(BufferError, match="something else holds its value"):
        lend(x)
    del a
    lend(x)[0] = 1
    assert x[0].item() == 1


HOLDERS = {
    "detach": lambda x: x.detach(),
    "a view": lambda x: x.reshape(-1),
    "a slice": lambda x: x[1:],
    "a NumPy array": lambda x: np.asarray(x),
    "a memoryview": lambda x: memoryview(x),
    "a gradient": lambda x: x * fz.ones((2, 3), requires_grad=True),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_somebody_holds_is_not_lent(name):
    x = fz.zeros((2, 3)) + 1
    held = HOLDERS[name](x)
    message = r"\[__dlpack__\] copy=False, but f32\[2,3\] cannot be lent: something else holds its "
    with pytest.raises(BufferError, match=message + r".* or lend x\.copy\(\)"):
        lend(x)
    mine = x.copy()
    lend(mine)[...] = 9
    assert x.sum().item() == 6 and mine.sum().item() == 54
    del held
    lend(x)[...] = 2
    assert x.sum().item() == 12


def test_numbers_have_no_memory():
    x = fz.asarray(2.0)
    assert np.from_dlpack(x).item() == 2
    with pytest.raises(BufferError, match=r"f32\[\] cannot be lent: it is a number"):
        lend(x)


def test_from_dlpack_asks_for_the_memory():
    x = fz.zeros(3)
    shared, own = fz.from_dlpack(x, copy=False), fz.from_dlpack(x)
    a = np.arange(3.0)
    borrowed, copied = fz.from_dlpack(a, copy=False), fz.from_dlpack(a)
    a[0] = 9
    assert borrowed.tolist() == [9, 1, 2] and copied.tolist() == [0, 1, 2]
    assert shared.tolist() == own.tolist() == [0, 0, 0]
    with pytest.raises(BufferError, match="cannot be lent"):
        fz.from_dlpack(x, copy=False)
    assert fz.from_dlpack(x, copy=True).tolist() == [0, 0, 0]

    class Old:
        def __init__(self, array, names):
            self.array, self.names = array, names

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

        def __dlpack__(self, **keywords):
            if not set(keywords) <= self.names:
                raise TypeError("unexpected keyword argument")
            return self.array.__dlpack__(**keywords)

    for names in (set(), {"max_version"}, {"max_version", "copy"}):
        t = fz.from_dlpack(Old(a, names), copy=False)
        a[1] += 1
        assert t.tolist() == a.tolist()


BODIES = {
    "an operand of what waits": lambda x: (x * 2, x),
    "what waits is read": lambda x: (lambda z: (z + 1, z))(x * 2),
    "a view": lambda x: (lambda z: (z.reshape(-1), z))(x * 2),
    "a result": lambda x: (x + 1, x * 2),
    "an argument": lambda x: (x, x),
}


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_traced_calls_lend_as_eager_ones_do(name, pure):
    outcomes = []

    def body(x):
        out, lent = BODIES[name](x)
        try:
            a = lend(lent)
            a[0] = 50
            outcomes.append("lent")
        except BufferError:
            outcomes.append("held")
        return out + 0, lent + 0

    want = [t.tolist() for t in body(fz.ones(4))]
    traced = fz.trace(body, pure=pure)
    for _ in range(8):
        assert [t.tolist() for t in traced(fz.ones(4))] == want
    assert len(outcomes) == 9 and len(set(outcomes)) == 1


@pytest.mark.parametrize("pure", [False, True])
def test_what_reads_lent_memory_is_never_deferred(pure):
    x = fz.ones(4)
    a = lend(x)

    @fz.trace(pure=pure)
    def f(x):
        y = x * 2
        a[0] += 1
        return y, x * 3

    for i in range(1, 8):
        y, z = f(x)
        assert y.tolist() == [2 * i, 2, 2, 2] and z.tolist() == [3 * i + 3, 3, 3, 3]


def test_wrong_arguments():
    x = fz.ones(3)
    with pytest.raises(TypeError, match=r"\[__dlpack__\] copy must be True or False, got 'no'"):
        x.__dlpack__(copy="no")
    with pytest.raises(TypeError, match=r"\[__dlpack__\] max_version must be an integer"):
        x.__dlpack__(max_version=("1", 0))


def test_what_is_borrowed_is_not_lent_again():
    text = b"abcdefgh"
    borrowed = fz.asarray(memoryview(text), copy=False)
    with pytest.raises(BufferError, match="its memory is borrowed itself"):
        np.from_dlpack(borrowed, copy=False)


def test_dates_have_no_counterpart():
    for value in (np.timedelta64(5, "s"), np.datetime64("2020-01-01")):
        with pytest.raises(TypeError, match="has no counterpart in frazil"):
            fz.asarray(value)
        with pytest.raises(TypeError, match="has no counterpart in frazil"):
            fz.ones(2) + value
