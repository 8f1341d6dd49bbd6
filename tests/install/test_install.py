"""The library as programs outside of the tree meet it: installed, found and run.

Nothing here may lie in the tree: the library is installed into a folder that is then moved, since
the packages for pkg-config and CMake say where things are from their own place.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
PROGRAM = Path(__file__).with_name("program")
OWN_OP = Path(__file__).with_name("own_op")
SAVED = Path(__file__).with_name("saved")
TRANSFORM = Path(__file__).with_name("transform")
LARGEST = 8_000_000  # bytes of libfrazil.so without symbols
MOST_OF_THREADS = 1024  # bytes of each thread: glibc has 1664 for all libraries opened later
GOLDEN = ROOT / "tests" / "frozen" / "golden_1.frz"


def run(*argv, cwd=None, **variables):
    done = subprocess.run(
        argv, cwd=cwd, env=os.environ | variables, capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("install")
    build = ROOT / "build"
    tags = "devel,runtime"
    run(
        "meson", "install", "-C", build, "--no-rebuild", "--quiet", "--tags", tags,
        "--destdir", folder / "first",
    )  # fmt: skip
    (first,) = (folder / "first").glob("**/include")
    return first.parent.rename(folder / "moved")


@pytest.fixture(scope="session")
def libraries(prefix):
    (library,) = prefix.glob("**/libfrazil.so")
    return library.parent


@pytest.fixture(scope="session")
def paths(libraries):
    return {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}


@pytest.fixture
def program(tmp_path):
    return shutil.copytree(PROGRAM, tmp_path / "program")


def check(built, paths):
    out = run(built, **paths, FRAZIL_DISK_CACHE="off")
    assert out.startswith("[reshape] "), out


def test_a_compiler_and_pkg_config(program, paths):
    flags = run("pkg-config", "--cflags", "--libs", "frazil", **paths).split()
    assert "-lfrazil" in flags
    run("g++", "-std=c++20", "-Wall", "-Wextra", "-Wshadow", "-Werror", "-Iother", "program.cc",
        "-o", "it", *flags, cwd=program)  # fmt: skip
    check(program / "it", paths)


def test_a_meson_project(program, paths):
    run("meson", "setup", "build", cwd=program, **paths)
    run("ninja", "-C", "build", cwd=program)
    check(program / "build" / "program", paths)


def test_a_cmake_project(program, prefix, paths):
    # Without `paths`: CMake finds it from the prefix, and the program by its own run path.
    run("cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=program)
    run("cmake", "--build", "build", cwd=program)
    check(program / "build" / "program", {})


@pytest.fixture
def saved(tmp_path):
    return shutil.copytree(SAVED, tmp_path / "saved")


def check_saved(folder, paths):
    """The program in C++ and the one in C, each of which ends with an error that it prints."""
    for name, message in (
        ("main", "[golden] takes 2 inputs"),
        ("plain", "[golden] takes 2 inputs"),
    ):
        assert message in run(folder / name, GOLDEN, **paths, FRAZIL_DISK_CACHE="off")


def test_saved_programs_by_a_compiler_and_pkg_config(saved, paths):
    flags = run("pkg-config", "--cflags", "--libs", "frazil", **paths).split()
    run("g++", "-std=c++20", "-Wall", "-Werror", "main.cc", "-o", "main", *flags, cwd=saved)
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "plain.c", "-o", "plain",
        *flags, cwd=saved)  # fmt: skip
    check_saved(saved, paths)
    assert "python" not in run("ldd", saved / "main", **paths)


def test_saved_programs_by_meson(saved, paths):
    run("meson", "setup", "build", cwd=saved, **paths)
    run("ninja", "-C", "build", cwd=saved)
    check_saved(saved / "build", paths)


def test_saved_programs_by_cmake(saved, prefix):
    run("cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=saved)
    run("cmake", "--build", "build", cwd=saved)
    check_saved(saved / "build", {})


def test_a_project_with_ops_of_its_own(tmp_path, paths):
    folder = shutil.copytree(OWN_OP, tmp_path / "own_op")
    run("meson", "setup", "build", cwd=folder, **paths)
    run("ninja", "-C", "build", cwd=folder)
    out = run(folder / "build" / "own_op", **paths, FRAZIL_DISK_CACHE="off")
    assert out.startswith("[row_sums] has no gradient: give the op the rule vjp"), out


def test_transforms_are_a_library_beside_it(tmp_path, libraries, paths):
    flags = run("pkg-config", "--cflags", "--libs", "frazil", **paths).split()
    program = tmp_path / "transform"
    run("g++", "-std=c++20", "-Wall", "-Werror", TRANSFORM / "main.cc", "-o", program, *flags)
    assert "fourier" not in run("ldd", program, **paths)
    assert run(program, **paths) == ""
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(libraries / "libfrazil.so.0", alone)
    without = os.environ | {"LD_LIBRARY_PATH": str(alone)}
    done = subprocess.run([program], env=without, capture_output=True, text=True)
    assert done.returncode == 2, done
    assert "libfrazil_fourier.so: cannot open shared object file" in done.stdout
    assert "which is installed with libfrazil.so, beside it" in done.stdout


def test_another_minor_version_is_refused(program, prefix):
    text = (program / "CMakeLists.txt").read_text()
    (program / "CMakeLists.txt").write_text(text.replace("frazil 0.1", "frazil 0.2"))
    argv = ["cmake", "-G", "Ninja", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    done = subprocess.run(argv, cwd=program, capture_output=True, text=True)
    assert done.returncode != 0 and "requested version" in done.stderr


def test_the_library_has_a_soname_and_shows_no_other_library(libraries):
    library = libraries / "libfrazil.so"
    assert "Library soname: [libfrazil.so.0]" in run("readelf", "-d", library)
    names = run("nm", "-DC", "--defined-only", library)
    assert " frazil::Initialize()" in names
    assert "asmjit::" not in names


def test_headers_are_those_that_frazil_needs(prefix):
    include = prefix / "include" / "frazil"
    assert [path.name for path in (prefix / "include").iterdir()] == ["frazil"]
    headers = {path: path.read_text() for path in include.rglob("*.*")}
    included = set()
    for text in headers.values():
        names = re.findall(r"^\s*#\s*include\s*(.*)$", text, re.MULTILINE)
        assert not [name for name in names if name.startswith('"') and name[1:5] != "absl"]
        included |= {name[1:-1] for name in names if name.startswith("<frazil/")}
    there = {str(path.relative_to(prefix / "include")) for path in headers}
    assert there == included | {"frazil/frazil.h", "frazil/c.h"}


def test_the_package_of_python_is_not_installed_with_it(prefix):
    assert not list(prefix.rglob("*.py"))


def test_missing_libraries_are_named_with_their_packages(tmp_path):
    argv = ["meson", "setup", tmp_path / "build", ROOT]
    argv += ["-Dtests=false", "-Dexamples=false", "-Dpython=disabled"]
    environment = os.environ | {"PKG_CONFIG_LIBDIR": str(tmp_path)}
    done = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "Abseil and Highway not found: frazil is built with these libraries" in done.stdout
    assert (
        "Debian, Ubuntu: apt install libabsl-dev libasmjit-dev libhwy-dev pkg-config" in done.stdout
    )


def test_the_library_is_small(libraries, tmp_path):
    run("strip", "-o", tmp_path / "stripped", libraries / "libfrazil.so")
    assert (tmp_path / "stripped").stat().st_size < LARGEST
    segments = run("readelf", "-lW", libraries / "libfrazil.so").splitlines()
    (threads,) = (line.split() for line in segments if line.split()[:1] == ["TLS"])
    assert int(threads[5], 16) < MOST_OF_THREADS
    shown = run("nm", "-DC", "--defined-only", libraries / "libfrazil_fourier.so")
    assert [line.split()[-1] for line in shown.splitlines()] == ["frz_fourier_of"]
