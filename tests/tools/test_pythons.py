"""Which interpreters beside the project's own the extension is built for."""


def make(root, *names, headers=True):
    """A folder of programs, with the headers of each beside it."""
    (root / "bin").mkdir(parents=True)
    for name in names:
        (root / "bin" / name).touch()
        if headers:
            (root / "include" / name).mkdir(parents=True)
            (root / "include" / name / "Python.h").touch()
    return root / "bin"


def test_supported_versions_with_headers_count(pythons, tmp_path):
    names = ("python", "python3", "python3.9", "python3.11", "python3.12", "python3.13t")
    folder = make(tmp_path / "a", *names, "python3.13", "python3.13-config")
    other = make(tmp_path / "b", "python3.14", headers=False)
    found = pythons.further([folder, other], own=11)
    assert found == {"3.12": folder / "python3.12", "3.13": folder / "python3.13"}
    assert list(pythons.further([folder], own=13)) == ["3.11", "3.12"]


def test_one_of_a_minor_version(pythons, tmp_path):
    a, b = (make(tmp_path / name, "python3.12") for name in "ab")
    assert pythons.further([b, a], own=11) == {"3.12": b / "python3.12"}


def test_the_path_goes_before_pyenv_and_newer_before_older(pythons, tmp_path):
    for name in ("3.9.18", "3.13.9", "3.13.10", "2.7.18"):
        (tmp_path / "versions" / name / "bin").mkdir(parents=True)
    places = pythons.places({"PYENV_ROOT": str(tmp_path), "PATH": "/one:/two"})
    assert [str(place) for place in places[:2]] == ["/one", "/two"]
    assert [place.parent.name for place in places[2:]] == ["3.13.10", "3.13.9", "3.9.18"]


def test_each_file_says_on_which_interpreters_it_runs_by_day(pythons):
    """A new file goes into one of the lists of tools/pythons.py."""
    by_night = [*pythons.LEFT_OUT, *pythons.NIGHTLY]
    by_day = [f"tests/python/test_{name}.py" for name in pythons.INTERPRETER]
    files = pythons.ROOT.glob("tests/python/**/test_*.py")
    found = sorted(str(path.relative_to(pythons.ROOT)) for path in files)
    assert sorted([*by_night, *by_day]) == found
