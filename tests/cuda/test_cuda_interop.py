"""GPU memory shared with other libraries: DLPack with streams, __cuda_array_interface__."""

import ctypes
import gc
import weakref

import gpu
import numpy as np
import pytest

import frazil as fz

driver = gpu.driver()
libcuda = driver.library
LEGACY, PER_THREAD = 1, 2


def call(name, *args):
    result = getattr(libcuda, name)(*args)
    assert result == 0, f"{name}: {result}"


def copy_in(pointer, array, stream=None):
    """Asynchronous: the array of the host must live on."""
    host, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
    call("cuMemcpyHtoDAsync_v2", pointer, host, size, ctypes.c_void_p(stream))


def copy_out(array, pointer, stream=None):
    host, size = ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes)
    call("cuMemcpyDtoHAsync_v2", host, pointer, size, ctypes.c_void_p(stream))
    call("cuStreamSynchronize", ctypes.c_void_p(stream))


def new_stream():
    fz.zeros(1, device="cuda").tolist()  # there is a context
    stream = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 1)
    return stream.value


class Array:
    """Another library's array: memory of its own, filled on a stream of its own."""

    def __init__(self, values, *, strides=None, stream=None, typestr=None, shape=None):
        fz.zeros(1, device="cuda").tolist()
        values = np.ascontiguousarray(values)
        self.shape = values.shape if shape is None else shape
        self.strides = strides
        self.typestr = typestr or values.dtype.str
        self.stream = stream
        self.pointer = ctypes.c_uint64()
        self.released = []
        call("cuMemAlloc_v2", ctypes.byref(self.pointer), ctypes.c_size_t(max(values.nbytes, 1)))
        self.values = values  # the host's side of an asynchronous copy
        copy_in(self.pointer, values, stream)

    def read(self):
        out = np.empty_like(self.values)
        copy_out(out, self.pointer, self.stream)
        return out

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.typestr,
            "data": (self.pointer.value if self.values.size else 0, False),
            "strides": self.strides,
            "version": 3,
            "stream": self.stream or 1,
        }


def words_of(x):
    """What another library reads through the interface of a tensor, on the default stream."""
    face = x.__cuda_array_interface__
    out = np.empty(face["shape"], face["typestr"])
    assert face["strides"] == out.strides
    copy_out(out, ctypes.c_uint64(face["data"][0]), face["stream"])
    return out


# --- __cuda_array_interface__ ---------------------------------------------------------------------


def test_others_read_tensors():
    x = fz.arange(12, dtype="float32", device="cuda") * 2
    face = x.__cuda_array_interface__
    assert face["version"] == 3 and face["typestr"] == "<f4" and face["shape"] == (12,)
    assert face["data"][1] is True and face["stream"] > 2
    assert words_of(x).tolist() == list(range(0, 24, 2))
    assert words_of(fz.reshape(x, (3, 4))).shape == (3, 4)
    view = fz.reshape(x, (3, 4))[::-1, 1::2].__cuda_array_interface__
    assert view["shape"] == (3, 2) and view["strides"] == (-16, 8)
    assert view["data"][0] == x.__cuda_array_interface__["data"][0] + 4 * 9
    empty = x[:0].__cuda_array_interface__
    assert empty["shape"] == (0,) and empty["data"][0] == 0
    assert fz.asarray(2.5, device="cuda").__cuda_array_interface__["shape"] == ()
    for dtype, name in {"bool": "|b1", "int8": "|i1", "uint64": "<u8", "float16": "<f2"}.items():
        t = fz.zeros(2, dtype=dtype, device="cuda")
        assert t.__cuda_array_interface__["typestr"] == name


def test_what_has_no_interface():
    assert not hasattr(fz.ones(3), "__cuda_array_interface__")
    assert not hasattr(fz.ones(3, dtype="bfloat16", device="cuda"), "__cuda_array_interface__")
    assert not hasattr(fz.ones(3, device="npu"), "__cuda_array_interface__")


def test_tensors_of_others():
    values = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = fz.asarray(Array(values))
    assert x.device == "cuda" and np.array_equal(np.asarray(x), values)
    assert fz.asarray(Array(values), dtype="float64").dtype == fz.float64
    assert fz.asarray(Array(values), device="cpu").device == "cpu"
    back = Array(values.T.copy(), shape=(3, 4), strides=(4, 12))
    assert np.array_equal(np.asarray(fz.asarray(back)), values)
    assert fz.asarray(Array(np.empty((0, 3), np.int16))).shape == (0, 3)
    assert fz.asarray(Array(np.array(7))).item() == 7


