"""Files of each version of the format are read, and compute what they did when written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import frazil as fz

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
GOLDEN = ROOT / "tests" / "frozen" / "golden_1.frz"
BUILD = Path(os.environ.get("FRAZIL_BUILD", ROOT / "build"))
RUN = BUILD / "bindings" / "cli" / "frazil-run"
KEYS = ("up5", "up9", "down5", "down9")


@pytest.fixture(scope="module")
def kept():
    return dict(np.load(GOLDEN.with_suffix(".npz")))


def test_version_1(kept):
    program = fz.load_program(GOLDEN)
    assert list(program.inputs.items()) == [("x", "f32[batch,4]"), ("i", "i64[3]")]
    for n, key in enumerate(3 * KEYS):
        y, calls = program(fz.asarray(kept[f"x_{key}"]), fz.asarray(kept[f"i_{key}"]))
        np.testing.assert_array_max_ulp(np.asarray(y), kept[f"y_{key}"], 4)
        assert calls.item() == n + 1


def run(*args):
    done = subprocess.run([RUN, *args], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_frazil_run(kept, tmp_path):
    status, out, _ = run(GOLDEN)
    assert status == 0
    assert out.startswith("golden, exported by frazil ")
    assert "input   x: f32[batch,4]\ninput   i: i64[3]\nresults 2\n" in out
    np.save(tmp_path / "x.npy", kept["x_up9"])
    np.save(tmp_path / "i.npy", kept["i_up9"])
    status, out, err = run(
        GOLDEN, "--input", f"i={tmp_path / 'i.npy'}", "--input", tmp_path / "x.npy",
        "--output", tmp_path / "y.npy",
    )  # fmt: skip
    assert (status, err) == (0, "")
    assert out == "result 1: f32[]\n"
    np.testing.assert_array_max_ulp(np.load(tmp_path / "y.npy"), kept["y_up9"], 4)
    status, out, err = run(GOLDEN, "--size", "batch=6", "--bench", "--seconds", "0.05")
    assert (status, err) == (0, "")
    assert "call 1" in out and "kernels" in out
    status, out, err = run(GOLDEN, "--size", "batch=6", "--profile")
    assert (status, err) == (0, "")
    assert "matmul" in out and "golden.py:" in out


def test_what_frazil_run_tells_and_takes(kept, tmp_path):
    status, out, _ = run(GOLDEN)
    assert status == 0 and "\nsize    batch is from 5 to 64\n" in out
    assert run("--version") == (0, f"frazil-run {fz.__version__}\n", "")
    status, out, err = run(GOLDEN, "--size=batch=6", "--bench", "--seconds=0.01")
    assert (status, err) == (0, "") and "median" in out
    # What is written is there whole or as it was, and goes to what is no file, too.
    inputs = [f"--input={save(tmp_path, kept, name)}" for name in ("x_down5", "i_down5")]
    result = tmp_path / "y.npy"
    result.write_bytes(b"old")
    result.chmod(0o640)
    for _ in range(2):
        assert run(GOLDEN, *inputs, "--output", result, "--output", "/dev/null")[0] == 0
        assert np.load(result).shape == (3, 3) and result.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".tmp"] == []


def save(folder, kept, name):
    np.save(folder / f"{name}.npy", kept[name])
    return folder / f"{name}.npy"


def test_wrong_command_lines(tmp_path):
    (tmp_path / "x.npy").write_bytes(b"no array")
    for args, status, message in (
        ((), 2, ""),
        (("--nothing",), 2, "[frazil-run] '--nothing' is no option."),
        ((GOLDEN, GOLDEN), 2, "there is a second program"),
        ((GOLDEN, "--input"), 2, "--input needs a value"),
        ((GOLDEN, "--size", "batch=0"), 2, "--size 'batch=0' is no NAME=N"),
        ((tmp_path / "none.frz",), 1, "[load_program] cannot open"),
        ((GOLDEN, "--bench"), 1, "the size of batch is not given"),
        ((GOLDEN, "--input", tmp_path / "x.npy"), 1, "is no .npy file or is damaged"),
        ((GOLDEN, "--size", "batch=6", "--output", "a", "--output", "b", "--output", "c"), 1,
         "there are 3 --output for 2 results"),
        ((GOLDEN, "--size", "bath=6"), 1, "the program has no dynamic size bath"),
        ((GOLDEN, "--bench=1"), 2, "'--bench' is no option"),
        ((GOLDEN, "--seconds", "inf"), 2, "--seconds 'inf' is no time"),
        ((GOLDEN, "--input", "x=a", "--input", "x=b"), 1, "[frazil-run] cannot open 'a'"),
        ((GOLDEN, "--size", "batch=6", "--output", tmp_path), 1, "[frazil-run] cannot open"),
        ((GOLDEN, "--size", "batch=100"), 1, "[golden] batch is from 5 to 64, got 100 in 'x'"),
    ):  # fmt: skip
        got, _, err = run(*args)
        assert (got, message in err) == (status, True), (args, got, err)


def test_the_c_interface_by_ctypes(kept):
    library = BUILD / "bindings" / "cpp" / "install" / "libfrazil.so"
    code = f"""
