"""How far a result is from the reference."""

import numpy as np


def difference(result, reference, average=False):
    """The largest (or the mean) difference over the largest (or mean) size of the reference.

    Infinite if numbers, shapes or NaNs do not fit.
    """
    if len(result) != len(reference):
        return float("inf")
    worst = 0.0
    for a, b in zip(result, reference, strict=True):
        if a.size != b.size:
            return float("inf")
        a, b = (x.astype(np.float64).ravel() for x in (a, b))
        if a.size == 0:
            continue
        gather = np.mean if average else np.max
        off, size = gather(np.abs(a - b)), gather(np.abs(b))
        if not np.isfinite(off):
            return float("inf")
        worst = max(worst, float(off / size) if size else float(off))
    return worst
