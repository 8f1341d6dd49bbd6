"""fz.io.save_npy, load_npy, save_npz and load_npz: NumPy's files, and what is none."""

import copy
import io
import struct
import zipfile

import numpy as np
import pytest

import frazil as fz
from frazil.io import load_npy, load_npz, save_npy, save_npz

DTYPES = [
    "bool", "uint8", "int8", "int16", "uint16", "float16", "int32", "uint32", "float32",
    "complex64", "float64", "int64", "uint64", "complex128",
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x"


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_come_back_from_numpy_and_go_there(path, dtype):
    for shape in ((3, 2), (), (2, 0, 3)):
        x = (fz.arange(fz.zeros(shape).size) - 2).reshape(shape).astype(dtype)
        for tensor in (x, x.T):
            save_npy(path, tensor)
            array = np.load(path)
            assert array.dtype == np.dtype(dtype)
            np.testing.assert_array_equal(array, np.asarray(tensor))
            got = load_npy(path)
            assert got.dtype.name == dtype and got.shape == tensor.shape
            assert got.tolist() == tensor.tolist()
    for array in (np.asarray(x), np.asfortranarray(np.asarray(x)), np.asarray(x)[::-1]):
        with open(path, "wb") as file:
            np.save(file, array.astype(array.dtype.newbyteorder(">")))
        assert load_npy(path).tolist() == array.tolist()
    with open(path, "wb") as file:
        np.lib.format.write_array(file, np.ones(2), version=(2, 0))
    assert load_npy(path).tolist() == [1, 1]


@pytest.mark.parametrize("compressed", [False, True])
def test_archives(path, compressed):
    tensors = {
        "a": fz.arange(3),
        "b.c": fz.ones((2, 2)).T,
        "file": fz.asarray(True),
        "ü": fz.zeros(0),
    }
    save_npz(path, tensors, compressed=compressed)
    with np.load(path) as archive:
        assert archive.files == list(tensors)
        assert all((archive[name] == np.asarray(x)).all() for name, x in tensors.items())
    got = load_npz(path)
    assert list(got) == list(tensors)
    assert all(got[name].tolist() == x.tolist() for name, x in tensors.items())
    with open(path, "wb") as file:
        (np.savez_compressed if compressed else np.savez)(file, x=np.ones(3), y=np.arange(2))
    assert {name: x.tolist() for name, x in load_npz(path).items()} == {"x": [1] * 3, "y": [0, 1]}


def npy(header, data=b"", version=b"\x01\x00"):
    text = header.encode() if isinstance(header, str) else header
    length = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return b"\x93NUMPY" + version + length + text + data


def head(descr="'<f8'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


HOSTILE = {
    "empty": (b"", ""),
    "no magic": (b"PK\x03\x04" + bytes(60), ""),
    "cut": (npy(head())[:20], ""),
    "version": (npy(head(), bytes(16), b"\x09\x00"), "version"),
    "code": (npy("__import__('os').abort()\n"), ""),
    "a call": (npy(head(shape="(open('x'),)")), ""),
    "deep": (npy("(" * 9000 + "\n"), ""),
    "long": (npy(" " * 60000 + head()), ""),
    "no shape": (npy("{'descr': '<f8'}\n"), ""),
    "negative": (npy(head(shape="(-2,)"), bytes(16)), "takes -16 bytes|negative|shape"),
    "two negative": (npy(head(shape="(-1, -2)"), bytes(16)), "shape"),
    "huge": (npy(head(shape="(1 << 60,)")), ""),
    "huge number": (npy(head(shape=f"({1 << 60},)"), bytes(16)), "takes 9223372036854775808 bytes"),
    "short": (npy(head(), bytes(15)), "takes 16 bytes, and 15 follow"),
    "more": (npy(head(), bytes(17)), "takes 16 bytes, and 17 follow"),
    "bools": (npy(head("'|b1'"), b"\x01\x02"), "bools that are neither 0 nor 1"),
    "no dtype": (npy(head("'<q9'")), ""),
    "many axes": (npy(head(shape="(" + "1, " * 100 + ")"), bytes(8)), "has 100 axes, at most 16"),
    "a bool for a size": (npy(head(shape="(True,)"), bytes(8)), "at most 16 integers"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files(path, name):
    data, message = HOSTILE[name]
    path.write_bytes(data)
    with pytest.raises(
        ValueError, match=rf"\[load_npy\] '.*' is no .npy file or is damaged: .*({message})"
    ):
        load_npy(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", data)
    with pytest.raises(ValueError, match=r"\[load_npz\] 'x' of '.*' is no .npy file or is damaged"):
        load_npz(path)


@pytest.mark.parametrize(
    "array",
    [
        np.array([{}], object), np.array(["a"]), np.array([b"a"]), np.array(["2020"], "M8[D]"),
        np.zeros(2, [("a", "f4")]), np.zeros(2, np.longdouble),
    ],
    ids=lambda x: x.dtype.kind,
)  # fmt: skip
def test_what_has_no_numbers(path, array):
    with open(path, "wb") as file:
        np.save(file, array, allow_pickle=True)
    with pytest.raises(TypeError, match=r"\[load_npy\] '.*' holds .*, and frazil has numbers"):
        load_npy(path)


def test_archives_whose_members_share_their_bytes(path):
    """A small file that would be any number of large arrays: the same member under many names."""
    count, body = 300, npy(head(shape="(100000,)"), bytes(800_000))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a000.npy", body)
        (member,) = archive.infolist()
        for i in range(1, count):
            other = copy.copy(member)
            other.filename = f"a{i:03}.npy"
            archive.filelist.append(other)
            archive.NameToInfo[other.filename] = other
        archive._didModify = True
    path.write_bytes(stream.getvalue())
    with pytest.raises(ValueError, match=r"is damaged: its arrays take \d+ bytes packed, it has"):
        load_npz(path)


def test_damaged_archives(path):
    save_npz(path, {"a": fz.arange(30), "b": fz.ones((4, 4))}, compressed=True)
    whole = path.read_bytes()
    for n in range(0, len(whole), 3):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match=r"\[load_npz\]"):
            load_npz(path)
        changed = bytearray(whole)
        changed[n] ^= 1 << n % 8
        path.write_bytes(changed)
        try:
            got = load_npz(path)
        except (ValueError, TypeError) as error:
            assert "[load_npz]" in str(error)
        else:
            assert all(t.size <= 30 for t in got.values())
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("x.npy", npy(head(), bytes(16)))
        archive.writestr("x.npy", npy(head(), bytes(16)))
    path.write_bytes(stream.getvalue())
    with pytest.raises(ValueError, match="has 'x.npy', twice"):
        load_npz(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme", "")
    with pytest.raises(ValueError, match="has 'readme', which is no array"):
        load_npz(path)


def test_what_cannot_be_written(path):
    path.write_bytes(b"before")
    for save in (save_npy, lambda path, x: save_npz(path, {"a": x})):
        with pytest.raises(TypeError, match="must be a tensor, got list"):
            save(path, [1.0])
        with pytest.raises(TypeError, match="is bfloat16, which NumPy lacks"):
            save(path, fz.ones(2, dtype="bfloat16"))
        with pytest.raises(FileNotFoundError, match=r"\[save_np.\] cannot write"):
            save(path.parent / "nowhere" / "x", fz.ones(1))
    with pytest.raises(TypeError, match="must be a dict"):
        save_npz(path, fz.ones(1))
    with pytest.raises(FileNotFoundError):
        load_npy(path.parent / "nowhere")
    assert path.read_bytes() == b"before"
