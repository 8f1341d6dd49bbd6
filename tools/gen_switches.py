"""Writes docs/switches.md from what fz.config() says of every environment variable.

    ./dev python tools/gen_switches.py [--check]

--check fails if the page is not what would be written.
"""

import os
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/switches.md"

HEAD = (
    "# Switches\n\n"
    "Environment variables of the library, read once. `import frazil` raises `ValueError` (C++: "
    "the first call throws) if one has a value that it cannot have; an empty one is as good as "
    "none. `fz.config()` shows what holds, and `fz.config(name=number)` sets those that are "
    "numbers while the program runs. Written by `tools/gen_switches.py` from `core/config.def` "
    "and `core/settings.def`.\n\n"
    "| variable | default | allowed | meaning |\n"
    "|---|---|---|---|\n"
)


def page():
    for name in [name for name in os.environ if name.startswith("FRAZIL_")]:
        del os.environ[name]
    import frazil

    rows = frazil.config().rows.values()
    lines = [
        f"| `{row['variable']}` | {row['default']} | {row['allowed']} | {row['doc']} |\n"
        for row in rows
    ]
    return HEAD + "".join(lines)


def main():
    text = page()
    if sys.argv[1:] != ["--check"]:
        PAGE.write_text(text)
    elif not PAGE.is_file() or PAGE.read_text() != text:
        sys.exit("docs/switches.md is not what tools/gen_switches.py writes.")


if __name__ == "__main__":
    main()
