"""What NumPy, PyTorch and JAX call what frazil has under another name (other_names.def).

MODULE has names of the module, such as "cat": "concat", and KEYWORD such as "dim": "axis". Used by
frazil.__getattr__, by NumPy's ufuncs and where a function gets a keyword that it does not know.
"""

from frazil import _frazil

_places = _frazil.other_names()
MODULE = _places["module"]
KEYWORD = _places["keyword"]


def unexpected(message):
    """A TypeError's text, with the keyword that was meant if it was another library's."""
    _, found, rest = message.partition("got an unexpected keyword argument '")
    here = KEYWORD.get(rest.rstrip("'")) if found else None
    return f"{message}: here it is '{here}'" if here else message
