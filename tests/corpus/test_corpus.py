"""Functions as people write them: each means traced what it means untraced, over 20 calls, in a
world that stays as it is and in one that is changed between calls."""

import functools

import corpus
import pytest
import wrong

import frazil as fz

NAMES = list(corpus.programs())


@functools.cache
def eager(name, changing):
    return corpus.run(name, corpus.eager, changing)[0]


@pytest.mark.parametrize("changing", [False, True], ids=["steady", "changing"])
@pytest.mark.parametrize("name", NAMES)
def test_traced_means_what_eager_means(name, changing):
    traced, made = corpus.run(name, fz.trace, changing)
    found = corpus.difference(eager(name, changing), traced)
    assert not found, f"{corpus.programs()[name].name}, {name}: {found}"
    assert wrong.traced_of(made.fn).stats()["calls"] >= corpus.CALLS


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


@pytest.mark.parametrize("decorator, least", wrong.DECORATORS, ids=lambda x: str(x))
def test_wrong_decorators_are_noticed(decorator, least):
    """What a proof with a hole would do is seen in so many of every hundred programs."""
    noticed = []
    for name in NAMES:
        got = corpus.run(name, decorator, changing=True)[0]
        noticed += [name] if corpus.difference(eager(name, True), got) else []
    assert len(noticed) * 100 >= least * len(NAMES), noticed
