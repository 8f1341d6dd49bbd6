"""Help for training: gradients clipped, parameters as one vector, weights made of others.

Here: `clip_grad_norm_`, `clip_grad_value_`, `clip_grads_with_norm_`, `get_total_norm`;
`parameters_to_vector`, `vector_to_parameters`; and the modules `parametrizations`, `parametrize`
and `rnn`.

>>> import frazil as fz
>>> w = fz.asarray([3.0, 4.0], requires_grad=True)
>>> (w * w / 2).sum().backward()
>>> clip_grad_norm_([w], 1.0).item(), [round(g, 4) for g in w.grad.tolist()]
(5.0, [0.6, 0.8])
"""

# ruff: noqa: F403, F405 -- names of the files that __all__ lists
from frazil.nn.utils import parametrizations as parametrizations
from frazil.nn.utils import parametrize as parametrize
from frazil.nn.utils import rnn as rnn
from frazil.nn.utils.clip_grad import *
from frazil.nn.utils.convert_parameters import *

__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
    "parameters_to_vector", "parametrizations", "parametrize", "rnn", "vector_to_parameters",
]  # fmt: skip
