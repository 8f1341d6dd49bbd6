"""The C++ manual (docs/cpp.md): its blocks are one program, which builds and runs."""

import re

from test_install import ROOT, libraries, paths, prefix, run  # noqa: F401 -- fixtures

TEXT = (ROOT / "docs" / "cpp.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def write_program(folder):
    source = "".join(blocks("cpp"))
    calls = re.findall(r"^void (\w+)\(\) \{$", source, re.MULTILINE)
    assert len(calls) == len(blocks("cpp"))
    source += "\nint main() {\n" + "".join(f"  {call}();\n" for call in calls) + "}\n"
    (folder / "program.cc").write_text(source)


def test_the_program_of_the_manual(tmp_path, paths):  # noqa: F811
    write_program(tmp_path)
    (command,) = blocks("sh")
    run("sh", "-c", command, cwd=tmp_path, **paths)
    run(tmp_path / "program", **paths, FRAZIL_DISK_CACHE="off")


def test_the_build_files_of_the_manual(tmp_path, prefix, paths):  # noqa: F811
    write_program(tmp_path)
    (tmp_path / "CMakeLists.txt").write_text(blocks("cmake")[0])
    (tmp_path / "meson.build").write_text(blocks("meson")[0])
    # Configured only: tests/install/program is built so.
    run("cmake", "-B", "c", f"-DCMAKE_PREFIX_PATH={prefix}", cwd=tmp_path)
    run("meson", "setup", "m", cwd=tmp_path, **paths)
