"""Runs SciPy's own tests of array API backends with frazil (scipy_backend.py) and counts them.

    ./dev python tests/array_api/scipy_run.py [PACKAGE ...] [--slow]

SciPy and its tests are those of tools/requirements.txt. Two packages run at a time, each on one
thread. A test that fails though scipy_xfails.txt does not name it fails the run. The suite
`array_api` runs all packages in nightly runs, else those of DAILY.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from run import HERE, ROOT

DAILY = ("cluster", "constants", "differentiate", "spatial")
# The longest first.
PACKAGES = ("signal", "stats", "ndimage", "special", "fft", "integrate", "_lib", "optimize",
            "interpolate", "linalg", *DAILY)  # fmt: skip
OUTCOMES = ("passed", "failed", "explained", "skipped")


def results(package, slow=False):
    """What became of each test, {id: [outcome, message]}, and what pytest printed."""
    import scipy  # noqa: PLC0415 -- its folder alone

    home = Path(scipy.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        env = os.environ | {
            "PYTHONPATH": f"{ROOT / 'build' / 'python'}{os.pathsep}{HERE}",
            "SCIPY_ARRAY_API": "1",
            "FRAZIL_SCIPY_REPORT": str(report),
            **dict.fromkeys(("FRAZIL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
        }
        argv = [sys.executable, "-m", "pytest", "-p", "scipy_backend", "-p", "no:cacheprovider",
                "-q", "--tb=short", "--disable-warnings", f"--rootdir={home}",
                "-c", os.devnull, "--pyargs", f"scipy.{package}"]  # fmt: skip
        argv += [] if slow else ["-m", "not slow"]
        ran = subprocess.run(
            list(map(str, argv)), cwd=folder, env=env, capture_output=True, text=True
        )
        text = ran.stdout + ran.stderr
        if ran.returncode not in (0, 1) or not report.exists():
            raise RuntimeError(f"array_api: the tests of scipy.{package} did not run:\n{text}")
        return json.loads(report.read_text(encoding="utf-8")), text


def counts(found):
    return Counter(outcome for outcome, _ in found.values())


def line(name, count):
    return f"{name:14}" + ", ".join(f"{count[o]} {o}" for o in OUTCOMES)


def failures(found):
    return {i: message for i, (outcome, message) in found.items() if outcome == "failed"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("packages", nargs="*", default=PACKAGES)
    parser.add_argument("--slow", action="store_true", help="tests that SciPy marks as slow, too")
    options = parser.parse_args()
    total, wrong = Counter(), {}
    with ThreadPoolExecutor(2) as pool:
        runs = {pool.submit(results, p, options.slow): p for p in options.packages}
        for run in as_completed(runs):
            package, (found, _) = runs[run], run.result()
            count = counts(found)
            total += count
            wrong |= failures(found)
            print(line(package, count), flush=True)
    print(line("all", total))
    for name, message in wrong.items():
        print(f"FAILED {name}\n    " + "\n    ".join(message.splitlines()[:6]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
