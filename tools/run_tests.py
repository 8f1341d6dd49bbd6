"""Runs the test suites and counts what passed; `./dev test`, `asan` and `tsan` call it.

A suite is a row of SUITES: the googletest programs that meson lists under the suite's name, the
pytest files in tests/NAME, or both. What is told apart by interpreter runs on the further ones, too
(tools/pythons.py). Every suite closes with `NAME: N passed, N failed` (skips
counted apart) and the run with the total. A program that crashes, hangs or runs no test has failed.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pythons

ROOT = Path(__file__).resolve().parent.parent
TIME_LIMIT = 30_000  # seconds for one program; a nightly fuzz run is the longest


@dataclass(frozen=True)
class Suite:
    cpp: bool = False  # has googletest programs
    python: bool = False  # has pytest files
    sanitized: bool = True  # runs under the sanitizers by default
    threads: bool = False  # has C++ tests of several threads: runs under tsan by default
    asked: bool = False  # runs only if it is named
    interpreters: str = ""  # "always" or "nightly": runs on the further interpreters, too
    seconds: int = 0  # about, of its pytest files by day: what takes long begins first
    targets: tuple[str, ...] = ()  # what its pytest files use of the build beside the module


# What CUDA tests open instead of NVIDIA's libraries.
FAKES = tuple(
    f"tests/cuda/fake/{name}"
    for name in ("libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12", "libnccl.so.2")
)

# As above, of the googletest programs that take longest.
SECONDS = {"kernels_test": 80, "x86_test": 45, "rewrites_test": 20, "npu_emit_test": 20}

# The table: add a suite here together with its first test.
SUITES = {
    "tools": Suite(
        python=True,
        sanitized=False,
        seconds=25,
        targets=("examples/lorenz", "examples/train_digits"),
    ),
    "core": Suite(cpp=True, threads=True),
    "tracer": Suite(cpp=True),
    "frozen": Suite(cpp=True, threads=True),
    "conformance": Suite(
        python=True, sanitized=False, interpreters="nightly", seconds=40, targets=FAKES
    ),
    "array_api": Suite(python=True, sanitized=False, seconds=25),
    "nn": Suite(python=True, sanitized=False, seconds=20),
    "optim": Suite(python=True, sanitized=False, seconds=15),
    "gallery": Suite(python=True, sanitized=False, seconds=15),
    "docs": Suite(python=True, sanitized=False, seconds=40),
    "onnx": Suite(python=True, sanitized=False, seconds=40),
    "gradients": Suite(python=True, sanitized=False, interpreters="nightly", seconds=80),
    "fuzz": Suite(python=True, sanitized=False, seconds=250, targets=FAKES),
    "cpp": Suite(cpp=True, threads=True),
    "python": Suite(
        python=True,
        interpreters="always",
        seconds=330,
        targets=("bindings/cli/frazil-run", "shared-library"),
    ),
    "cuda": Suite(
        cpp=True,
        python=True,
        interpreters="nightly",
        seconds=270,
        targets=(*FAKES, "tests/cuda/cuda_corpus", "tests/cuda/cuda_texts"),
    ),
    "distributed": Suite(
        cpp=True,
        python=True,
        sanitized=False,
        seconds=110,
        targets=(*FAKES, "tests/distributed/ranks"),
    ),
    "goldens": Suite(cpp=True),
    "hazards": Suite(python=True, sanitized=False, interpreters="nightly", seconds=60),
    "corpus": Suite(python=True, sanitized=False, interpreters="nightly", seconds=65),
    "npu": Suite(cpp=True),
    "bench": Suite(python=True, sanitized=False, seconds=25, targets=("yardstick",)),
    "install": Suite(
        python=True,
        sanitized=False,
        seconds=70,
        targets=("shared-library", "bindings/cli/frazil-npu", "bindings/cli/frazil-run"),
    ),
    "gpu": Suite(python=True, sanitized=False, asked=True),
}

# The thread sanitizer makes a program tens of times slower and has nothing to say about one thread:
# what it runs of such programs, as googletest filters; None leaves a program out.
TSAN_FILTERS = {
    "fn_test": None,
    "graph_test": None,
    "jit_test": None,
    "kernels_test": "Conv.*:Gemm.*:*PackedByTeam",
    "lower_test": "KernelCache.*:Launch.*",
    "x86_test": None,
}
# It does not see what generated code does either: these run a second time, on the interpreter.
TSAN_INTERPRETED = ("attention_test", "plan_test")


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        line = f"{self.passed} passed, {self.failed} failed"
        return f"{line}, {self.skipped} skipped" if self.skipped else line


def complain(message, output=None):
    print(f"FAILED: {message}", file=output, flush=True)
    return Count(failed=1)


def count_report(path):
    """Counts the cases of a JUnit report; None when the program did not live to write it whole."""
    try:
        root = ElementTree.parse(path).getroot()
    except (FileNotFoundError, ElementTree.ParseError):
        return None
    count = Count()
    for case in root.iter("testcase"):
        if case.get("status") == "notrun":  # a disabled googletest case
            continue
        children = {child.tag for child in case}
        if children & {"failure", "error"}:
            count.failed += 1
        elif "skipped" in children or case.get("result") == "skipped":
            count.skipped += 1
        else:
            count.passed += 1
    return count


def run_program(name, argv, report, env, output=None):
    """Runs one test program and returns its count, with at least one failure if it went wrong.
    What it prints goes to `output`, a file, or where the rest is printed."""
    streams = {"stdin": subprocess.DEVNULL}
    if output:
        streams |= {"stdout": output, "stderr": subprocess.STDOUT}
    try:
        status = subprocess.run(argv, cwd=ROOT, env=env, timeout=TIME_LIMIT, **streams).returncode
    except subprocess.TimeoutExpired:
        return complain(f"{name} did not finish in {TIME_LIMIT} seconds.", output)
    count = count_report(report)
    if count is None:
        return complain(f"{name} ended with status {status} before it reported its tests.", output)
    if count == Count():
        return complain(f"{name} ran no test.", output)
    if status != 0 and count.failed == 0:
        count.add(complain(f"{name} ended with status {status} though no test failed.", output))
    return count


class Runner:
    def __init__(self, build_dir, dev):
        self.build_dir = build_dir
        self.dev = dev
        self.sanitizer = build_dir.removeprefix("build").removeprefix("-")
        self.making = threading.Lock()  # of an interpreter's environment, which suites share
        self.env = os.environ | {"FRAZIL_ROOT": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
        self.env["FRAZIL_BUILD"] = str(ROOT / build_dir)
        self.env["FRAZIL_FAKE_CUDA"] = str(ROOT / build_dir / "tests" / "cuda" / "fake")
        self.env |= {
            "ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
            "TSAN_OPTIONS": "halt_on_error=0:second_deadlock_stack=1",
        }

    def includes(self, name):
        """Whether a run of all suites has this one."""
        suite = SUITES[name]
        if suite.asked or not self.sanitizer:
            return not suite.asked
        return suite.threads if self.sanitizer == "tsan" else suite.sanitized

    def build(self, targets):
        argv = [self.dev, "build-in", self.build_dir, *targets]
        return subprocess.run(argv, stdin=subprocess.DEVNULL).returncode == 0

    def programs(self):
        """The googletest programs as {suite: {program name: path}}."""
        argv = ["meson", "introspect", "--tests", str(ROOT / self.build_dir)]
        suites = {}
        for test in json.loads(subprocess.run(argv, check=True, capture_output=True).stdout):
            for label in test["suite"]:
                suite = label.rpartition(":")[2]
                program = Path(test["cmd"][0])
                suites.setdefault(suite, {})[program.name] = program
        return suites

    def chosen(self, program):
        """Which tests of a program run, as a googletest filter; None if none."""
        return TSAN_FILTERS.get(program, "*") if self.sanitizer == "tsan" else "*"

    def cpp_jobs(self, programs):
        """What runs a suite's googletest programs, each with the seconds that it takes."""
        for name, program in sorted(programs.items()):
            if chosen := self.chosen(name):
                yield SECONDS.get(name, 0), partial(self.run_cpp, name, program, chosen, self.env)
                if self.sanitizer == "tsan" and name in TSAN_INTERPRETED:
                    env = self.env | {"FRAZIL_JIT": "interp"}
                    yield 0, partial(self.run_cpp, f"{name}, interpreted", program, chosen, env)

    def run_cpp(self, name, program, chosen, env, output):
        print(f"--- {name}", file=output, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.xml")
            argv = [program, "--gtest_brief=1", f"--gtest_output=xml:{report}"]
            return run_program(name, [*argv, f"--gtest_filter={chosen}"], report, env, output)

    def preload(self):
        """What an interpreter built without the sanitizer needs to load an extension with it."""
        names = [f"lib{self.sanitizer}.so", "libstdc++.so"]  # the latter for its throw to be seen
        paths = [
            subprocess.run(
                ["gcc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
            ).stdout.strip()
            for name in names
        ]
        # The interpreter never frees everything, so leaks cannot be told from its habits.
        return {"LD_PRELOAD": " ".join(paths), "ASAN_OPTIONS": "detect_leaks=0"}

    def interpreters(self, name):
        """{version: path} of the further interpreters that a suite runs on."""
        when = SUITES[name].interpreters
        if self.sanitizer or not when or (when == "nightly" and "FRAZIL_NIGHTLY" not in self.env):
            return {}
        return pythons.further(pythons.places())

    def run_python(self, suite, output, python=sys.executable, left_out=()):
        folder = ROOT / "tests" / suite
        env = self.env | {"PYTHONPATH": str(ROOT / self.build_dir / "python")}
        if self.sanitizer:
            env |= self.preload()
        print(f"--- pytest tests/{suite}", file=output, flush=True)
        with tempfile.TemporaryDirectory() as temporary:
            report = Path(temporary, "report.xml")
            argv = [python, "-m", "pytest", "-q", f"--junitxml={report}", folder]
            argv += [f"--ignore={ROOT / name}" for name in left_out]
            return run_program(f"pytest tests/{suite}", argv, report, env, output)

    def run_further(self, suite, version, base, output):
        print(f"--- Python {version}", file=output, flush=True)
        left_out = pythons.LEFT_OUT
        if "FRAZIL_NIGHTLY" not in self.env:
            left_out += pythons.NIGHTLY
        try:
            with self.making:
                python = pythons.environment(version, base, ROOT / self.build_dir)
        except subprocess.CalledProcessError as error:
            return complain(f"no virtual environment for it: {error}", output)
        return self.run_python(suite, output, python, left_out)

    def jobs(self, name, programs):
        """What a suite runs, each with the seconds that it takes, about: it is given a file, prints
        there and returns its count."""
        suite = SUITES[name]
        if suite.cpp and not programs.get(name):
            message = f"meson lists no test program with suite: '{name}'."
            yield 0, lambda output: complain(message, output)
        yield from self.cpp_jobs(programs.get(name, {}) if suite.cpp else {})
        if suite.python and self.sanitizer != "tsan":  # an interpreter cannot run under tsan
            yield suite.seconds, partial(self.run_python, name)
            for version, base in self.interpreters(name).items():
                yield suite.seconds // 2, partial(self.run_further, name, version, base)

    def run_suites(self, names, programs):
        """The total. Jobs run side by side, as each keeps about one processor busy, the longest
        first, so that all are busy to the end; what they print comes by suites. One alone prints as
        it runs."""
        total = Count()
        names = dict.fromkeys(names)
        jobs = [(name, *job) for name in names for job in self.jobs(name, programs)]
        run = captured if len(jobs) > 1 else lambda job: (job(None), "")
        pool = ThreadPoolExecutor(os.cpu_count())
        begun = {}
        try:
            for place in sorted(range(len(jobs)), key=lambda place: -jobs[place][1]):
                begun[place] = pool.submit(run, jobs[place][2])
            for name in names:
                count = Count()
                for place in (place for place, job in enumerate(jobs) if job[0] == name):
                    more, text = begun[place].result()
                    print(text, end="", flush=True)
                    count.add(more)
                print(f"{name}: {count}", flush=True)
                total.add(count)
        finally:  # of Ctrl-C, too, which ends the programs
            pool.shutdown(cancel_futures=True)
        return total


def captured(job):
    """What a job counts, and what it printed, with the time that it took."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        begin = time.monotonic()
        count = job(output)
        print(f"({time.monotonic() - begin:.0f} s)", file=output, flush=True)
        output.seek(0)
        return count, output.read()


def check_table(programs, root=ROOT):
    """Fails for test programs and pytest files that no row of the table would ever run."""
    count = Count()
    for path in sorted(root.glob("tests/**/test_*.py")):
        folder = path.relative_to(root / "tests").parts[0]
        if folder not in SUITES or not SUITES[folder].python:
            name = path.relative_to(root)
            count.add(complain(f"{name} has no suite with Python in tools/run_tests.py."))
    for name in sorted(set(programs) - {name for name, suite in SUITES.items() if suite.cpp}):
        lost = ", ".join(sorted(programs[name]))
        count.add(complain(f"suite '{name}' ({lost}) has no row in tools/run_tests.py."))
    return count


def main():
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun by a shell in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(prog="./dev test")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SUITES))
    parser.add_argument("--nightly", action="store_true", help="add the long runs")
    parser.add_argument("--build-dir", default="build", help=argparse.SUPPRESS)
    parser.add_argument("--dev", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in SUITES]:
        parser.error(f"no suite {', '.join(unknown)}; there are: {', '.join(SUITES)}")

    runner = Runner(args.build_dir, args.dev)
    if args.nightly:
        runner.env["FRAZIL_NIGHTLY"] = "1"
    names = args.names or [name for name in SUITES if runner.includes(name)]

    # One suite builds only what it runs; the build files are brought up to date to know what.
    total = Count()
    programs = {}
    built = runner.build(["build.ninja"])
    if built:
        programs = runner.programs()
        targets = [
            str(program.relative_to(ROOT / args.build_dir))
            for name in names
            for program in programs.get(name, {}).values()
            if runner.chosen(program.name)
        ]
        if any(SUITES[name].python for name in args.names) and runner.sanitizer != "tsan":
            targets.append("python-module")
            targets += sorted({name for suite in args.names for name in SUITES[suite].targets})
        # Of the thread sanitizer's build only what runs: the rest takes as long as all others.
        everything = not args.names and runner.sanitizer != "tsan"
        if everything:
            targets = ["all"]
        if any(runner.interpreters(name) for name in names):
            targets.append("python-modules")
        built = runner.build(targets)
    if built:
        if not args.names:
            total.add(check_table(programs))
        total.add(runner.run_suites(names, programs))
    else:
        total.add(complain("the build."))
    print(total, flush=True)
    sys.exit(0 if total.failed == 0 and total.passed > 0 else 1)


if __name__ == "__main__":
    main()
