"""Every row runs for frazil and NumPy; ratios, tables and plots say what was measured."""

import copy
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import run
from measure import Rounds, Sampler
from table import check, inputs, peers, plots, present, ratios
from table.forms import Form
from table.rows import GROUPS, ROWS, SIZES


def entry(peer, *seconds, **more):
    return {"peer": peer, "seconds": list(seconds), "one_thread": [], "about": {}, **more}


@pytest.fixture
def result():
    return {
        "key": "call_16",
        "errors": {"torch: broken": "differs from the reference by 0.5."},
        "forms": {
            "frazil: traced": entry("frazil", 4e-7, 4e-7, 4e-7, about={"last_kernels": 1}),
            "frazil: pure": entry("frazil", 1e-7, 2e-7, 1e-7),
            "torch: plain": entry("torch", 1e-6, 2e-6, 3e-6),
            "torch: inference mode": entry("torch", 8e-7, 8e-7, 8e-7),
            "torch: out=": entry("torch", 1e-9, 1e-9, 1e-9, beside=True),
            "numpy: numba": entry("numba", 2e-7, 2e-7, 2e-7),
        },
    }


def lines_of(result):
    return {(x["peer"], x["to"]): x for x in ratios.compare(result)["lines"]}


def test_ratios_are_taken_within_rounds(result):
    lines = lines_of(result)
    assert lines["torch", "plain"]["ratio"] == (10, 10, 20)
    assert lines["torch", "plain"]["aim"] == 9 and lines["torch", "plain"]["reached"]


def test_the_best_form_counts_but_none_that_does_less(result):
    line = lines_of(result)["torch", "best"]
    assert line["form"] == "torch: inference mode"
    assert line["ratio"][1] == pytest.approx(8)


def test_the_plain_decorator_has_half_the_aim(result):
    line = lines_of(result)["numba", "best"]
    assert not line["reached"] and line["ratio"][1] == pytest.approx(2)
    assert not line["decorator_reached"] and line["decorator"][1] == pytest.approx(0.5)
    line = lines_of(result)["torch", "plain"]
    assert line["decorator_reached"] and line["decorator"][1] == pytest.approx(5)


def test_a_miss_is_bold_and_listed(result):
    text = present.table([result])
    assert "**200 ns ×2, decorator ×0.5 (aim 2.8)**" in text
    assert "2 us ×10, decorator ×5 (aim 9)" in text and "**2 us" not in text
    missed = present.misses([result])
    assert missed.count("numba") == 2 * 2  # the peer and its form, pure and plain decorator
    assert "traced, 400 ns, 1 kernels" in missed
    assert "| torch: broken | refused | | differs" in present.details([result])


def test_a_form_without_figures_is_no_ratio(result):
    result = copy.deepcopy(result)
    result["forms"]["torch: plain"]["seconds"] = [float("nan")] * 3
    assert "torch: plain" not in ratios.of_peer(result, "torch")
    present.table([result])


@pytest.mark.parametrize(
    ("a", "b", "average", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.5], False, 0.2),
        ([1.0, 2.0], [1.0, 2.5], True, 1 / 7),
        ([1.0], [1.0, 2.0], False, np.inf),
        ([np.nan], [1.0], False, np.inf),
        ([0.0], [0.0], False, 0.0),
    ],
)
def test_difference(a, b, average, expected):
    off = check.difference([np.array(a)], [np.array(b)], average)
    assert off == pytest.approx(expected)


def test_missing_arrays_differ():
    assert check.difference([], [np.zeros(1)]) == np.inf


def test_rows_are_well_formed():
    assert len(ROWS) == sum(len(rows) for rows in GROUPS.values())
    for row in ROWS.values():
        assert set(row.aims) <= set(peers.NAMES), row.key
        assert set(row.smoke) <= set(row.sizes), row.key
        assert "row" in inputs.of(row, smoke=True)
    for keys in SIZES.values():
        assert set(keys) <= set(ROWS)


def test_inputs_are_the_same_every_time():
    first, second = (inputs.of(ROWS["mnist"], smoke=True) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first["layers"][0], second["layers"][0], strict=True))


def test_a_fresh_function_is_fresh():
    inp = inputs.of(ROWS["first_call"], smoke=True)
    assert inp["source"]() != inp["source"]()
    assert inp["checked"] == inputs.of(ROWS["first_call"], smoke=True)["checked"]


def test_setup_comes_before_every_timed_run():
    seen = []
    sampler = Sampler(lambda: seen.append("call"), 0.001, setup=lambda: seen.append("setup"))
    del seen[:]
    assert sampler() >= 0 and sampler() >= 0
    assert seen == ["setup", "call"] * 2


def test_rounds_time_every_variant():
    rounds = Rounds({"a": lambda: None, "b": ("x + 1", {"x": 1})}, rounds=3, seconds=1e-5)
    assert {name: len(times) for name, times in rounds.times.items()} == {"a": 3, "b": 3}


def test_a_form_gives_what_is_checked():
    assert Form(("x + 1", {"x": 1})).run() == 2
    state = []
    assert Form(lambda: state.append(1), result=lambda: list(state)).run() == [1]


def test_every_row_runs_and_is_shown(tmp_path):
    """frazil and NumPy in tiny sizes; the files of a whole run."""
    page, figures = tmp_path / "page.md", tmp_path / "page.json"
    argv = [*ROWS, "--smoke", "--frameworks", "frazil,numpy", "--peers", str(tmp_path)]
    document = run.measure(run.parse([*argv, "--json", str(figures), "--markdown", str(page)]))
    for result in document["table"]:
        assert not result["errors"], (result["key"], result["errors"])
        peers_of = {entry["peer"] for entry in result["forms"].values()}
        assert {"frazil", "numpy"} <= peers_of, result["key"]
    assert [result["key"] for result in document["table"]] == list(ROWS)
    text = page.read_text()
    for row in ROWS.values():
        assert f"| {row.title} |" in text
    drawn = {path.stem for path in (tmp_path / "page").glob("*.svg")}
    assert drawn == {"ratios", "roofline", "sizes-chain", "sizes-matmul", "threads"}
    for path in (tmp_path / "page").glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert f"page/{path.name})" in text
    # The same page from the file of figures.
    run.main(["--from", str(figures), "--markdown", str(tmp_path / "again.md")])
    assert (tmp_path / "again.md").read_text() == text.replace("(page/", "(again/")


def test_plots_of_nothing_are_none():
    assert plots.all_of([], None) == {}


def test_unknown_names_are_refused():
    with pytest.raises(SystemExit, match="no row or case nonsense"):
        run.main(["nonsense"])
    with pytest.raises(SystemExit, match="no peer nonsense"):
        run.main(["--install-peers", "nonsense"])
