"""The checks of `./dev lint` and the rewriting of `./dev fmt`; each check is a row of CHECKS.

Files are those git tracks or would track. clang-tidy is the slow one: it looks at what the last
COMMITS commits changed, with FRAZIL_NIGHTLY set at all files, and remembers under build/.tidy which
were clean, by the hash of all they include from this repository.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import check_layers
import check_paths
import check_sizes
import public_headers

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
COMMITS = 100  # some days of work

# Paths of somebody's machine, and hosts of package registries, have no place in the project.
STRAY = re.compile(
    r"(?:(?<![\w.])|(?<=-[IL]))/(?:work|root|home|Users|mnt)/\w"
    r"|\b(?:deb|security|files|registry|proxy|index|static)\.[a-z]\w*\.(?:org|com|net|io)\b"
    r"|\bpyp[i]\.\w"
)

# A relocation and its symbol; the symbols by which <iostream> sets up its streams.
RELOCATION = re.compile(r"[0-9a-f]+ R_\w+ +(\S+?)(?:[-+]0x[0-9a-f]+)?$")
IOSTREAM = re.compile(
    r"_ZNSt8ios_base4Init|_ZStL8__ioinit$|__cxa_atexit$|__dso_handle$|\.bss(\._ZStL8__ioinit)?$"
)


def git_files(*patterns):
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return sorted({name for name in names.split("\0") if name and (ROOT / name).is_file()})


def run(*argv):
    """Runs a tool and returns what it complained about, or nothing."""
    done = subprocess.run(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )  # fmt: skip
    output = (done.stdout + done.stderr).strip()
    return [output or f"{argv[0]} ended with status {done.returncode}."] if done.returncode else []


def check_clang_format():
    problems = run("clang-format", "--dry-run", "-Werror", *git_files("*.cc", "*.h"))
    places = re.findall(r"^(\S+?):\d+:\d+: error", "".join(problems), re.MULTILINE)
    return [f"{name}: not formatted." for name in dict.fromkeys(places)] or problems


def check_ruff():
    return run("ruff", "check", "-q", ".") + run("ruff", "format", "-q", "--diff", ".")


def check_include_layers():
    return check_layers.check(ROOT)


def check_named_paths():
    return check_paths.check(ROOT, git_files())


def check_budgets():
    problems, used = check_sizes.check(ROOT)
    print(f"lint: lines used of the budget: {check_sizes.shown(used)}")
    return problems


def check_public_headers():
    return public_headers.problems(ROOT)


def check_stubs():
    """The stubs are generated from the op table; a generator that exists must agree with them."""
    if not (ROOT / "tools/gen_stubs.py").is_file():
        return []
    return run(ROOT / "dev", "python", "tools/gen_stubs.py", "--check")


def check_switches():
    """The page of switches is generated from their table."""
    return run(ROOT / "dev", "python", "tools/gen_switches.py", "--check")


def check_onnx():
    """The page of ONNX operators is generated from the table of conversions."""
    return run(ROOT / "dev", "python", "tools/gen_onnx.py", "--check")


def check_stray_paths():
    problems = []
    for name in git_files():
        try:
            lines = (ROOT / name).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        problems += [
            f"{name}:{number}: a machine's path or a package registry: {match.group()}"
            for number, line in enumerate(lines, 1)
            if (match := STRAY.search(line))
        ]
    return problems


def included(name, seen):
    """The files of this repository that `name` includes, directly or not, and itself."""
    if name in seen or not (ROOT / name).is_file():
        return
    seen.add(name)
    for match in check_layers.INCLUDE.finditer((ROOT / name).read_text()):
        if match.group(1):
            included(match.group(1), seen)


def tidy_key(entry, files):
    digest = hashlib.sha256(entry["command"].encode())
    for path in sorted(files | {".clang-tidy"}):
        digest.update(path.encode() + (ROOT / path).read_bytes())
    return digest.hexdigest()


def tidy(name, key):
    problems = run("clang-tidy", "--quiet", "-p", BUILD / ".tidy", name)
    if not problems:
        (BUILD / ".tidy" / key).touch()
    noise = re.compile(r"^(\d+ warnings?.* generated|Error while processing).*\n?", re.MULTILINE)
    return [noise.sub("", problem) for problem in problems]


def changed_lately():
    """The files that the last commits changed, and what is not committed; None by night: all."""
    if "FRAZIL_NIGHTLY" in os.environ:
        return None
    log = ("git", "log", f"-{COMMITS}", "--name-only", "--format=")
    status = ("git", "status", "--porcelain", "--untracked-files=all", "--no-renames")
    out = subprocess.run(log, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    names = set(out.split("\n"))
    out = subprocess.run(status, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return names | {line[3:] for line in out.splitlines()}


def check_clang_tidy():
    (BUILD / ".tidy").mkdir(parents=True, exist_ok=True)
    lately = changed_lately()
    headers = lately and {name for name in lately if name.endswith(".h")}
    # The extension is compiled for each interpreter: the project's own, the first, will do.
    commands, jobs = {}, {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(BUILD):
            name = str(path.relative_to(ROOT))
            if name.split("/")[0] in ("tests", "bench", "examples"):
                continue  # half of all files: the time goes to the library
            if name in commands:
                continue
            # without the compiler's own precompiled header, which clang does not read
            entry["command"] = re.sub(r"-fpch-preprocess -include \S+ ", "", entry["command"])
            commands[name] = entry
            files = set()
            included(name, files)
            if headers is not None and name not in lately and not headers & files:
                continue
            headers = headers and headers - files  # each once, with the first that includes it
            key = tidy_key(entry, files)
            if not (BUILD / ".tidy" / key).exists():
                jobs[name] = key
    listed = json.dumps(list(commands.values()))
    (BUILD / ".tidy" / "compile_commands.json").write_text(listed)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(tidy, jobs.keys(), jobs.values())
        return [problem for problems in found for problem in problems]


def check_static_initialisers():
    """No code of the library may run before main, but for what <iostream> brings into every file.

    Such code is compiled into .text.startup or a section whose name begins so; what it names is
    read from the relocations there.
    """
    argv = ["objdump", "--reloc", *sorted(BUILD.glob("libfrazil*.a"))]
    listing = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    problems = []
    at_startup = False
    for line in listing.splitlines():
        if " file format " in line:
            name = line.partition(":")[0]
        elif line.startswith("RELOCATION RECORDS FOR ["):
            at_startup = "[.text.startup" in line
        elif (
            at_startup and (match := RELOCATION.match(line)) and not IOSTREAM.match(match.group(1))
        ):
            problems.append(f"{name}: runs code before main, which names {match.group(1)}.")
    return problems


CHECKS = {
    "clang-format": check_clang_format,
    "ruff": check_ruff,
    "layers": check_include_layers,
    "named paths": check_named_paths,
    "budgets": check_budgets,
    "public headers": check_public_headers,
    "stray paths": check_stray_paths,
    "stubs": check_stubs,
    "switches": check_switches,
    "onnx": check_onnx,
    "static initialisers": check_static_initialisers,
    "clang-tidy": check_clang_tidy,
}


def lint():
    failed = []
    for name, check in CHECKS.items():
        start = time.monotonic()
        problems = check()
        print(*problems, sep="\n", end="\n" if problems else "")
        verdict = "failed" if problems else "ok"
        print(f"lint: {name} {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
        if problems:
            failed.append(name)
    if failed:
        print(f"lint: {', '.join(failed)} failed; ./dev fmt puts formatting right.")
    return 1 if failed else 0


def fmt():
    problems = run("clang-format", "-i", *git_files("*.cc", "*.h"))
    problems += run("ruff", "check", "-q", "--fix", ".") + run("ruff", "format", "-q", ".")
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:] not in (["lint"], ["fmt"]):
        sys.exit(f"usage: ./dev lint or ./dev fmt, not {shlex.join(sys.argv[1:])}")
    sys.exit(lint() if sys.argv[1] == "lint" else fmt())
