"""Which of the cases run: by day of each test a share, in which every op is, and by night all.

FRAZIL_GRADIENTS_SHARE says one of how many cases of an op a test takes. Which ones depends on the
names of the test and the case alone, so that the tests together see most cases.
"""

import os
import zlib

import gradient_cases

from frazil import _frazil

NIGHTLY = bool(os.environ.get("FRAZIL_NIGHTLY"))
SHARE = int(os.environ.get("FRAZIL_GRADIENTS_SHARE", 1 if NIGHTLY else 4))
ALWAYS = ("test_first_order",)  # what each case is wrong in first


def sampled(test, rows, share):
    """Of `rows`, {row: names of its cases}, the names that a test takes: one of a row or more."""
    taken = set()
    for names in rows.values():
        ranked = sorted(names, key=lambda name: zlib.crc32(f"{test} {name}".encode()))
        taken.update(ranked[: -(-len(ranked) // share)])
    return taken


def rows_of(cases):
    rows = {}
    for case in cases:
        rows.setdefault(case.row, []).append(case.name)
    return rows


def pytest_collection_modifyitems(config, items):
    if SHARE == 1 or config.option.keyword or any("::" in name for name in config.args):
        return  # who asks for a case gets it
    rows, taken, left_out = rows_of(gradient_cases.all_cases(_frazil.op_table())), {}, []
    for item in list(items):
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if name is None or item.originalname in ALWAYS:
            continue
        if item.originalname not in taken:
            taken[item.originalname] = sampled(item.originalname, rows, SHARE)
        if name not in taken[item.originalname]:
            left_out.append(item)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]
    config.hook.pytest_deselected(items=left_out)
