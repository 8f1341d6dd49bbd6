"""The headers that programs outside of the tree get: frazil.h, c.h and all that they include.

`python tools/public_headers.py FOLDER` writes them to FOLDER/frazil; meson runs it at installation.
There they include each other as <frazil/...>: no folder of the tree is on a program's path, where
another project's core/tensor.h might be. Each must let go of hidden visibility around what it
declares, since its functions are called from other libraries.
"""

import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIRST = ("bindings/cpp/frazil.h", "bindings/cpp/c.h")
INCLUDE = re.compile(r'^(\s*#\s*include\s*)"([^"]+)"', re.MULTILINE)
# Before a program's own warnings, whichever it asks for: headers of libraries are not its concern.
SYSTEM = "#pragma GCC system_header\n"
VISIBLE = ("#pragma GCC visibility push(default)\n", "#pragma GCC visibility pop\n")


def public(root=ROOT):
    """The headers and tables, as paths from the root."""
    found, waiting = {}, [*FIRST]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = (root / name).read_text()
            names = (match.group(2) for match in INCLUDE.finditer(found[name]))
            waiting += [name for name in names if (root / name).is_file()]  # others are libraries'
    return dict(sorted(found.items()))


def installed_name(name):
    return "frazil/" + name.removeprefix("bindings/cpp/")


def installed_text(text, names):
    def renamed(match):
        start, name = match.groups()
        return f"{start}<{installed_name(name)}>" if name in names else match.group()

    return SYSTEM + INCLUDE.sub(renamed, text)


def problems(root=ROOT):
    """What keeps a header from being used outside; ./dev lint shows it."""
    return [
        f"{name}: a public header (tools/public_headers.py) needs `{line.strip()}` once."
        for name, text in public(root).items()
        for line in VISIBLE
        if name.endswith(".h") and "namespace frazil" in text and text.count(line) != 1
    ]


def install(folder):
    headers = public()
    for name, text in headers.items():
        path = folder / installed_name(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(installed_text(text, headers))
        path.chmod(0o644)


if __name__ == "__main__":
    # The folder is meson's include directory, below the prefix unless it is absolute.
    prefix = Path(os.environ.get("MESON_INSTALL_DESTDIR_PREFIX", "."))
    destination = os.environ.get("DESTDIR", "")
    include = Path(sys.argv[1])
    install(Path(destination + str(include)) if include.is_absolute() else prefix / include)
