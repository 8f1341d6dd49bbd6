"""What is there, what is missing, what fits: devices, libraries and memory."""

import shutil
from ctypes.util import find_library

import gpu
import numpy as np
import pytest

import frazil as fz

MIB = 1 << 20


def test_device_names():
    assert fz.zeros(2, device="cuda").device == "cuda"
    assert fz.zeros(2, device="cuda:0").device == "cuda"
    assert fz.device("cuda:0") == "cuda:0" and fz.zeros(2, device=fz.device("cuda")).sum() == 0
    for wrong in ("cuda:", "cuda:-1", "cuda:x", "cuda:0 ", "cuda:64", "cuda:1000000", "gpu"):
        with pytest.raises(ValueError, match=rf"\[zeros\] unknown device '{wrong}'; known: 'cpu'"):
            fz.zeros(2, device=wrong)


@pytest.mark.parametrize("index", [1, 63])
def test_unknown_index(index):
    with pytest.raises(ValueError, match=rf"'cuda:{index}' does not exist: this machine has 1 GPU"):
        fz.zeros(2, device=f"cuda:{index}")


def test_mixing_devices_names_both():
    x, y = fz.ones(3), fz.ones(3, device="cuda")
    for f, first, second in (
        (lambda: x + y, "cpu", "cuda"),
        (lambda: y + x, "cuda", "cpu"),
        (lambda: fz.where(x > 0, y, y), "cpu", "cuda"),
        (lambda: fz.where(y > 0, y, x), "cuda", "cpu"),
        (lambda: fz.concat([x, y]), "cpu", "cuda"),
        (lambda: y.__iadd__(x), "cuda", "cpu"),
        (lambda: fz.trace(lambda a, b: a * b)(x, y), "cpu", "cuda"),
    ):
        message = (
            rf"operands are on different devices: {first} and {second}; move one with x.to_dev"
        )
        with pytest.raises(ValueError, match=message):
            f()
    assert x.tolist() == y.tolist() == [1.0, 1.0, 1.0]


def test_one_number_of_the_cpu_goes_along():
    y = fz.ones(3, device="cuda")
    for other in (fz.asarray(2.0), 2.0, True, fz.asarray(2), np.float64(2), fz.asarray([2.0])):
        assert (y + other).device == (other + y).device == "cuda"
        assert (y + other).tolist() == [1 + float(other)] * 3
    assert fz.where(fz.asarray(True), y, fz.asarray(0.0)).tolist() == [1.0, 1.0, 1.0]
    assert fz.where(fz.asarray(True), y, fz.asarray(0.0)).device == "cuda"
    assert (y + fz.broadcast_to(fz.asarray(4.0), (3,))).tolist() == [5.0, 5.0, 5.0]
    # Indices go where the array is.
    assert fz.take(fz.asarray([1.0, 2.0]), fz.asarray([1, 0], device="cuda")).device == "cpu"
    assert fz.take(y * 3, fz.asarray([1, 0])).tolist() == [3.0, 3.0]


def test_properties_and_versions():
    assert fz.cuda.is_available() and fz.cuda.device_count() == 1
    info = fz.cuda.properties()
    assert info["name"] == "Fake GPU 0" and info["compute_capability"] == (9, 0)
    assert info["memory_bytes"] == 2 << 30 and info["multiprocessors"] > 0
    assert fz.cuda.properties(0) == fz.cuda.properties("cuda") == info
    versions = fz.cuda.versions()
    assert versions["driver"] == "12.9" and versions["nvrtc"] == "12.9"
    assert set(versions) == {"driver", "nvrtc", "cublasLt", "nccl"}
    with pytest.raises(ValueError, match='needs a GPU such as "cuda:0", got "cpu"'):
        fz.cuda.properties("cpu")
    with pytest.raises(ValueError, match="'cuda:7' does not exist"):
        fz.cuda.memory_stats(7)


def test_memory_statistics():
    fz.cuda.trim()
    before = fz.cuda.memory_stats()
    x = fz.zeros(MIB, dtype="float32", device="cuda")
    fz.cuda.synchronize()
    held = fz.cuda.memory_stats()
    assert held["live_bytes"] == before["live_bytes"] + 4 * MIB
    assert held["allocations"] > before["allocations"]
    assert held["reserved_bytes"] >= held["live_bytes"]
    assert held["peak_bytes"] >= held["live_bytes"]
    assert gpu.driver().live_bytes() == held["reserved_bytes"]
    del x
    after = fz.cuda.memory_stats()
    assert after["live_bytes"] == before["live_bytes"]
    assert after["reserved_bytes"] == held["reserved_bytes"]  # kept
    y = fz.zeros(MIB, dtype="float32", device="cuda")
    fz.cuda.synchronize()
    assert fz.cuda.memory_stats()["driver_requests"] == held["driver_requests"]  # and given out
    del y
    fz.cuda.trim()
    assert fz.cuda.memory_stats()["reserved_bytes"] <= held["reserved_bytes"] - 4 * MIB
    fz.cuda.reset_peak_memory()
    trimmed = fz.cuda.memory_stats()
    assert trimmed["peak_bytes"] == trimmed["live_bytes"]


