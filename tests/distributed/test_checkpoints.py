"""fz.distributed.Checkpoint: saved on two processes, resumed on others; ranks that are killed."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from launch import PROGRAMS, launch

import frazil as fz


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """(folder of checkpoints of two ranks, what they said)."""
    folder = tmp_path_factory.mktemp("saved")
    said = tmp_path_factory.mktemp("said")
    status, output, lines = launch("checkpoints", 2, said, folder, "save")
    assert status == 0, output
    return folder, lines


def copy_of(saved, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(saved[0], folder)
    return folder


@pytest.fixture
def program(monkeypatch):
    monkeypatch.syspath_prepend(str(PROGRAMS))
    import checkpoints

    yield checkpoints
    sys.modules.pop("checkpoints")


def test_saving_changes_no_bit(saved):
    for rank in saved[1]:
        assert [line["differing"] for line in rank if "differing" in line] == [0, 0]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_any_number_of_ranks_goes_on_with_the_bits(ranks, saved, tmp_path):
    folder = copy_of(saved, tmp_path)
    status, output, said = launch("checkpoints", ranks, tmp_path, folder, "resume")
    assert status == 0, output
    drawn = []
    for number, rank in enumerate(said):
        assert [line["differing"] for line in rank if "differing" in line] == [0, 0]
        begin = next(line for line in rank if "values" in line)
        # What differed among the ranks is each one's if they are as many, and else that of rank 0.
        own = number if ranks == 2 else 0
        assert begin["values"] == {"rank": own, "what": "both", "step": 3}
        drawn.append(begin["drawn"])
    before = [next(line["drawn"] for line in rank if "drawn" in line) for rank in saved[1]]
    assert drawn[:2] == before[:ranks]
    assert len({tuple(numbers) for numbers in drawn}) == ranks


def test_the_folder_is_what_it_says(saved):
    """Each tensor once, about half of the bytes in each file; a plain optimizer reads the parts."""
    for kind in ("plain", "sharded"):
        files = sorted((saved[0] / kind / "step-00000003").glob("part-*.safetensors"))
        assert [file.name.split(".")[0] for file in files] == ["part-0-of-2", "part-1-of-2"]
        names = [set(fz.io.load_safetensors(file)) for file in files]
        assert not {name for name in names[0] & names[1] if not name.startswith("random.")}
        both = names[0] | names[1]
        assert {"parts.model.module.0.weight", "parts.model.module.2.bias"} <= both
        assert sum(name.endswith("exp_avg_sq") for name in both) == 4
        sizes = [file.stat().st_size for file in files]
        assert max(sizes) < 1.5 * min(sizes)


def test_a_sharded_state_and_a_plain_one_are_the_same(saved, tmp_path, program):
    folder = copy_of(saved, tmp_path)
    states = []
    for kind, other in (("plain", "plain"), ("sharded", "plain"), ("plain", "sharded")):
        own = program.parts(other)
        d = fz.distributed.Checkpoint(folder / kind, model=own["model"],
                                      optimizer=own["optimizer"], schedule=own["schedule"],
                                      loader=own["loader"])  # fmt: skip
        assert d.restore()["what"] == "both"
        states.append(own["optimizer"].state_dict())
    assert str(states[0]["state"]) == str(states[1]["state"]) == str(states[2]["state"])
    assert states[0]["param_groups"] == states[1]["param_groups"] == states[2]["param_groups"]


@pytest.mark.parametrize("way", ["before", "written", "manifest"])
def test_a_rank_that_is_killed_while_saving_damages_nothing(way, saved, tmp_path, program):
    folder = copy_of(saved, tmp_path)
    status, _, _ = launch("checkpoints", 2, tmp_path, folder, way, seconds=300)
    assert status != 0
    own = program.parts("plain")
    checkpoint = fz.distributed.Checkpoint(folder / "plain", **own)
    assert checkpoint.all_steps() == [3]
    assert checkpoint.restore()["step"] == 3
    left = {p.name for p in (folder / "plain").rglob("*") if p.is_file()}
    assert (len(left) > 3) == (way != "before")
    checkpoint.save(5)
    assert checkpoint.all_steps() == [3, 5]
    assert len(os.listdir(folder / "plain")) == 2, "what was left is removed"
    checkpoint.save(3)
    assert len(os.listdir(checkpoint.path(3))) == 2, "its own files, and the manifest"
    assert checkpoint.restore(3) == {"step": 3}


@pytest.mark.parametrize("seed", range(100 if os.environ.get("FRAZIL_NIGHTLY") else 2))
def test_interrupted_runs_go_on_with_the_bits(seed, tmp_path):
    kind, ranks = ("plain", "sharded")[seed % 2], seed % 3 + 1
    said = [tmp_path / "first", tmp_path / "second"]
    for folder in said:
        folder.mkdir()
    run = launch("checkpoints", 2, said[0], tmp_path / "run", "chance", kind, seed, seconds=300)
    assert run[0] != 0, "a rank was killed"
    status, output, found = launch(
        "checkpoints", ranks, said[1], tmp_path / "run", "resume", kind, seconds=300
    )
    assert status == 0, output
    assert [rank[1]["differing"] for rank in found] == [0] * ranks, found[0][0]["values"]


def damage(path, way):
    data = path.read_bytes()
    if way == "missing":
        path.unlink()
    elif way == "short":
        path.write_bytes(data[:-1])
    else:
        middle = len(data) // 2
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :])


@pytest.mark.parametrize(
    ("pattern", "way", "says"),
    [
        ("part-1-of-2.*", "missing", "{path}' is missing, a part of this step"),
        ("part-1-of-2.*", "short", "{path}' is damaged: it has .* bytes, and was written with"),
        ("part-0-of-2.*", "flipped", "{path}' is damaged: its bytes are not those"),
        ("manifest.json", "flipped", "{path}' is damaged or no manifest"),
        ("manifest.json", "short", "{path}' is damaged or no manifest"),
    ],
)
def test_damage_is_told_with_the_file(pattern, way, says, saved, tmp_path, program):
    folder = copy_of(saved, tmp_path)
    (path,) = (folder / "plain" / "step-00000003").glob(pattern)
    damage(path, way)
    own = program.parts("plain")
    checkpoint = fz.distributed.Checkpoint(folder / "plain", **own)
    before = str(own["model"].state_dict())
    kind = FileNotFoundError if way == "missing" else ValueError
    with pytest.raises(kind, match=says.format(path=path)):
        checkpoint.restore()
    assert str(own["model"].state_dict()) == before


def test_what_does_not_fit_is_said(saved, tmp_path, program):
    folder = copy_of(saved, tmp_path)
    own = program.parts("plain")
    sampler = fz.distributed.DistributedSampler(range(96), 1, 0)
    own["loader"] = fz.data.DataLoader(program.Rows(), 20, sampler=sampler)
    checkpoint = fz.distributed.Checkpoint(folder / "plain", **own)
    with pytest.raises(ValueError, match=r"loader had given 72 examples .* batches of 20"):
        checkpoint.restore()
    checkpoint.parts["loader"] = fz.data.DataLoader(program.Rows(), 24)
    with pytest.raises(ValueError, match="loader was saved with a DistributedSampler"):
        checkpoint.restore()
    with pytest.raises(FileNotFoundError, match=r"has no step 4; it has \[3\]"):
        checkpoint.restore(4)
    optimizer = fz.distributed.ZeroRedundancyOptimizer([fz.nn.Parameter(fz.ones(2))], fz.optim.SGD)
    with pytest.raises(ValueError, match=r"of the parameters \[1\]; this rank needs \[0\]"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [1]}]})
    assert fz.distributed.Checkpoint(Path(tmp_path) / "new").restore() is None
