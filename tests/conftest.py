"""Tests find nothing that an earlier run left on disk, unless they say so."""

import os

os.environ.setdefault("FRAZIL_DISK_CACHE", "off")
