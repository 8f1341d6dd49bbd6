"""What type checkers must refuse: the lines that end with `# wrong` (test_types.py)."""

import frazil as fz
from frazil import Tensor, nn, optim

X: Tensor = fz.ones((2, 3))


@fz.trace
def step(x: Tensor, rate: float = 0.1) -> Tensor:
    return x * rate


def loss(w: Tensor, x: Tensor) -> Tensor:
    return fz.sum(w * x)


fz.cat([X, X])  # wrong
fz.sum(X, dim=0)  # wrong
fz.sum(X, axis="rows")  # wrong
fz.exp("1")  # wrong
fz.zeros((2, 3), 4)  # wrong
fz.zeros(2.5)  # wrong
fz.reshape(X, "ab")  # wrong
fz.asarray([1.0], dtype=3)  # wrong
fz.searchsorted(X, 1, side="middle")  # wrong
fz.mode("fast")  # wrong
fz.precision("high")  # wrong
fz.trace(3)  # wrong
fz.value_and_grad(loss, has_aux=True)(X, X)  # wrong
fz.grad(loss)("w", X)  # wrong
fz.grad(loss)(X, y=X)  # wrong
fz.meshgrid(X, indexing="zz")  # wrong
X.view(6)  # wrong
X.sum(dim=0)  # wrong
X.shape = (6,)  # wrong
step("x")  # wrong
step(X, rate=X.shape)  # wrong
step(X, speed=1.0)  # wrong
step.expain()  # wrong
step(X).explain()  # wrong
nn.attention(X, X)  # wrong
nn.gelu(X, approximate="erf")  # wrong
nn.Linear("3", 4)  # wrong
nn.softmax(X, axis=None)  # wrong
optim.SGD(nn.Linear(3, 4), lr=0.1)  # wrong
optim.Adam([X], betas=0.9)  # wrong
fz.random.normal("3")  # wrong
fz.npu.report("png")  # wrong
fz.memory.stats().live_bytes  # wrong
fz.step  # wrong

step(X, 0.5).sum(axis=0)
fz.grad(loss)(X, x=X).mean()
X.reshape(3, 2).T
