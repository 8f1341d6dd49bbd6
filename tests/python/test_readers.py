"""fz.io.read_image, read_audio and read_table: other packages read, or their absence is said."""

import subprocess
import sys

import numpy as np
import pytest

import frazil as fz


def test_images(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    colours = np.arange(24, dtype="uint8").reshape(2, 4, 3)
    path = tmp_path / "x.png"
    image_module.fromarray(colours).save(path)
    x = fz.io.read_image(path)
    assert x.dtype == fz.uint8 and x.tolist() == colours.tolist()
    assert fz.io.read_image(path, "L").shape == (2, 4)
    assert fz.io.read_image(str(path), "RGBA")[..., 3].tolist() == [[255] * 4] * 2
    image_module.fromarray(colours).quantize().save(path)  # with a palette
    assert fz.io.read_image(path).shape == (2, 4, 3)
    image_module.fromarray(np.arange(6, dtype="uint16").reshape(2, 3)).save(path)
    assert fz.io.read_image(path).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(FileNotFoundError):
        fz.io.read_image(tmp_path / "none.png")


def test_images_in_workers(tmp_path):
    image_module = pytest.importorskip("PIL.Image")
    for i in range(6):
        image_module.fromarray(np.full((3, 5), i, "uint8")).save(tmp_path / f"{i}.png")

    class Images(fz.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, i):
            return fz.io.read_image(tmp_path / f"{i}.png")

    for options in ({"num_workers": 2}, {"threads": 2}):
        got = fz.concat(list(fz.data.DataLoader(Images(), 4, **options)))
        assert got.shape == (6, 3, 5) and got[:, 0, 0].tolist() == list(range(6))


def test_sounds(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    wave = np.sin(np.arange(100) * 0.1)[:, None].astype("float32") * [1, 0.5]
    soundfile.write(tmp_path / "x.wav", wave, 8000, subtype="FLOAT")
    x, rate = fz.io.read_audio(tmp_path / "x.wav")
    assert rate == 8000 and x.dtype == fz.float32
    np.testing.assert_array_equal(np.asarray(x), wave.astype("float32"))
    assert fz.io.read_audio(tmp_path / "x.wav", "int16")[0].dtype == fz.int16


def test_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "x.csv"
    frame = pandas.DataFrame({"n": [1, 2], "x": [0.5, None], "b": [True, False], "s": ["a", "b"]})
    frame.to_csv(path, index=False)
    got = fz.io.read_table(path, ["x", "n", "b"])
    assert list(got) == ["x", "n", "b"] and got["n"].dtype == fz.int64
    assert got["b"].tolist() == [True, False] and np.isnan(got["x"][1].item())
    assert got["x"].dtype == fz.float64
    assert fz.io.read_table(path, ["n"], nrows=1)["n"].tolist() == [1]
    with pytest.raises(TypeError, match=r"\[read_table\] column 's' of '.*' holds .*, not numbers"):
        fz.io.read_table(path)


def test_parquet(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"n": [1, 2], "x": [0.5, 1.5]}).to_parquet(tmp_path / "x.parquet")
    got = fz.io.read_table(tmp_path / "x.parquet", ["x"])
    assert list(got) == ["x"] and got["x"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("call", "module", "package"),
    [
        ("read_image('x.png')", "PIL", "pillow"),
        ("read_audio('x.wav')", "soundfile", "soundfile"),
        ("read_table('x.csv')", "pandas", "pandas"),
        ("read_table('x.parquet')", "pyarrow", "pyarrow"),
    ],
)
def test_a_package_that_is_missing_is_named(call, module, package):
    if module == "pyarrow":
        pytest.importorskip("pandas")
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        f"import frazil as fz\ntry:\n fz.io.{call}\nexcept ImportError as error:\n print(error)"
    )
    told = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert f"] needs the package {package}: pip install {package}." in told
