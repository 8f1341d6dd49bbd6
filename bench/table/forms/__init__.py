"""How each framework writes the rows: a package a framework, a function a kind of row.

The function takes the row's inputs and returns {name of the form: Form}. A kind that a framework
does not have is absent. A package also has `to_numpy(result)`, the result's NumPy arrays, and
`versions()`; a form whose name starts with a key of its PEERS counts for that peer. One whose
allocator keeps memory has `settle()`, which gives it back.
"""

import contextlib
from dataclasses import dataclass
from typing import Any


@dataclass
class Form:
    """One way to write a workload.

    `call` is a callable or a pair of a statement and its names. With `setup`, a call is timed once
    after each setup. `around` makes a context that timing and checking run in. `about()` tells what
    there is to tell once it has run. `result()` gives what is checked, if that is not what the
    call returns. `beside` is a form that does less than the workload (it writes into an array that
    is there already): it is shown, and no aim is about it. `make`, for the row of memory, makes
    `call`.
    """

    call: Any = None
    setup: Any = None
    around: Any = contextlib.nullcontext
    about: Any = dict
    result: Any = None
    beside: bool = False
    make: Any = None

    def run(self):
        """Calls it once and returns what is to be checked."""
        if self.setup:
            self.setup()
        if isinstance(self.call, tuple):
            code, names = self.call
            result = eval(code, dict(names))
        else:
            result = self.call()
        return self.result() if self.result else result


def applied(function, *arguments, template="{}", **more):
    """The form f(x0, x1, ...) as a statement, so that the harness costs nothing."""
    names = {f"x{i}": a for i, a in enumerate(arguments)} | {"f": function} | more.pop("names", {})
    code = f"f({', '.join(f'x{i}' for i in range(len(arguments)))})"
    return Form((template.format(code), names), **more)


def chain(x, z):
    """Ten ops that read two arrays and make one, as a triad does. In any framework."""
    y = x * z
    y = y + x
    y = y * 0.5
    y = y - z
    y = y * x
    y = y + 1.5
    y = y * z
    y = y - x
    y = y * 0.25
    return y + z


def function_of(source):
    """The function f that a text defines."""
    names = {}
    exec(compile(source, "<fresh>", "exec"), names)
    return names["f"]
