"""fz.io.save_safetensors and load_safetensors: the bytes, and what is no such file."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import frazil as fz
from frazil.io import load_safetensors, save_safetensors

GOLDEN = (
    b"\x90\x00\x00\x00\x00\x00\x00\x00"
    b'{"__metadata__":{"format":"pt"},'
    b'"b":{"dtype":"I64","shape":[],"data_offsets":[0,8]},'
    b'"a":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]}}    '
    b"\xfe\xff\xff\xff\xff\xff\xff\xff"
    b"\x00\x00\x80\x3f\x00\x00\x20\xc0"
)
ALL = [
    "bool", "uint8", "int8", "int16", "uint16", "float16", "bfloat16", "int32", "uint32",
    "float32", "complex64", "float64", "int64", "uint64",
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def some(dtype, shape=(3, 2)):
    return (fz.arange(fz.zeros(shape).size) - 2).reshape(shape).astype(dtype)


def test_the_bytes_are_those_of_the_format(path):
    tensors = {"a": fz.asarray([[1.0], [-2.5]]), "b": fz.asarray(-2, dtype="int64")}
    save_safetensors(path, tensors, {"format": "pt"})
    assert path.read_bytes() == GOLDEN
    got, metadata = load_safetensors(str(path), return_metadata=True)
    assert list(got) == ["b", "a"] and metadata == {"format": "pt"}
    assert got["a"].tolist() == [[1.0], [-2.5]] and got["a"].dtype == fz.float32
    assert got["b"].item() == -2 and got["b"].shape == () and got["b"].dtype == fz.int64


@pytest.mark.parametrize("dtype", ALL)
def test_all_dtypes_and_layouts_come_back(path, dtype):
    tensors = {
        "plain": some(dtype),
        "scalar": some(dtype, ()),
        "empty": some(dtype, (2, 0, 3)),
        "turned": some(dtype, (4, 3)).T,
        "each second": some(dtype, (6, 3))[::2, 1:],
        "spread": fz.broadcast_to(some(dtype, (2,)), (3, 2)),
        "with gradient, ü": some(dtype) + 0,
    }
    if dtype in ("float32", "float64"):
        tensors["with gradient, ü"].requires_grad = True
    save_safetensors(path, tensors)
    got = load_safetensors(path)
    assert got.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert got[name].dtype == tensor.dtype and got[name].shape == tensor.shape
        assert got[name].tolist() == tensor.tolist(), name
        assert not got[name].requires_grad


def test_the_package_reads_and_writes_the_same_bytes(path, tmp_path):
    st = pytest.importorskip("safetensors.numpy")
    arrays = {
        f"{dtype}.{name}": np.asarray(some(dtype, shape))
        for dtype in ALL
        if dtype not in ("bfloat16", "complex64")
        for name, shape in (("z", (3, 2)), ("a", ()), ("none", (0, 2)))
    }
    theirs = tmp_path / "theirs.safetensors"
    for metadata in (None, {"step": "7"}):
        st.save_file(arrays, theirs, metadata)
        save_safetensors(path, {k: fz.asarray(v) for k, v in arrays.items()}, metadata)
        assert path.read_bytes() == theirs.read_bytes()
    for got in (st.load_file(path), load_safetensors(theirs)):
        assert got.keys() == arrays.keys()
        for name, want in arrays.items():
            assert np.asarray(got[name]).dtype == want.dtype
            np.testing.assert_array_equal(np.asarray(got[name]), want)


def test_bfloat16_and_complex_are_the_packages(path):
    safetensors = pytest.importorskip("safetensors")
    save_safetensors(path, {"b": some("bfloat16"), "c": some("complex64")})
    with safetensors.safe_open(path, "np") as file:
        b, c = file.get_slice("b"), file.get_slice("c")
        assert (b.get_dtype(), b.get_shape()) == ("BF16", [3, 2])
        assert (c.get_dtype(), c.get_shape()) == ("C64", [3, 2])


def test_a_tensor_of_the_file_may_be_changed_and_the_file_replaced(path):
    save_safetensors(path, {"w": fz.zeros(4)})
    before = path.read_bytes()
    w = load_safetensors(path)["w"]
    w += 1
    w[0] = 5
    assert w.tolist() == [5, 1, 1, 1] and path.read_bytes() == before
    old = load_safetensors(path)["w"]
    save_safetensors(path, {"w": fz.ones(4)})
    assert old.tolist() == [0] * 4 and load_safetensors(path)["w"].tolist() == [1] * 4


def test_elements_that_are_not_aligned(path):
    head = {
        "a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
        "b": {"dtype": "F64", "shape": [2], "data_offsets": [1, 17]},
        "c": {"dtype": "BF16", "shape": [1], "data_offsets": [17, 19]},
    }
    text = json.dumps(head).encode()
    data = b"\x07" + np.array([0.5, -3.0]).tobytes() + b"\x80\x3f"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    got = load_safetensors(path)
    assert [got[k].tolist() for k in "abc"] == [[7], [0.5, -3.0], [1.0]]


def file_of(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + data


def row(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


HOSTILE = {
    "empty": (b"", "it has 0 bytes, and the length of its header takes 8"),
    "old": (b"FZT1\x01\x00\x00\x00" + bytes(40), "it is of frazil's old format FZT1: load it with"),
    "short": (b"\x01\x00", "it has 2 bytes"),
    "header beyond the end": (file_of({}, length=3), "is said to take 3 bytes, after 8 of 1"),
    "huge header": (file_of({}, length=2**64 - 1), "take 18446744073709551615 bytes"),
    "another file": (b"PK\x03\x04" + bytes(60), "header is said to take"),
    "no brace": (file_of(b"[]"), r"begins with '\['"),
    "blank first": (file_of(b" {}"), "begins with ' '"),
    "no JSON": (file_of(b'{"a":}'), "its header is no JSON"),
    "rest": (file_of(b"{}{}"), "its header is no JSON"),
    "no UTF-8": (file_of(b'{"\xff":1}'), "its header is no JSON"),
    "deep": (
        file_of(b'{"a":' * 100000),
        "'a' must have dtype, shape and data_offsets, and has 'a'",
    ),
    "deep list": (file_of(b'{"a":' + b"[" * 100000), "data_offsets, and has a list"),
    "long number": (file_of(b'{"a":' + b"9" * 5000 + b"}"), "its header is no JSON"),
    "twins": (
        file_of(b'{"a":%s,"a":%s}' % ((json.dumps(row()).encode(),) * 2), bytes(8)),
        "its header has 'a' twice",
    ),
    "twins inside": (file_of(b'{"a":{"shape":[],"shape":[2]}}'), "its header has 'shape' twice"),
    "no row": (file_of({"a": 3}), "'a' must have dtype, shape and data_offsets, and has 3"),
    "less": (file_of({"a": {"dtype": "F32"}}), "data_offsets, and lacks shape"),
    "more": (file_of({"a": row(strides=[1])}, bytes(8)), "data_offsets, and has 'strides'"),
    "dtype": (file_of({"a": row("F8_E4M3", [8])}, bytes(8)), "dtype 'F8_E4M3'; frazil has BOOL,"),
    "dtype of a list": (
        file_of({"a": row([1])}, bytes(8)),
        "'a' has dtype a list, which is no name",
    ),
    "shape": (file_of({"a": row(shape=8)}, bytes(8)), "'a' has 8 in its shape"),
    "negative": (file_of({"a": row(shape=[-2, -1])}, bytes(8)), "'a' has -2 in its shape"),
    "bool extent": (file_of({"a": row(shape=[2, True])}, bytes(8)), "'a' has true in its shape"),
    "float extent": (file_of({"a": row(shape=[2.0])}, bytes(8)), "'a' has 2.0 in its shape"),
    "huge extent": (
        file_of({"a": row(shape=[2**64])}, bytes(8)),
        "'a' has 18446744073709551616 in its shape",
    ),
    "overflow": (
        file_of({"a": row(shape=[2**32, 2**32])}, bytes(8)),
        r"'a' has more bytes than an address can count: shape \[4294967296,4294967296\]",
    ),
    "rank": (file_of({"a": row("U8", [1] * 100, (0, 1))}, b"1"), "'a' has more than 16 axes"),
    "one offset": (file_of({"a": row(offsets=[8])}, bytes(8)), "lacks data_offsets of two numbers"),
    "negative offset": (
        file_of({"a": row(offsets=[-8, 0])}, bytes(8)),
        "'a' has -8 in its data_offsets",
    ),
    "backwards": (
        file_of({"a": row(offsets=[8, 0])}, bytes(8)),
        r"takes 8 bytes as F32 of shape \[2\], and has",
    ),
    "beyond": (file_of({"a": row(offsets=[8, 16])}, bytes(8)), r"\[8, 16\], and 8 bytes of"),
    "three offsets": (file_of({"a": row(offsets=[0, 8, 8])}, bytes(8)), "more than two numbers"),
    "too few": (file_of({"a": row(offsets=[0, 4])}, bytes(4)), "takes 8 bytes as F32 of shape"),
    "overlap": (
        file_of({"a": row(), "b": row(offsets=[4, 12])}, bytes(12)),
        "'b' begins at byte 4 of the elements, where another tensor is until 8",
    ),
    "the same": (file_of({"a": row(), "b": row()}, bytes(8)), "'b' begins at byte 0"),
    "gap": (
        file_of({"a": row(), "b": row(offsets=[12, 20])}, bytes(20)),
        "bytes 8 to 12 of the elements belong to no tensor",
    ),
    "rest of data": (file_of({"a": row()}, bytes(9)), "its tensors take 8 bytes, and 9 follow"),
    "data alone": (file_of({}, bytes(1)), "its tensors take 0 bytes, and 1 follow"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "__metadata__ must hold strings, got"),
    "metadata of a list": (file_of({"__metadata__": []}), "__metadata__ must hold strings"),
    "bools": (
        file_of({"a": row("BOOL", [2], [0, 2])}, b"\x01\x02"),
        "'a' is of bools, and has bytes that are neither 0 nor 1",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(path, name):
    data, message = HOSTILE[name]
    path.write_bytes(data)
    where = re.escape(f"[load_safetensors] '{path}' is no safetensors file or is damaged: ")
    with pytest.raises(ValueError, match=where + f".*{message}"):
        load_safetensors(path)


def test_a_file_cut_or_changed_anywhere_never_crashes(path):
    save_safetensors(path, {"a": fz.arange(3), "b": fz.ones((2, 2)), "c": fz.asarray([True])})
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match="is damaged"):
            load_safetensors(path)
        changed = bytearray(whole)
        changed[n] ^= 1 << n % 8
        path.write_bytes(changed)
        try:
            got = load_safetensors(path)
        except ValueError as error:
            assert "is damaged" in str(error)
        else:
            assert all(t.size <= 4 for t in got.values())


def test_what_cannot_be_written(path):
    x = fz.ones(2)
    path.write_bytes(b"before")
    for tensors, metadata, error, message in (
        ({"a": [1.0]}, None, TypeError, "'a' must be a tensor, got list: make it one"),
        ({1: x}, None, TypeError, "tensors has the key 1, which is no string"),
        ([x], None, TypeError, "tensors must be a dict, got list"),
        ({"__metadata__": x}, None, ValueError, "'__metadata__' is no name for a tensor"),
        ({"a\ud800": x}, None, ValueError, "is no text in UTF-8"),
        ({"a": x}, {"step": 7}, TypeError, "metadata.'step'. must be a string, got int"),
        ({"a": x}, "no", TypeError, "metadata must be a dict, got str"),
    ):
        with pytest.raises(error, match=r"\[save_safetensors\] .*" + message):
            save_safetensors(path, tensors, metadata)
    with pytest.raises(FileNotFoundError):
        save_safetensors(path.parent / "nowhere" / "x", {"a": x})
    with pytest.raises(FileNotFoundError):
        load_safetensors(path.parent / "nowhere")
    assert path.read_bytes() == b"before" and os.listdir(path.parent) == [path.name]


KILLED = """
import sys
import frazil as fz
tensors = [{"w": fz.full(200_000, n)} for n in range(2)]
print("begin", flush=True)
while True:
    for part in tensors:
        fz.io.save_safetensors(sys.argv[1], part)
