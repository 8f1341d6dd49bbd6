"""Fifty functions: every row runs, and a result that is not NumPy's is refused."""

import fifty
import fifty_rows
import numpy as np
import pytest


def test_there_are_fifty_functions():
    names = [row.name for row in fifty_rows.ROWS]
    assert len(names) == len(set(names)) >= 50
    for (
        wanted
    ) in "sort argsort unique cumsum einsum percentile histogram fft fft2 solve svd".split():
        assert wanted in names


@pytest.mark.parametrize("row", fifty_rows.ROWS, ids=lambda row: row.name)
def test_a_row(row):
    if row.prepare:
        pytest.importorskip("scipy")
    results = fifty.measure([f"{row.name.replace('[', '[[]')} ?? 16"], [16], 1, 1, 1e-5)
    assert len(results) == len(row.dtypes.split())
    assert all(fifty.ratio(best) > 0 for _, best in results)
    assert fifty.markdown(results).count("\n") == 2 + len(results)


def test_what_differs_is_refused(monkeypatch):
    wrong = fifty_rows.Row("wrong", lambda m, x: x, others={"numpy": lambda m, x: x + 1})
    monkeypatch.setattr(fifty_rows, "ROWS", [wrong])
    with pytest.raises(SystemExit, match="frazil and NumPy differ"):
        fifty.measure(["*"], [16], 1, 1, 1e-5)
    row = fifty_rows.Row("x", None)
    assert not fifty.same(row, np.ones(2), np.ones(3))
    assert not fifty.same(row, np.asarray([1, 2]), np.asarray([1, 3]))
