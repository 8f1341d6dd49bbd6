"""Which functions of the corpus are skipped by proof.

    ./dev python tests/corpus/report.py [WORD ...]

Each program with a WORD in its name or its file's (without one: all) makes 20 calls in a world that
nobody changes. A line says how many of the last ten were skipped and, of those that were not all,
what explain() says of that. A program counts as skipped if all ten were.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import corpus  # noqa: E402

import frazil as fz  # noqa: E402

LAST = 10


def counted(name):
    """(calls skipped of the last ten, explain()) of a program."""
    before = []

    def look(made, number):
        if number in (corpus.CALLS - LAST, corpus.CALLS):
            before.append(corpus.traced_of(made.fn).stats()["skipped"])

    _, made = corpus.run(name, fz.trace, look=look)
    return before[1] - before[0], corpus.traced_of(made.fn).explain()


def reason(text):
    """The line of explain() that says why the body runs."""
    lines = [line.strip() for line in text.splitlines()]
    about = [line for line in lines if "not be proved" in line or "not proved" in line]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("not skipped"):
            about.append(f"{line} {following}".strip())
    about = about or [line for line in lines if "proof" in line or "prove" in line]
    return about[0] if about else "explain() names no reason."


def lines(names):
    whole = 0
    for name in names:
        skipped, text = counted(name)
        whole += skipped == LAST
        why = "" if skipped == LAST else reason(text)
        yield f"{name:36} {skipped:2}/{LAST} {corpus.programs()[name].name:24} {why}".rstrip()
    yield f"skipped: {whole} of {len(names)} programs, {100 * whole / max(len(names), 1):.0f} %"


def main():
    words = sys.argv[1:] or [""]
    found = corpus.programs().items()
    for line in lines([n for n, path in found if any(w in n or w in path.name for w in words)]):
        print(line)


if __name__ == "__main__":
    main()
