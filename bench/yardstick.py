"""What the machine gives with as many threads: what kernels/yardstick.h runs."""

import ctypes
import functools
import pathlib

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench"


def find(folder=BUILD):
    """The library's file. Ninja has a folder for it of nearly the same name."""
    name = "libfrazil_bench_yardstick"
    found = [path for path in sorted(folder.glob(f"{name}.*")) if path.is_file()]
    if not found:
        raise FileNotFoundError(f"[bench] {folder} has no {name}; run ./dev build yardstick.")
    return found[0]


@functools.cache
def _library():
    library = ctypes.CDLL(str(find()))
    library.frazil_bench_triad_new.restype = ctypes.c_void_p
    library.frazil_bench_triad_new.argtypes = [ctypes.c_int64]
    library.frazil_bench_triad_run.argtypes = [ctypes.c_void_p, ctypes.c_int]
    library.frazil_bench_triad_delete.argtypes = [ctypes.c_void_p]
    library.frazil_bench_fma.restype = ctypes.c_double
    library.frazil_bench_fma.argtypes = [ctypes.c_double, ctypes.c_int]
    return library


class Triad:
    """o = b + s * c over n f32, 12 bytes an element read and written; call it to run it once."""

    def __init__(self, n, threads):
        self._library = _library()
        self._threads = threads
        self._arrays = self._library.frazil_bench_triad_new(n)
        if not self._arrays:
            raise MemoryError(f"[bench] no memory for a triad of {n} elements.")

    def __call__(self):
        self._library.frazil_bench_triad_run(self._arrays, self._threads)

    def close(self):
        self._library.frazil_bench_triad_delete(self._arrays)


class Peak:
    """At least `flops` f32 multiplications and additions in registers; call it to run it once."""

    def __init__(self, flops, threads):
        self._library = _library()
        self._flops, self._threads = flops, threads

    def __call__(self):
        self._library.frazil_bench_fma(self._flops, self._threads)
