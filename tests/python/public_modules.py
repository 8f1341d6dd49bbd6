"""The modules of the package that users import, which pages and stubs are tested for."""

from frazil import (
    cuda,
    data,
    debug,
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
    training,
    tree,
)
from frazil.nn import functional

MODULES = (
    cuda, data, debug, fft, io, linalg, memory, nn, functional, npu, optim, random, sparse, special,
    training, tree,
)  # fmt: skip
