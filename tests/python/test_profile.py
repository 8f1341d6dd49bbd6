"""fz.profile: what it counts, where it says it was, its text, page and timeline."""

import inspect
import json
import os
import re
import threading
from pathlib import Path

import numpy as np
import pytest
from html_pages import Page

import frazil as fz


def line_above():
    """This file's name and the line above the caller's."""
    frame = inspect.currentframe().f_back
    return f"{os.path.basename(__file__)}:{frame.f_lineno - 1}"


def step(x, w):
    y = fz.exp(x @ w)
    return y / y.sum()


LINES = inspect.getsourcelines(step)[1]


def names(totals):
    return {total.name for total in totals}


def test_eager_ops_have_the_lines_that_called_them():
    x = fz.ones((64, 64))
    with fz.profile() as p:
        y = x + 1
        first = line_above()
        for _ in range(3):
            z = fz.sqrt(y)
            second = line_above()
    z.tolist()
    by_line = {total.name: total for total in p.by_line}
    assert set(by_line) == {first, second}
    assert by_line[first].runs == 1 and by_line[second].runs == 3
    assert {t.name: t.runs for t in p.by_op} == {"add": 1, "sqrt": 3}
    assert {t.name: t.runs for t in p.by_kernel} == {"k_add": 1, "k_sqrt": 3}
    size = 64 * 64
    assert by_line[first].flops == size and by_line[second].flops == 3 * size
    assert by_line[second].bytes == 3 * 2 * 4 * size
    assert abs(sum(t.share for t in p.by_op) - 1) < 1e-9
    assert 0 < p.kernel_seconds <= p.seconds and p.python_seconds > 0
    assert p.kernel_seconds + p.python_seconds <= p.seconds * (1 + 1e-9)


def test_large_eager_ops_keep_their_line_without_the_lock():
    x = fz.ones((600, 600))
    x @ x
    with fz.profile() as p:
        x @ x
        line = line_above()
    assert names(p.by_line) == {line} and p.by_op[0].flops == 2 * 600**3


@pytest.mark.parametrize("pure", [False, True])
def test_traced_calls_are_divided_among_their_lines(pure):
    fn = fz.trace(step, pure=pure)
    x, w = fz.ones((32, 16)), fz.ones((16, 8))
    for _ in range(6):
        fn(x, w)
    with fz.profile() as p:
        for _ in range(5):
            fn(x, w)
            line = line_above()
    file = os.path.basename(__file__)
    assert names(p.by_line) == {f"{file}:{LINES + 1}", f"{file}:{LINES + 2}"}
    assert names(p.by_op) == {"matmul", "exp", "sum", "divide"}
    (call,) = p.calls
    assert call[:4] == ("step", line, 5, 5) and call.seconds > 0
    flops = {total.name: total.flops for total in p.by_op}
    assert flops["matmul"] + flops["exp"] + flops["sum"] + flops["divide"] == pytest.approx(
        5 * (2 * 32 * 8 * 16 + 3 * 32 * 8)
    )


def test_calls_that_record_and_compile():
    fn = fz.trace(lambda x: fz.tanh(x) * 3 - x)
    x = fz.ones(17)
    with fz.profile() as p:
        for _ in range(6):
            fn(x)
    (call,) = p.calls
    assert call.count == 6 and 0 < call.skipped < 6
    assert any(c.name.startswith("plan: plan of") for c in p.compilations)


def test_a_small_skipped_call_counts():
    fn = fz.trace(lambda a, b: a * b + a, pure=True)
    a = b = None
    a, b = fz.ones(16), fz.full(16, 2.0)
    for _ in range(10):
        fn(a, b)
    with fz.profile() as p:
        for _ in range(7):
            fn(a, b)
    assert [t.runs for t in p.by_kernel] == [7] and p.calls[0].skipped == 7


def test_loops_of_steps_count_each_iteration():
    @fz.trace
    def power(m, v):
        for _ in range(40):
            v = m @ v
            v = v / fz.max(fz.abs(v))
        return v

    m, v = fz.asarray(np.eye(150, dtype="float32")), fz.ones((150, 1))
    for _ in range(4):
        power(m, v)
    with fz.profile() as p:
        power(m, v)
    matmul = next(total for total in p.by_op if total.name == "matmul")
    assert matmul.runs == 40 and matmul.flops == 40 * 2 * 150 * 150


def test_all_threads():
    x = fz.ones(1000)

    def work():
        for _ in range(10):
            fz.exp(x)

    threads = [threading.Thread(target=work) for _ in range(3)]
    with fz.profile() as p:
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert next(t for t in p.by_op if t.name == "exp").runs == 30
    assert len({event.thread for event in p.events}) == 3


def test_memory_over_time():
    held = []
    with fz.profile() as p:
        for _ in range(4):
            held.append(fz.ones(1 << 20) * 2)
    sizes = [size for _, size in p.memory]
    assert max(sizes) - sizes[0] >= 2 << 20
    assert [at for at, _ in p.memory] == sorted(at for at, _ in p.memory)


def test_gaps_are_where_python_ran():
    x = fz.ones(10)
    x + 1
    with fz.profile() as p:
        x + 1
        first = line_above()
        sum(range(200_000))
        x + 2
        second = line_above()
    gap = p.gaps[0]
    assert (gap.before, gap.after, gap.count) == (first, second, 1)
    assert gap.seconds == gap.longest > 0


