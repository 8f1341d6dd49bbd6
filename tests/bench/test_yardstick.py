"""The library that measures the machine, where it is built and where it is not."""

import pytest
import yardstick


def test_the_library_is_found():
    assert yardstick.find().name.startswith("libfrazil_bench_yardstick.")


def test_ninjas_folder_is_not_the_library(tmp_path):
    (tmp_path / "libfrazil_bench_yardstick.so.p").mkdir()
    with pytest.raises(FileNotFoundError, match="run ./dev build yardstick"):
        yardstick.find(tmp_path)
    library = tmp_path / "libfrazil_bench_yardstick.so"
    library.touch()
    assert yardstick.find(tmp_path) == library
