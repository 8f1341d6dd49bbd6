"""What ./dev shows of the tools that it calls: little, their complaints, and where the rest is.

It runs on a copy in a folder of its own, whose meson and ninja only say what the test wants.
"""

import contextlib
import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
NINJA = """#!/usr/bin/env python3
import os, sys
status = os.environ["NINJA_STATUS"]
targets = os.environ["TARGETS"].split("|")
for i, target in enumerate(targets, 1):
    name, _, said = target.partition("=")
    print(status.replace("%f", str(i)).replace("%t", str(len(targets))) + "Compiling " + name)
    print(said, end="\\n" if said else "")
sys.exit("FAILED: " in os.environ["TARGETS"])
"""
WARNING = "a.cc:1:2: warning: 'x' may be used uninitialized [-Wmaybe-uninitialized]"


@pytest.fixture(params=["frazil", "frazil/mit Leerzeichen", "Prüfung"])
def checkout(request, tmp_path):
    root, venv = tmp_path / request.param, tmp_path / "venv"
    for folder in (root / "tools", root / "bindings/python/frazil", venv / "bin"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "dev", root)
    (root / "tools/apt.txt").touch()
    for list_ in (root / "tools/requirements.txt", venv / ".frazil-requirements"):
        list_.write_text("meson\n")
    (venv / "bin/ninja").write_text(NINJA)
    (venv / "bin/meson").write_text('#!/bin/sh\nprintf "%s" "1 said $*"\n')  # no newline
    (venv / "bin/python").write_text("#!/bin/sh\n")  # finds no further interpreters
    for tool in ("ninja", "meson", "python"):
        (venv / "bin" / tool).chmod(0o755)
    return root


def environment(checkout, targets, **others):
    kept = {name: value for name, value in os.environ.items() if name != "CI"}
    venv = next(p for p in checkout.parents if (p / "venv").is_dir()) / "venv"
    return kept | {"FRAZIL_VENV": str(venv), "TARGETS": "|".join(targets)} | others