"""


def test_a_killed_writer_leaves_a_whole_file(path):
    save_safetensors(path, {"w": fz.zeros(200_000)})
    for wait in range(8):
        writer = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"begin\n"
        time.sleep(wait / 300)
        writer.kill()
        writer.communicate()
        w = load_safetensors(path)["w"]
        assert w.shape == (200_000,) and w.min().item() == w.max().item()
    left = {name for name in os.listdir(path.parent) if name != path.name}
    assert all(re.fullmatch(rf"\.{path.name}\.\w{{6}}\.tmp", name) for name in left)


def test_a_failed_write_leaves_what_was_there(path):
    save_safetensors(path, {"w": fz.zeros(4)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(
            OSError, match=r"\[save_safetensors\] cannot write '.*': File too large"
        ):
            save_safetensors(path, {"w": fz.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert os.listdir(path.parent) == [path.name] and not load_safetensors(path)["w"].any()


def test_complex128_is_stored_as_pairs(path):
    z = some("complex128") * (1 + 2j)
    save_safetensors(path, {"z": z, "x": fz.ones(1, dtype="float64")}, {"a": "b"})
    got, metadata = load_safetensors(path, return_metadata=True)
    assert metadata == {"a": "b"} and got["z"].dtype == fz.complex128
    assert got["z"].tolist() == z.tolist() and got["x"].dtype == fz.float64
    length = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + length])
    assert header["z"]["dtype"] == "F64" and header["z"]["shape"] == [3, 2, 2]
    assert list(header["__metadata__"]) == ["a", "frazil.complex128 z"]
    for name, rows in {
        "y": {"z": row("F64", [2], [0, 16])},
        "z": {"z": row("F64", [1], [0, 8])},
    }.items():
        path.write_bytes(
            file_of(
                {"__metadata__": {f"frazil.complex128 {name}": ""}, **rows},
                bytes(rows["z"]["data_offsets"][1]),
            )
        )
        with pytest.raises(ValueError, match="there is no such tensor|is complex128 by a remark"):
            load_safetensors(path)


def test_mapped_tensors_are_deferred_and_donated_like_others(path):
    save_safetensors(path, {"w": fz.arange(6.0)})

    @fz.trace
    def f(w):
        return (w * 2 + 1).sum()

    for _ in range(5):
        assert f(load_safetensors(path)["w"]).item() == 36
    assert f.stats()["skipped"] + f.stats()["replayed"] > 0


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file(path, make):
    make(path)
    with pytest.raises(OSError, match=r"\[save_safetensors\] cannot replace"):
        save_safetensors(path, {})
    # A pipe that nobody writes to is not waited for.
    with pytest.raises(OSError, match=r"\[load_safetensors\] cannot map"):
        load_safetensors(path)


def test_the_longest_name_that_a_file_may_have(tmp_path):
    path = tmp_path / ("x" * 255)
    for n in (1, 2):
        save_safetensors(path, {"w": fz.ones(n)})
    assert load_safetensors(path)["w"].shape == (2,) and len(list(tmp_path.iterdir())) == 1


def test_the_mode_of_a_file_and_a_link_stay(path, tmp_path):
    mask = os.umask(0o027)
    try:
        save_safetensors(path, {})
    finally:
        os.umask(mask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path.name)
    save_safetensors(link, {"w": fz.ones(1)})
    assert link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert load_safetensors(path)["w"].tolist() == [1]
