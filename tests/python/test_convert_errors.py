"""What converted code refuses inside of a vmap, with the user's line; what is not converted."""

import functools
import inspect
import re
import traceback

import numpy as np
import pytest

import frazil as fz

X = fz.asarray([3.0, -0.5, -7.0, 1.0])
OUTSIDE = []
COUNT = 0


def other_shape(x):
    if x > 0:
        y = x
    else:
        y = fz.stack([x, x])  # here
    return y  # or here


def other_dtype(x):
    if x > 0:
        y = x
    else:
        y = x.astype("float64")
    return y


def other_structure(x):
    if x > 0:
        return (x, x)
    return x


def nothing_for_some(x):
    if x > 0:
        return x


def kinds_of_numbers(x):
    n = 1
    if x > 0:
        n = 2.5
    return n


def other_text(x):
    s = "a"
    if x > 0:
        s = "b"
    return s


def undefined_for_some(x):
    if x > 0:
        y = x
    return y  # line


def undefined_in_a_loop(x):
    while x > 1:
        y = x
        x = x / 2
    return y  # line


def condition_changes_type(x):
    go = x > 0
    while go:
        x = x - 1
        go = "no"
    return x


def condition_is_a_vector(x):
    if fz.stack([x, x]) > 0:
        return x
    return -x


def prints(x):
    if x > 0:
        print("positive")  # line
    return x


def appends(x):
    if x > 0:
        OUTSIDE.append(x)  # line
    return x


def assigns_a_global(x):
    global COUNT
    if x > 0:
        COUNT += 1  # line
    return x


def new_item(x):
    d = {}
    if x > 0:
        d["k"] = x  # line
    return x


def new_attribute(x):
    class Box:
        pass

    b = Box()
    if x > 0:
        b.k = x  # line
    return x


def deletes_an_item(x):
    d = {"k": x}
    if x > 0:
        del d["k"]  # line
    return x


def prints_in_a_call(x):
    def tell():
        print("positive")  # line

    if x > 0:
        tell()
    return x


def prints_behind_a_return(x):
    if x > 0:
        return x
    print("not positive")  # line
    return -x


def prints_behind_a_break(x):
    for i in range(3):
        if x > i:
            break
        print(i)  # line
    return x


def length_of_a_list(x):
    return sum([k for k in (1.0, 2.0) if k > x])  # line


def length_of_a_range(x):
    return len(list(range(x.astype("int64"))))  # line


def power_of_a_number(x):
    n = 2
    if x > 0:
        n = 3
    return x**n  # line


def number_alone(x):
    n = 2
    if x > 0:
        n = 3
    return fz.zeros(()) + fz.sqrt(n)  # line


def divides_by_a_number(x):
    n = 0
    if x > 0:
        n = 2
    return x * (1 / n)  # line


def number_as_index_of_a_list(x):
    n = 0
    if x > 0:
        n = 1
    return [x, -x][n]  # line


def catches_for_some(x):
    try:
        if x > 0:
            raise ValueError("positive")
    except ValueError:  # line
        x = x * 0
    return x