def test_memory_limit():
    x = fz.zeros(MIB, dtype="float32", device="cuda") + 1
    fz.cuda.synchronize()
    fz.cuda.set_memory_limit(fz.cuda.memory_stats()["live_bytes"] + 2 * MIB)
    try:
        with pytest.raises(MemoryError, match=r"cannot allocate \d+ bytes on cuda:0: the limit is"):
            (x + x)[0].item()
        assert x[0].item() == 1.0 and x.sum().item() == MIB
        assert fz.ones(10, device="cuda").tolist() == [1.0] * 10  # what fits goes on
    finally:
        fz.cuda.set_memory_limit(0)
    assert (x + x)[5].item() == 2.0
    with pytest.raises(ValueError, match="bytes must be at least 0, got -1"):
        fz.cuda.set_memory_limit(-1)


def test_out_of_memory():
    x = fz.ones(MIB, dtype="float32", device="cuda")
    wide = fz.broadcast_to(fz.reshape(x, (1, MIB)), (1024, MIB))
    with pytest.raises(
        MemoryError, match=r"cannot allocate 4294967296 bytes on cuda:0: the driver"
    ):
        (wide + 1)[0, 0].item()
    wide = fz.broadcast_to(fz.reshape(x, (1, MIB)), (1 << 35, MIB))
    with pytest.raises(MemoryError, match=r"cannot allocate \d+ bytes"):
        (wide + 1)[0, 0].item()
    assert x.sum().item() == MIB
    assert (x + 1)[999].item() == 2.0


def test_a_full_driver_is_asked_again_after_a_trim():
    """Memory that is kept and free goes back before there is an error."""
    fz.cuda.trim()
    out = gpu.process(
        """
        kept = [fz.zeros(10 << 20, dtype="float32", device="cuda") for _ in range(3)]
        fz.cuda.synchronize()
        del kept  # 120 MiB, kept in pieces of 40
        before = fz.cuda.memory_stats()
        x = fz.full(25 << 20, 7.0, dtype="float32", device="cuda")  # 100 MiB
        print(x[-1].item(), fz.cuda.memory_stats()["retries"] - before["retries"])
        try:
            y = x + x
            y[0].item()
        except MemoryError as error:
            print(error)
        print(x[0].item(), fz.cuda.memory_stats()["live_bytes"])
        """,
        FAKE_CUDA_MEMORY=160 << 20,
    )
    first, message, last = out.splitlines()
    assert first == "7.0 1"
    assert message.startswith(
        "[allocate] cannot allocate 104857600 bytes on cuda:0: the driver has"
    )
    assert "104857600 bytes are in use by arrays" in message
    assert last == f"7.0 {100 << 20}"


def test_a_failing_allocation_of_the_driver():
    fz.cuda.trim()
    gpu.driver().fail("cuMemAlloc", 1, 2)  # the first only: after the trim there is enough
    before = fz.cuda.memory_stats()["retries"]
    x = fz.ones(3 * MIB, dtype="float32", device="cuda")
    assert x.sum().item() == 3 * MIB
    assert fz.cuda.memory_stats()["retries"] >= before


# --- what is missing ------------------------------------------------------------------------------

TELL = """
print(fz.cuda.is_available(), fz.cuda.device_count())
try:
    print((fz.zeros(2, device="cuda") + 1).tolist())
except Exception as error:
    print(type(error).__name__, error)
print((fz.zeros(2) + 1).tolist())
"""


def told(**environment):
    available, error, cpu = gpu.process(TELL, **environment).splitlines()
    assert cpu == "[1.0, 1.0]"
    return available, error


@pytest.fixture
def libraries(tmp_path):
    """A folder that holds links to some of the fakes."""

    def make(*names):
        for name in names:
            (tmp_path / name).symlink_to(gpu.FAKES / name)
        return str(tmp_path)

    return make


