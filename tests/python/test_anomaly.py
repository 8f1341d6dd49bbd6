"""fz.detect_anomaly: the operation that makes the first NaN or infinity, forwards and backwards."""

import re
import threading
from pathlib import Path

import numpy as np
import pytest

import frazil as fz


def caught(call):
    with pytest.raises(FloatingPointError) as error, fz.detect_anomaly():
        call()
    return str(error.value)


def lines_of(error):
    return [entry.lineno for entry in error.traceback]


def test_forwards_it_names_the_operation_and_the_element():
    x = fz.asarray([[1.0, 2.0], [0.0, 3.0]])
    assert caught(lambda: fz.exp(1 / x - 1)) == (
        "[divide] makes the first infinity: element [1, 0] of f32[2,2], from f32[], f32[2,2]."
    )
    message = caught(lambda: fz.sqrt(x - 1))
    assert message.startswith("[sqrt] makes the first NaN: element [1, 0] of f32[2,2]")
    assert caught(lambda: fz.sum(x * fz.asarray([3e38, 1.0]) * 1e10)).startswith("[multiply]")
    assert caught(lambda: fz.asarray([1 + 1j, 0]) / 0).startswith("[divide] makes the first NaN")


def test_the_traceback_names_the_line():
    x = fz.asarray([0.0])
    with pytest.raises(FloatingPointError) as error, fz.detect_anomaly():
        y = x + 1
        z = fz.log(x)  # this line
        y + z
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "# this line" in source[error.traceback[-1].lineno]


def test_operands_are_not_blamed():
    inf, nan = fz.asarray([np.inf, 1.0]), fz.asarray([np.nan, 1.0])
    with fz.detect_anomaly():
        assert fz.max(inf + 1).item() == np.inf
        assert np.isnan((nan * 2)[0].item())
        assert fz.where(inf > 2, 0.0, inf).tolist() == [0.0, 1.0]
        assert fz.hypot(fz.asarray([0.0]), fz.asarray([0.0])).tolist() == [0.0]
        assert fz.nn.softmax(fz.asarray([-np.inf, 1.0])).tolist() == [0.0, 1.0]
        assert fz.arange(3).sum().item() == 3  # integers have none
        assert fz.zeros((0,)).sum().item() == 0
    assert caught(lambda: inf - inf).startswith("[subtract] makes the first NaN")


def loss(x):
    y = x * x
    z = fz.sqrt(y)  # the gradient of this line
    return fz.sum(z)


def line_of(text):
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(source, 1) if line.endswith(text))


@pytest.mark.parametrize("form", ["backward", "grad", "traced", "proved"])
def test_backwards_it_names_the_line_of_the_call(form):
    x = fz.asarray([1.0, 0.0], requires_grad=form == "backward")
    f = {
        "backward": lambda: loss(x).backward(),
        "grad": lambda: fz.grad(loss)(x),
        "traced": lambda: fz.trace(fz.grad(loss))(x),
        "proved": lambda: fz.trace(fz.grad(loss), pure=True)(x),
    }[form]
    message = caught(f)
    here = f"test_anomaly.py:{line_of('# the gradient of this line')}"
    assert message.endswith(f" It is part of the gradient of sqrt at {here}."), message
    assert "makes the first" in message


def test_a_skipped_function_runs_within():
    f = fz.trace(lambda x: fz.log(x).sum(), pure=True)
    good, bad = fz.asarray([1.0, 2.0]), fz.asarray([1.0, 0.0])
    for _ in range(5):
        f(good)
    with fz.detect_anomaly():
        f(good)
    assert caught(lambda: f(bad)).startswith("[log] makes the first infinity")
    assert f(bad).item() == -np.inf  # and goes on as before without


def test_scopes_nest_and_end():
    x = fz.asarray([0.0])
    with fz.detect_anomaly(), fz.detect_anomaly():
        pass
    assert fz.log(x).item() == -np.inf
    scope = fz.detect_anomaly()
    for _ in range(2):
        with scope, pytest.raises(FloatingPointError):
            fz.log(x)
    with pytest.raises(RuntimeError, match=re.escape("[detect_anomaly] is left more often")):
        scope.__exit__()
    with fz.detect_anomaly():
        seen = []
        thread = threading.Thread(target=lambda: seen.append(fz.log(x).item()))
        thread.start()
        thread.join()
        assert seen == [-np.inf]  # another thread


def test_not_within_a_traced_function():
    @fz.trace
    def f(x):
        with fz.detect_anomaly():
            return x + 1

    with pytest.raises(
        RuntimeError, match=re.escape("[detect_anomaly] is entered within a traced")
    ):
        f(fz.ones(2))
    assert fz.log(fz.zeros(1)).item() == -np.inf


# -- fz.debug.nan


def test_nan_lets_infinities_pass_and_names_the_line():
    x = fz.asarray([0.0, 1.0])

    @fz.trace
    def f(x):
        y = 1 / x
        return y - y  # the line to blame

    for call in (f, f, f.__wrapped__):
        with pytest.raises(FloatingPointError, match="subtract") as error, fz.debug.nan():
            assert fz.log(x).tolist()[0] == -np.inf
            call(x)
        (note,) = error.value.__notes__
        assert note.startswith(f"[debug.nan] at {__file__}:")
        assert note.endswith("return y - y  # the line to blame")
    with pytest.raises(FloatingPointError, match="infinity") as error, fz.detect_anomaly():
        1 / x
    assert not hasattr(error.value, "__notes__")


def test_nan_in_a_gradient():
    x = fz.asarray([0.0], requires_grad=True)
    message = r"part of the gradient of \w+ at test_anomaly.py:"
    with pytest.raises(FloatingPointError, match=message), fz.debug.nan():
        fz.sum(fz.sqrt(x * x)).backward()


def test_nan_nests_in_detect_anomaly():
    x = fz.asarray([0.0])
    with fz.detect_anomaly():
        with fz.debug.nan():
            assert (1 / x).item() == np.inf
        with pytest.raises(FloatingPointError, match="infinity"):
            1 / x
    assert (1 / x).item() == np.inf