import ctypes, sys
lib = ctypes.CDLL({str(library)!r})
lib.frz_last_error.restype = lib.frz_program_name.restype = ctypes.c_char_p
lib.frz_program_input_type.restype = lib.frz_program_state_name.restype = ctypes.c_char_p
lib.frz_tensor_bytes.restype = ctypes.c_size_t
lib.frz_tensor_extent.restype = ctypes.c_int64
P = ctypes.c_void_p
assert lib.frz_abi_version() == 1
model = P()
assert lib.frz_load(b"/nowhere.frz", None, ctypes.byref(model)) == 6 and not model
assert b"[load_program] cannot open '/nowhere.frz'" in lib.frz_last_error()
assert lib.frz_load({os.fsencode(GOLDEN)!r}, None, ctypes.byref(model)) == 0
assert lib.frz_program_name(model) == b"golden"
assert (lib.frz_program_inputs(model), lib.frz_program_results(model)) == (2, 2)
assert lib.frz_program_input_type(model, 0) == b"f32[batch,4]"
assert lib.frz_program_input_type(model, 2) is None
x = {kept["x_down5"].tobytes()!r}
i = {kept["i_down5"].tobytes()!r}
shape = (ctypes.c_int64 * 2)(5, 4)
tx, ti = P(), P()
assert lib.frz_tensor_new(11, 2, shape, x, ctypes.byref(tx)) == 0
assert lib.frz_tensor_new(4, 1, (ctypes.c_int64 * 1)(3), i, ctypes.byref(ti)) == 0
assert lib.frz_tensor_new(99, 1, shape, None, ctypes.byref(P())) == 1
assert lib.frz_tensor_new(11, 1, (ctypes.c_int64 * 1)(-1), None, ctypes.byref(P())) == 2
results = (P * 2)()
inputs = (P * 2)(tx, ti)
for _ in range(4):
    assert lib.frz_call(model, 2, inputs, 2, results) == 0, lib.frz_last_error()
    y = ctypes.create_string_buffer(lib.frz_tensor_bytes(P(results[0])))
    assert lib.frz_tensor_read(P(results[0]), y, len(y)) == 0
    assert lib.frz_tensor_read(P(results[0]), y, 3) == 2
    [lib.frz_tensor_free(P(r)) for r in results]
assert lib.frz_call(model, 1, inputs, 2, results) == 1
assert b"takes 2 inputs" in lib.frz_last_error()
assert lib.frz_call(model, 2, (P * 2)(ti, tx), 2, results) == 1
names = [lib.frz_program_state_name(model, k) for k in range(lib.frz_program_states(model))]
assert b"first.weight" in names and lib.frz_program_state_name(model, 99) is None
state = P()
assert lib.frz_program_state(model, names.index(b"calls"), ctypes.byref(state)) == 0
assert lib.frz_program_set_state(model, names.index(b"calls"), state) == 0
assert lib.frz_program_set_state(model, names.index(b"first.weight"), state) == 2
assert lib.frz_program_set_state(model, 99, state) == 3
for t in (state, tx, ti): lib.frz_tensor_free(t)
lib.frz_program_free(model)
lib.frz_program_free(None)
# From memory, and on another device: tensors go there and come back.
content = open({os.fsencode(GOLDEN)!r}, "rb").read()
bytes_of = lib.frz_load_bytes
bytes_of.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, P]
for device in (None, b"npu"):
    model, tx, ti = P(), P(), P()
    assert bytes_of(content, len(content), device, ctypes.byref(model)) == 0, lib.frz_last_error()
    assert lib.frz_tensor_new(11, 2, shape, x, ctypes.byref(tx)) == 0
    assert lib.frz_tensor_new(4, 1, (ctypes.c_int64 * 1)(3), i, ctypes.byref(ti)) == 0
    for _ in range(4):
        assert lib.frz_call(model, 2, (P * 2)(tx, ti), 2, results) == 0, lib.frz_last_error()
        again = ctypes.create_string_buffer(len(y))
        assert lib.frz_tensor_read(P(results[0]), again, len(y)) == 0
        [lib.frz_tensor_free(P(r)) for r in results]
    assert device or again.raw == y.raw
    for t in (tx, ti): lib.frz_tensor_free(t)
    lib.frz_program_free(model)
model = P()
assert bytes_of(content, 100, None, ctypes.byref(model)) == 2 and not model
assert b"[load_program] 'the bytes' is no" in lib.frz_last_error()
sys.stdout.write(y.raw.hex())
"""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=300
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    y = np.frombuffer(bytes.fromhex(done.stdout), dtype="float32").reshape(3, 3)
    np.testing.assert_array_max_ulp(y, kept["y_down5"], 4)
