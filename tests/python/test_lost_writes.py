"""Writes to a tensor that only the expression holds raise; all others are seen."""

import functools
import operator
import sys
import textwrap
import threading
import types
import weakref

import pytest

import frazil as fz

LOST = [
    "a[0][1] = 1",
    "a[0][1:] = 1",
    "a[0][...] = 1",
    "a[0][1] += 1",
    "a[0][[True, False, True]] = 1",
    "a.T[0] = 1",
    "a.mT[0, 0] *= 2",
    "a.reshape(-1)[0] = 1",
    "(a + 1)[0] = 1",
    "fz.zeros(3)[0] = 1",
    "(lambda: a[0])()[0] = 1",
    "p.grad[0] = 1",
    "p.detach()[0] = 1",
    "a[0], a[1][2] = 1, 2",
    "for a[0][1] in range(3): pass",
    "next(iter(a))[0] = 1",
]


def names():
    p = fz.ones(3, requires_grad=True)
    p.sum().backward()
    return {"fz": fz, "a": fz.zeros((2, 3)), "p": p}


def in_function(statement):
    body = textwrap.indent(statement, "  ")
    return f"def f(a, p):\n{body}\nf(a, p)"


def in_generator(statement):
    body = textwrap.indent(statement, "  ")
    return f"def f(a, p):\n  yield\n{body}\nfor _ in f(a, p): pass"


def in_class(statement):
    return f"class C:\n{textwrap.indent(statement, '  ')}"


@pytest.mark.parametrize("around", [str, in_function, in_generator, in_class])
@pytest.mark.parametrize("statement", LOST)
def test_a_write_that_nobody_sees_raises(statement, around):
    with pytest.raises(TypeError, match="would be lost"):
        exec(around(statement), names())


def test_the_error_shows_what_to_write_and_leaves_the_data():
    a = fz.zeros((2, 3))
    with pytest.raises(TypeError, match=r"\[setitem\].*f32\[3\].*`a\[0, 1\] = v`"):
        a[0][1] = 1
    assert not a.any()
    a[0, 1] = 1
    a[0] += 1
    assert a.tolist() == [[1, 2, 1], [0, 0, 0]]


@pytest.mark.parametrize("pure", [False, True])
def test_traced_calls_raise_the_same(pure):
    @functools.partial(fz.trace, pure=pure)
    def lost(a, v):
        b = a * v
        b[0][1] = 5
        return b

    @functools.partial(fz.trace, pure=pure)
    def seen(a, v):
        b = a * v
        b[0, 1] = 5
        b[1] += 1
        return b

    for _ in range(5):
        with pytest.raises(TypeError, match="would be lost"):
            lost(fz.ones((2, 3)), fz.asarray(2.0))
        assert seen(fz.ones((2, 3)), fz.asarray(2.0)).tolist() == [[2, 5, 2], [3, 3, 3]]


def test_what_something_holds_may_be_written():
    t = fz.zeros(3)
    held = {"k": t}
    box = types.SimpleNamespace(attr=t)
    [t][0][0] = 1
    held["k"][1] = 2
    box.attr[2] = 3
    assert t.tolist() == [1, 2, 3]
    (lambda: t)()[0] = 4
    (t if t is not None else None)[1] = 5
    box.attr[2] += 1
    assert t.tolist() == [4, 5, 4]
    (u := fz.zeros(2))[0] = 1
    assert u.tolist() == [1, 0]
    weakref.proxy(t)[0] = 7
    weakref.ref(t)()[1] = 8
    assert t.tolist() == [7, 8, 4]
    rows = [fz.zeros(2) for _ in range(3)]
    for i, row in enumerate(rows):
        row[0] = i
        rows[i][1] = i
        rows[:][i][1] += 1
    assert [row.tolist() for row in rows] == [[0, 1], [1, 2], [2, 3]]
    cache = {}
    cache.setdefault("w", fz.zeros(2))[0] = 1
    assert cache["w"].tolist() == [1, 0]
    layer = fz.nn.Linear(2, 2)
    with fz.no_grad():
        layer.weight[0] = 1
    assert layer.weight[0].tolist() == [1, 1]


def test_functions_that_assign_are_left_alone():
    arguments = (fz.zeros(2), 0, 1)
    operator.setitem(*arguments)
    assert arguments[0].tolist() == [1, 0]
    bound = fz.zeros(2).__setitem__
    bound(1, 3)
    assert bound.__self__.tolist() == [0, 3]
    partial = functools.partial(operator.setitem, fz.zeros(2))
    partial(0, 1)
    assert partial.args[0].tolist() == [1, 0]


def test_an_object_whose_assignment_in_c_hands_the_write_on():
    class Meta(type):
        __setitem__ = fz.zeros(3).__setitem__  # which alone holds the tensor

    class Proxy(metaclass=Meta):
        pass

    Proxy[0] = 5
    assert Meta.__dict__["__setitem__"].__self__.tolist() == [5, 0, 0]


def test_under_a_tracer_and_in_other_threads():
    def body():
        a = fz.zeros((2, 3))
        a[0] = 1
        [a][0][1] = 2
        with pytest.raises(TypeError, match="would be lost"):
            a[0][1] = 3
        return a.tolist()

    expected = [[1, 1, 1], [2, 2, 2]]

    def tracer(frame, event, _):
        frame.f_trace_opcodes = True
        frame.f_locals  # noqa: B018
        return tracer

    previous = sys.gettrace()
    sys.settrace(tracer)
    try:
        got = body()
    finally:
        sys.settrace(previous)
    assert got == expected
    results = []
    threads = [threading.Thread(target=lambda: results.append(body())) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [expected] * 4
