"""The scripts of tools/ that make the site, and the list of public modules, imported by path."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "python")]
