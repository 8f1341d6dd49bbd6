"""The modules of the package that users import, which pages and stubs are tested for."""

from frazil import (
    amp,
    cuda,
    data,
    debug,
    distributed,
    fft,
    io,
    linalg,
    memory,
    nn,
    npu,
    onnx,
    optim,
    random,
    sparse,
    special,
    training,
    tree,
)
from frazil.nn import functional, init, utils
from frazil.nn.utils import parametrizations, parametrize, rnn
from frazil.optim import lr_scheduler, swa_utils

MODULES = (
    amp, cuda, data, debug, distributed, fft, io, linalg, memory, nn, functional, init, utils,
    parametrizations, parametrize, rnn, npu, onnx, optim, lr_scheduler, swa_utils, random, sparse,
    special, training, tree,
)  # fmt: skip
