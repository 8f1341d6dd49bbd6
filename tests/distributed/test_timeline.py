"""fz.distributed.trace: the timeline of two processes, and clocks of machines."""

import json

import pytest
from launch import launch

from frazil.distributed import _timeline


def test_a_step_of_two_ranks_is_in_lanes(tmp_path):
    path = tmp_path / "timeline.json"
    status, output, said = launch("timeline", 2, tmp_path, path)
    assert status == 0, output
    for rank in said:
        assert "/no/such/folder" in rank[2]["error"], "all ranks hear of it"
    assert not (tmp_path / "timeline.json.not").exists()
    events = json.loads(path.read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert names == {"rank 0", "rank 1"}
    note = json.loads(path.read_text())["otherData"]["note"]
    assert note.startswith("2 ranks; rank 0: ")
    assert note.count("hidden") == 2
    ends = []
    for rank in (0, 1):
        own = [e for e in events if e["pid"] == rank]
        lanes = {
            e["tid"]: e["args"]["name"]
            for e in own
            if e["ph"] == "M" and e["name"] == "thread_name"
        }
        spans = [(lanes[e["tid"]].partition(": ")[2], e) for e in own if e["ph"] == "X"]
        assert any(lane == "compute" and e["name"].startswith("matmul") for lane, e in spans)
        sent = [e for lane, e in spans if lane == "communication"]
        kinds = [e["args"]["kind"] for e in sent]
        starts = kinds.count("start")
        assert starts >= 2, "a bucket for each parameter"
        assert kinds.count("wait") == starts
        under_way = [e for lane, e in spans if e["args"]["kind"] == "under way"]
        assert len(under_way) == len(kinds) - starts, "each one from its beginning to its end"
        (alone,) = (e for e in sent if e["name"] == "all_reduce(sum) of float64[6]")
        assert alone["args"]["bytes"] == "48"
        assert "timeline.py" in alone["args"]["line"]
        assert all(int(e["args"]["bytes"]) > 0 for e in sent if e["args"]["kind"] == "start")
        counts = [e["args"]["under way"] for e in own if e["ph"] == "C"]
        assert counts[-1] == 0
        assert max(counts) >= 1
        assert min(counts) >= 0
        assert all(e["ts"] >= 0 and e["dur"] >= 0 for _, e in spans)
        ends.append((alone["ts"], alone["ts"] + alone["dur"]))
    # Neither can have its sum before the other has begun: on one clock the spans overlap.
    assert max(begin for begin, _ in ends) <= min(end for _, end in ends)


def test_what_is_under_way_at_a_time_has_lanes_of_its_own():
    spans = [(0, 10, "a"), (12, 20, "d"), (5, 12, "b"), (6, 7, "c")]
    assert _timeline._lanes(spans) == [
        [(0, 10, "a"), (12, 20, "d")], [(5, 12, "b")], [(6, 7, "c")]
    ]  # fmt: skip


class Taken:
    """A profile of two threads."""

    def __init__(self, spans, waits):
        self.spans, self.waits = spans, waits

    def _taken(self):
        events = [(5, 0, -1, -1, 0, begin, end) for begin, end in self.spans]
        return {"threads": [{"texts": ["sum"], "events": events}, {"texts": [], "events": []}]}


@pytest.mark.parametrize(
    ("spans", "waits", "communicating", "hidden"),
    [
        ([], 0, 0, 1),
        ([(0, 100), (50, 200), (300, 400)], 30, 300, 0.9),
        ([(0, 100), (10, 20)], 100, 100, 0),
        ([(0, 100)], 120, 100, 0),
    ],
)
def test_the_hidden_share_is_of_the_time_with_some_under_way(
    spans, waits, communicating, hidden, monkeypatch
):
    rows = [
        [0, 1, "wait", 1000, 1000 + waits, {"kind": "wait"}],
        [0, 1, "", 0, 9, {"kind": "start"}],
    ]
    monkeypatch.setattr(_timeline, "_rows", lambda taken: rows)
    found = _timeline.overlap(Taken(spans, waits))
    assert found.communicating == pytest.approx(communicating * 1e-9)
    assert found.hidden == pytest.approx(hidden)
    assert found.collectives == len(spans)


def test_clocks_of_other_machines_are_set_by_barriers():
    here, there = [100, 200, 300], [1100, 1201, 1290]
    told = [("a", here), ("a", [105, 205, 390]), ("b", there)]
    assert _timeline._offsets(told) == [0, 0, 1000]
