"""The protocol of bench/table/worker.py, and results that are wrong."""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from table import peers
from table.process import Process, WorkerError
from table.rows import ROWS
from table.session import Session

WRONG = """
import numpy as np
from .. import Form
PEERS = {"": "torch"}

def versions():
    return {"wrong": "1"}

def to_numpy(result):
    print("this is no answer")
    return [np.asarray(result)]
"""
FORMS = """
import os
import time
from .. import Form

def add_16(inp):
    print("nor is this")
    right = inp["x"] + inp["z"]
    bad = right.copy()
    bad[3] += 0.01
    return {
        "plain": Form(lambda: right),
        "off by a little": Form(lambda: bad),
        "short": Form(lambda: right[:-1]),
        "not a number": Form(lambda: right * float("nan")),
        "raises": Form(lambda: 1 / 0),
        "dies": Form(lambda: os._exit(3)),
        "also right": Form(lambda: right * 1),
    }
"""


@pytest.fixture
def log():
    with tempfile.TemporaryFile("w+") as file:
        yield file


@pytest.fixture
def worker(log):
    process = Process("numpy", sys.executable, 1, log)
    yield process
    process.close()


def test_a_row_is_opened_prepared_and_timed(worker, tmp_path):
    assert worker.ask(60, "hello")["versions"]["numpy"] == np.__version__
    forms = worker.ask(60, "open", row="add_16", smoke=True)["forms"]
    assert forms["plain"] == ["numpy", False]
    worker.ask(60, "prepare", form="plain", file=str(tmp_path / "x.npz"))
    with np.load(tmp_path / "x.npz") as saved:
        assert [saved[name].shape for name in saved.files] == [(16,)]
    answer = worker.ask(60, "time", form="plain", seconds=0.001)
    assert answer["seconds"] > 0 and answer["number"] >= 1
    assert worker.ask(60, "about", form="plain") == {"about": {}}


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"do": "open", "row": "no such row"}, "no such row"),
        ({"do": "time", "form": "no such form", "seconds": 1}, "no such form"),
        ({"do": "dance"}, "dance"),
    ],
)
def test_an_error_is_an_answer(worker, request_, text):
    do = request_.pop("do")
    with pytest.raises(WorkerError, match=text):
        worker.ask(60, do, **request_)
    assert worker.died == 0
    assert worker.ask(60, "open", row="add_16", smoke=True)["forms"]


def test_a_worker_that_takes_too_long_is_replaced(worker):
    worker.ask(60, "open", row="add_16", smoke=True)
    with pytest.raises(WorkerError, match="did not answer in 0.05 seconds"):
        worker.ask(0.05, "prepare", form="plain", file="/dev/full")
        worker.ask(0.05, "time", form="plain", seconds=30)
    assert worker.died == 1
    assert "numpy" in worker.ask(60, "hello")["versions"]


@pytest.fixture
def wrong_framework(tmp_path, monkeypatch):
    """A copy of bench/ with one more framework, whose results are wrong in every way."""
    shutil.copytree(Path(peers.__file__).parent, tmp_path / "bench/table")
    for name in ("measure.py", "yardstick.py"):
        shutil.copy(peers.ROOT / "bench" / name, tmp_path / "bench")
    folder = tmp_path / "bench/table/forms/wrong"
    folder.mkdir()
    (folder / "__init__.py").write_text(WRONG)
    (folder / "calls.py").write_text(FORMS)
    monkeypatch.setattr(peers, "ROOT", tmp_path)
    monkeypatch.setitem(peers.FRAMEWORKS, "wrong", (None, (), "numpy"))


def test_a_wrong_result_is_refused(wrong_framework, settings):
    with Session(Path("no such folder"), ["numpy", "wrong"], 1, settings, say=len) as session:
        result = session.run(ROWS["add_16"])
    kept = [name for name in result["forms"] if name.startswith("wrong")]
    assert kept == ["wrong: plain", "wrong: also right"]
    errors = {name.removeprefix("wrong: "): text for name, text in result["errors"].items()}
    assert set(errors) == {"off by a little", "short", "not a number", "raises", "dies"}
    assert errors["off by a little"].startswith("differs from the reference by 0.00")
    assert "inf" in errors["short"] and "inf" in errors["not a number"]
    assert "ZeroDivisionError" in errors["raises"] and "died" in errors["dies"]
    assert all(len(entry["seconds"]) == 2 for entry in result["forms"].values())
    json.dumps(result)


def test_a_framework_that_cannot_be_loaded_is_left_out(settings, monkeypatch):
    monkeypatch.setitem(peers.FRAMEWORKS, "torch", (None, (), "numpy"))
    said = []
    names = ["numpy", "torch"]
    with Session(Path("no such folder"), names, 1, settings, say=said.append) as session:
        left = list(session.pythons)
    if "torch" not in left:
        assert "torch is left out" in said[0]
    assert "numpy" in left
