"""What tests of exports share."""

import numpy as np

import frazil as fz


def bits(x):
    """Every tensor of a nest as bytes."""
    if isinstance(x, fz.Tensor):
        return np.asarray(x.detach()).tobytes()
    if isinstance(x, dict):
        return {key: bits(value) for key, value in x.items()}
    return [bits(item) for item in x] if isinstance(x, (list, tuple)) else x


def normal(*shape, seed=0):
    return fz.asarray(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def exported(tmp_path, fn, args, *examples, **options):
    """The loaded program of a function; `examples`: further ones."""
    path = tmp_path / "program.frz"
    if examples:
        options["examples"] = examples
    fz.export(fn, args, path, **options)
    return fz.load_program(path)