def test_borrowing():
    a = Array(np.arange(6, dtype=np.int64))
    x = fz.asarray(a, copy=False)
    copy = fz.asarray(a)
    address = x.__cuda_array_interface__["data"][0]
    assert address == a.pointer.value != copy.__cuda_array_interface__["data"][0]
    other = np.full(6, 9)
    copy_in(a.pointer, other)
    call("cuStreamSynchronize", None)
    assert x.tolist() == [9] * 6 and copy.tolist() == list(range(6))
    alive = weakref.ref(a)
    del a
    gc.collect()
    assert alive() is not None  # x holds it
    y = x + 1
    del x
    gc.collect()
    assert alive() is None and y.tolist() == [10] * 6
    with pytest.raises(ValueError, match="copy=False, but the array must be converted"):
        fz.asarray(Array(np.zeros(2)), dtype="float32", copy=False)
    with pytest.raises(ValueError, match="copy=False, but moving from cuda to cpu copies"):
        fz.asarray(x_of(Array(np.zeros(2))), device="cpu", copy=False)


def x_of(array):
    return fz.asarray(array, copy=False)


def test_wrong_interfaces():
    for change, error in (
        ({"typestr": ">f4"}, "no counterpart"),
        ({"typestr": "<c32"}, "no counterpart"),
        ({"strides": (3,)}, "whole elements"),
        ({"strides": (4, 4)}, "1 extents and 2 strides"),
        ({"data": (12345, False)}, "not on a GPU"),
        ({"stream": 0}, "must be 1 or more"),
        ({"stream": 1 << 70}, "must be 1 or more"),
        ({"shape": (-1,)}, "shape|extent"),
        ({"shape": None}, "None"),
        ({"data": None}, "None"),
    ):
        face = Array(np.zeros(4, np.float32)).__cuda_array_interface__ | change
        with pytest.raises((TypeError, ValueError, RuntimeError), match=error):
            fz.asarray(type("Foreign", (), {"__cuda_array_interface__": face})())


# --- DLPack ---------------------------------------------------------------------------------------


class Producer:
    """A tensor behind nothing but DLPack."""

    def __init__(self, tensor):
        self.tensor, self.asked = tensor, []

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.asked.append(keywords)
        return self.tensor.__dlpack__(**keywords)


class Old(Producer):
    def __dlpack__(self, stream=None):
        self.asked.append(stream)
        return self.tensor.__dlpack__(stream=stream)


@pytest.mark.parametrize("make", [Producer, Old])
def test_dlpack_there_and_back(make):
    for x in (
        gpu.randn(3, 4).to_device("cuda"),
        gpu.randn(3, 4).to_device("cuda").T,
        gpu.randn(9).to_device("cuda")[::-2],
        fz.asarray([True, False], device="cuda"),
        fz.astype(gpu.randn(5), "bfloat16").to_device("cuda"),
        fz.asarray(3, device="cuda"),
        fz.zeros((0, 2), device="cuda"),
    ):
        assert x.__dlpack_device__() == (2, 0)
        producer = make(x)
        y = fz.from_dlpack(producer)
        assert y.device == "cuda" and gpu.bits(y) == gpu.bits(x)
        assert fz.from_dlpack(make(x), device="cpu").device == "cpu"
        (asked,) = producer.asked[:1]
        stream = asked if make is Old else asked["stream"]
        assert stream == fz.ones(1, device="cuda").__cuda_array_interface__["stream"]


def test_dlpack_versions():
    x = gpu.randn(6).to_device("cuda")
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 3), copy=True))
    assert "dltensor_versioned" not in repr(x.__dlpack__())
    assert "dltensor_versioned" not in repr(x.__dlpack__(max_version=(0, 8)))


def test_dlpack_lends_what_nobody_else_holds():
    def address(t):
        return t.__cuda_array_interface__["data"][0]

    x = gpu.randn(6).to_device("cuda")
    assert address(fz.from_dlpack(Producer(x))) != address(x)
    assert address(fz.from_dlpack(Producer(x), copy=False)) == address(x)
    for held in (x.detach(), x[1:]):
        with pytest.raises(BufferError, match="something else holds its"):
            x.__dlpack__(max_version=(1, 0), copy=False)
        del held
        x.__dlpack__(max_version=(1, 0))


