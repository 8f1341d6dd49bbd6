"""Every function over tensors that Python has, C++ has too, under its name and in its namespace.

What C++ declares is read from frazil.h, the headers beside it and the tables that they expand. A
new Python function without a twin fails here, and so does a row of the lists below that is stale.
"""

import inspect
import re
from pathlib import Path

import pytest

import frazil as fz

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "core"
HEADERS = sorted((ROOT / "bindings" / "cpp").glob("*.h"))
MODULES = {
    "": fz, "linalg": fz.linalg, "fft": fz.fft, "special": fz.special, "random": fz.random
}  # fmt: skip

# Python only, by the reason.
PYTHON_ONLY = {
    "makes a tensor of any Python object: frazil::tensor has what C++ has": "array asarray",
    "memory of other Python libraries": "from_dlpack",
    "dtypes as objects: C++ has the enum DType and Promote": "can_cast dtype isdtype result_type",
    "shows or changes settings: core/settings.h, core/threads/parallel.h": (
        "config device set_default_dtype get_num_threads set_num_threads kernels_run synchronize"
    ),
    "calls a Python function for pieces of an array": "apply_along_axis piecewise",
    "shows how far a Python loop is": "progress",
    "rewrites Python functions": "convert converted_source",
    "writes down what Python functions do": "export",
    "makes an op of a Python function: C++ has frazil::Op and FRAZIL_OP": "op",
    "registers Python classes": "register_pytree_node",
    "changes modules of Python": "quantize",
    "other names of what C++ has: concat, flatten": "concatenate ravel",
    "seeds the streams of Python and NumPy, too": "seed_everything",
    "tells how einsum would go on, as text": "einsum_path",
}
CPP_NAMES = {
    "delete": ("", "delete_"),
    "trace": ("jit", "trace"),
    "load_program": ("jit", "load"),
    "switch": ("", "switch_case"),
}


def functions():
    """(module's name, function's name) of all public functions, by module."""
    for home, module in MODULES.items():
        names = module.__all__ if home else [n for n in dir(module) if n[0] != "_"]
        for name in names:
            item = getattr(module, name)
            if callable(item) and not inspect.isclass(item):
                yield home, name


def rows(table, macro, columns=2):
    """(home, name) of rows of a table, or as many words as are asked for."""
    text = (TABLES / table).read_text()
    words = ", ".join(["(\\w+)"] * columns)
    found = re.findall(rf"^{macro}\({words},", text, re.MULTILINE)
    return found if columns > 1 else [(name,) for name in found]


def declared():
    """(namespace, name) of every function that the headers declare."""
    found = {("", name) for name in op_names()}
    for home, name in rows("functions/composites.def", "FZ_COMPOSITE"):
        found.add(("" if home in ("frazil", "nn") else home, name))
    for home, name in rows("functions/functions.def", "FZ_(?:FUNCTION|SEVERAL)"):
        found.add(("" if home in ("frazil", "inside") else home, name))
    found |= {
        ("random", name) for (name,) in rows("functions/distributions.def", "FZ_DISTRIBUTION", 1)
    }
    for header in HEADERS:
        found |= set(in_header(header.read_text()))
    return found


def op_names():
    text = (TABLES / "ops.def").read_text()
    return re.findall(r"^FZ_(?:UNARY|BINARY|REDUCE)\((\w+),", text, re.MULTILINE)


FUNCTION = re.compile(
    r"^(?:inline |template <[^>]*> )*(?:[\w:]+(?:<[^;(]*>)?[&*]? )+(\w+)\((?!\))|"
    r"^(?:inline )?[\w:<>]+ (\w+)\("
)
ROW = re.compile(r"^FZ_CPP_(?:FUNCTION|SEVERAL|FORWARD|UNARY|BINARY)\((\w+)|^FZ_SPECIAL\((\w+)\)")
HOME = re.compile(r"^FZ_CPP_(LINALG|FFT)\((\w+)\)")


def in_header(text):
    spaces = []
    text = re.sub(r"\\\n[^\n]*", "", text)  # what macros expand to
    for line in text.splitlines():
        if space := re.match(r"^namespace ([\w:]+) \{", line):
            spaces += [space[1].removeprefix("frazil::")]
        elif re.match(r"^\}  // namespace", line):
            spaces.pop()
        if not spaces or spaces[-1] == "cpp_internal":
            continue
        home = "" if spaces[-1] == "frazil" else spaces[-1]
        if using := re.match(r"^using (?:frazil|ops)::(\w+);", line):
            yield home, using[1]
        elif row := ROW.match(line):
            yield home, row[1] or row[2]
        elif row := HOME.match(line):
            yield row[1].lower(), row[2]
        elif function := FUNCTION.match(line):
            yield home, function[1] or function[2]


def python_only():
    return {name for names in PYTHON_ONLY.values() for name in names.split()}


DECLARED = declared()


def has_twin(home, name):
    twin = CPP_NAMES.get(name) if home == "" else None
    return (twin or (home, name)) in DECLARED


@pytest.mark.parametrize("home", MODULES, ids=lambda home: home or "frazil")
def test_every_function_has_a_twin(home):
    names = {n for h, n in functions() if h == home} - python_only()
    assert names and not {n for n in names if not has_twin(home, n)}


def test_lists_have_no_stale_rows():
    public = {name for _, name in functions()}
    assert python_only() <= public and CPP_NAMES.keys() <= public
    assert not {name for name in python_only() if has_twin("", name)}


def test_it_finds_what_is_there_and_nothing_else():
    assert {("", "sin"), ("", "roll"), ("linalg", "cond"), ("fft", "rfftn")} <= DECLARED
    assert {("", "split"), ("", "full"), ("special", "psi"), ("jit", "trace")} <= DECLARED
    assert ("", "roly") not in DECLARED and ("fft", "roll") not in DECLARED
    found = set(in_header("namespace frazil {\ninline Tensor f(int a);\n// g(x)\n  return h(x);\n"))
    assert found == {("", "f")}
