"""The rows of the table, as data: sizes, tolerances, aims.

A row's `kind` names the function that makes its inputs (inputs.py) and, in the package of each
framework (forms/), the function that gives its forms. An aim is the wanted ratio of a peer's best
form's time over frazil's; of a pair of aims the first is about the peer's plain form, and either
may be None. "limit" is what the machine allows (forms/frazil/limits.py), and an aim below 1.
"""

from dataclasses import dataclass, field, replace

MI = 1 << 20


@dataclass(frozen=True)
class Row:
    """One workload."""

    key: str
    title: str
    sizes: dict  # what inputs.py takes
    smoke: dict = field(default_factory=dict)  # sizes that replace them in a quick check
    aims: dict = field(default_factory=dict)  # peer -> ratio, or (to its plain, to its best form)
    tolerance: float = 1e-5  # of a result's difference to the reference, over the largest element
    average: bool = False  # the same over averages: a few elements may differ
    kind: str = ""
    threads: int = 2
    plain_too: bool = False  # also wanted of the plain decorator, at half the ratio
    measure: str = "time"  # or "scaling" (time on one thread / on two) or "memory" (bytes)
    flops: float = 0  # of a call, for the roofline
    bytes: float = 0  # read and written at least, for the roofline
    warm: int = 5  # calls before the result is looked at
    own: float = 0  # frazil's own figure: at most so many bytes, or at least so much scaling
    forms: str = ""  # a pattern of the forms that are run; all if it is empty

    def __post_init__(self):
        if not self.kind:
            object.__setattr__(self, "kind", self.key)

    def of_size(self, smoke):
        """The sizes of a full run or of a quick check."""
        return self.sizes | (self.smoke if smoke else {})


def _matmul(n, torch, compiled, jax, numpy, limit=None, **more):
    aims = {"torch": torch, "torch.compile": compiled, "jax": jax, "numpy": numpy}
    if limit:
        aims["limit"] = limit
    aims = {k: v for k, v in aims.items() if v}
    return Row(
        f"matmul_{n}", f"matmul {n}", {"n": n}, {"n": min(n, 32)}, aims, kind="matmul",
        flops=2 * n**3, bytes=12 * n**2, tolerance=2e-5, **more,
    )  # fmt: skip


def _transformer(layers, d, t, batch, heads, vocab):
    return dict(layers=layers, d=d, t=t, batch=batch, heads=heads, vocab=vocab)


_SMALL = _transformer(1, 16, 16, 1, 4, 27)
_LARGE = _transformer(4, 128, 64, 12, 4, 65)
_TINY = _transformer(1, 8, 4, 2, 2, 11)


def _cnn(batch):
    return Row(
        f"cnn_{batch}", f"CNN 3x32x32, channels 16-32-64, training step, batch {batch}",
        {"size": 32, "channels": (3, 16, 32, 64), "classes": 10, "batch": batch},
        {"size": 8, "channels": (3, 4, 5, 6), "batch": 2}, {"torch": 1},
        kind="cnn", tolerance=1e-3,
    )  # fmt: skip


