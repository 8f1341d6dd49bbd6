"""What the machine gives with as many threads: the triad of bench/triad.cc, and bench/fma.cc."""

import ctypes
import functools
import pathlib


@functools.cache
def _library():
    build = pathlib.Path(__file__).resolve().parent.parent / "build" / "bench"
    found = sorted(build.glob("libfrazil_bench_yardstick.*"))
    if not found:
        raise SystemExit(f"bench: {build} has no libfrazil_bench_yardstick; run ./dev build.")
    library = ctypes.CDLL(str(found[0]))
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