def test_no_driver(libraries):
    available, error = told(FRAZIL_CUDA_PATH=libraries("libnvrtc.so.12"))
    assert available == "False 0"
    assert error.startswith("RuntimeError [zeros] libcuda cannot be opened (tried /")
    assert error.endswith("install NVIDIA's display driver.")


def test_no_device():
    available, error = told(FAKE_CUDA_DEVICES=0)
    assert available == "False 0"
    assert error == (
        "RuntimeError [zeros] the driver finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES."
    )


def test_an_old_driver():
    available, error = told(FAKE_CUDA_DRIVER=11080)
    assert available == "False 0"
    assert "supports CUDA 11.8, frazil needs 12.0 or newer: update the driver." in error


def test_an_old_gpu():
    _, error = told(FAKE_CUDA_ARCH=37, FAKE_NVRTC_ARCHS="37")
    assert "has compute capability 3.7; 5.0 is the least." in error


def test_a_broken_library(tmp_path):
    (tmp_path / "libcuda.so.1").write_text("not a library")
    available, error = told(FRAZIL_CUDA_PATH=str(tmp_path))
    assert available == "False 0"
    assert "libcuda cannot be opened" in error


def test_no_nvrtc(libraries):
    if any(find_library(name) for name in ("nvrtc", "libnvrtc.so.13", "libnvrtc.so.12")):
        pytest.skip("the system has an NVRTC of its own")
    out = gpu.process(
        "from frazil import _frazil\n_frazil.cuda.set_wheel_folder('')" + TELL,
        FRAZIL_CUDA_PATH=libraries("libcuda.so.1"),
    )
    available, error, cpu = out.splitlines()
    assert available == "False 1" and cpu == "[1.0, 1.0]"
    assert "libnvrtc cannot be opened (tried /" in error
    assert "pip install 'frazil[cuda]', or install the CUDA toolkit." in error


def test_no_cublas(libraries):
    if any(find_library(name) for name in ("cublasLt", "libcublasLt.so.13", "libcublasLt.so.12")):
        pytest.skip("the system has a cuBLASLt of its own")
    out = gpu.process(
        """
        from frazil import _frazil
        _frazil.cuda.set_wheel_folder("")
        x = fz.ones((2, 2), device="cuda")
        try:
            x @ x
        except RuntimeError as error:
            print(error)
        with fz.precision("exact"):
            print((x @ x).tolist())
        """,
        FRAZIL_CUDA_PATH=libraries("libcuda.so.1", "libnvrtc.so.12"),
    )
    error, exact = out.splitlines()
    assert "libcublasLt cannot be opened (tried /" in error
    assert error.endswith('fz.precision("exact") multiplies by frazil\'s own kernel.')
    assert exact == "[[2.0, 2.0], [2.0, 2.0]]"


@pytest.mark.parametrize("driver, wanted", [(12090, "12"), (13000, "13")])
def test_libraries_that_the_driver_understands(tmp_path, driver, wanted):
    """Code of CUDA 13 does not run on a driver of 12."""
    for name in ("libcuda.so.1", "libnvrtc.so.12"):
        shutil.copy(gpu.FAKES / name, tmp_path / name)
    shutil.copy(gpu.FAKES / "libnvrtc.so.12", tmp_path / "libnvrtc.so.13")
    out = gpu.process(
        """
        fz.ones(2, device="cuda").tolist()
        with open("/proc/self/maps") as maps:
            print({line.rsplit(".", 1)[-1].strip() for line in maps if "/libnvrtc.so." in line})
        """,
        FRAZIL_CUDA_PATH=str(tmp_path),
        FAKE_CUDA_DRIVER=driver,
    )
    assert out == f"{{'{wanted}'}}"


def test_an_architecture_that_nvrtc_does_not_know():
    """PTX of the newest that it knows, which the driver makes ready."""
    out = gpu.process(
        """
        print((fz.arange(5, device="cuda") * 2).tolist())
        print("compute_" in gpu.nvrtc().log(), "sm_121" in gpu.nvrtc().log())
        """,
        FAKE_CUDA_ARCH=121,
        FRAZIL_CACHE_DIR="none",
    )
    assert out == "[0, 2, 4, 6, 8]\nTrue False"


def test_errors_of_the_driver_have_names():
    out = gpu.process(
        """
        gpu.driver().fail("cuDevicePrimaryCtxRetain", 1, 2)
        for _ in range(2):  # the same error each time
            try:
                fz.zeros(2, device="cuda")
            except MemoryError as error:
                print(error)
        """
    )
    line = "[zeros] no context on cuda:0: CUDA_ERROR_OUT_OF_MEMORY (out of memory)."
    assert out.splitlines() == [line, line]
