"""Random programs: traced against eager, and both against the interpreter, a smaller instruction
set and one thread. Every observation must be equal, bit for bit."""

import os
import subprocess
import sys
from pathlib import Path

import campaign
import pytest
from conftest import COUNT, LIMIT, NIGHTLY
from plants import PLANTS
from program import Block, shrink, text

FAKES = Path(__file__).parents[2] / "build" / "tests" / "cuda" / "fake"


def has_avx512():
    return "avx512vl" in Path("/proc/cpuinfo").read_text()


def report(failures, mode, environment):
    """Fails with the first failure made smaller, and names the others by seed."""
    if not failures:
        return
    program, why = failures[0]
    small = campaign.smallest(program, mode, environment)
    lines = [
        f"{len(failures)} programs differ. The first, of seed {program.seed}: {why}",
        f"Made smaller (run it with {environment or 'nothing'} in the environment, {mode}):",
        campaign.stand_alone(small),
        *(f"seed {p.seed}: {w}" for p, w in failures[1:6]),
    ]
    pytest.fail("\n".join(lines), pytrace=False)


def test_traced_is_eager(campaign_run):
    """Also with skipped bodies, where the function depends on its arguments only."""
    _, _, ran, skipped, failures = campaign_run
    for program, _, why in failures:
        assert not isinstance(program, str), f"{program}: {why}"
    for mode in ("trace", "pure"):
        report([(p, why) for p, m, why in failures if m == mode], mode, {})
    assert ran == COUNT
    assert skipped > COUNT / 10


@pytest.mark.parametrize("mode", ["eager", "trace"])
@pytest.mark.parametrize(
    "environment",
    [{"FRAZIL_JIT": "interp"}, {"FRAZIL_ISA": "avx2"}, {"FRAZIL_NUM_THREADS": "1"}],
    ids=["interpreter", "avx2", "one thread"],
)
def test_same_elsewhere(generated, environment, mode):
    if "FRAZIL_ISA" in environment and not has_avx512():
        pytest.skip("this processor has one instruction set only")
    if ("FRAZIL_JIT" in environment) == (mode == "trace") and not NIGHTLY:
        generated = [part[::4] for part in generated]
    programs, digests = generated
    failures = campaign.compare(programs, digests, mode, environment, LIMIT)
    report(failures, mode, environment)


# Programs on a device in each mode, by day and by night. A fake GPU takes seconds for each: its
# kernels are compiled by the host's compiler.
DEVICES = {
    # Programs are verified as they are made and run under the checker.
    "npu": ({"FRAZIL_VERIFY": "1", "FRAZIL_NPU_CHECK": "1"}, 150, 10_000),
    # The driver of tests/cuda/fake runs every kernel late.
    "cuda": (
        {
            "FRAZIL_CUDA_PATH": os.environ.get("FRAZIL_FAKE_CUDA", str(FAKES)),
            "FRAZIL_CUDA_GENERIC": "never",
            "FRAZIL_CACHE_DIR": "none",
            "FAKE_CUDA_ORDER": "lazy",
        },
        8,
        5_000,
    ),
}


@pytest.mark.parametrize("mode", ["eager", "trace"])
@pytest.mark.parametrize("device", DEVICES)
def test_same_on_a_device(generated, device, mode):
    """By night the GPU has half of its 10 000 programs eager and the other half traced."""
    settings, by_day, by_night = DEVICES[device]
    environment = {"FUZZ_DEVICE": device} | settings
    pairs = [pair for pair in zip(*generated, strict=True) if campaign.reaches_a_device(pair[0])]
    if device == "cuda":
        pairs = pairs[mode == "trace" :: 2]
    pairs = pairs[: by_night if NIGHTLY else by_day]
    assert len(pairs) >= by_day
    failures = campaign.compare(*zip(*pairs, strict=True), mode, environment, LIMIT)
    report(failures, mode, environment)


def test_programs_do_what_programs_do(generated):
    """The generator reaches what it is there for."""
    source = "\n".join(text(p) for p in generated[0])
    for part in (
        *("if ", "else:", "for i in", "while ", "break", "continue", "try:", "return ", "del "),
        *(".item()", "float(", "kept.append", 'state["', "nonlocal", "lambda z", "fz.grad("),
        *("value_and_grad", ".backward()", "fz.no_grad()", "] = ", "] += ", " += ", " @ "),
        *("fz.random.", "generator.", "nn.softmax", "fz.concat", "fz.take", ".T", "np.asarray"),
        *("nn.conv2d", "nn.attention", "fz.grad(lambda q"),
    ):
        assert source.count(part) >= 5, part


@pytest.mark.parametrize("plant", sorted(PLANTS))
def test_finds_planted_bugs(generated, plant):
    """A deliberate bug in traced functions is found and made small."""
    programs, digests = generated
    environment = {"FUZZ_PLANT": plant}
    failures = campaign.compare(programs[:60], digests, "trace", environment, LIMIT)
    assert failures, plant
    program = failures[0][0]
    small = campaign.smallest(program, "trace", environment, limit=150)
    assert len(small.calls) <= 3
    assert len(text(small).splitlines()) <= 28


def test_a_shrunk_program_stands_alone(generated, tmp_path):
    """What is printed runs by itself and says whether there is a difference."""
    path = tmp_path / "program.py"
    source = campaign.stand_alone(generated[0][3])
    path.write_text(source)
    out = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert out.stdout.strip() == "no difference", out.stderr
    path.write_text(source.replace("fz.trace)", "lambda f: lambda *args: 1)"))
    out = subprocess.run([sys.executable, path], capture_output=True, text=True)
    assert "call 0:" in out.stdout.splitlines()[0], out.stderr


def test_shrinking_removes_all_that_is_not_needed(generated):
    """With a predicate that looks at the text alone, what is left is known."""
    program = next(p for p in generated[0] if "for i in" in text(p) and "fz.tanh" in text(p))
    small = shrink(program, lambda p: "for i in" in text(p) and "fz.tanh" in text(p))
    statements = [s for s in small.body if isinstance(s, (str, Block))]
    assert len(statements) <= 2 and not small.calls
