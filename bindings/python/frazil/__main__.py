"""The command line: `python -m frazil info`, `bench` and `npu`.

`info` tells what frazil has and uses here, `bench` how fast it is here in a few rows, `npu` is the
command line of the simulated NPU (frazil-npu).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from typing import Any

import frazil as fz
from frazil import _frazil


def info() -> dict[str, dict[str, Any]]:
    """Machine, versions, devices, files and switches, by section."""
    on_disk = _frazil.runtime.disk()
    gpus = [fz.cuda.properties(f"cuda:{i}") for i in range(fz.cuda.device_count())]
    return {
        "frazil": {
            "version": fz.__version__,
            "folder": os.path.dirname(os.path.abspath(fz.__file__)),
            "Python": f"{platform.python_implementation()} {platform.python_version()}",
            "NumPy": _version("numpy"),
        },
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "processor": _processor(),
            "vectors": ", ".join(k for k, has in _frazil.runtime.cpu().items() if has) or "none",
            "caches": ", ".join(_caches()) or "unknown",
            "cores": len(os.sched_getaffinity(0)),
            "threads": fz.get_num_threads(),
            "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') >> 20} MiB",
        },
        "GPUs": {
            **{f"cuda:{i}": properties for i, properties in enumerate(gpus)},
            **fz.cuda.versions(),
        },
        "on disk": dict(on_disk),
        "switches": {
            row["variable"]: row["value"]
            for row in fz.config().rows.values()
            if row["value"] != row["default"]
        },
    }


def _version(package):
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if "model name" in line]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


def _caches():
    """The processor's caches with their bytes, as far as the system tells."""
    for name, key in (("L1", "LEVEL1_DCACHE"), ("L2", "LEVEL2_CACHE"), ("L3", "LEVEL3_CACHE")):
        size = os.sysconf(f"SC_{key}_SIZE") if f"SC_{key}_SIZE" in os.sysconf_names else 0
        if size > 0:
            yield f"{name} {size >> 10} KiB"


def _npu(arguments):
    status, out, err = _frazil.npu.command(arguments)
    sys.stdout.write(out)
    sys.stdout.flush()
    sys.stderr.write(err)
    return status


def _bench(given):
    from frazil._bench import WORKLOADS, measure, table

    results = [measure(w, given.seconds) for w in fz.progress(WORKLOADS, "workloads")]
    if given.json:
        print(json.dumps([r._asdict() for r in results], indent=2))
    else:
        print(f"{fz.get_num_threads()} threads, {_processor()}; x: times as fast as NumPy")
        print(table(results))
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m frazil", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("info", help="machine, versions, GPUs, caches on disk, switches")
    command.add_argument("--json", action="store_true", help="as JSON")
    command = commands.add_parser("bench", help="a few workloads beside NumPy, in some seconds")
    command.add_argument("--json", action="store_true", help="as JSON: seconds")
    command.add_argument("--seconds", type=float, default=0.5, help="for each workload")
    commands.add_parser("npu", help="the simulated NPU: frazil-npu")
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["npu"]:
        return _npu(arguments[1:])
    given = parser.parse_args(arguments)
    if given.command == "bench":
        return _bench(given)
    sections = info()
    if given.json:
        print(json.dumps(sections, indent=2, default=str))
        return 0
    for section, rows in sections.items():
        print(section)
        wide = max(map(len, rows), default=0)
        for name, value in rows.items():
            print(f"  {name:{wide}}  {value}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
