"""Files of other formats, read by the packages that people use for them.

A package is imported when a file is read; without it the error says which one to install.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from frazil._frazil import Tensor

__all__ = ["read_audio", "read_image", "read_table"]


def read_image(path: str | PathLike[str], mode: str | None = None) -> Tensor:
    """An image as (height, width, channels), or (height, width) of one channel, by Pillow.

    Parameters
    ----------
    path : path
    mode : str, optional
        Converts to a mode of Pillow: "RGB", "L" (gray), "RGBA". By default the file's, with
        palettes and bits as RGB and L.

    Returns
    -------
    Tensor
        Mostly uint8.

    Raises
    ------
    ImportError
        Without the package Pillow.

    >>> read_image("photograph.jpg", "RGB").shape  # doctest: +SKIP
    (480, 640, 3)
    """
    image_module = _package("read_image", "PIL.Image", "pillow")
    import numpy

    with image_module.open(path) as image:
        wanted = mode or {"P": "RGB", "1": "L"}.get(image.mode)
        return _fz.asarray(numpy.asarray(image.convert(wanted) if wanted else image))


def read_audio(path: str | PathLike[str], dtype: str = "float32") -> tuple[Tensor, int]:
    """A sound as (frames, channels), and its frames per second, by soundfile.

    Parameters
    ----------
    path : path
    dtype : str
        "float32" or "float64", from -1 to 1; "int16" or "int32", full range.

    Returns
    -------
    (Tensor, int)

    Raises
    ------
    ImportError
        Without the package soundfile.

    >>> samples, rate = read_audio("song.flac")  # doctest: +SKIP
    """
    soundfile = _package("read_audio", "soundfile", "soundfile")
    samples, rate = soundfile.read(path, dtype=dtype, always_2d=True)
    return _fz.asarray(samples), int(rate)


def read_table(
    path: str | PathLike[str], columns: Sequence[str] | None = None, **options: Any
) -> dict[str, Tensor]:
    """The columns of a table as tensors by name, by pandas.

    Parameters
    ----------
    path : path
        CSV (".csv", ".csv.gz", ...) or, with the package pyarrow, Parquet (".parquet").
    columns : sequence of str, optional
        Which ones; by default all, which must be of numbers and bools.
    **options
        For pandas.read_csv or pandas.read_parquet.

    Raises
    ------
    ImportError
        Without the packages.
    TypeError
        If a column holds something else than numbers, such as text.

    >>> read_table("measured.csv", ["x", "y"])["x"].shape  # doctest: +SKIP
    (1000,)
    """
    pandas = _package("read_table", "pandas", "pandas")
    chosen = None if columns is None else list(columns)
    if ".parquet" in str(path):
        _package("read_table", "pyarrow", "pyarrow")
        frame = pandas.read_parquet(path, columns=chosen, **options)
    else:
        frame = pandas.read_csv(path, usecols=chosen, **options)
    out = {}
    for name in frame.columns if chosen is None else chosen:
        values = frame[name].to_numpy()
        if values.dtype.kind not in "biufc":
            raise TypeError(
                f"[read_table] column {name!r} of '{path}' holds {frame[name].dtype}, not numbers: "
                "leave it out by columns=, or make numbers of it with pandas."
            )
        out[str(name)] = _fz.asarray(values)
    return out


def _package(op, module, package):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"[{op}] needs the package {package}: pip install {package}. ({error})"
        ) from error
