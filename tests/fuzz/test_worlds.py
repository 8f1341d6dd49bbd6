"""Random programs with Python around the ops (worlds.py), whose world changes between calls: traced
they mean what they mean untraced, skipped by proof or not."""

import campaign
import pytest
from conftest import LIMIT, NIGHTLY, WORLDS
from plants import HOLES
from program import text
from test_fuzz import report


def test_traced_is_eager(worlds_run):
    _, _, ran, skipped, failures = worlds_run
    for program, _, why in failures:
        assert not isinstance(program, str), f"{program}: {why}"
    report([(p, why) for p, _, why in failures], "trace", {})
    assert ran == WORLDS


def test_worlds_have_what_worlds_have(worlds):
    source = "\n".join(text(p) for p in worlds[0])
    for part in (
        *("global G0", "        nonlocal", "class Sub(Thing):", "super().scaled", "@property"),
        *(".n += ", "count += 1", "rate *= 0.5", ".items.append(", "TABLE['a'] += ", "setattr("),
        *(
            ".scaled(",
            "apply(",
            "scale(",
            "sum(pieces(",
            "for i, v in",
            "with thing as",
            "finally:",
        ),
        *(
            "if count == ",
            "isinstance(",
            "raise ",
            "while count",
            " for v in ",
            "lambda z: z * rate",
        ),
        *("del G0", "exec(", "vars(thing)[", ".__dict__ = ", "Thing.scaled = ", ".__class__ = "),
        *("scale.__defaults__", "scale.__kwdefaults__", "scale.__code__", "TABLE.pop(", "2**62"),
        *(
            ".items.reverse()",
            "Thing.twice = ",
            "Thing.__len__",
            "globals()['len']",
            "del Sub.rate",
        ),
    ):
        assert source.count(part) >= 3, part


@pytest.mark.parametrize("hole", sorted(HOLES))
def test_finds_holes(worlds, hole):
    """A proof that forgets something is found."""
    count = 600 if NIGHTLY else 120
    programs, digests = worlds[0][:count], worlds[1][:count]
    failures = campaign.compare(programs, digests, "trace", {"FUZZ_PLANT": hole}, LIMIT)
    assert len(failures) >= 2, hole


def test_what_finds_a_hole_is_made_small(worlds):
    environment = {"FUZZ_PLANT": "stale_globals"}
    programs, digests = worlds[0][:100], worlds[1][:100]
    program, _ = campaign.compare(programs, digests, "trace", environment, LIMIT)[0]
    small = campaign.smallest(program, "trace", environment, limit=200)
    assert len(small.calls) <= 6
    assert len(text(small).splitlines()) < 60
