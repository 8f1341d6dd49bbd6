"""Times on one GPU, beside PyTorch where it is installed: the rows of the evidence's table."""

import ctypes
import math
import os
import time

import frazil as fz
from frazil import nn, optim

try:
    import torch

    if not torch.cuda.is_available():
        torch = None
except ImportError:
    torch = None

COLUMNS = (1 << 10, 1 << 12, 1 << 14, 1 << 16)
MATMULS = (("float32", 4096), ("tf32", 4096), ("float16", 8192), ("bfloat16", 8192))


def microseconds(call, wait, least):
    """Of one call, the best of several series that last about `least` seconds together."""
    for _ in range(5):  # compiled, recorded, launched as a graph
        call()
    wait()
    count, best = 1, math.inf
    end = time.perf_counter() + least
    while True:
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        now = time.perf_counter()
        best = min(best, (now - start) / count)
        if now > end:
            return best * 1e6
        if now - start < least / 10:
            count *= 2


def copier(source, target):
    """A function that copies bytes as the driver does it, in the order of frazil's work."""
    library = ctypes.CDLL(os.path.join(os.environ.get("FRAZIL_CUDA_PATH", ""), "libcuda.so.1"))
    faces = [t.__cuda_array_interface__ for t in (target, source)]
    pointers = [ctypes.c_uint64(face["data"][0]) for face in faces]
    size, stream = ctypes.c_size_t(source.nbytes), ctypes.c_void_p(faces[0]["stream"])

    def copy(held=(source, target)):
        assert library.cuMemcpyDtoDAsync_v2(*pointers, size, stream) == 0

    return copy


