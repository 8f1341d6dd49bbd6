"""Several devices, threads and processes, and the compiled kernels that processes share."""

import multiprocessing
import os
import threading

import gpu
import pytest

import frazil as fz
from frazil import nn

# --- two devices ----------------------------------------------------------------------------------

TWO = {"FAKE_CUDA_DEVICES": "2"}


@pytest.mark.parametrize("order", ["eager", "lazy:1", "random:1", "random:2"])
def test_copies_between_devices(order):
    """Each device has a stream of its own: copies are ordered on both."""
    out = gpu.process(
        """
        right = 0
        for i in range(6):
            want = gpu.randn(300, 100, seed=i)
            x = fz.exp(want.to_device("cuda:0")) * 2
            y = x.to_device("cuda:1")
            del x
            z = fz.zeros((300, 100), device="cuda:0") - 1  # may get x's memory
            y = (y + 1).to_device("cuda:0")
            back = (y * 3).to_device("cuda:1").to_device("cpu")
            right += gpu.bits(back) == gpu.bits((fz.exp(want) * 2 + 1) * 3)
            right += y.device == "cuda" and (z == -1).all().item()
        print(right)
        """,
        FAKE_CUDA_ORDER=order,
        **TWO,
    )
    assert out == "12"


def test_the_second_device():
    out = gpu.process(
        """
        print(fz.cuda.device_count(), fz.cuda.properties(1)["name"])
        x = fz.asarray([1.0, 2.0], device="cuda:1", requires_grad=True)
        y = (x * x + fz.asarray(1.0)).sum()
        y.backward()
        print(x.device, y.device, x.grad.device, x.grad.tolist())
        print(x.__dlpack_device__(), fz.from_dlpack(x.detach()).device)
        print(fz.trace(lambda t: fz.sum(fz.exp(t), keepdims=True))(x.detach()).device)
        print(x.to_device("cuda").device, fz.zeros_like(x).device)
        print(fz.random.uniform((2,), device="cuda:1").device)
        print(fz.cuda.memory_stats(1)["live_bytes"] > 0)
        import pickle
        print(pickle.loads(pickle.dumps(x)).device)
        """,
        **TWO,
    )
    assert out.splitlines() == [
        "2 Fake GPU 1",
        "cuda:1 cuda:1 cuda:1 [2.0, 4.0]",
        "(2, 1) cuda:1",
        "cuda:1",
        "cuda cuda:1",
        "cuda:1",
        "True",
        "cuda:1",
    ]


def test_mixing_gpus_is_an_error():
    out = gpu.process(
        """
        x, y = fz.ones(3, device="cuda:0"), fz.ones(3, device="cuda:1")
        for f in (lambda: x + y, lambda: y * x, lambda: fz.trace(lambda a, b: a - b)(x, y)):
            try:
                f()
            except ValueError as error:
                print(error)
        try:
            fz.ones(3, device="cuda:2")
        except ValueError as error:
            print(error)
        """,
        **TWO,
    )
    message = "operands are on different devices: {} and {}; move one with x.to_device(...)."
    assert out.splitlines() == [
        "[add] " + message.format("cuda", "cuda:1"),
        "[multiply] " + message.format("cuda:1", "cuda"),
        "[subtract] " + message.format("cuda", "cuda:1"),
        "[ones] 'cuda:2' does not exist: this machine has 2 GPUs.",
    ]


def test_both_devices_at_once():
    out = gpu.process(
        """
        from frazil import nn
        step = fz.trace(lambda x: nn.softmax(fz.sin(x) * 2, -1))
        right = 0
        for i in range(5):
            want = gpu.randn(4, 50, seed=i)
            for device in ("cuda:0", "cuda:1"):
                got = step(want.to_device(device))
                right += got.device == fz.ones(1, device=device).device
                right += gpu.bits(got) == gpu.bits(nn.softmax(fz.sin(want) * 2, -1))
        print(right, fz.cuda.compile_stats()["compiled"] > 0)
        """,
        **TWO,
    )
    assert out == "20 True"


