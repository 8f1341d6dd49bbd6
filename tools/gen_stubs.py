"""Writes the type stubs of the compiled module from what it says of itself.

    ./dev python tools/gen_stubs.py [--check]

Every function of frazil._frazil carries a signature and a doc line that come from the op table;
this file only knows which type a parameter of a given name has. --check fails if the stubs in
bindings/python/frazil/_frazil/ are not what would be written.
"""

import inspect
import subprocess
import sys
import types
from pathlib import Path

from frazil import _frazil

STUBS = Path(__file__).resolve().parent.parent / "bindings/python/frazil/_frazil"

HEAD = '''"""{doc}"""

# Written by tools/gen_stubs.py. Do not edit.
import builtins
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from types import EllipsisType
from typing import Any, SupportsIndex

{imports}
'''

SCALAR = "builtins.bool | builtins.int | builtins.float"
TYPES = {
    "a": "Any",
    "api_version": "str | None",
    "approximate": "str",
    "arrays": "Sequence[Tensor]",
    "axes": "SupportsIndex | Sequence[builtins.int]",
    "axis": "builtins.int | Sequence[builtins.int] | None",
    "axis1": "builtins.int",
    "axis2": "builtins.int",
    "b": "Any",
    "bias": "Operand | None",
    "causal": "builtins.bool",
    "constant_values": SCALAR,
    "copy": "builtins.bool | None",
    "correction": "builtins.float",
    "data": "bytes",
    "ddof": "builtins.float",
    "decimals": "builtins.int",
    "destination": "builtins.int",
    "descending": "builtins.bool",
    "device": "str | None",
    "dilation": "builtins.int | Sequence[builtins.int]",
    "dl_device": "Any",
    "dtype": "DTypeLike | None",
    "endpoint": "builtins.bool",
    "fill_value": "Operand",
    "grad": "Tensor | None",
    "gradient": "Tensor | None",
    "groups": "builtins.int",
    "include_initial": "builtins.bool",
    "indices": "Operand | Sequence[builtins.int]",
    "keepdims": "builtins.bool",
    "layout": "str",
    "max_version": "Any",
    "mode": "Any",
    "n_cols": "builtins.int | None",
    "ndigits": "builtins.int | None",
    "name": "str",
    "value": "builtins.int",
    "obj": "Any",
    "on": "builtins.bool",
    "out": "None",
    "pad_width": "Any",
    "padding": "builtins.int | Sequence[builtins.int]",
    "path": "str | PathLike[str]",
    "repetitions": "builtins.int | Sequence[builtins.int]",
    "requires_grad": "builtins.bool",
    "scalar": SCALAR,
    "scale": "builtins.float | None",
    "shape": "SupportsIndex | Sequence[builtins.int]",
    "side": "str",
    "source": "builtins.int",
    "stable": "builtins.bool",
    "start": SCALAR,
    "rate": "Tensor",
    "root": "Tensor",
    "step": SCALAR,
    "stop": f"{SCALAR} | None",
    "stream": "Any",
    "stride": "builtins.int | Sequence[builtins.int]",
    "tensors": "Sequence[tuple[str, Tensor]]",
    "weight": "Operand | None",
}
for _name in "eps lr momentum weight_decay beta1 beta2".split():
    TYPES[_name] = "builtins.float"
for _name in "k n num n_rows seed low high".split():
    TYPES[_name] = "builtins.int"
for _name in "condition labels logits max min q target v w x x1 x2".split():
    TYPES[_name] = "Operand"
TYPES["state"] = "Tensor"
for _name in "parameters velocities ms vs".split():
    TYPES[_name] = "Sequence[Tensor]"
TYPES["max"] = TYPES["min"] = "Operand | None"

RETURNS = {
    "nonzero": "tuple[Tensor, ...]",
    "Tensor.nonzero": "tuple[Tensor, ...]",
    "Tensor.item": SCALAR,
    "Tensor.tolist": "Any",
    "Tensor.numpy": "Any",
    "Tensor.backward": "None",
    "Tensor.__array__": "Any",
    "Tensor.__dlpack__": "Any",
    "Tensor.__array_namespace__": "Any",
    "runtime.caches": "dict[str, dict[str, builtins.int]]",
    "runtime.disk": "dict[str, str | builtins.int]",
    "runtime.causes": "dict[str, dict[str, str]]",
    "runtime.config": "dict[str, dict[str, Any]]",
    "runtime.dtype": "DType",
    "runtime.get_num_threads": "builtins.int",
    "runtime.kernels_run": "builtins.int",
    "runtime.load_tensors": "list[tuple[str, Tensor]]",
    "runtime.memory_stats": "dict[str, builtins.int]",
    "runtime.precision": "str",
    "runtime.precisions": "dict[str, str]",
    "runtime.promote": "DType",
    "runtime.promote_scalar": "DType",
    "runtime.set_process_mode": "builtins.int",
    "runtime.set_thread_mode": "builtins.int",
    "runtime._rebuild": "Tensor",
    "autograd.is_grad_enabled": "builtins.bool",
    "autograd.set_grad_enabled": "builtins.bool",
}
DEFAULT_RETURNS = {"runtime": "None", "autograd": "None"}