def _conv_gradients(size, channels, outputs, kernel=3, stride=1):
    sizes = dict(
        batch=32, size=size, channels=channels, outputs=outputs, kernel=kernel, stride=stride
    )
    of = f"conv {kernel}x{kernel}, {channels} to {outputs}, {size}x{size}, batch 32"
    of += f", stride {stride}" if stride > 1 else ""
    key = f"{kernel}_{channels}_{outputs}_{size}_{stride}"
    flops = 2 * 32 * (size // stride) ** 2 * kernel**2 * channels * outputs
    return [
        Row(
            f"conv_to_{to}_{key}", f"gradient to the {to}, {of}", sizes,
            {"batch": 2, "size": min(size, 7), "channels": 3, "outputs": 4}, {"torch": 1},
            kind=f"conv_to_{to}", tolerance=1e-4, flops=flops,
        )
        for to in ("image", "kernel")
    ]  # fmt: skip


CALLS = [
    Row(
        "add_16", "eager `a + b`, 16 f32", {"n": 16}, {},
        {"torch": (18, None), "jax": 120, "numpy": 5},
    ),
    Row(
        "call_16", "traced call `a*b + a`, 16 f32", {"n": 16}, {},
        {"torch": (9, None), "torch.compile": 65, "jax": 22, "numba": 2.8}, plain_too=True,
    ),
    Row(
        "mlp", "MLP 4-64-64-2, batch 1", {"sizes": (4, 64, 64, 2), "batch": 1}, {},
        {"torch": (20, 9), "torch.compile": 28, "jax": (36, None), "numba": 2}, plain_too=True,
    ),
    Row(
        "first_call", "first call of a fresh 50-op function", {"n": 1024, "ops": 50}, {"ops": 10},
        {"torch.compile": 500, "jax": 25}, warm=1, tolerance=1e-4,
    ),
    _matmul(8, (5, None), None, 100, 2.8),
    _matmul(32, (3, None), None, 50, 2.2),
    _matmul(64, (1.6, None), None, 15, 1.25),
]  # fmt: skip

ARRAYS = [
    Row(
        "chain_64mib", "10-op chain, 64 MiB arrays", {"n": 16 * MI}, {"n": 1 << 12},
        {"torch": (35, None), "torch.compile": 3.5, "jax": 3.2, "xla": 1.3, "limit": 0.92},
        kind="chain", flops=10 * 16 * MI, bytes=12 * 16 * MI,
    ),
    Row(
        "chain_64ki", "10-op chain, 64 Ki elements", {"n": 1 << 16}, {"n": 1 << 10},
        {"torch": (8, None), "torch.compile": 3.2, "jax": 10, "numba": 1.15}, kind="chain",
    ),
    Row(
        "add_64mib", "64 MiB add into a new array", {"n": 16 * MI}, {"n": 1 << 12},
        {"torch": (3, 1.1), "torch.compile": 3, "jax": 3, "xla": 1.6},
        flops=16 * MI, bytes=12 * 16 * MI,
    ),
    *(
        Row(
            name, f"{title}, 64 Ki, one thread", {"n": 1 << 16}, {"n": 1 << 10},
            aims, kind="unary", threads=1, tolerance=2e-6,
        )
        for name, title, aims in (
            ("exp", "exp", {"torch": 1, "torch.compile": 3, "jax": 2.6}),
            ("tanh", "tanh", {"torch": 1.3, "torch.compile": 8, "jax": 1.7}),
            ("gelu", "gelu (tanh form)", {"torch": 5, "torch.compile": 6, "jax": 1.8}),
            ("erf", "erf", {"torch": 2, "torch.compile": 3, "jax": 1.3}),
        )
    ),
    Row(
        "softmax", "softmax 4096x1024", {"shape": (4096, 1024)}, {"shape": (16, 32)},
        {"torch": 1.5, "torch.compile": 1.8, "jax": 2}, bytes=8 * 4096 * 1024,
        flops=5 * 4096 * 1024,
    ),
    Row(
        "layer_norm", "layer norm 4096x1024", {"shape": (4096, 1024)}, {"shape": (16, 32)},
        {"torch": 1.1, "torch.compile": 2.2, "jax": 1.9}, bytes=8 * 4096 * 1024,
        flops=8 * 4096 * 1024,
    ),
    Row(
        "attention", "attention T=1024, D=64, H=8", {"t": 1024, "d": 64, "h": 8},
        {"t": 32, "d": 8, "h": 2}, {"torch": (2, 1.15), "torch.compile": 2.7, "jax": 1.6},
        flops=4 * 8 * 1024 * 1024 * 64, bytes=16 * 8 * 1024 * 64,
    ),
    _matmul(512, 1.08, 1.08, 1.2, 1.15, 0.78),
    _matmul(1024, 1.08, 1.08, 1.2, 1.15, 0.78),
    _matmul(2048, 1.08, 1.08, 1.2, 1.15, 0.83),
    Row(
        "conv", "conv 3x3, 64 to 64, 32x32, batch 8",
        {"batch": 8, "size": 32, "channels": 64}, {"batch": 2, "size": 6, "channels": 4},
        {"torch": (1.1, 1), "torch.compile": 1.05, "jax": 2.3},
        flops=2 * 8 * 32 * 32 * 64 * 64 * 9, bytes=4 * (2 * 8 * 32 * 32 * 64 + 9 * 64 * 64),
        tolerance=2e-5,
    ),
    *_conv_gradients(32, 3, 16),
    *_conv_gradients(32, 16, 32),
    *_conv_gradients(16, 32, 64),
    *_conv_gradients(8, 64, 64),
    *_conv_gradients(32, 16, 32, stride=2),
    *_conv_gradients(16, 16, 32, kernel=5),
    *_conv_gradients(16, 64, 64, kernel=1),
    Row(
        "two_matmuls", "two independent 256³ matmuls, 2 threads against 1", {"n": 256}, {"n": 16},
        {}, measure="scaling", tolerance=2e-5, own=1.9,
    ),
]  # fmt: skip

NETWORKS = [
    Row(
        "mnist", "MNIST MLP 784-128-10 training step, batch 64",
        {"sizes": (784, 128, 10), "batch": 64}, {"sizes": (12, 8, 4), "batch": 4},
        {"torch": 1.8, "torch.compile": 2.5, "jax": 2.2}, tolerance=1e-4, plain_too=True,
    ),
    _cnn(32),
    _cnn(128),
    Row(
        "transformer_16", "one-layer transformer, d 16, training step", _SMALL, _TINY,
        {"torch": (16, 12), "torch.compile": 11, "jax": 4.4},
        kind="transformer", tolerance=1e-3, plain_too=True,
    ),
    Row(
        "transformer_128", "4-layer transformer, d 128, T 64, batch 12, training step", _LARGE,
        _TINY, {"torch": 1.7, "torch.compile": 1.6, "jax": 4.4}, kind="transformer",
        tolerance=1e-3,
    ),
    Row(
        "lstm", "LSTM, h 64, batch 1, 128 steps", {"h": 64, "steps": 128}, {"h": 4, "steps": 5},
        {"torch": (20, 2.3), "torch.compile": 30, "jax": 1.5}, tolerance=1e-4,
    ),
    Row(
        "adam_20m", "Adam, 20 M parameters", {"count": 1, "n": 20_000_000}, {"n": 1000},
        {"torch": (6, 1.05), "torch.compile": 1.4, "jax": 1.6}, kind="adam", tolerance=1e-4,
        bytes=28 * 20e6, flops=12 * 20e6,
    ),
    Row(
        "adam_100x1k", "Adam, 100 tensors of 1 K", {"count": 100, "n": 1000}, {"count": 3, "n": 5},
        {"torch": (40, 10), "torch.compile": 9, "jax": 12}, kind="adam", tolerance=1e-4,
    ),
    Row(
        "memory", "peak memory of a training step, transformer, batch 32",
        _LARGE | {"batch": 32}, _TINY, {}, kind="transformer", measure="memory", tolerance=1e-3,
        own=110 * MI,
    ),
]  # fmt: skip

SIMULATIONS = [
    Row(
        "lorenz", "RK4 of Lorenz, 1000 steps", {"steps": 1000, "dt": 0.005}, {"steps": 10},
        {"torch": 1000, "jax": (50, 0.9)}, tolerance=1e-2,
    ),
    Row(
        "black_scholes", "Black-Scholes, 4 M", {"n": 4_000_000}, {"n": 1000},
        {"torch": 9, "torch.compile": 6, "jax": 1.7}, tolerance=1e-5, bytes=20 * 4e6,
        flops=60 * 4e6,
    ),
    Row(
        "mandelbrot", "Mandelbrot 1024², 100 iterations", {"size": 1024, "iterations": 100},
        {"size": 32, "iterations": 20},
        {"torch": 25, "torch.compile": 25, "jax": (8, None), "numba": 2}, tolerance=1e-3,
        average=True, flops=8 * 100 * MI, bytes=12 * MI,
    ),
    Row(
        "n_body", "N-body 1024", {"n": 1024}, {"n": 16},
        {"torch": 8, "torch.compile": 9, "jax": (11, None), "xla": 2}, tolerance=1e-4,
        flops=20 * MI, bytes=36 * 1024,
    ),
    Row(
        "k_means", "k-means step 100 K x 16", {"n": 100_000, "d": 16, "k": 8}, {"n": 100},
        {"torch": 4, "torch.compile": 4, "jax": (2, None), "xla": 2}, tolerance=1e-3,
        bytes=4 * 16 * 1e5, flops=3 * 16 * 8 * 1e5,
    ),
]  # fmt: skip

# Only for the plots: the same workloads over size, and on one thread against all.
_SOME = "traced|pure|limit|plain|jit|numba|compile"
_QUICK = "traced|pure|limit|plain|jit$|numba"  # to prepare, on every number of threads
_OVER_SIZE = [
    *(
        Row(
            f"chain_{n}", f"10-op chain, {n} elements", {"n": n}, {"n": min(n, 64)}, kind="chain",
            forms=_SOME,
        )
        for n in (16, 256, 4096, MI)
    ),
    *(
        Row(
            f"matmul_{n}", f"matmul {n}", {"n": n}, {"n": 16}, kind="matmul", tolerance=2e-5,
            forms=_SOME + "|eager",
        )
        for n in (16, 128, 256)
    ),
]  # fmt: skip


def _over_threads(key):
    row = next(row for row in ARRAYS + NETWORKS + SIMULATIONS if row.key == key)
    return replace(row, key=key + "_threads", measure="scaling", aims={}, own=0, forms=_QUICK)


_OVER_THREADS = [
    _over_threads(key)
    for key in (
        "chain_64mib softmax attention matmul_1024 conv transformer_128 black_scholes".split()
    )
]

GROUPS = {
    "Calls": CALLS,
    "Arrays": ARRAYS,
    "Networks": NETWORKS,
    "Simulations": SIMULATIONS,
    "Over size": _OVER_SIZE,
    "Over threads": _OVER_THREADS,
}
ROWS = {row.key: row for rows in GROUPS.values() for row in rows}
SIZES = {
    "chain": "chain_16 chain_256 chain_4096 chain_64ki chain_1048576 chain_64mib".split(),
    "matmul": [f"matmul_{n}" for n in (8, 16, 32, 64, 128, 256, 512, 1024, 2048)],
}
