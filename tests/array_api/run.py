"""Runs the tests of the array API standard (data-apis/array-api-tests) eagerly and traced.

    ./dev python tests/array_api/run.py [--examples N] [PYTEST ARGUMENTS]

The checkout is that of FRAZIL_ARRAY_API_TESTS, or cloned at REVISION into build/array-api-tests;
what it imports goes into a virtual environment beside it. Ids of xfails.txt may fail and must.
The nightly suite `array_api` calls it with 100 examples.
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
NEEDED = ("pytest==9.2.0", "pytest-json-report==1.5.0", "hypothesis==6.156.1", "ndindex==1.10.1")


def checkout():
    given = os.environ.get("FRAZIL_ARRAY_API_TESTS")
    if given:
        return Path(given)
    folder = ROOT / "build" / "array-api-tests"
    if not (folder / "array-api" / "src").is_dir():
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--examples", type=int, default=100, help="of each test")
    options, rest = parser.parse_known_args()
    folder, python = checkout(), interpreter()
    failed = False
    for module in ("frazil", "traced_frazil"):
        print(f"array_api: {module}", flush=True)
        env = os.environ | {
            "PYTHONPATH": f"{ROOT / 'build' / 'python'}{os.pathsep}{HERE}",
            "ARRAY_API_TESTS_MODULE": module,
        }
        argv = [python, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--tb=short",
                f"--max-examples={options.examples}", "--derandomize", "-o", "xfail_strict=True",
                "--xfails-file", HERE / "xfails.txt", *rest]  # fmt: skip
        failed |= bool(subprocess.run([*map(str, argv)], cwd=folder, env=env).returncode)
    sys.exit(failed)


if __name__ == "__main__":
    main()