TENSOR_BODY = """
    shape: tuple[builtins.int, ...]
    dtype: DType
    device: str
    ndim: builtins.int
    size: builtins.int
    itemsize: builtins.int
    nbytes: builtins.int
    T: Tensor
    mT: Tensor
    requires_grad: builtins.bool
    is_leaf: builtins.bool
    grad: Tensor | None
    def __len__(self) -> builtins.int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __contains__(self, item: Any) -> builtins.bool: ...
    def __getitem__(self, index: Index) -> Tensor: ...
    def __setitem__(self, index: Index, value: Any) -> None: ...
    def __bool__(self) -> builtins.bool: ...
    def __int__(self) -> builtins.int: ...
    def __float__(self) -> builtins.float: ...
    def __index__(self) -> builtins.int: ...
    def __hash__(self) -> builtins.int: ...
    def __eq__(self, other: Any, /) -> Any: ...
    def __ne__(self, other: Any, /) -> Any: ...
"""
ORDERED = ("lt", "le", "gt", "ge")
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
UNARY = "neg pos abs invert".split()

DTYPE_BODY = '''
class DType:
    """An element type."""

    name: str
    itemsize: builtins.int
    kind: str
    dtype: Any
    def __hash__(self) -> builtins.int: ...

DTypeLike = DType | str | type | Any
'''

TRACE_BODY = '''
class Traced:
    """A traced callable: made by frazil.trace."""

    __wrapped__: Callable[..., Any]
    def __init__(self, function: Callable[..., Any], name: str = ...) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def explain(self) -> str: ...
    def stats(self) -> dict[str, Any]: ...
    def memory_plan(self) -> list[Any]: ...
    def clear(self) -> None: ...

class GradScope:
    """One level of function-style differentiation; close it in reverse order of opening."""

    def variable(self, argument: Tensor, /) -> Tensor: ...
    def gradients(self, root: Tensor, /) -> list[Tensor]: ...
    def outside(self, result: Any, /) -> Any: ...
    def close(self) -> None: ...
'''


def parameter(p):
    text = p.name
    if p.kind is p.VAR_POSITIONAL:
        return f"*{p.name}: Any"
    if p.name != "self":
        text += f": {TYPES[p.name]}"
    return text if p.default is p.empty else f"{text} = ..."


def parameters(signature):
    out, kinds = [], [p.kind for p in signature.parameters.values()]
    starred = False
    for i, p in enumerate(signature.parameters.values()):
        starred |= p.kind is p.VAR_POSITIONAL
        if p.kind is p.KEYWORD_ONLY and not starred:
            out.append("*")
            starred = True
        out.append(parameter(p))
        last = i + 1 == len(kinds) or kinds[i + 1] is not p.POSITIONAL_ONLY
        if p.kind is p.POSITIONAL_ONLY and last and p.name != "self":
            out.append("/")
    return ", ".join(out)


def function(name, f, path, indent=""):
    returns = RETURNS.get(path + name, DEFAULT_RETURNS.get(path.rstrip("."), "Tensor"))
    doc = (f.__doc__ or "").strip().split("\n")[0].replace('"""', "'''")
    lines = [f"def {name}({parameters(inspect.signature(f))}) -> {returns}:"]
    lines.append(f'    """{doc}"""' if doc else "    ...")
    return "\n".join(indent + line for line in lines) + "\n"


def functions(module, path=""):
    return "".join(
        "\n" + function(name, f, path)
        for name, f in sorted(vars(module).items())
        if isinstance(f, types.BuiltinFunctionType) and f.__text_signature__
    )


def tensor():
    out = ['\nclass Tensor:\n    """An array of one dtype on one device."""\n', TENSOR_BODY]
    for name in ORDERED:
        out.append(f"    def __{name}__(self, other: Operand, /) -> Tensor: ...\n")
    for name in BINARY:
        for form in ("", "r", "i"):
            out.append(f"    def __{form}{name}__(self, other: Operand, /) -> Tensor: ...\n")
    for name in UNARY:
        out.append(f"    def __{name}__(self) -> Tensor: ...\n")
    for name, f in sorted(vars(_frazil.Tensor).items()):
        if isinstance(f, types.MethodDescriptorType) and f.__text_signature__:
            out.append(function(name, f, "Tensor.", "    "))
    return "".join(out)


def stubs():
    """{file name: text}, formatted."""
    main = HEAD.format(doc="The compiled part of frazil.", imports="")
    main += DTYPE_BODY
    main += "\n".join(
        f"{name}: DType" for name, t in vars(_frazil).items() if isinstance(t, _frazil.DType)
    )
    main += "\n" + tensor() + TRACE_BODY
    main += f"\nOperand = Tensor | {SCALAR} | Any\n"
    one = "SupportsIndex | slice | EllipsisType | None | Tensor | Sequence[Any] | Any"
    main += (
        f"Index = {one}\n__version__: str\n\ndef op_table() -> list[dict[str, Any]]: ...\n"
        + functions(_frazil)
    )
    files = {"__init__.pyi": main}
    for name in ("autograd", "nn", "random", "runtime"):
        module = getattr(_frazil, name)
        imports = "from frazil._frazil import DType, DTypeLike, Operand, Tensor"
        text = HEAD.format(doc=f"The compiled part of frazil.{name}.", imports=imports)
        files[f"{name}.pyi"] = text + functions(module, name + ".")
    return {name: tidy(text) for name, text in files.items()}


def tidy(text):
    """As ruff would have it."""
    ruff = [sys.executable, "-m", "ruff"]
    check = [*ruff, "check", "-q", "--fix-only", "--select=F401,I", "--stdin-filename=x.pyi", "-"]
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
