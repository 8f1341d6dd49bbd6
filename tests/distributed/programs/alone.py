"""Says why a world cannot be joined."""

import frazil as fz

try:
    fz.distributed.init()
    print("joined")
except RuntimeError as e:
    print(e, flush=True)
