"""The interpreters beside the project's own that the extension is built for and the suites run on.

An interpreter counts if its minor version is supported and its headers lie beside it: those of PATH
and of pyenv, one for each minor version. `python tools/pythons.py` prints them for meson
(-Dpythons). Each has a virtual environment with the pinned packages that the suites import.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "tools" / "requirements.txt"
NEEDED = ("numpy", "onnx", "pytest", "scikit-learn")  # what the suites import
# Type checkers read the same stubs for every interpreter.
LEFT_OUT = ("tests/python/test_types.py",)
# What kernels compute is the same under each interpreter: once a night is enough.
NUMBERS = (
    "complex", "distributions", "every_float32", "fft", "linalg", "names", "numpy_accuracy",
    "numpy_functions", "promotion", "scans", "sorting", "sparse", "sparse_products", "special",
    "special_values",
)  # fmt: skip
NIGHTLY = tuple(f"tests/python/test_{name}.py" for name in NUMBERS)
OLDEST = 11


def places(environ=os.environ):
    """The folders to look into, with pyenv's newest versions first."""
    pyenv = Path(environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    numbers = {
        path: [int(n) for n in re.findall(r"\d+", path.parent.name)]
        for path in pyenv.glob("versions/3.*/bin")
    }
    on_path = [Path(folder) for folder in environ.get("PATH", "").split(os.pathsep) if folder]
    return [*on_path, *sorted(numbers, key=numbers.get, reverse=True)]


def further(folders, own=sys.version_info.minor):
    """{"3.13": path} of those in `folders`, without the minor version of the project's own."""
    found = {}
    for folder in folders:
        for path in folder.glob("python3.*"):
            name = re.fullmatch(r"python3\.(\d+)", path.name)
            if not name or int(name.group(1)) < OLDEST or int(name.group(1)) == own:
                continue
            if (folder.parent / "include" / path.name / "Python.h").is_file():
                found.setdefault(path.name.removeprefix("python"), path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].partition(".")[2])))


def environment(version, base, build):
    """The interpreter of the virtual environment build/pythons/VERSION, made if it is not there."""
    folder = build / "pythons" / version
    python, stamp = folder / "bin" / "python", folder / "requirements"
    lines = REQUIREMENTS.read_text().splitlines()
    pins = [line for line in lines if line.partition("==")[0] in NEEDED]
    if stamp.is_file() and stamp.read_text().split() == pins:
        return python
    subprocess.run([base, "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *pins], check=True)
    stamp.write_text("\n".join(pins))
    return python


if __name__ == "__main__":
    print(",".join(str(path) for path in further(places()).values()))
