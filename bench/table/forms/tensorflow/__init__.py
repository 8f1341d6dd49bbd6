"""TensorFlow with XLA: tf.function(jit_compile=True)."""

import numpy as np
import tensorflow as tf

from .. import Form, applied

PEERS = {"": "xla"}


def versions():
    return {"tensorflow": tf.__version__}


def to_numpy(result):
    return [np.asarray(leaf) for leaf in tf.nest.flatten(result)]


def compiled(function, *arguments, name="jit_compile"):
    """The form of a function without side effects."""
    arguments = [tf.nest.map_structure(tf.constant, a) for a in arguments]
    wrapped = tf.function(function, jit_compile=True)
    call = wrapped.get_concrete_function(*arguments)
    return {name: applied(call, *arguments)}


__all__ = ["Form", "applied", "compiled"]
