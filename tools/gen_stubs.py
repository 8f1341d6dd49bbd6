"""Writes the type stubs of the compiled module from what it says of itself.

    ./dev python tools/gen_stubs.py [--check]

Every function of frazil._frazil carries a signature and a doc line that come from the op table;
tools/stub_types.py knows which type a parameter of a given name has. --check fails if the stubs in
bindings/python/frazil/_frazil/ are not what would be written.
"""

import inspect
import subprocess
import sys
import types
from pathlib import Path

import stub_types as known

from frazil import _frazil

STUBS = Path(__file__).resolve().parent.parent / "bindings/python/frazil/_frazil"

HEAD = '''"""{doc}"""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from typing import (
    Any, Concatenate, Generic, Literal, ParamSpec, SupportsIndex, TypeVar, final, overload,
)

from typing_extensions import disjoint_base

{imports}
from frazil._types import Axis, DTypeLike, Index, Ints, Number, Operand
from frazil.memory import Plan

'''
GENERIC = """
_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R")
_S = TypeVar("_S")
"""


def type_of(function, p):
    for row in (f"{function}.{p.name}", p.name, type(p.default)):
        if row in known.PARAMETERS:
            return known.PARAMETERS[row]
    sys.exit(f"gen_stubs: {function}({p.name}=) needs a row in PARAMETERS of tools/stub_types.py.")


def parameter(function, p):
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}: {type_of(function, p)}"
    text = p.name if p.name == "self" else f"{p.name}: {type_of(function, p)}"
    return text if p.default is p.empty else f"{text} = ..."


def parameters(function, signature):
    out, kinds = [], [p.kind for p in signature.parameters.values()]
    starred = False
    for i, p in enumerate(signature.parameters.values()):
        starred |= p.kind is p.VAR_POSITIONAL
        if p.kind is p.KEYWORD_ONLY and not starred:
            out.append("*")
            starred = True
        out.append(parameter(function, p))
        last = i + 1 == len(kinds) or kinds[i + 1] is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last:
            out.append("/")
    return ", ".join(out)


def function(name, f, path, indent=""):
    doc = (f.__doc__ or "").strip().split("\n")[0].replace('"""', "'''")
    body = f'    """{doc}"""' if doc else "    ..."
    if not path and name in known.OVERLOADS:
        forms = [f"@overload\ndef {name}{form}:\n{body}" for form in known.OVERLOADS[name]]
        return "\n".join(forms) + "\n"
    result = known.RESULTS.get(path + name, known.DEFAULTS.get(path.rstrip("."), "Tensor"))
    lines = [f"def {name}({parameters(name, inspect.signature(f))}) -> {result}:", body]
    return "\n".join(indent + line for line in lines) + "\n"


def functions(module, path=""):
    return "".join(
        "\n" + function(name, f, path)
        for name, f in sorted(vars(module).items())
        if isinstance(f, types.BuiltinFunctionType) and f.__text_signature__
    )


def tensor():
    out = [
        '\n@final\nclass Tensor:\n    """An array of one dtype on one device."""\n',
        known.TENSOR,
    ]
    for name in known.ORDERED:
        out.append(f"    def __{name}__(self, other: Operand, /) -> Tensor: ...\n")
    for name in known.BINARY:
        for form in ("", "r", "i"):
            out.append(f"    def __{form}{name}__(self, other: Operand, /) -> Tensor: ...\n")
    for name in known.UNARY:
        out.append(f"    def __{name}__(self) -> Tensor: ...\n")
    for name, f in sorted(vars(_frazil.Tensor).items()):
        if isinstance(f, types.MethodDescriptorType) and f.__text_signature__:
            out.append(function(name, f, "Tensor.", "    "))
    return "".join(out)


def stubs():
    """{file name: text}, formatted."""
    modules = sorted(n for n, m in vars(_frazil).items() if isinstance(m, types.ModuleType))
    imports = f"from . import {', '.join(f'{name} as {name}' for name in modules)}"
    main = HEAD.format(doc="The compiled part of frazil.", imports=imports) + GENERIC
    main += f"\n__all__ = {sorted(_frazil.__all__)}\n__version__: str\n"
    main += "\n".join(
        f"{name}: DType" for name, t in vars(_frazil).items() if isinstance(t, _frazil.DType)
    )
    main += "\n" + tensor() + known.CLASSES + functions(_frazil)
    files = {"__init__.pyi": main}
    for name in modules:
        module = getattr(_frazil, name)
        imports = "from frazil._frazil import DType, Structure, Tensor"
        text = HEAD.format(doc=f"The compiled part of frazil.{name}.", imports=imports)
        text += f"\n__all__ = {sorted(module.__all__)}\n"
        files[f"{name}.pyi"] = text + functions(module, name + ".")
    return {name: tidy(text) for name, text in files.items()}


def tidy(text):
    """As ruff would have it."""
    ruff = [sys.executable, "-m", "ruff"]
    check = [
        *ruff,
        "check",
        "-q",
        "--fix-only",
        "--select=F401,I,RUF022",
        "--stdin-filename=x.pyi",
        "-",
    ]
    for argv in (check, [*ruff, "format", "-q", "--stdin-filename=x.pyi", "-"]):
        text = subprocess.run(argv, input=text, capture_output=True, text=True, check=True).stdout
    return text


def main():
    problems = []
    for name, text in stubs().items():
        path = STUBS / name
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            problems.append(f"{path.name}: not what tools/gen_stubs.py writes; run it.")
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
