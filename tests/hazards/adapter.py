"""frazil for the hazard cases: the names that the cases use."""

import numpy as np
from hz import NotAvailable

import frazil as fz

exp, log, sin, tanh = fz.exp, fz.log, fz.sin, fz.tanh
where, matmul, maximum, reshape, concat, sum, max = (
    fz.where,
    fz.matmul,
    fz.maximum,
    fz.reshape,
    fz.concat,
    fz.sum,
    fz.max,
)
grad = grad_higher = fz.grad
no_grad = fz.no_grad


def compile(fn, **opts):
    return fz.trace(fn)


def array(x, dtype="float32"):
    return fz.asarray(np.asarray(x).astype(dtype))


def numpy(t):
    return np.asarray(t)


def item(t):
    return t.item()


def sum0(t):
    return fz.sum(t, axis=0)


def transpose(t):
    return fz.permute_dims(t, (1, 0))


def astype(t, dtype):
    return fz.astype(t, getattr(fz, dtype))


def inplace_add(t, v):
    t += v


mutable = array


def set_data(t, x):
    t[...] = array(x)


def rng(seed):
    fz.random.seed(seed)
    return array([0.0])


def split(key):
    return key, key


def normal(key, shape):
    return fz.random.normal(shape)


def __getattr__(name):
    raise NotAvailable(name)
