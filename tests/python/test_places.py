"""Events name the user's file and line, wherever the package and the user's project lie."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import frazil

PACKAGE = Path(frazil.__file__).parent  # where it lies, maybe behind links

# The operation that begins the recording runs in the package, below two of the user's frames.
PROJECT = """\
    import os
    import sys

    if len(sys.argv) > 1:
        sys.path.insert(0, sys.argv[1])

    import frazil as fz

    layer = fz.nn.Linear(3, 2)


    @fz.trace
    def step(x):
        return fz.nn.relu(layer(x))  # line 14


    def run():
        os.chdir("/")  # relative paths lead nowhere from here on
        step(fz.ones((4, 3)))
        (first,) = step.stats()["events"]
        print(first["where"], os.path.dirname(fz.__file__))


    if __name__ == "__main__":
        run()
"""


def staged(folder):
    """The package as ./dev stages it: a folder of links to its files."""
    package = folder / "build/python/frazil"
    shutil.copytree(
        PACKAGE, package, copy_function=lambda file, link: os.symlink(Path(file).resolve(), link)
    )
    return package.parent


def installed(folder):
    """The package as pip leaves it: files, and their bytecode with the paths of another place."""
    first, site = folder / "first", folder / "site-packages"
    shutil.copytree(PACKAGE, first / "frazil")
    subprocess.run([sys.executable, "-m", "compileall", "-q", "first"], cwd=folder, check=True)
    first.rename(site)
    return site


def linked(folder):
    """The whole package behind one link."""
    site = folder / "links"
    site.mkdir()
    (site / "frazil").symlink_to(PACKAGE.resolve())
    return site


def where(cwd, *arguments, path):
    environment = os.environ | {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    place, _, package = done.stdout.strip().partition(" ")
    return place, package


def written(folder, name="train.py"):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(textwrap.dedent(PROJECT))
    return folder / name


@pytest.mark.parametrize("package", [staged, installed, linked])
@pytest.mark.parametrize("name", ["frazil", "frazil/mit Leerzeichen", "frazil/Prüfung/src"])
def test_a_project_in_a_folder_of_that_name(tmp_path, package, name):
    script = written(tmp_path / name)
    path = package(tmp_path / name)
    place, found = where(tmp_path, script, path=path)
    assert (place, found) == ("train.py:14", str(path / "frazil"))


def test_a_project_behind_a_link(tmp_path):
    script = written(tmp_path / "frazil")
    (tmp_path / "frazil/here").symlink_to(script.parent)
    path = staged(tmp_path / "frazil")
    place, _ = where(tmp_path, tmp_path / "frazil/here/train.py", path=path)
    assert place == "train.py:14"


@pytest.mark.parametrize("package", [staged, installed, linked])
def test_a_relative_path_to_the_package(tmp_path, package):
    script = written(tmp_path / "frazil")
    path = package(tmp_path).relative_to(tmp_path)
    place, found = where(tmp_path, script.relative_to(tmp_path), str(path), path="")
    assert (place, found) == ("train.py:14", str(tmp_path / path / "frazil"))


def test_packages_of_the_user_of_like_names(tmp_path):
    written(tmp_path / "mine/frazil", "steps.py")
    written(tmp_path, "frazil_steps.py")
    for module in ("mine.frazil.steps", "frazil_steps"):
        code = f"import {module} as m; m.run()"
        place, _ = where(tmp_path, "-c", code, path=PACKAGE.parent)
        assert place == f"{module.rpartition('.')[2]}.py:14"


def test_code_without_a_module():
    values = {"fz": frazil}
    code = "f = fz.trace(lambda x: fz.nn.relu(x) + 1)\nf(fz.ones(3))"
    exec(compile(code, "made/frazil/up.py", "exec"), values)
    assert values["f"].stats()["events"][0]["where"] == "up.py:1"