def test_states_and_errors():
    p = fz.profile()
    assert repr(p) == "<profile>" and str(p) == "<profile>"
    with pytest.raises(RuntimeError, match=r"^\[profile\] it has not been taken: ask after"):
        p.rows  # noqa: B018
    with p:
        assert repr(p) == "<profile, being taken>"
        with pytest.raises(RuntimeError, match=r"^\[profile\] it is still being taken: ask after"):
            p.by_line  # noqa: B018
        with (
            pytest.raises(RuntimeError, match=r"^\[profile\] another profile is being taken"),
            fz.profile(),
        ):
            pass
        fz.ones(3) + 1
    assert p.events
    with p:  # once more: the old results are gone
        pass
    assert p.events == [] and p.rows == [] and p.dropped == 0
    with pytest.raises(TypeError, match=r"\[profile\] events"):
        fz.profile(events="many")
    with pytest.raises(ValueError, match=r"\[profile\] events"):
        fz.profile(events=0)


def test_it_ends_when_the_block_raises():
    with pytest.raises(ZeroDivisionError), fz.profile() as p:
        fz.ones(3) + 1
        1 / 0  # noqa: B018
    assert p.events
    with fz.profile():
        pass


def test_too_many_events_are_counted():
    x = fz.ones(3)
    with fz.profile(events=5) as p:
        for _ in range(20):
            x + 1
    assert len(p.events) == 5 and p.dropped == 15
    assert "15 events were dropped" in str(p)


def test_results_and_bits_are_those_without():
    fn = fz.trace(step)
    x, w = fz.ones((32, 16)) / 7, fz.ones((16, 8)) / 3
    plain = [np.asarray(fn(x, w)) for _ in range(5)]
    with fz.profile():
        other = [np.asarray(fn(x, w)) for _ in range(5)]
    assert all((a == b).all() for a, b in zip(plain, other, strict=True))


@pytest.fixture(scope="module")
def taken():
    fn = fz.trace(step)
    x, w = fz.ones((32, 16)), fz.ones((16, 8))
    for _ in range(6):
        fn(x, w)
    with fz.profile() as p:
        for _ in range(4):
            fn(x, w) + 1
        fz.trace(lambda x: fz.cos(x) + 1)(x)
    return p


def test_text(taken):
    text = str(taken)
    lines = text.splitlines()
    assert "in kernels" in lines[0] and lines[2].startswith("machine: ")
    heads = [line.split()[0] for line in lines if line.endswith(("roof", "time", "longest"))]
    assert heads == ["line", "op", "kernel", "traced", "compiled", "Python"]
    assert any(line.startswith("matmul ") for line in lines)
    assert repr(taken).startswith("<profile of ")


def test_machine(taken):
    assert 1e8 < taken.machine.bandwidth < 1e13 and 1e8 < taken.machine.flops < 1e15
    assert taken.machine is fz.profile().machine
    total = taken.by_kernel[0]
    least = max(total.bytes / taken.machine.bandwidth, total.flops / taken.machine.flops)
    assert taken.machine.attained(total) == pytest.approx(least / total.seconds)


def test_page(taken, tmp_path):
    path = tmp_path / "profile.html"
    taken.html(path)
    text = path.read_text()
    page = Page(text)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert {f"kernel-{name}" for name in taken.kernel_texts} <= set(page.ids)
    assert any(f"#kernel-{name}" in page.links for name in taken.kernel_texts)
    assert page.tags.count("svg") == 2 and any("matmul" in t for t in page.texts)
    assert Page(f"<div>{taken._repr_html_()}</div>").tags.count("table") == 6


def test_timeline(taken, tmp_path):
    path = tmp_path / "trace.json"
    taken.perfetto(path)
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    spans = [e for e in events if e["ph"] == "X"]
    assert len(spans) == len(taken.events)
    assert {e["args"]["kind"] for e in spans} >= {"kernel", "skipped call", "compile plan"}
    assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in spans)
    calls = [e for e in spans if e["name"] == "step"]
    inside = [e for e in spans if "exp" in e["name"]]
    assert calls and inside
    for e in inside:  # kernels lie within their calls
        assert any(
            c["ts"] <= e["ts"] and e["ts"] + e["dur"] <= c["ts"] + c["dur"] + 1e-3 for c in calls
        )
    assert any(e["ph"] == "C" and e["name"] == "memory" for e in events)
    assert any(e["ph"] == "M" and e["name"] == "thread_name" for e in events)


def test_the_page_of_the_manual(capsys):
    page = (Path(__file__).parents[2] / "docs" / "profiling.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    exec(compile(code, "manual.py", "exec"), {"__name__": "manual"})
    out = capsys.readouterr().out
    assert "matmul" in out and "manual.py:6" in out.splitlines()[-1]
    described = set(re.findall(r"`p\.(\w+)`", page))
    assert described <= set(dir(fz.profile))


def test_a_forked_child_goes_on_without_it():
    x = fz.ones(100)
    with fz.profile() as p:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 0 if float((x + 1).sum()) == 200.0 else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        x + 1
    assert p.events
