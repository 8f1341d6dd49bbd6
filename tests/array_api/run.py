"""Runs the tests of the array API standard (data-apis/array-api-tests) eagerly and traced.

    ./dev python tests/array_api/run.py [--examples N] [PYTEST ARGUMENTS]

The checkout is that of FRAZIL_ARRAY_API_TESTS, or cloned at REVISION into build/array-api-tests;
what it imports goes into a virtual environment beside it. Ids of xfails.txt may fail. The suite
`array_api` runs it: 100 examples of each test in nightly runs, else 10 where there is a checkout.
"""

import argparse
import os
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
URL = "https://github.com/data-apis/array-api-tests"
REVISION = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
MODULES = ("frazil", "traced_frazil")
NEEDED = ("pytest==9.2.0", "pytest-json-report==1.5.0", "hypothesis==6.170.15", "ndindex==1.10.1")


def checkout(clone=True):
    """The folder; None if it is not there and is not to be cloned."""
    given = os.environ.get("FRAZIL_ARRAY_API_TESTS")
    if given:
        return Path(given)
    folder = ROOT / "build" / "array-api-tests"
    if not (folder / "array-api" / "src").is_dir():
        if not clone:
            return None
        for argv in (
            ["clone", "-q", URL, folder],
            ["-C", folder, "checkout", "-q", REVISION],
            ["-C", folder, "submodule", "update", "-q", "--init"],
        ):
            if subprocess.run(["git", *map(str, argv)]).returncode:
                raise SystemExit(
                    f"array_api: {URL} could not be cloned; set FRAZIL_ARRAY_API_TESTS to a "
                    "checkout with its submodule."
                )
    return folder


def interpreter():
    folder = ROOT / "build" / "array-api-venv"
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *NEEDED, "numpy"], check=True)
    return python


def argv_and_env(module, examples, *rest):
    """What runs the tests of a module: frazil or traced_frazil."""
    env = os.environ | {
        "PYTHONPATH": f"{ROOT / 'build' / 'python'}{os.pathsep}{HERE}",
        "ARRAY_API_TESTS_MODULE": module,
    }
    argv = [interpreter(), "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider",
            "--tb=short", "--disable-warnings", f"--max-examples={examples}", "--derandomize",
            "--xfails-file", HERE / "xfails.txt", *rest]  # fmt: skip
    return [str(a) for a in argv], env


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=100, help="of each test")
    options, rest = parser.parse_known_args()
    folder = checkout()
    failed = False
    for module in MODULES:
        print(f"array_api: {module}", flush=True)
        argv, env = argv_and_env(module, options.examples, *rest)
        failed |= bool(subprocess.run(argv, cwd=folder, env=env).returncode)
    sys.exit(failed)


if __name__ == "__main__":
    main()