# --- threads --------------------------------------------------------------------------------------


def test_threads_share_a_device():
    errors = []
    traced = fz.trace(lambda x, k: nn.softmax(x * k, -1) + fz.sum(x))

    def work(k):
        try:
            for i in range(12):
                x = gpu.randn(5, 20 + k, seed=i)
                there = x.to_device("cuda")
                want = nn.softmax(x * k, -1) + fz.sum(x)
                for f in (traced, traced.__wrapped__):
                    assert gpu.bits(f(there, k)) == gpu.bits(want)
                there += 1
                assert gpu.bits(there[1:, ::2]) == gpu.bits((x + 1)[1:, ::2])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_a_tensor_goes_to_another_thread():
    x = fz.exp(gpu.randn(100).to_device("cuda"))
    out = []
    thread = threading.Thread(target=lambda: out.append((x * 2).to_device("cpu")))
    thread.start()
    thread.join(60)
    assert gpu.bits(out[0]) == gpu.bits(fz.exp(gpu.randn(100)) * 2)


# --- processes ------------------------------------------------------------------------------------


def test_a_forked_child_has_no_gpu():
    """It says so, and computes on the CPU; the parent goes on."""
    x = fz.arange(4, device="cuda") * 2
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        lines = []
        for f in (
            lambda: x.tolist(),
            lambda: (x + 1).tolist(),
            lambda: fz.zeros(3, device="cuda").tolist(),
            lambda: fz.cuda.synchronize(),
        ):
            try:
                lines.append(f"no error: {f()}")
            except RuntimeError as error:
                lines.append(str(error))
        lines.append(str((fz.arange(3) * 2).tolist()))
        os.write(write, "\n".join(lines).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        *errors, cpu = pipe.read().splitlines()
    assert os.waitpid(pid, 0)[1] == 0
    assert len(errors) == 4 and cpu == "[0, 2, 4]"
    for error in errors:
        assert "cuda:0 was opened before this process was forked" in error
        assert 'multiprocessing\'s "spawn"' in error
    assert x.tolist() == [0, 2, 4, 6] and (x + 1).sum().item() == 16


def test_a_child_forked_after_the_first_look_has_no_gpu():
    out = gpu.process(
        """
        import os
        print(fz.cuda.is_available(), flush=True)
        if (pid := os.fork()) == 0:
            try:
                fz.ones(2, device="cuda")
            except RuntimeError as error:
                print(error, flush=True)
            os._exit(0)
        print(os.waitpid(pid, 0)[1], fz.ones(2, device="cuda").tolist())
        """
    )
    first, error, last = out.splitlines()
    assert (first, last) == ("True", "0 [1.0, 1.0]")
    assert "the GPU driver was started before this process was forked" in error


def test_a_child_forked_before_the_first_use_has_a_gpu():
    out = gpu.process(
        """
        import os
        if (pid := os.fork()) == 0:
            print((fz.ones(2, device="cuda") + 1).tolist(), flush=True)
            os._exit(0)
        print(os.waitpid(pid, 0)[1], (fz.ones(2, device="cuda") * 3).tolist())
        """
    )
    assert out == "[2.0, 2.0]\n0 [3.0, 3.0]"


def doubled(x):
    return fz.exp(x) * 2


def test_spawned_children_have_gpus():
    x = gpu.randn(6).to_device("cuda")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        (got,) = pool.map(doubled, [x])
    assert got.device == "cuda" and gpu.bits(got) == gpu.bits(doubled(x))


# --- compiled kernels on disk ---------------------------------------------------------------------

COMPILES = """
x = gpu.randn(20, 30).to_device("cuda")
y = (fz.exp(x) * 2 - fz.sum(x, axis=1, keepdims=True)).tolist()
stats = fz.cuda.compile_stats()
print(*(stats[k] for k in ("compiled", "from_disk", "rejected_files")))
print(gpu.nvrtc().count("nvrtcCompileProgram"))
"""


def compiles(folder):
    return [int(n) for n in gpu.process(COMPILES, FRAZIL_CACHE_DIR=folder).split()]


def test_a_second_process_compiles_nothing(tmp_path):
    folder = tmp_path / "a" / "cache"
    made, found, rejected, calls = compiles(folder)
    assert made == calls > 0 and found == rejected == 0
    files = list(folder.iterdir())
    assert len(files) == made and all(f.suffix == ".cubin" for f in files)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert compiles(folder) == [0, made, 0, 0]


def test_damaged_files_are_not_used(tmp_path):
    made = compiles(tmp_path)[0]
    damaged = sorted(tmp_path.iterdir())
    for i, path in enumerate(damaged):
        data = path.read_bytes()
        if i % 3 == 0:
            path.write_bytes(data[:-1])
        elif i % 3 == 1:
            path.write_bytes(data[:-9] + bytes([data[-9] ^ 1]) + data[-8:])
        else:
            path.write_bytes(b"")
    assert compiles(tmp_path) == [made, 0, made, made]
    assert compiles(tmp_path) == [0, made, 0, 0]  # they were written anew


def test_files_of_others_are_not_used(tmp_path):
    made = compiles(tmp_path)[0]
    path = sorted(tmp_path.iterdir())[0]
    path.chmod(0o660)
    assert compiles(tmp_path)[:3] == [1, made - 1, 1]
    target = tmp_path / "elsewhere"
    path.rename(target)
    path.symlink_to(target)
    assert compiles(tmp_path)[0] == 1


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_folders_that_others_may_write_are_not_used(tmp_path, mode):
    made = compiles(tmp_path)[0]
    tmp_path.chmod(mode)
    assert compiles(tmp_path) == [made, 0, 0, made]
    tmp_path.chmod(0o700)
    assert compiles(tmp_path)[1] == made


def test_no_cache_on_disk(tmp_path):
    out = gpu.process(COMPILES, FRAZIL_CACHE_DIR="none", XDG_CACHE_HOME=tmp_path, HOME=tmp_path)
    assert int(out.split()[0]) > 0 and not list(tmp_path.iterdir())
    out = gpu.process(COMPILES, FRAZIL_CACHE_DIR="", XDG_CACHE_HOME=tmp_path)
    assert list((tmp_path / "frazil").iterdir())


def test_another_compiler_is_another_key(tmp_path):
    made = compiles(tmp_path)[0]
    for changed in ({"FAKE_NVRTC_VERSION": "12.8"}, {"FAKE_CUDA_ARCH": "80"}):
        out = gpu.process(COMPILES, FRAZIL_CACHE_DIR=tmp_path, **changed)
        assert [int(n) for n in out.split()][:2] == [made, 0]


def test_kernels_that_do_not_compile():
    """The error holds what the compiler says; the next try compiles."""
    out = gpu.process(
        """
        x = fz.arange(3, device="cuda")
        x.tolist()
        gpu.nvrtc().fail("nvrtcCompileProgram", 1, 6)
        try:
            (x * 7 - 5).tolist()
        except RuntimeError as error:
            print(error)
        print((fz.ones(2) * 2).tolist())
        """,
        FRAZIL_CACHE_DIR="none",
    )
    error, *_, cpu = out.splitlines()
    assert "NVRTC does not compile" in error and "compute capability 9.0" in error
    assert cpu == "[2.0, 2.0]"


def test_other_threads_run_while_a_compiler_is_waited_for():
    out = gpu.process(
        """
        import threading, time

        z = fz.asarray([[1, 2], [3, 4]], device="cuda")
        ticks, end = 0, threading.Event()

        def tick():
            global ticks
            while not end.wait(0.01):
                ticks += 1

        thread = threading.Thread(target=tick)
        thread.start()
        time.sleep(0.05)
        before = ticks
        product = z @ z
        during = ticks - before
        end.set()
        thread.join()
        print(product.tolist(), during > 10)
        """,
        FAKE_NVRTC_DELAY_MS=1500,
        FRAZIL_CACHE_DIR="none",
    )
    assert out == "[[7, 10], [15, 22]] True"
