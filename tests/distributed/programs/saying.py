"""What a rank found, as a line of its file."""

import json
import os
from pathlib import Path

import frazil as fz


def say(what):
    path = Path(os.environ["FRAZIL_SAY"]) / f"{fz.distributed.rank()}.jsonl"
    with path.open("a") as file:
        file.write(json.dumps(what) + "\n")
