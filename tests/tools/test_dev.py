"""`./dev python` is an ordinary interpreter that can import the build; wrong commands say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = "build test demo gallery bench lint fmt asan tsan npu clean python docs".split()
ROOT = Path(__file__).resolve().parents[2]


def dev(*args, **options):
    return subprocess.run([ROOT / "dev", *args], capture_output=True, text=True, **options)


def test_python_keeps_directory_input_and_status(tmp_path):
    code = "import os, sys; print(os.getcwd(), input()); sys.exit(7)"
    done = dev("python", "-c", code, cwd=tmp_path, input="hello\n")
    assert (done.returncode, done.stdout) == (7, f"{tmp_path} hello\n")


def test_python_reads_a_program_from_standard_input(tmp_path):
    done = dev("python", "-", "a b", cwd=tmp_path, input="import sys; print(sys.argv[1:])")
    assert (done.returncode, done.stdout) == (0, "['a b']\n")


def test_python_imports_the_build(tmp_path):
    code = "import frazil; print(frazil.__file__, frazil.__version__)"
    path, version = dev("python", "-c", code, cwd=tmp_path).stdout.rsplit(maxsplit=1)
    assert Path(path).is_relative_to(ROOT / "build/python/frazil")
    assert Path(path).samefile(ROOT / "bindings/python/frazil/__init__.py")
    assert version.count(".") == 2


def test_alone_it_explains_itself():
    done = dev()
    assert done.returncode == 0
    for command in COMMANDS:
        assert f"\n  {command}" in done.stdout or f"| {command}" in done.stdout, command


def test_an_unknown_command_fails():
    done = dev("biuld")
    assert done.returncode == 1
    assert "unknown command: biuld" in done.stderr


def test_an_unknown_suite_fails():
    done = dev("test", "none-such")
    assert done.returncode == 2
    assert "no suite none-such" in done.stderr


@pytest.mark.skipif("FRAZIL_NIGHTLY" not in os.environ, reason="builds everything again")
def test_an_installed_wheel_works(tmp_path):
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(wheel, check=True)
    (file,) = tmp_path.glob("frazil-*.whl")
    target = tmp_path / "site"
    subprocess.run([*pip, "install", "--no-deps", "--target", target, file], check=True)
    code = "import frazil; print(frazil.__file__)"
    environment = os.environ | {"PYTHONPATH": str(target)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(
        argv, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert Path(done.stdout.strip()).is_relative_to(target)
    assert (target / "frazil/py.typed").is_file()
    usage = subprocess.run([target / "bin/frazil-npu", "help"], capture_output=True, text=True)
    assert "frazil-npu as PROGRAM" in usage.stdout
