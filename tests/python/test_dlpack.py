"""DLPack in both directions: every dtype, layout, version and way of copying, with NumPy, and with
PyTorch where it is installed.
"""

import itertools
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import frazil as fz

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128".split()
)
LAYOUTS = {
    "scalar": lambda a: a[1, 1],
    "vector": lambda a: a[0],
    "matrix": lambda a: a,
    "transposed": lambda a: a.T,
    "every second": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1],
    "new axis": lambda a: a[:, None, 1:],
    "column": lambda a: a[:, 1:2],
    "empty": lambda a: a[:0],
    "empty within": lambda a: a[:, 1:1],
}
VERSIONS = (None, (0, 8), (1, 0), (1, 1), (2, 0))
COPIES = (None, True, False)


def array_of(dtype):
    return (np.arange(12).reshape(3, 4) % 5).astype(dtype)


class Producer:
    """Hands an array on in one version of the protocol, as a library of that version does."""

    def __init__(self, array, version, **known):
        self.array, self.version, self.known = array, version, known

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        if self.version is None:  # knows no keywords
            if keywords:
                raise TypeError("unexpected keyword")
            return self.array.__dlpack__()
        keywords["max_version"] = min(self.version, keywords["max_version"])
        return self.array.__dlpack__(**keywords)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_to_here(dtype, layout):
    for version, copy in itertools.product(VERSIONS, COPIES):
        whole = array_of(dtype)
        part = np.asarray(LAYOUTS[layout](whole))
        if version is None and copy is True:
            continue  # such a producer cannot be asked to copy
        t = fz.from_dlpack(Producer(part, version), copy=copy)
        assert t.dtype.name == dtype and t.shape == part.shape
        before = part.copy()
        assert np.array_equal(np.asarray(t), before)
        if copy is False and part.size:
            part[...] = 1  # the same memory
            assert np.array_equal(np.asarray(t), part)
        elif copy is True:
            part[...] = 1
            assert np.array_equal(np.asarray(t), before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_here_to_numpy(dtype, layout):
    for version, copy in itertools.product(VERSIONS, COPIES):
        t = LAYOUTS[layout](fz.asarray(array_of(dtype)))
        wanted = LAYOUTS[layout](array_of(dtype))
        t = t.copy()  # nothing else holds it
        keywords = {} if copy is None else {"copy": copy}
        if version is not None:
            keywords["max_version"] = version

        class Once:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **_):
                return t.__dlpack__(**keywords)  # noqa: B023

        try:
            got = np.from_dlpack(Once())
        except BufferError as error:
            assert copy is False and "cannot be lent" in str(error)  # noqa: PT017
            continue
        assert got.dtype.name == dtype and got.shape == t.shape
        assert np.array_equal(got, wanted)
        del got
        assert np.array_equal(np.asarray(t), wanted)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_torch(dtype, layout):
    torch = pytest.importorskip("torch")
    if layout == "backwards":
        pytest.skip("PyTorch has no negative strides")
    theirs = torch.from_numpy(array_of("float32")).to(getattr(torch, dtype))
    part = LAYOUTS[layout](theirs)
    for copy in COPIES:
        t = fz.from_dlpack(part, copy=copy)
        assert t.dtype.name == dtype and t.shape == tuple(part.shape)
        assert t.tolist() == part.tolist()
        ours = LAYOUTS[layout](fz.asarray(array_of("float32")).astype(dtype))
        back = torch.from_dlpack(ours)
        assert back.dtype == part.dtype and back.tolist() == part.tolist()


def test_a_device_is_asked_for():
    x = fz.ones(3)
    assert "dltensor" in repr(x.__dlpack__(dl_device=(1, 0)))
    assert np.from_dlpack(x, device="cpu", copy=True).tolist() == [1, 1, 1]
    with pytest.raises(BufferError) as caught:
        x.__dlpack__(dl_device=(2, 0))
    assert str(caught.value) == (
        '[__dlpack__] dl_device=(2, 0), but the tensor is on "cpu": use x.to_device(...).'
    )
    on_npu = fz.ones(3, device="npu")
    with pytest.raises(BufferError, match="use x.to_device"):
        on_npu.__dlpack__(dl_device=(1, 0), copy=False)
    assert '"dltensor"' in repr(on_npu.__dlpack__(dl_device=(1, 0)))
    with pytest.raises(TypeError):
        x.__dlpack__(dl_device=("cpu", 0))


def test_what_is_shared_outlives_the_interpreter():
    program = """
        import sys, threading
        import numpy as np
        import frazil as fz

        kept = [np.from_dlpack(fz.ones((64, 64))) for _ in range(4)]
        borrowed = [fz.from_dlpack(np.ones((64, 64)), copy=False) for _ in range(4)]
        sys.modules["keeps these"] = (kept, borrowed)
        capsule = fz.ones(3).__dlpack__(max_version=(1, 0))  # nobody consumes it
        thread = threading.Thread(target=lambda: kept.clear() or borrowed.pop())
        thread.start()
        thread.join()
        sys.keeps = fz.from_dlpack(np.ones(3), copy=False)
        print("end")
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "end\n", "")
