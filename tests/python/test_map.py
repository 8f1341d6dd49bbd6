"""The way of one call in ARCHITECTURE.md is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "ARCHITECTURE.md").read_text()


def block(language):
    return re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[1]


def test_its_dumps_are_those_of_its_program(tmp_path):
    (tmp_path / "way.py").write_text(block("python"))
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    done = subprocess.run(
        [sys.executable, "way.py"],
        cwd=tmp_path,
        env={**os.environ, "FRAZIL_DUMP": str(dumps), "FRAZIL_DISK_CACHE": "off"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "new plan for 5 calls" in done.stdout
    assert block("program") in [path.read_text() for path in dumps.glob("program*.txt")]
    graph, kernel = block("gir"), block("kir")
    assert graph in [path.read_text() for path in dumps.glob("*.input.gir")]
    plans = [path.read_text() for path in dumps.glob("*.plan.txt")]
    assert any(graph in plan and kernel in plan for plan in plans)
    step = re.search(r"`(step k_\w+ [^`]*)`", PAGE)[1]
    assert any(step in plan for plan in plans)


def test_it_is_read_in_ten_minutes():
    assert len(PAGE.split()) <= 2500
