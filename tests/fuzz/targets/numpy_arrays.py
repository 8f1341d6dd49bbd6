"""NumPy's files of arrays, as Python takes them: tensors, or a ValueError or a TypeError.

Run by tools/fuzz.py under Atheris; test_targets.py replays the corpus. What is taken is written and
read again as it was.
"""

import os
import sys
import tempfile
from pathlib import Path

FOLDER = Path("/dev/shm") if os.path.isdir("/dev/shm") else None


def try_one(data):
    from frazil import io  # here: main() has it watched

    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        path = os.path.join(folder, "file")
        for load, save in ((io.load_npy, io.save_npy), (io.load_npz, io.save_npz)):
            Path(path).write_bytes(data)
            try:
                read = load(path)
            except (ValueError, TypeError):
                continue
            save(path, read)
            again = load(path)
            for a, b in (
                [(read, again)]
                if load is io.load_npy
                else zip(read.values(), again.values(), strict=True)
            ):
                assert (a.dtype, a.shape) == (b.dtype, b.shape), (a, b)
                assert a.numpy().tobytes() == b.numpy().tobytes(), (a, b)


def main():
    import atheris

    with atheris.instrument_imports(include=["frazil._npy", "numpy.lib", "zipfile"]):
        from frazil import io  # noqa: F401
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
