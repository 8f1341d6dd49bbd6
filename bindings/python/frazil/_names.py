"""What NumPy, PyTorch and JAX call what frazil has under another name (other_names.def).

MODULE has names of the module, such as "cat": "concat", RANDOM those of frazil.random, KEYWORD such
as "dim": "axis". Used by frazil.__getattr__, frazil.random, NumPy's ufuncs and where a function is
given a keyword that it does not know.
"""

import inspect

from frazil import _frazil

_places = _frazil.other_names()
MODULE = _places["module"]
RANDOM = _places["random"]
KEYWORD = _places["keyword"]


def unexpected(message, function):
    """A TypeError's text, with the parameter of `function` that was meant if the keyword is another
    library's."""
    _, found, rest = message.partition("got an unexpected keyword argument '")
    here = KEYWORD.get(rest.rstrip("'")) if found else None
    known = here and here in inspect.signature(function).parameters
    return f"{message}: here it is '{here}'" if known else message
