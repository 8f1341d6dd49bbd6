"""Runs examples and writes what they print behind them: of docs/api and of pages.

    ./dev python tools/docs_examples.py [FILE ...]

An example is written as its lines behind >>>; the lines under it are replaced by what it prints.
Without files, all of docs/api. The difference is to be read before it is committed: what an example
prints is what it says.
"""

import contextlib
import doctest
import io
import linecache
import re
import sys
import traceback
from pathlib import Path

import docs_api

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "api"
BLOCK = re.compile(r"(?:^>>> .*\n(?:^(?!$|```).*\n)*)", re.MULTILINE)
CHECKER = doctest.OutputChecker()


def answer(source, names):
    """What the statement prints in an interpreter."""
    out = io.StringIO()
    name = f"<example {len(linecache.cache)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(source, name, "single"), names)
        except Exception as error:  # noqa: BLE001 -- which is the answer
            last = "".join(traceback.format_exception_only(error)).splitlines()[0]
            print(f"Traceback (most recent call last):\n{last}")
    return out.getvalue()


def answered(text, names):
    """The examples of a text without fences, with what they print."""
    lines = []
    for example in doctest.DocTestParser().get_examples(text):
        first, *rest = example.source.rstrip("\n").split("\n")
        lines += [f">>> {first}", *(f"... {line}".rstrip() for line in rest)]
        got = answer(example.source, names)
        kept = CHECKER.check_output(example.want, got, doctest.ELLIPSIS)  # with ... in it
        lines += (example.want if kept and example.want else got).splitlines()
    return "\n".join(lines) + "\n"


def page(text):
    """A page, all of whose examples share their names, or a file of docs/api."""
    shared = {"__name__": "__main__"}
    of_api = "\nmodule " in text

    def changed(match):
        return answered(match[0], docs_api.namespace() if of_api else shared)

    return BLOCK.sub(changed, text if text.endswith("\n") else text + "\n")


def main():
    for name in sys.argv[1:] or sorted(map(str, FOLDER.glob("*.txt"))):
        path = Path(name)
        path.write_text(page(path.read_text()))


if __name__ == "__main__":
    main()
