"""Importing frazil again, and in another interpreter."""

import subprocess
import sys
import textwrap

import pytest


def run(code):
    argv = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FORGET = """
import sys
import frazil as first
def forget(prefix="frazil"):
    for name in [name for name in sys.modules if name.startswith(prefix)]:
        del sys.modules[name]
"""


def test_a_second_import_has_the_same_types():
    out = run(
        FORGET
        + """
@first.trace
def f(x):
    return x * 2 + 1
x = first.arange(4)
for again in range(3):
    forget()
    import frazil as second
    assert second is not first and second.Tensor is first.Tensor
    assert second.float32 is first.float32 and second.NpuFault is first.NpuFault
    assert [name for name in dir(first) if not hasattr(second, name)] == []
    assert second.trace(lambda x: x * 2 + 1)(x).tolist() == f(x).tolist() == [1, 3, 5, 7]
    # Each submodule of the extension is found by its path and as an attribute.
    from frazil._frazil.runtime import check_switches
    from frazil._frazil import runtime
    assert runtime is sys.modules["frazil._frazil.runtime"]
    model = second.nn.Linear(3, 2)
    optimizer = second.optim.SGD(model.parameters(), lr=0.1)
    model(second.ones((1, 3))).sum().backward()
    optimizer.step()
print("done")
"""
    )
    assert out == "done"


def test_a_second_import_after_threadpoolctl():
    out = run(
        FORGET
        + """
import threadpoolctl
forget()
import frazil
print([row["user_api"] for row in threadpoolctl.threadpool_info()].count("frazil"))
"""
    )
    assert out == "1"


@pytest.mark.parametrize("name", ["frazil", "frazil._frazil"])
def test_reload(name):
    run(
        f"""
        import importlib, sys
        import frazil
        tensor = frazil.Tensor
        importlib.reload(sys.modules[{name!r}])
        assert frazil.Tensor is tensor and frazil.ones(2).tolist() == [1, 1]
        """
    )


SUBINTERPRETER = """
try:
    import _interpreters as interpreters  # from Python 3.13 on
except ImportError:
    import _xxsubinterpreters as interpreters

PROGRAM = '''
try:
    import frazil
except ImportError as error:
    text = str(error)
else:
    text = "imported"
import os
os.write(1, (text + "\\\\n").encode())
'''
"""
TEXT = (
    "[import] frazil cannot be imported in a subinterpreter: its tensors are shared by the whole "
    "process. Import it in the main interpreter."
)


@pytest.mark.parametrize("before", ["", "import frazil\n"])
@pytest.mark.parametrize("kind", ["isolated", "legacy"])
def test_a_subinterpreter_gets_an_import_error(before, kind):
    # What a subinterpreter is by default, and one that shares the main one's lock.
    create = {
        "isolated": "interpreters.create()",
        "legacy": "interpreters.create('legacy') if sys.version_info >= (3, 13) "
        "else interpreters.create(isolated=False)",
    }[kind]
    out = run(
        f"{before}import sys\n{SUBINTERPRETER}"
        f"result = interpreters.run_string({create}, PROGRAM)\nassert result is None, result\n"
    )
    assert out == TEXT
