"""The fuzzer finds bugs planted in the guards, the replay and the passes."""

import subprocess

import mutate
import pytest
from conftest import NIGHTLY
from mutants import MUTANTS
from proof_mutants import PROOF

SAMPLE = (4,)  # rows for every day: each is compiled and linked
SAMPLE_OF_PROOF = (60,)
SHARE = 0.98  # to be found of all rows


def test_rows_fit_the_sources():
    """A source that changes leaves a few rows behind, which the nightly run does not forgive."""
    stale = []
    for row in (*MUTANTS, *PROOF):
        try:
            name, text = mutate.mutated(row)
            assert text != (mutate.ROOT / name).read_text(), row
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
            mutate.mutated(MUTANTS[number])
        except ValueError:
            continue  # told by the test above
        try:
            found = mutate.look(MUTANTS[number], generated[0][:4000], generated[1][:4000])
        except subprocess.CalledProcessError as e:
            pytest.fail(f"row {number} does not compile:\n{e.stderr[:2000]}", pytrace=False)
        if not found.program:
            missed.append(MUTANTS[number])
    assert len(missed) <= (1 - SHARE) * len(rows), missed


def test_planted_bugs_of_the_proof_are_found(worlds):
    """Every one: a proof that is wrong is silently wrong."""
    if not (mutate.BUILD / "compile_commands.json").exists():
        pytest.skip("the extension was not built here")
    assert len(PROOF) >= 60
    missed = []
    for row in PROOF if NIGHTLY else [PROOF[n] for n in SAMPLE_OF_PROOF]:
        try:
            mutate.mutated(row)
        except ValueError:
            continue  # told by the first test
        try:
            found = mutate.look_at_proof(row, worlds[0][:600], worlds[1][:600])
        except subprocess.CalledProcessError as e:
            pytest.fail(f"{row} does not compile:\n{e.stderr[:2000]}", pytrace=False)
        if not found:
            missed.append(row)
    assert not missed
