"""The include rules, on small trees: what is allowed passes, each rule's breach is named."""

import pytest


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "files",
    [
        {"core/a.h": "", "jit/b.cc": '#include "core/a.h"\n#include <vector>\n'},
        {"core/a.h": "", "core/a.cc": '#include "core/a.h"\n#include "absl/strings/str_cat.h"\n'},
        {"jit/emit/x86/a.cc": "#include <asmjit/x86.h>\n"},
        {"kernels/gemm/a.cc": "#include <asmjit/x86.h>\n"},
        {"bindings/python/a.cc": "#include <Python.h>\n"},
        {"jit/kir/a.h": "", "jit/run/cuda/a.cc": '#include "jit/kir/a.h"\n'},
        {"jit/eager/a.h": "", "jit/a.cc": '#include "jit/eager/a.h"\n'},
        {"jit/emit/cuda/a.cc": "void f() { cuLaunchKernel(); }\n"},
        {"core/a.cc": '// cuLaunchKernel(\nauto s = "cuLaunchKernel(";\nint cut(int);\n'},
        {"jit/b.h": "", "tests/core/a.cc": '#include "jit/b.h"\n#include <asmjit/x86.h>\n'},
    ],
)
def test_allowed(check_layers, tmp_path, files):
    write(tmp_path, files)
    assert check_layers.check(tmp_path) == []


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (
            {"jit/b.h": "", "core/a.cc": '\n#include "jit/b.h"\n'},
            "core/a.cc:2: core may not include jit/b.h: jit comes after it.",
        ),
        (
            {"jit/run/b.h": "", "jit/graph/a.cc": '#include "jit/run/b.h"\n'},
            "jit/graph/a.cc:1: jit/graph may not include jit/run/b.h, which comes after it.",
        ),
        (
            {"jit/b.h": "", "jit/eager/a.cc": '#include "jit/b.h"\n'},
            "jit/eager/a.cc:1: jit/eager may not include jit/b.h, which comes after it.",
        ),
        (
            {"jit/attic/a.cc": ""},
            "jit/attic/a.cc:1: attic needs a place in ROOMS of tools/check_layers.py.",
        ),
        (
            {"core/a.cc": '#include "core/none.h"\n'},
            'core/a.cc:1: "core/none.h" is no file here: include paths start at the root.',
        ),
        (
            {"core/b.h": "", "core/a.cc": '#include "b.h"\n'},
            'core/a.cc:1: "b.h" is no file here: include paths start at the root.',
        ),
        (
            {"tests/t.h": "", "jit/a.cc": '#include "tests/t.h"\n'},
            "jit/a.cc:1: jit may not include tests/t.h.",
        ),
        (
            {"jit/a.cc": "#include <asmjit/x86.h>\n"},
            "jit/a.cc:1: asmjit belongs under jit/emit/x86 and kernels/gemm.",
        ),
        (
            {"bindings/cpp/a.h": "#include <Python.h>\n"},
            "bindings/cpp/a.h:1: the CPython API belongs under bindings/python.",
        ),
        (
            {"core/a.cc": "/* two\nlines */ void f() { cudaMalloc (); }\n"},
            "core/a.cc:2: CUDA belongs under jit/cuda and jit/emit/cuda and jit/run/cuda and "
            "tests/cuda.",
        ),
    ],
)
def test_refused(check_layers, tmp_path, files, problem):
    write(tmp_path, files)
    assert check_layers.check(tmp_path) == [problem]
