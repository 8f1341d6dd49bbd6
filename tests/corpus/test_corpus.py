"""Functions as people write them: each means traced what it means untraced, over 20 calls, in a
world that stays as it is and in one that is changed between calls."""

import functools
import os

import corpus
import pytest
import report
import wrong

import frazil as fz

NAMES = list(corpus.programs())
SHARE = 1 if os.environ.get("FRAZIL_NIGHTLY") else 4  # of the programs, one in so many meets holes
SAMPLE = sorted({*NAMES[::SHARE], "printing_now_and_then"})


@functools.cache
def eager(name, changing):
    return corpus.run(name, corpus.eager, changing)[0]


@pytest.mark.parametrize("changing", [False, True], ids=["steady", "changing"])
@pytest.mark.parametrize("name", NAMES)
def test_traced_means_what_eager_means(name, changing):
    traced, made = corpus.run(name, fz.trace, changing)
    found = corpus.difference(eager(name, changing), traced)
    assert not found, f"{corpus.programs()[name].name}, {name}: {found}"
    assert corpus.traced_of(made.fn).stats()["calls"] >= corpus.CALLS


@pytest.mark.parametrize("name", NAMES)
def test_changes_can_be_seen(name):
    """In results: what is changed is what the function depends on."""
    results = [
        [seen for what, seen in eager(name, changing) if what.split()[0] in ("result", "print")]
        for changing in (False, True)
    ]
    assert results[0] != results[1]


def test_there_are_many():
    assert len(NAMES) >= 100


def is_noticed(name, hole):
    try:
        got = corpus.run(name, wrong.decorator(hole), changing=True)[0]
    except Exception:  # noqa: BLE001 (the caller does not get on with the result)
        return True
    return bool(corpus.difference(eager(name, True), got))


@pytest.mark.parametrize("hole", wrong.HOLES, ids=lambda hole: hole.__name__)
def test_holes_are_noticed(hole):
    """What a proof with a hole would do is seen in many programs."""
    noticed = [name for name in SAMPLE if is_noticed(name, hole)]
    assert len(noticed) >= max(1, wrong.HOLES[hole] // (2 * SHARE)), noticed


def test_a_decorator_without_holes_is_not():
    assert not [name for name in SAMPLE if is_noticed(name, wrong.nothing)]


def test_the_report_names_each_program():
    """report.py: how many of the last calls were skipped, or what stands against it."""
    lines = list(report.lines(NAMES[:5]))
    assert [line.split()[0] for line in lines[:5]] == NAMES[:5]
    assert all("/10" in line for line in lines[:5])
    assert "%" in lines[-1]


def test_most_are_skipped():
    """Each of the last ten calls, in a world that stays as it is."""
    skipped = [name for name in NAMES if report.counted(name)[0] == report.LAST]
    assert len(skipped) >= 0.86 * len(NAMES), sorted({*NAMES} - {*skipped})
