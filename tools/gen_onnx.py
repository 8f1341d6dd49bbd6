"""Writes the table of operators in docs/onnx.md from the conversions of frazil.onnx.

    ./dev python tools/gen_onnx.py [--check]

--check fails if the page is not what would be written. What stands above the table is kept.
"""

import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/onnx.md"
TABLE = "## Operators\n"


def main():
    from frazil.onnx import _coverage

    old = PAGE.read_text()
    text = old[: old.index(TABLE)] + _coverage.table()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif old != text:
        sys.exit("docs/onnx.md is not what tools/gen_onnx.py writes.")


if __name__ == "__main__":
    main()
