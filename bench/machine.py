"""What the figures depend on: processor, caches, vectors, load."""

import os
import pathlib
import platform


def _first(path):
    try:
        return pathlib.Path(path).read_text().strip()
    except OSError:
        return ""


def _caches():
    """Sizes as the system tells them: "L1d 48K, L2 2048K, ..." of the first core."""
    found = {}
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = _first(folder / "level"), _first(folder / "type")
        if kind != "Instruction":
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = _first(folder / "size")
    return ", ".join(f"{name} {size}" for name, size in found.items())


def describe(threads):
    """{what: text}, in the order in which it is shown."""
    about = {"processor": platform.machine()}
    lines = [line.split(":", 1) for line in _first("/proc/cpuinfo").splitlines() if ":" in line]
    fields = {key.strip(): value.strip() for key, value in lines}
    if fields:
        flags = fields.get("flags", "").split()
        wanted = "avx2 avx512f avx512_vnni avx512_bf16 amx_tile".split()
        about["processor"] = fields.get("model name", about["processor"])
        about["vectors"] = ", ".join(name for name in wanted if name in flags) or "-"
    about["caches of a core"] = _caches() or "-"
    about["cores"] = os.cpu_count()
    about["threads"] = threads
    about["load"] = f"{os.getloadavg()[0]:.1f}"
    about["system"] = f"{platform.system()} {platform.release()}"
    about["python"] = platform.python_version()
    return about
