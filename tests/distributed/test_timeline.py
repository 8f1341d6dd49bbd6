"""fz.distributed.trace: the timeline of two processes, and clocks of machines."""

import json

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


def test_clocks_of_other_machines_are_set_by_barriers():
    here, there = [100, 200, 300], [1100, 1201, 1290]
    told = [("a", here), ("a", [105, 205, 390]), ("b", there)]
    assert _timeline._offsets(told) == [0, 0, 1000]
