"""The programs of examples/gallery: they solve what they are for, traced and eager alike."""

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("FRAZIL_ROOT", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "tools"))

import gallery  # noqa: E402

# The worst quality that passes with small sizes: what a program reaches that has learnt or solved
# it, and one that has not does not. A float that is better when it is larger stands in a tuple.
BOUNDS = {
    "char_gpt": 5.0,
    "diffusion": 0.05,
    "digits_cnn": (0.8,),
    "digits_vit": (0.3,),
    "dqn": (100.0,),
    "filters": 0.1,
    "finetune": (0.25,),
    "gaussian_process": 0.1,
    "heat": 1e-3,
    "hmc": 1.1,
    "ising": 0.02,
    "kalman": 0.8,
    "lbfgs": 0.02,
    "life": 0,
    "lstm": (0.35,),
    "minimal_surface": 1e-3,
    "navier_stokes": 1e-12,
    "nbody": 1e-5,
    "neural_ode": 0.4,
    "nuts": 1.1,
    "options": 0.03,
    "pca": (0.85,),
    "pinn": 0.03,
    "ppo": 700.0,
    "search": (0.5,),
    "vae": 30.0,
    "wave": 1e-12,
}


def test_every_program_has_a_bound_and_a_twin():
    assert sorted(BOUNDS) == gallery.NAMES
    peers = {path.stem for path in (gallery.FOLDER / "peers").glob("*.py")}
    assert peers - {"minilm"} == set(gallery.NAMES)  # which the twins of two programs share


@pytest.mark.parametrize("name", gallery.NAMES)
def test_the_twin_reaches_the_same(name):
    """Where NumPy is enough; `./dev gallery` runs the others where their frameworks are."""
    framework, peer = gallery.peer_of(name)
    if not framework.startswith("NumPy"):
        assert framework.startswith(("PyTorch", "JAX"))
        return
    bound, reached = BOUNDS[name], peer(True)
    assert reached >= bound[0] if isinstance(bound, tuple) else reached <= bound


@pytest.mark.parametrize("name", gallery.NAMES)
def test_program(name):
    if missing := gallery.lacks(name):
        pytest.skip(f"{missing} is not installed")
    program = gallery.load(name)
    eager, _ = gallery.run(program, True, "eager")
    before = eager["traced"].stats()["skipped"]
    traced, _ = gallery.run(program, True)
    assert gallery.bits(traced) == gallery.bits(eager)
    bound = BOUNDS[name]
    if isinstance(bound, tuple):
        assert traced["quality"] >= bound[0], traced["of"]
    else:
        assert traced["quality"] <= bound, traced["of"]
    step = traced["traced"]
    assert step.stats()["skipped"] > (before if step is eager["traced"] else 0)


def test_what_differs_and_what_is_unknown_is_told(monkeypatch, capsys):
    heat = gallery.load("heat")
    results = iter([0.5, 0.5, 0.25, 0.5])
    program = type(sys)("flickers")
    program.main = lambda small: {
        "quality": next(results), "of": "error", "figure": {}, "traced": heat.step
    }  # fmt: skip
    monkeypatch.setitem(sys.modules, "gallery_flickers", program)
    monkeypatch.setattr(gallery, "peer_of", lambda name: ("Nothing", None))
    row, _ = gallery.measured("flickers", True)
    assert row[-1] == "THE BITS DIFFER"
    monkeypatch.setattr(sys, "argv", ["gallery", "flicker"])
    with pytest.raises(SystemExit):
        gallery.main()
    assert "no program flicker; there are: " in capsys.readouterr().err


def test_table_and_plots(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    argv = ["gallery", "heat", "options", "--small", "--plots", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", argv)
    gallery.main()
    printed = capsys.readouterr().out.splitlines()
    head, rule, *rows = (line for line in printed if line.startswith("|"))
    assert head.split("|")[1].strip() == "program" and set(rule) <= set("|- ")
    assert [row.split("|")[1].strip() for row in rows] == ["heat", "options"]
    assert all(row.rstrip(" |").endswith("equal bits") for row in rows)
    assert "Geometric means of the twins' times over ours" in printed[5]
    for name in ("heat", "options"):
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()[:2000]
