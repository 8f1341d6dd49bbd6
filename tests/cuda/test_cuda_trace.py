"""Traced functions on a GPU: the bits of eager code there and on the CPU, launched as graphs."""

import subprocess
import sys

import gpu
import pytest

import frazil as fz
from frazil import nn


def launched():
    return gpu.driver().count("cuGraphLaunch")


def same_everywhere(body, calls, **options):
    """Calls a function on the CPU, on the GPU, and traced there; returns the traced function."""
    traced = fz.trace(body, **options)
    for args in calls:
        here = [a.to_device("cuda") if isinstance(a, fz.Tensor) else a for a in args]
        want, eager, got = body(*args), body(*here), traced(*here)
        assert got.device == "cuda"
        assert gpu.bits(got) == gpu.bits(eager) == gpu.bits(want)
    return traced


def test_a_chain_of_operations():
    def body(x, y):
        z = fz.exp(x) * y + 1
        return nn.softmax(z - fz.sum(z, axis=1, keepdims=True), -1) * fz.tanh(y.T)

    calls = [(gpu.randn(8, 8, seed=i), gpu.randn(8, 8, seed=i + 50)) for i in range(6)]
    assert same_everywhere(body, calls).stats()["plans"] == 1


@pytest.mark.parametrize("pure", [False, True])
def test_branches_on_data(pure):
    def body(x):
        y = x * 2 + 1
        if y.sum() > 0:
            return fz.exp(y)
        if (y[0] > 0).item():
            y = y - 3
        return -y

    calls = [(gpu.randn(5, seed=i) * (-1) ** i,) for i in range(12)]
    same_everywhere(body, calls, pure=pure)


def test_pure_functions_are_skipped():
    traced = same_everywhere(
        lambda x, k: fz.sin(x) * k, [(gpu.randn(7, seed=i), 3) for i in range(9)], pure=True
    )
    assert traced.stats()["skipped"] == 5


@pytest.mark.parametrize("pure", [False, True])
def test_random_numbers(pure):
    def run(device, wrap):
        fz.random.seed(4)
        drop = nn.Dropout(0.5)
        step = wrap(lambda x: x + fz.random.normal((9,), device=device) * drop(x))
        return [gpu.bits(step(gpu.randn(9).to_device(device))) for _ in range(7)]

    want = run("cpu", lambda f: f)
    assert len({w[2] for w in want}) == 7
    assert run("cuda", lambda f: f) == want
    assert run("cuda", lambda f: fz.trace(f, pure=pure)) == want


def test_plans_are_launched_as_graphs():
    """From the third run on, with operands at new addresses and of new values."""

    @fz.trace(proof=False)  # one plan from the first run on
    def f(x, k):
        y = nn.softmax(x * k, -1)
        return nn.layer_norm(y) + x

    held = []  # makes others' addresses new

    def call(i):
        x = gpu.randn(16, 64, seed=i)
        before, kernels = launched(), gpu.driver().count("cuLaunchKernel")
        got = f(x.to_device("cuda"), 1.0 + i)
        held.append(got if i % 3 else None)
        assert gpu.bits(got) == gpu.bits(nn.layer_norm(nn.softmax(x * (1.0 + i), -1)) + x)
        return launched() - before, gpu.driver().count("cuLaunchKernel") - kernels

    runs = [call(i) for i in range(10)]
    graphs = [g for g, _ in runs]
    assert graphs[0] == 0 and graphs[3:] == [1] * 7
    assert all(kernels == 0 for _, kernels in runs[4:])
    assert gpu.driver().count("cuGraphInstantiate") == 1 or gpu.driver().live("exec") >= 1


def test_shapes_have_plans_of_their_own():
    shapes = (5, 9, 5, 64, 9, 5, 200, 9, 5, 5)
    traced = same_everywhere(lambda x: fz.sum(x * x, -1), [(gpu.randn(3, n),) for n in shapes])
    assert traced.stats()["plans"] > 1


def test_gradients_in_traces():
    def body(w, x):
        return fz.grad(lambda w: (nn.gelu(x * w) ** 2).sum())(w)

    same_everywhere(body, [(gpu.randn(9, seed=i), gpu.randn(9, seed=9 + i)) for i in range(5)])


def test_rows_of_a_team_are_not_overwritten_while_it_reads():
    """A kernel's result over an operand that all threads of a row read."""

    def run(device, wrap):
        w = gpu.randn(3, 17).to_device(device).T.requires_grad_(True)

        @wrap
        def step(t):
            fz.logsumexp(w * t).backward()
            return w.grad * 1

        return [gpu.bits(step(gpu.randn(3).to_device(device))) for _ in range(5)]

    want = run("cpu", lambda f: f)
    assert run("cuda", lambda f: f) == want
    assert run("cuda", fz.trace) == want


