"""frazil eager against traced, and against NumPy: ratios in interleaved rounds of one process.

./dev bench [CASE ...] [--rounds N] [--seconds S] [--threads N] [--markdown FILE] [--json FILE]

Prints a Markdown table and writes it, and the same with every round's times as JSON, to the files
named. Absolute times hold for the machine and the hour; ratios are what to compare.
"""

import argparse
import functools
import os
import pathlib
import platform


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help="all if none is named")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.03, help="of a variant in a round")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="only name the cases")
    return parser.parse_args()


def machine(threads):
    """What the figures depend on."""
    import numpy as np

    about = {"threads": threads, "numpy": np.__version__, "python": platform.python_version()}
    cpu = pathlib.Path("/proc/cpuinfo")
    if cpu.exists():
        lines = dict(s.split(":", 1) for s in cpu.read_text().splitlines() if ":" in s)
        lines = {k.strip(): v.strip() for k, v in lines.items()}
        flags = lines.get("flags", "").split()
        about["processor"] = lines.get("model name", platform.machine())
        about["vectors"] = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "-"
    about["load"] = f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    return about


def main():
    args = parse()
    # Read when the libraries are loaded.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "FRAZIL_NUM_THREADS"):
        os.environ[name] = str(args.threads)
    import cases
    from measure import Rounds
    from report import Report

    if args.list:
        print(*cases.ALL, sep="\n")
        return
    unknown = set(args.cases) - set(cases.ALL)
    if unknown:
        raise SystemExit(f"bench: no case {', '.join(unknown)}; there are {', '.join(cases.ALL)}.")
    args.time = functools.partial(Rounds, rounds=args.rounds, seconds=args.seconds)
    report = Report(machine(args.threads))
    print(report.markdown().rstrip(), flush=True)
    for name in args.cases or cases.ALL:
        cases.ALL[name](args, report)
    for path, text in ((args.markdown, report.markdown), (args.json, report.json)):
        if path:
            path.write_text(text())


if __name__ == "__main__":
    main()
