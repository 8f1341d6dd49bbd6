"""The fuzzer finds bugs planted in the guards, the replay and the passes."""

import subprocess

import mutate
import pytest
from conftest import NIGHTLY
from mutants import MUTANTS

SAMPLE = (1, 4, 11)  # rows for every day
SHARE = 0.98  # to be found of all rows


def test_rows_fit_the_sources():
    """A source that changes leaves a few rows behind, which the nightly run does not forgive."""
    stale = []
    for number in range(len(MUTANTS)):
        try:
            name, text = mutate.mutated(number)
            assert text != (mutate.ROOT / name).read_text(), number
        except ValueError as e:
            stale.append(str(e))
    assert len(stale) <= (0 if NIGHTLY else len(MUTANTS) // 10), "\n".join(stale)


def test_planted_bugs_are_found(generated):
    if not (mutate.BUILD / "compile_commands.json").exists():
        pytest.skip("the extension was not built here")
    rows = range(len(MUTANTS)) if NIGHTLY else SAMPLE
    missed = []
    for number in rows:
        try:
            mutate.mutated(number)
        except ValueError:
            continue  # told by the test above
        try:
            found = mutate.look(number, generated[0][:4000], generated[1][:4000])
        except subprocess.CalledProcessError as e:
            pytest.fail(f"row {number} does not compile:\n{e.stderr[:2000]}", pytrace=False)
        if not found.program:
            missed.append(MUTANTS[number])
    assert len(missed) <= (1 - SHARE) * len(rows), missed