ORDERS = """
from frazil import nn
def body(x, y):
    a, b = fz.exp(x), fz.tanh(y)  # independent
    z = nn.softmax(a + 1, -1) * nn.softmax(b * 2, -1)
    x += 1
    return z - fz.sum(z, axis=0), fz.max(a) * b
f = fz.trace(body)
out = []
for i in range(6):
    x, y = (gpu.randn(8, 33, seed=seed).to_device("cuda") for seed in (i, i + 9))
    out += [*f(x, y), x, x.to_device("cpu") * 2, *body(y, x), y[2:]]
    if i % 2:
        del out[-3]
import hashlib
print(hashlib.sha256(repr([gpu.bits(t) for t in out]).encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def in_order():
    return gpu.process(ORDERS, FAKE_CUDA_ORDER="eager")


@pytest.mark.parametrize("order", ["lazy", "lazy:1", "lazy:2", "random:1", "random:2", "random:3"])
def test_the_order_of_work_changes_nothing(in_order, order):
    assert gpu.process(ORDERS, FAKE_CUDA_ORDER=order) == in_order


def test_traces_tell_what_runs():
    f = fz.trace(lambda x: fz.exp(x) + 1)
    x = gpu.randn(5).to_device("cuda")
    for _ in range(4):
        f(x)
    assert "cuda" in str(f.explain())


# --- errors of kernels ----------------------------------------------------------------------------


FAILS = """
import inspect
def body(x):
    y = fz.exp(x) * 2
    z = fz.sum(y)  # LINE
    return z
f = {wrap}(body)
x = fz.ones(1000, device="cuda")
for _ in range({calls}):
    f(x).item()
gpu.driver().fail("kernel", 1, 700)
try:
    r = f(x)
    print("queued")
    r.item()
except RuntimeError as error:
    print(error)
try:
    (x + 1).tolist()
except RuntimeError as error:
    print("again:", error)
print(fz.ones(2).tolist())
"""


@pytest.mark.parametrize("wrap", ["(lambda f: f)", "fz.trace"])
@pytest.mark.parametrize("calls", [0, 1, 5])
def test_an_error_of_a_kernel_names_it(wrap, calls):
    """The context is lost, as a real one is; the CPU goes on."""
    queued, error, again, cpu = gpu.process(FAILS.format(wrap=wrap, calls=calls)).splitlines()
    assert queued == "queued"
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in error and "on cuda:0" in error
    assert "Launched since the last wait: " in error and "exp" in error
    assert again.startswith("again:") and "CUDA_ERROR_ILLEGAL_ADDRESS" in again
    assert cpu == "[1.0, 1.0]"


def test_an_error_of_a_kernel_names_the_line(tmp_path):
    path = tmp_path / "users_program.py"
    path.write_text(
        gpu.PRELUDE.format(folder=str(gpu.ROOT / "tests" / "cuda"))
        + """
@fz.trace
def f(x):
    y = fz.exp(x)
    return y * 2
x = fz.ones(10, device="cuda")
f(x)[0].item()
gpu.driver().fail("kernel", 1, 700)
try:
    f(x)[0].item()
except RuntimeError as error:
    print(error)
"""
    )
    out = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert "users_program.py:10" in out.stdout or "users_program.py:11" in out.stdout, out


def test_waiting_after_each_kernel_finds_the_one():
    out = gpu.process(
        """
        x = fz.ones(10, device="cuda")
        [f(x).tolist() for f in (fz.exp, fz.sin, fz.cos)]
        gpu.driver().fail("kernel", 2, 700)
        try:
            a, b, c = fz.exp(x), fz.sin(x), fz.cos(x)
            print([t.tolist() for t in (a, b, c)])
        except RuntimeError as error:
            print(error)
        """,
        FRAZIL_CUDA_SYNC="1",
    )
    assert "Launched since the last wait: " in out and "sin" in out
    assert "exp" not in out and "cos" not in out and "FRAZIL_CUDA_SYNC" not in out


@pytest.mark.parametrize("call", ["cuGraphInstantiate", "cuGraphAddKernelNode", "cuGraphCreate"])
def test_what_the_driver_refuses_of_graphs_goes_step_by_step(call):
    f = fz.trace(lambda x: nn.softmax(x, -1) * fz.sum(x))
    x = gpu.randn(6, 11)
    gpu.driver().fail(call, 1, 801)
    for _ in range(6):
        assert gpu.bits(f(x.to_device("cuda"))) == gpu.bits(nn.softmax(x, -1) * fz.sum(x))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "bfloat16", "float64"])
def test_fills_happen_on_the_device(dtype):
    """No bytes of the host's move."""
    driver = gpu.driver()
    x = fz.ones((3, 4), dtype=dtype, device="cuda")
    before = driver.count("cuMemcpyHtoDAsync")
    made = [
        fz.full((5, 7), 1, dtype=dtype, device="cuda"),
        fz.zeros((5, 7), dtype=dtype, device="cuda"),
        fz.ones_like(x),
    ]
    assert driver.count("cuMemcpyHtoDAsync") == before
    for got, value, shape in zip(made, (1, 0, 1), ((5, 7), (5, 7), (3, 4)), strict=True):
        assert got.device == "cuda"
        assert gpu.bits(got) == gpu.bits(fz.full(shape, value, dtype=dtype))


def test_gradients_of_traced_calls_move_no_bytes():
    """The seed and the zeros of gradients are arguments of kernels: nothing cuts a graph in two."""

    def f(x):
        return fz.grad(lambda t: fz.logsumexp(t) + t[1])(x)

    traced = fz.trace(f, proof=False)
    x = fz.arange(6, dtype=fz.float32, device="cuda")
    want = gpu.bits(f(x.to_device("cpu")))
    for _ in range(3):
        assert gpu.bits(traced(x)) == want
    before = gpu.driver().count("cuMemcpyHtoDAsync")
    graphs = gpu.driver().count("cuGraphLaunch")
    y = traced(x)
    assert gpu.driver().count("cuMemcpyHtoDAsync") == before
    assert gpu.driver().count("cuGraphLaunch") == graphs + 1
    assert gpu.bits(y) == want
