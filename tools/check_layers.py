"""Checks that includes follow the folder order and that foreign libraries stay in their folders.

`./dev lint` calls it. The order is LAYERS: a file includes from its own layer and those before it;
inside jit/ it is ROOMS, with the files of jit/ itself on top. tests, bench and examples see every
layer. LIBRARIES says where a foreign library may be named.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

LAYERS = [
    "core", "kernels", "distributed", "npu", "autograd", "batch", "tracer", "jit", "frozen",
    "bindings",
]  # fmt: skip
ROOMS = {
    "jit": ["kir", "graph", "lower", "cuda", "emit", "cache", "library", "run", "plan", "eager"],
}
FOLDERS = [*LAYERS, "tests", "bench", "examples"]
SUFFIXES = {".cc", ".h", ".def"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclass(frozen=True)
class Library:
    name: str
    folders: tuple[str, ...]
    headers: str  # matches an included path
    names: str = r"(?!)"  # matches code, comments and strings aside; nothing by default


LIBRARIES = [
    Library("asmjit", ("jit/emit/x86", "kernels/gemm"), r"^asmjit/"),
    Library("Highway", ("kernels/order",), r"^hwy/"),
    Library("ducc0", ("kernels/fourier",), r"^ducc0/"),
    Library("nlohmann-json", ("core", "npu", "tests/npu"), r"^nlohmann/"),
    Library("the CPython API", ("bindings/python",), r"^Python\.h$"),
    Library(
        "CUDA",
        ("jit/cuda", "jit/emit/cuda", "jit/run/cuda", "tests/cuda"),
        r"^(cuda|nvrtc)\w*\.h$",
        r"\bcu(?:da)?[A-Z]\w+\s*\(|\bnvrtc\w+\s*\(|\bCU(?:context|module|function|stream|deviceptr)\b",
    ),
]


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def is_ours(quoted):
    return "/" not in quoted or quoted.partition("/")[0] in FOLDERS


def room_of(path):
    """The place of a file's folder in the order inside its layer; None if there is no order."""
    rooms = ROOMS.get(path.parts[0])
    if not rooms:
        return None
    return rooms.index(path.parts[1]) if len(path.parts) > 2 else len(rooms)


def check_file(root, path):
    """Yields what is wrong in the file at `path`, relative to `root`."""
    text = (root / path).read_text()
    layer = path.parts[0]
    if layer in ROOMS and len(path.parts) > 2 and path.parts[1] not in ROOMS[layer]:
        yield f"{path}:1: {path.parts[1]} needs a place in ROOMS of tools/check_layers.py."
        return
    for match in INCLUDE.finditer(text):
        quoted, angled = match.groups()
        where = f"{path}:{line_of(text, match.start())}"
        target = (quoted or angled).partition("/")[0]
        if quoted and is_ours(quoted) and not (root / quoted).is_file():
            yield f'{where}: "{quoted}" is no file here: include paths start at the root.'
        elif layer in LAYERS and target in LAYERS and LAYERS.index(target) > LAYERS.index(layer):
            yield f"{where}: {layer} may not include {quoted or angled}: {target} comes after it."
        elif quoted and target == layer in ROOMS and room_of(Path(quoted)) > room_of(path):
            yield f"{where}: {path.parent} may not include {quoted}, which comes after it."
        elif layer in LAYERS and target in ("tests", "bench", "examples") and quoted:
            yield f"{where}: {layer} may not include {quoted}."
    if layer in LAYERS:
        yield from check_libraries(path, text)


def check_libraries(path, text):
    code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    for library in LIBRARIES:
        if any(path.is_relative_to(folder) for folder in library.folders):
            continue
        found = [m.start() for m in INCLUDE.finditer(text)
                 if re.search(library.headers, m.group(1) or m.group(2))]  # fmt: skip
        lines = {line_of(text, position) for position in found}
        lines |= {line_of(code, match.start()) for match in re.finditer(library.names, code)}
        for line in sorted(lines):
            yield f"{path}:{line}: {library.name} belongs under {' and '.join(library.folders)}."


def check(root):
    files = (path for folder in FOLDERS for path in sorted((root / folder).rglob("*")))
    return [
        problem
        for path in files
        if path.suffix in SUFFIXES and path.is_file()
        for problem in check_file(root, path.relative_to(root))
    ]


if __name__ == "__main__":
    problems = check(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())
    print(*problems, sep="\n", end="\n" if problems else "")
    sys.exit(1 if problems else 0)
