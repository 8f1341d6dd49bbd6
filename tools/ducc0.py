"""Obtains the sources of ducc0, whose Fourier transforms kernels/fourier compiles, into .ducc0.

They are an archive of one version, which pip finds wherever it is told to look and whose hash is
checked. Called by ./dev and, where the folder is missing, by meson. What is kept are files under
the three-clause BSD licence, their text is kernels/fourier/LICENSE.ducc0; the rest of the archive
is left aside.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".ducc0"
VERSION = "0.42.0"
SHA256 = "4e11c59b53a43355b053aebb2a62ee16eebeed026575f7d216cf09d437ce52ef"
FILES = re.compile(
    r"ducc0/(fft/fft(1d_impl|nd_impl)?|infra/(aligned_array|error_handling|mav|misc_utils|simd"
    r"|string_utils|threading|useful_macros)|math/(cmplx|unity_roots))\.h|ducc0/infra/threading\.cc"
)
LICENCE = "SPDX-License-Identifier: BSD-3-Clause OR"


def download(folder):
    """The archive, in `folder`."""
    wanted = Path(folder, "wanted.txt")
    wanted.write_text(f"ducc0=={VERSION} --hash=sha256:{SHA256}\n")
    # Isolated: pip itself may be hidden where it builds a package.
    argv = [sys.executable, "-I", "-m", "pip", "download", "-q", "--disable-pip-version-check",
            "--no-deps", "--no-binary", "ducc0", "-d", folder, "-r", wanted]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = [*Path(folder).glob("ducc0-*.tar.gz")]
    if done.returncode or not found:
        raise SystemExit(
            f"ducc0: the sources of ducc0 {VERSION} (Fourier transforms) could not be obtained:\n"
            f"{done.stderr.strip()}\nWhere pip finds no packages, unpack that version's archive of "
            f"sources elsewhere and copy its folder src to {FOLDER}."
        )
    return found[0]


def unpack(archive, folder):
    """The files that are compiled, as folder/ducc0/..."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            name = member.name.partition("/src/")[2]
            if not FILES.fullmatch(name):
                continue
            text = tar.extractfile(member).read()
            if LICENCE.encode() not in text:
                raise SystemExit(f"ducc0: {name} is not under the three-clause BSD licence.")
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(text)


def main():
    stamp = FOLDER / f"version-{VERSION}"
    if stamp.is_file() or (not [*FOLDER.glob("version-*")] and (FOLDER / "ducc0").is_dir()):
        return
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "made")
        unpack(download(folder), made)
        (made / stamp.name).touch()
        shutil.rmtree(FOLDER, ignore_errors=True)
        shutil.copytree(made, FOLDER)


if __name__ == "__main__":
    main()
