"""JAX: jit, donated buffers, loops by lax.scan and fori_loop."""

import jax
import jax.numpy as jnp

from .. import Form, applied

PEERS = {"": "jax"}


def versions():
    return {"jax": jax.__version__}


def to_numpy(result):
    return [jax.device_get(leaf) for leaf in jax.tree.leaves(result)]


def compiled(function, *arguments, name="jit"):
    """The form of a function without side effects; a call waits for its result."""
    arguments = [jax.tree.map(jnp.asarray, a) for a in arguments]
    form = applied(
        jax.jit(function), *arguments, template="b({})", names={"b": jax.block_until_ready}
    )
    return {name: form}


class Steps:
    """A step whose state replaces the one before; the first part of it is the result."""

    def __init__(self, step, state, constants, donate):
        self.state = jax.tree.map(lambda a: jnp.array(a, copy=True), state)
        self.constants = jax.tree.map(jnp.asarray, constants)
        self.step = jax.jit(step, donate_argnums=(0,) if donate else ())

    def __call__(self):
        result, self.state = self.step(self.state, *self.constants)
        jax.block_until_ready(self.state)
        return result


def training(step, state, *constants):
    """Plain, and with the old state donated. step(state, ...) gives (result, new state)."""
    return {
        "jit": Form(Steps(step, state, constants, donate=False)),
        "jit, donated": Form(Steps(step, state, constants, donate=True)),
    }


__all__ = ["Form", "applied", "compiled", "training"]
