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
# Every file of tests/python is in one of these lists (tests/tools/test_pythons.py). What kernels
# compute, plans and files hold is the same under each interpreter: once a night is enough.
NUMBERS = """
    anomaly arange_and_masks array_api code_names complex deep default_dtype disk distributions
    eager_composites every_float32 export_golden fft fusion huge_arguments incomplete interp
    large_composites linalg map names npu npy numbers numpy_accuracy numpy_edges numpy_functions
    ops other_names out_of_memory pages partition progress promotion read_across readers renamed
    safetensors scans short_reductions short_rows small_loops sorting sparse sparse_products
    special special_values switches training view
""".split()
# What the interpreter has a part in: bytecode, frames, tracing, proofs and exports that stand on
# them, the C API, references, pickles, threads, signals, processes, texts of errors.
INTERPRETER = """
    array_function autograd bounds causes changed_while_read command_line convert convert_errors
    convert_fuzz cpp_names custom_derivatives data data_loader dlpack error_names export
    export_branches export_errors export_functions export_identity export_loops export_models
    export_shapes forms graph_mode import indexing leaving lending libraries list_operands
    long_loops loop_steps loops lost_writes nn op package parameters places profile proof
    proof_guards proof_hidden proof_moves proof_numbers proof_refused proof_watching pure
    pure_fuzz pure_loops pure_state pure_threads quick_skip reported settings show small_calls
    taken_ways tensor textbook threads trace traced_object transforms tree tree_modules
    tree_structures ufuncs while_fuzz while_loops wrong_arguments wrong_input wrong_transforms
""".split()
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