@pytest.mark.parametrize("stream", [None, -1, LEGACY, PER_THREAD])
def test_streams_of_consumers(stream):
    x = fz.ones(4, device="cuda") + 1
    before = driver.count("cuStreamWaitEvent")
    capsule = x.__dlpack__(stream=stream, max_version=(1, 0))
    assert driver.count("cuStreamWaitEvent") == before + (stream != -1)
    del capsule  # nobody consumed it
    own = new_stream()
    before = driver.count("cuStreamWaitEvent")
    x.__dlpack__(stream=own, max_version=(1, 0))
    assert driver.count("cuStreamWaitEvent") > before


@pytest.mark.parametrize("stream", [0, -2, 1.5, "1", 1 << 70])
def test_wrong_streams(stream):
    with pytest.raises(ValueError, match="stream must be None, -1, 1, 2 or a stream's address"):
        fz.ones(3, device="cuda").__dlpack__(stream=stream)


def test_borrowed_tensors_keep_their_memory():
    before = fz.cuda.memory_stats()["live_bytes"]
    x = fz.ones(1000, device="cuda") * 3
    y = fz.from_dlpack(Producer(x), copy=False)
    del x
    assert y.sum().item() == 3000
    del y
    gc.collect()
    assert fz.cuda.memory_stats()["live_bytes"] == before


ORDER = """
import ctypes
libcuda = gpu.driver().library
def call(name, *args):
    assert getattr(libcuda, name)(*args) == 0, name
fz.zeros(1, device="cuda").tolist()
stream = ctypes.c_void_p()
call("cuStreamCreate", ctypes.byref(stream), 1)
n = 4 << 20  # bytes: a block of its own
"""


@pytest.mark.parametrize("order", ["lazy", "lazy:3", "random:1", "random:2"])
def test_consumers_read_before_the_memory_is_given_out(order):
    """Another library's queued copy sees the tensor, though the tensor and its capsule are gone."""
    out = gpu.process(
        ORDER
        + """
target = ctypes.c_uint64()
call("cuMemAlloc_v2", ctypes.byref(target), ctypes.c_size_t(n))
x = fz.ones(n // 4, dtype="float32", device="cuda") * 7
address = x.__cuda_array_interface__["data"][0]
capsule = x.__dlpack__(stream=stream.value, max_version=(1, 0), copy=False)
call("cuMemcpyDtoDAsync_v2", target, ctypes.c_uint64(address), ctypes.c_size_t(n), stream)
del x, capsule
y = fz.ones(n // 4, dtype="float32", device="cuda") * 9  # gets the same memory
print(y.__cuda_array_interface__["data"][0] == address)
got = np.empty(n // 4, np.float32)
call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(got.ctypes.data), target, ctypes.c_size_t(n), stream)
call("cuStreamSynchronize", stream)
print(set(got.tolist()), set(y.tolist()))
""",
        FAKE_CUDA_ORDER=order,
    )
    assert out == "True\n{7.0} {9.0}"


@pytest.mark.parametrize("order", ["lazy", "lazy:3", "random:1", "random:2"])
def test_what_others_have_queued_is_waited_for(order):
    out = gpu.process(
        ORDER
        + """
source, target = ctypes.c_uint64(), ctypes.c_uint64()
for pointer in (source, target):
    call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(n))
hosts = [np.full(n // 4, value, np.float32) for value in (0, 5)]
for pointer, host in zip((target, source), hosts):
    at = ctypes.c_void_p(host.ctypes.data)
    call("cuMemcpyHtoDAsync_v2", pointer, at, ctypes.c_size_t(n), stream)
call("cuMemcpyDtoDAsync_v2", target, source, ctypes.c_size_t(n), stream)
class Foreign:
    __cuda_array_interface__ = {
        "shape": (n // 4,), "typestr": "<f4", "data": (target.value, False),
        "strides": None, "version": 3, "stream": stream.value,
    }
x = fz.asarray(Foreign(), copy=False)
print(set((x + 1).tolist()), set(fz.asarray(Foreign()).tolist()))
""",
        FAKE_CUDA_ORDER=order,
    )
    assert out == "{6.0} {5.0}"
