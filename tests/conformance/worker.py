"""Runs every conformance case on one executor (chosen by the environment) and pickles the results.

worker.py OUTPUT [DEVICE [EVERY FIRST]]: every EVERYth case, from the FIRSTth on.
"""

import itertools
import pickle
import sys

import cases
import numpy as np

import frazil as fz
import frazil.random
from frazil import _frazil


def to_tensor(array, dtype):
    if dtype == "bfloat16":
        return fz.astype(fz.asarray(np.asarray(array, np.float32)), fz.bfloat16)
    return fz.asarray(np.asarray(array).astype(dtype))


def to_numpy(t):
    """Values as they are; 16-bit floats exactly in float32."""
    if t.dtype in (fz.bfloat16, fz.float16):
        return np.array(fz.astype(t, fz.float32)), t.dtype.name
    return np.array(t), t.dtype.name


def chosen(every, first):
    """Of each row every so many, its first one among them."""
    for _, row in itertools.groupby(cases.all_cases(_frazil.op_table()), lambda case: case.row):
        yield from itertools.islice(row, first, None, every)


def main(path, device="cpu", every=1, first=0):
    results = {}
    fallbacks = {}  # cases of which the CPU ran a part for the device
    for case in chosen(int(every), int(first)):
        tensors = [
            cases.view(to_tensor(a, d).to_device(device), case.layout)
            for a, d in zip(case.inputs, case.dtypes, strict=True)
        ]
        fz.npu.reset()
        # Libraries of GPUs add up in orders of their own.
        with fz.precision("exact" if device == "cuda" else "default"):
            result = case.call(fz, *tensors)
        if reasons := [f.reason for f in fz.npu.fallbacks()]:
            fallbacks[case.name] = reasons[0]
        results[case.name] = to_numpy(result)
    with open(path, "wb") as out:
        pickle.dump({"results": results, "fallbacks": fallbacks}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