class Bench:
    def __init__(self, tiny):
        self.tiny = tiny
        self.least = 0.01 if tiny else 0.5
        self.elements = 1 << 12 if tiny else 1 << 26
        self.rows = []
        self.copy = None  # bytes a microsecond

    def add(self, name, call, figure, torch_call=None, **compile_options):
        us = microseconds(call, fz.cuda.synchronize, self.least)
        others = [None, None]
        if torch and torch_call:
            compiled = torch.compile(torch_call, **compile_options)
            for i, other in enumerate((torch_call, compiled)):
                others[i] = round(microseconds(other, torch.cuda.synchronize, self.least), 1)
        row = {"name": name, "us": us, "figure": figure(us)}
        self.rows.append(row | {"torch_us": others[0], "compile_us": others[1]})
        return us

    def of_copy(self, size):
        """A figure: the rate of `size` bytes, and its part of the copy's."""
        return lambda us: f"{size / us / 1e3:.1f} GB/s, {size / us / self.copy:.2f} of a copy"

    def run(self):
        self.pointwise()
        for columns in COLUMNS[:1] if self.tiny else COLUMNS:
            self.rows_of(columns)
        self.small_kernels()
        for dtype, n in MATMULS:
            self.product(dtype, 64 if self.tiny else n)
        self.transformer()
        return self.rows

    def pointwise(self):
        n = self.elements
        x, y = (fz.random.normal((n,), device="cuda") for _ in range(2))
        us = self.add(
            f"copy of {n} float32",
            copier(x, y + 0),
            lambda us: f"{8 * n / us / 1e3:.1f} GB/s",
        )
        self.copy = 8 * n / us

        def chain(lib, a, b):
            return lib.tanh(a * b + 1) * a - lib.exp(b) / 2

        f = fz.trace(lambda a, b: chain(fz, a, b), pure=True)
        there = torch_chain = None
        if torch:
            there = [torch.randn(n, device="cuda") for _ in range(2)]
            torch_chain = lambda: chain(torch, *there)  # noqa: E731
        self.add(f"pointwise chain of {n}", lambda: f(x, y), self.of_copy(12 * n), torch_chain)

    def rows_of(self, columns):
        shape = (max(self.elements // columns, 1), columns)
        size = 8 * math.prod(shape)
        x = fz.random.normal(shape, device="cuda")
        there = torch.randn(shape, device="cuda") if torch else None
        for name, f, torch_f in (
            ("softmax", lambda t: nn.softmax(t, -1), lambda: torch.softmax(there, -1)),
            (
                "layer norm",
                lambda t: nn.layer_norm(t),
                lambda: torch.nn.functional.layer_norm(there, (columns,)),
            ),
        ):
            step = fz.trace(f, pure=True)
            name = f"{name} of {shape[0]} x {columns}"
            self.add(name, lambda step=step: step(x), self.of_copy(size), torch_f)

    def small_kernels(self):
        def body(x):
            for i in range(15):  # sums along either axis, in turn: they do not fuse
                x = x - x.sum(1, keepdims=True) * 0.01 * i
                x = x * (1 + x.sum(0, keepdims=True) * 0.001)
            return x

        def torch_body(x):
            for i in range(15):
                x = x - x.sum(1, keepdim=True) * 0.01 * i
                x = x * (1 + x.sum(0, keepdim=True) * 0.001)
            return x

        x = fz.random.normal((64, 64), device="cuda")
        there = torch.randn(64, 64, device="cuda") if torch else None
        f = fz.trace(body, pure=True)
        self.add(
            "30 small kernels",
            lambda: f(x),
            lambda us: f"{us / 30:.2f} µs a kernel",
            lambda: torch_body(there),
            mode="reduce-overhead",
        )

    def product(self, dtype, n):
        held = "float32" if dtype == "tf32" else dtype
        a, b = (
            fz.astype(fz.random.normal((n, n), device="cuda"), getattr(fz, held)) for _ in range(2)
        )
        there = []
        if torch:
            there = [torch.randn(n, n, device="cuda", dtype=getattr(torch, held)) for _ in "ab"]
            torch.backends.cuda.matmul.allow_tf32 = dtype == "tf32"
        with fz.precision("tf32" if dtype == "tf32" else "default"):
            self.add(
                f"matmul of {n}, {dtype}",
                lambda: a @ b,
                lambda us: f"{2 * n**3 / us / 1e6:.1f} TFLOP/s",
                lambda: there[0] @ there[1],
            )

    def transformer(self):
        width, heads, depth, words = (16, 2, 1, 11) if self.tiny else (256, 4, 2, 1000)
        batch, length = (2, 6) if self.tiny else (16, 128)
        tokens = fz.random.integers(0, words, (batch, length), device="cuda")
        step = fz.trace(training_step(width, heads, depth, words, length))
        other = torch_training_step(width, heads, depth, words, length) if torch else None
        there = torch.randint(0, words, (batch, length), device="cuda") if torch else None
        self.add(
            f"training step of a transformer, {depth} layers of {width}",
            lambda: step(tokens),
            lambda us: f"{1e6 / us:.0f} steps/s",
            other and (lambda: other(there)),
        )


def training_step(width, heads, depth, words, length):
    """Next words predicted by a small transformer; one step of Adam. A function of tokens."""
    fz.random.seed(0)

    class Layer(nn.Module):
        def __init__(self):
            self.norms = [nn.LayerNorm(width), nn.LayerNorm(width)]
            self.mix, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x, mask):
            b, t, _ = x.shape
            parts = fz.reshape(self.mix(self.norms[0](x)), (b, t, 3, heads, width // heads))
            q, k, v = (fz.permute_dims(parts[:, :, i], (0, 2, 1, 3)) for i in range(3))
            scores = q @ fz.matrix_transpose(k) * (width // heads) ** -0.5 + mask
            mixed = fz.permute_dims(nn.softmax(scores, -1) @ v, (0, 2, 1, 3))
            x = x + self.out(fz.reshape(mixed, (b, t, width)))
            return x + self.down(nn.gelu(self.up(self.norms[1](x))))

    class Model(nn.Module):
        def __init__(self):
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.layers = [Layer() for _ in range(depth)]
            self.head = nn.Linear(width, words)

        def forward(self, tokens, mask, places):
            x = self.words(tokens) + self.places(places)
            for layer in self.layers:
                x = layer(x, mask)
            return self.head(x)

    model = Model().to("cuda")
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    above = fz.triu(fz.ones((length, length)), k=1).to_device("cuda")
    mask, places = above * -1e9, fz.arange(length, device="cuda")

    def step(tokens):
        logits = model(tokens, mask, places)[:, :-1]
        loss = nn.cross_entropy(fz.reshape(logits, (-1, words)), fz.reshape(tokens[:, 1:], (-1,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch_training_step(width, heads, depth, words, length):
    """The same in PyTorch."""
    tnn = torch.nn

    class Layer(tnn.Module):
        def __init__(self):
            super().__init__()
            self.norms = tnn.ModuleList([tnn.LayerNorm(width), tnn.LayerNorm(width)])
            self.mix, self.out = tnn.Linear(width, 3 * width), tnn.Linear(width, width)
            self.up, self.down = tnn.Linear(width, 4 * width), tnn.Linear(4 * width, width)

        def forward(self, x, mask):
            b, t, _ = x.shape
            parts = self.mix(self.norms[0](x)).reshape(b, t, 3, heads, width // heads)
            q, k, v = (parts[:, :, i].permute(0, 2, 1, 3) for i in range(3))
            scores = q @ k.transpose(-1, -2) * (width // heads) ** -0.5 + mask
            mixed = (scores.softmax(-1) @ v).permute(0, 2, 1, 3).reshape(b, t, width)
            x = x + self.out(mixed)
            return x + self.down(tnn.functional.gelu(self.up(self.norms[1](x))))

    class Model(tnn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = tnn.Embedding(words, width), tnn.Embedding(length, width)
            self.layers = tnn.ModuleList(Layer() for _ in range(depth))
            self.head = tnn.Linear(width, words)

        def forward(self, tokens, mask, places):
            x = self.words(tokens) + self.places(places)
            for layer in self.layers:
                x = layer(x, mask)
            return self.head(x)

    model = Model().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    mask = torch.triu(torch.ones(length, length, device="cuda"), 1) * -1e9
    places = torch.arange(length, device="cuda")

    def step(tokens):
        logits = model(tokens, mask, places)[:, :-1]
        loss = tnn.functional.cross_entropy(logits.reshape(-1, words), tokens[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step
