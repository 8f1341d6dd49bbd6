"""The modules of the package that users import, which pages and stubs are tested for."""

from frazil import (
    cuda,
    data,
    fft,
    io,
    linalg,
    memory,
    nn,
    npu,
    optim,
    random,
    sparse,
    special,
    tree,
)
from frazil.nn import functional

MODULES = (
    cuda, data, fft, io, linalg, memory, nn, functional, npu, optim, random, sparse, special, tree,
)  # fmt: skip
