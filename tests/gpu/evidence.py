"""What a run on a GPU found, as JSON and Markdown to keep. Written by conftest.py at the end."""

import datetime
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
from pathlib import Path

import frazil as fz

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("FRAZIL_EVIDENCE", ROOT / "build" / "gpu-evidence"))


def commit():
    """The sources that were run, "-dirty" if they were changed since."""
    argv = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    run = subprocess.run(argv, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"


def torch_version():
    found = importlib.util.find_spec("torch")
    return importlib.metadata.version("torch") if found else "not installed"


class Evidence:
    def __init__(self):
        self.checks = {}  # name: what was found
        self.benchmark = []  # rows of timings.py
        self.failed = 0
        self.machine = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "commit": commit(),
            "device": fz.cuda.properties(),
            "libraries": fz.cuda.versions(),
            "python": platform.python_version(),
            "torch": torch_version(),
        }

    def markdown(self):
        machine = self.machine
        device = machine["device"]
        lines = [
            f"# frazil {machine['commit']} on {device['name']}, {machine['date']}",
            "",
            f"Compute capability {'.'.join(map(str, device['compute_capability']))}, "
            f"{device['multiprocessors']} multiprocessors, {device['memory_bytes'] >> 20} MiB; "
            + ", ".join(
                f"{name} {'missing' if version.startswith('[') else version}"
                for name, version in machine["libraries"].items()
            )
            + f", torch {machine['torch']}. {self.failed} tests failed.",
            "",
            "| check | found |",
            "|---|---|",
            *(f"| {name} | {found} |" for name, found in self.checks.items()),
        ]
        if self.benchmark:
            lines += [
                "",
                "| benchmark | frazil µs | figure | torch µs | torch.compile µs |",
                "|---|---|---|---|---|",
                *(
                    f"| {r['name']} | {r['us']:.1f} | {r['figure']} | {r['torch_us'] or '-'} "
                    f"| {r['compile_us'] or '-'} |"
                    for r in self.benchmark
                ),
            ]
        return "\n".join(lines) + "\n"

    def write(self):
        FOLDER.mkdir(parents=True, exist_ok=True)
        stem = self.machine["date"].replace(":", "").replace("+0000", "Z")
        content = {
            "machine": self.machine,
            "failed": self.failed,
            "checks": self.checks,
            "benchmark": self.benchmark,
        }
        paths = FOLDER / f"{stem}.json", FOLDER / f"{stem}.md"
        paths[0].write_text(json.dumps(content, indent=1) + "\n")
        paths[1].write_text(self.markdown())
        return paths
