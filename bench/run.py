"""The benchmarks: the table of workloads beside other frameworks, and cases of frazil alone.

./dev bench [NAME ...]            rows of the table and cases; all if none is named
./dev bench --install-peers       environments of the other frameworks, in the folder of --peers

Every form of a row is checked against NumPy's result before anything is timed; one that differs is
refused. Rounds are interleaved, ratios are taken within a round, medians and quartiles are shown.
Absolute times hold for the machine and the hour; ratios are what to compare.
"""

import argparse
import functools
import json
import os
import pathlib
import sys


def parse(argv=None):
    parser = argparse.ArgumentParser(
        prog="./dev bench", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="rows of the table and cases (see --list)")
    add("--list", action="store_true", help="only name the rows and cases")
    add("--indexing", action="store_true", help="instead: indexing and sorting beside NumPy")
    add("--smoke", action="store_true", help="tiny sizes and one round: does everything run?")
    add("--rounds", type=int, help="of interleaved timing; 11, or 1 with --smoke")
    add("--seconds", type=float, help="of a form in a round; 0.03, or 0.001 with --smoke")
    add("--threads", type=int, default=len(os.sched_getaffinity(0)))
    add("--frameworks", help="only these: " + ", ".join(_frameworks()))
    add("--skip", default="", metavar="REGEX", help='forms left out, such as "torch: compile"')
    add("--peers", metavar="FOLDER", help="their environments; else FRAZIL_PEERS, else .peers")
    add("--install-peers", nargs="*", metavar="PEER", help="make them: " + ", ".join(_peers()))
    add("--priority", type=int, default=0, metavar="N", help="while timing, as nice -n -N")
    add("--markdown", type=pathlib.Path, metavar="FILE", help="plots go into a folder beside it")
    add("--json", type=pathlib.Path, metavar="FILE", help="every figure of every round")
    add("--from", dest="source", type=pathlib.Path, metavar="JSON", help="present an earlier run")
    add("--log", type=pathlib.Path, metavar="FILE", help="what the frameworks print")
    args = parser.parse_args(argv)
    args.few = {key: getattr(args, key) for key in ("rounds", "seconds") if getattr(args, key)}
    args.rounds = args.rounds or (1 if args.smoke else 11)
    args.seconds = args.seconds or (0.001 if args.smoke else 0.03)
    return args


def _frameworks():
    from table.peers import FRAMEWORKS

    return FRAMEWORKS


def _peers():
    return [entry[0] for entry in _frameworks().values() if entry[0]]


def chosen(args):
    """(rows, names of cases) that the arguments ask for."""
    from table.rows import ROWS

    cases = _cases()
    if unknown := [name for name in args.names if name not in ROWS and name not in cases]:
        raise SystemExit(f"bench: no row or case {', '.join(unknown)}; --list names them.")
    rows = [row for key, row in ROWS.items() if key in args.names or not args.names]
    return rows, [name for name in cases if name in args.names or not args.names]


def _cases():
    import cases

    return cases.ALL


def measure(args):
    """The document of a run: machine, versions, limits, rows of the table, cases."""
    import machine
    from report import Report
    from table import peers, present
    from table.session import Session

    rows, cases = chosen(args)
    about = machine.describe(args.threads)
    document = {"machine": about, "versions": {}, "limits": None, "table": [], "cases": []}
    wanted = args.frameworks.split(",") if args.frameworks else list(_frameworks())
    if unknown := set(wanted) - set(_frameworks()):
        raise SystemExit(
            f"bench: no framework {', '.join(unknown)}; there are {', '.join(_frameworks())}."
        )
    print(", ".join(f"{k}: {v}" for k, v in about.items()), flush=True)
    if rows:
        with Session(peers.folder(args.peers), wanted, args.threads, args) as session:
            document["versions"] = session.versions
            document["limits"] = session.limits()
            for row in rows:
                result = session.run(row)
                document["table"].append(result)
                print(present.details([result]), flush=True)
                save(args, document)
            document["limits"] = larger(document["limits"], session.limits())
    if cases:
        args.time = functools.partial(_rounds(), rounds=args.rounds, seconds=args.seconds)
        report = Report()
        for name in cases:
            _cases()[name](args, report)
        document["cases"] = report.rows
    return document


def larger(before, after):
    """The limits seen before and after: what else ran on the machine makes them smaller only."""
    if not (before and after):
        return before or after
    return {key: max(value, after[key]) for key, value in before.items()}


def _rounds():
    from measure import Rounds

    return Rounds


def save(args, document):
    """Files are written after every row: a run that ends early has shown something."""
    from table import present

    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    if args.markdown:
        present.write(args.markdown, document)


def main(argv=None):
    args = parse(argv)
    if args.indexing:
        import indexing

        return indexing.measure(args.names or ["*"], threads=args.threads, **args.few)
    from table import peers, present

    if args.install_peers is not None:
        return peers.install(args.install_peers, peers.folder(args.peers))
    # Read when the libraries are loaded.
    os.environ |= {name: str(args.threads) for name in peers.THREADS}
    if args.list:
        rows, cases = chosen(args)
        return print(*(f"{row.key:24}{row.title}" for row in rows), *cases, sep="\n")
    document = json.loads(args.source.read_text()) if args.source else measure(args)
    save(args, document)
    print(present.table(document["table"]) if document["table"] else "")
    return None


if __name__ == "__main__":
    sys.exit(main())