def built(checkout, *targets, **others):
    """The status, and the lines on standard error, of a build that finishes these targets."""
    done = subprocess.run(
        [checkout / "dev", "build"],
        env=environment(checkout, targets, **others),
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def test_a_build_is_two_lines_and_a_log(checkout):
    status, lines = built(checkout, "a.cc", "b.cc")
    log = checkout / "build/build.log"
    assert (status, lines[0]) == (0, f"dev: building: 2 targets; {log}")
    assert len(lines) == 2 and re.fullmatch(r"dev: built in \d+ s", lines[1])
    assert "1 said setup" in log.read_text() and "\r" not in log.read_text()


def test_warnings_are_counted_until_their_target_is_built_again(checkout):
    kept = checkout / "build/.frazil-warnings"
    status, lines = built(checkout, f"a.cc={WARNING}\n{WARNING}", f"b.cc={WARNING}")
    assert (status, lines[-1]) == (0, f"dev: 3 warnings of the compiler: {kept}")
    assert WARNING in (checkout / "build/build.log").read_text()
    _, lines = built(checkout, "a.cc", "c.cc")
    assert lines[-1] == f"dev: 1 warnings of the compiler: {kept}"
    assert kept.read_text() == f"Compiling b.cc\t{WARNING}\n"
    _, lines = built(checkout, "b.cc")
    assert kept.read_text() == "" and lines[-1].startswith("dev: built in")


def test_errors_are_shown_from_the_first_on(checkout):
    many = "\n".join(f"a.cc:{i}: error: e{i}" for i in range(200))
    status, lines = built(checkout, "b.cc=talk", f"a.cc=FAILED: a.o\n{many}")
    assert status == 1 and "talk" not in lines
    first = lines.index("FAILED: a.o")
    assert lines[first + 1] == "a.cc:0: error: e0" and len(lines) < 100
    assert f"dev: building failed; all that was said: {checkout / 'build/build.log'}" in lines
    assert lines[-1] == "dev: the build failed"
    assert many in (checkout / "build/build.log").read_text()


def test_all_errors_are_shown_in_ci(checkout):
    built(checkout, "c.cc=before")
    many = "\n".join(f"a.cc:{i}: error: e{i}" for i in range(200))
    status, lines = built(checkout, "b.cc=talk", f"a.cc=FAILED: a.o\n{many}", CI="true")
    assert status == 1 and set(many.splitlines()) | {"talk"} < set(lines) and "before" not in lines


def test_what_could_not_be_set_up_is_shown(checkout, tmp_path):
    (tmp_path / "venv/bin/meson").write_text(
        '#!/bin/sh\n[ "$1" = --version ] || { echo "lacks asmjit"; exit 3; }\n'
    )
    status, lines = built(checkout, "a.cc")
    assert status == 1 and "lacks asmjit" in lines
    assert lines[-1] == "dev: build could not be configured"


def test_packages_that_could_not_be_installed_are_shown(checkout, tmp_path):
    (checkout / "tools/requirements.txt").write_text("none-such\n")
    (tmp_path / "venv/bin/python").write_text("#!/bin/sh\necho no package $5 there >&2\nexit 1\n")
    (tmp_path / "venv/bin/python").chmod(0o755)
    status, lines = built(checkout, "a.cc")
    log = checkout / "build/setup.log"
    assert lines[0] == f"dev: installing 1 Python packages into {tmp_path / 'venv'}; {log}"
    assert status == 1 and any(line.startswith("no package ") for line in lines)
    assert "could not be installed" in lines[-1] and str(log) in lines[-2]


def test_only_what_is_needed_must_be_installable(checkout, tmp_path):
    """Without a browser the other tests run; its list is looked at where the suite is run."""
    (checkout / "tools/apt-docs.txt").write_text("# Why.\nsome-browser\n")
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, script in (("dpkg-query", ""), ("apt-get", "echo no $*\nexit 100\n")):
        (tools / name).write_text(f"#!/bin/sh\n{script}")
        (tools / name).chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"

    def tested(*names):
        argv = [checkout / "dev", "test", *names]
        env = environment(checkout, ["a.cc"], PATH=path)
        done = subprocess.run(argv, env=env, capture_output=True, text=True)
        return done.returncode, done.stderr

    assert tested("core") == (0, "")
    for names in ((), ("core", "docs")):
        status, said = tested(*names)
        assert status == 0 and "installing 1 Debian packages" in said
        assert said.endswith("could not be installed; pages are not opened in a browser\n")
    (checkout / "tools/apt.txt").write_text("some-compiler\n")
    status, said = tested("core")
    assert status == 1 and said.endswith("dev: the packages could not be installed\n")


def test_a_terminal_sees_how_far_it_is(checkout):
    main, terminal = pty.openpty()
    subprocess.run(
        [checkout / "dev", "build"],
        env=environment(checkout, ["a.cc", "b.cc"]),
        stdin=subprocess.DEVNULL,
        stderr=terminal,
        check=True,
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed: all has been read
        while part := os.read(main, 1000):
            shown += part
    os.close(main)
    shown = shown.decode()
    assert re.search(r"\r\x1b\[Kdev: configuring \(\d+ s\): 1 said setup ", shown)
    assert re.search(r"\r\x1b\[Kdev: building, 1 of 2 \(\d+ s\)", shown)
    assert re.search(r"\r\x1b\[Kdev: built in \d+ s\r\n$", shown)


def compiler():
    try:
        done = subprocess.run(["c++", "-dumpversion"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


@pytest.mark.skipif(compiler() != "12", reason="other compilers warn of other things")
def test_the_build_has_no_warnings():
    kept = ROOT / "build/.frazil-warnings"
    assert not kept.exists() or kept.read_text() == "", "build what it names again after repairs"