REFUSED = {
    other_shape: (TypeError, r"y is float32 of shape \(\) for some .* float32 of shape \(2,\)"),
    other_dtype: (TypeError, "y is float32 of shape .* and float64 of shape"),
    other_structure: (TypeError, r"the result is Structure\(\(\*, \*\)\) for some"),
    nothing_for_some: (TypeError, "the result is float32 of shape .* and None for others"),
    kinds_of_numbers: (TypeError, "n is 2.5 for some .* and 1 for others"),
    other_text: (TypeError, "s is 'b' for some .* and 'a' for others"),
    undefined_for_some: (UnboundLocalError, "'y' where it is not associated with a value"),
    undefined_in_a_loop: (UnboundLocalError, "'y' where it is not associated with a value"),
    condition_changes_type: (TypeError, "go is 'no' for some .* and bool of shape"),
    condition_is_a_vector: (ValueError, "2 elements|more than one element|ambiguous"),
    prints: (RuntimeError, "print is called where not all examples"),
    appends: (RuntimeError, "list.append is called where not all examples"),
    assigns_a_global: (RuntimeError, "the global name COUNT is assigned where"),
    new_item: (RuntimeError, "an item of a dict is made where"),
    new_attribute: (RuntimeError, "the attribute k of a Box is assigned where"),
    deletes_an_item: (RuntimeError, r"`del d\['k'\]` is where|`del d\['k'\]`"),
    prints_in_a_call: (RuntimeError, "print is called where"),
    prints_behind_a_return: (RuntimeError, "print is called where"),
    prints_behind_a_break: (RuntimeError, "print is called where"),
    length_of_a_list: (TypeError, "the condition differs between the examples"),
    length_of_a_range: (TypeError, "a range differs in length"),
    power_of_a_number: (TypeError, "the int differs between the examples"),
    number_alone: (TypeError, "sqrt gets a Python int that differs"),
    divides_by_a_number: (ZeroDivisionError, "0 for some example"),
    number_as_index_of_a_list: (TypeError, "the int differs between the examples"),
    catches_for_some: (RuntimeError, "ValueError was raised where some examples of a vmap are"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_has_no_meaning_for_some_is_an_error_at_the_users_line(function):
    kind, text = REFUSED[function]
    with pytest.raises(kind, match=text) as info:
        fz.vmap(fz.convert(function))(X)
    lines, first = inspect.getsourcelines(function)
    frames = [f for f in traceback.extract_tb(info.tb) if f.filename == __file__]
    assert first <= frames[-1].lineno < first + len(lines)
    if marked := [n for n, line in enumerate(lines, first) if line.endswith("# line\n")]:
        assert frames[-1].lineno == marked[0]
    if str(info.value).startswith("[convert]"):
        assert f"test_convert_errors.py:{frames[-1].lineno}:" in str(info.value)
    assert not OUTSIDE and COUNT == 0


def same_error(function, *args):
    """The exception is that of the function for the example that raises."""
    with pytest.raises(Exception) as eager:
        for row in zip(*args, strict=True):
            function(*row)
    with pytest.raises(Exception) as batched:
        fz.vmap(fz.convert(function))(*args)
    assert type(batched.value) is type(eager.value)
    # pytest adds lines to what its own assertions say.
    assert str(batched.value).splitlines()[:1] == str(eager.value).splitlines()[:1]
    where = [[f.lineno for f in traceback.extract_tb(e.tb)][-1] for e in (eager, batched)]
    assert where[0] == where[1]


def test_what_any_example_raises_is_raised():
    def positive(x):
        if x < -5:
            raise ValueError("too small")
        return x * 2

    def asserted(x):
        assert x > -5, "too small"
        return x

    def in_a_loop(x):
        while x > 0:
            x = x - 1
            if x < -0.2:
                raise KeyError("below")
        return x

    def in_a_call(x):
        return positive(x) if x < 0 else x

    def unknown(x):
        if x > 0:
            return x
        return nowhere  # noqa: F821

    for f in (positive, asserted, in_a_call, unknown):
        same_error(f, X)
    fz.vmap(fz.convert(in_a_loop))(fz.asarray([3.0, 2.0, -1.0]))
    same_error(in_a_loop, fz.asarray([3.0, 2.5, -1.0]))
    mild = fz.asarray([1.0, -2.0])
    assert fz.vmap(fz.convert(positive))(mild).tolist() == [2, -4]
    assert fz.vmap(fz.convert(in_a_call))(mild).tolist() == [1, -4]


def test_an_exception_of_all_examples_is_caught():
    def caught(x):
        try:
            if x.ndim == 0:
                raise ValueError("a number")
        except ValueError:
            return x * 2
        return x

    assert fz.vmap(fz.convert(caught))(X).tolist() == [6, -1, -14, 2]


def test_a_frame_is_left_behind_an_error():
    for _ in range(3):
        with pytest.raises(RuntimeError, match="print"):
            fz.vmap(fz.convert(prints))(X)
        with pytest.raises(TypeError, match="y is"):
            fz.vmap(fz.convert(other_shape))(X)
        assert fz.vmap(fz.convert(lambda x: x if x > 0 else -x))(X).tolist() == [3, 0.5, 7, 1]


def test_effects_of_all_examples_happen_once(capsys):
    def tells(x):
        print("once")
        y = x if x > 0 else -x
        for i in range(2):
            OUTSIDE.append(i)
        print("twice")
        return y

    fz.vmap(fz.convert(tells))(X)
    assert capsys.readouterr().out == "once\ntwice\n"
    assert OUTSIDE == [0, 1]
    OUTSIDE.clear()


def test_arguments_that_are_written_for_some_examples_are_refused():
    def writes(x, w):
        if x > 0:
            w[0] = x
        return x

    with pytest.raises(RuntimeError, match="outlives"):
        fz.vmap(fz.convert(writes), (0, None))(X, fz.zeros(2))


# -- What cannot be converted


def generator(x):
    yield x


async def coroutine(x):
    return x


def sees_locals(x):
    return locals()["x"]


def walrus_in_an_arm(x):
    return x if x > 0 and (y := x) else y  # noqa: F821


def returns_in_finally(x):
    try:
        x = x + 1
    finally:
        return x  # noqa: B012


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (generator, "generator or coroutine"),
        (coroutine, "generator or coroutine"),
        (sees_locals, "it calls locals"),
        (walrus_in_an_arm, ":= stands behind a condition"),
        (returns_in_finally, "a finally returns"),
        (eval("lambda x: x"), "its source is not to be had"),
        (np.median, "is no Python function|belongs to a library"),
        (functools.reduce, "is no Python function"),
        (fz.vmap, "it belongs to a library"),
        (3, "needs a function, got int"),
        (fz.trace(other_shape), "use fz.trace"),
    ],
)
def test_what_is_not_converted_says_why(function, text):
    with pytest.raises(TypeError, match=text) as info:
        fz.convert(function)
    assert str(info.value).startswith("[convert] ")


def test_a_trace_falls_back_and_says_why():
    traced = fz.trace(sees_locals, convert=True)
    for _ in range(3):
        assert traced(fz.asarray(2.0)).item() == 2
    assert re.search(
        r"sees_locals is not converted: it calls locals.*\(line \d+\)", traced.explain()
    )

    assert "not converted" in fz.trace(calls_it, convert=True).explain()
    assert "not converted" not in fz.trace(calls_it).explain()
    with pytest.raises(TypeError, match="convert must be True or False"):
        fz.trace(calls_it, convert="yes")


def calls_it(x):
    return sees_locals(x) + 1


def test_a_changed_file_is_noticed(tmp_path):
    file = tmp_path / "changing.py"
    file.write_text("def f(x):\n    return x + 1\n")
    scope = {"__name__": "changing"}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    file.write_text("def f(x):\n    return x + 2\n")
    with pytest.raises(TypeError, match="other code by now"):
        fz.convert(scope["f"])


def test_a_write_that_another_name_would_share_for_some_is_refused():
    def shared(x):
        y = x
        if x > 0:
            y = x * 2
        y += 1
        return x + y

    def own(x):
        y = x * 1
        if x > 0:
            y = x * 2
        y += 1
        return x + y

    with pytest.raises(RuntimeError, match="is one with another that is still in use"):
        fz.vmap(fz.convert(shared))(X)
    assert fz.vmap(fz.convert(own))(X).tolist() == [own(x).item() for x in X]
