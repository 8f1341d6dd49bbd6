"""fz.training.Checkpoint: a run that is killed and resumed has the bits of one that was not."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import frazil as fz
from frazil.training import Checkpoint

KILLS = 100 if os.environ.get("FRAZIL_NIGHTLY") else 6


class Part:
    def __init__(self, state=None):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def test_parts_and_values_come_back(tmp_path):
    state = {
        "state": {0: {"m": fz.ones((2, 3)), "step": 4}, 7: {"m": fz.zeros(0), "none": None}},
        "param_groups": [{"lr": 0.1, "betas": (0.9, 0.999), "params": [0, 7], "nan": float("inf")}],
        "a.b": fz.asarray(1.5),
        "a": {"b": fz.asarray([True])},
        "big": 2**80,
    }
    checkpoint = Checkpoint(tmp_path / "new" / "run", part=Part(state), empty=Part({}))
    assert checkpoint.restore() is None and checkpoint.latest_step() is None
    checkpoint.save(3, loss=[fz.asarray(2.0), "text"], epoch=1)
    other = Checkpoint(tmp_path / "new" / "run", part=Part(), empty=Part())
    values = other.restore()
    assert list(values) == ["loss", "epoch", "step"] and values["step"] == 3
    assert values["loss"][0].item() == 2 and values["loss"][1] == "text"
    assert str(other.parts["part"].state) == str(state)
    assert type(other.parts["part"].state["param_groups"][0]["betas"]) is tuple
    assert fz.io.load_safetensors(other.path(3))["parts.part.state.0.m"].tolist() == [[1] * 3] * 2


def test_the_latest_are_kept(tmp_path):
    checkpoint = Checkpoint(tmp_path, keep=2)
    (tmp_path / ".step-00000001.safetensors.abc.tmp").write_bytes(b"left by who was killed")
    (tmp_path / "notes.txt").write_text("mine")
    for step in (5, 10, 15, 12, 20):
        checkpoint.save(step)
        assert checkpoint.latest_step() == max(step, checkpoint.all_steps()[-1])
    assert checkpoint.all_steps() == [15, 20] and checkpoint.restore()["step"] == 20
    assert checkpoint.restore(15)["step"] == 15
    assert sorted(os.listdir(tmp_path))[:1] == ["notes.txt"] and len(os.listdir(tmp_path)) == 3
    every = Checkpoint(tmp_path, keep=None)
    for step in range(30, 36):
        every.save(step)
    assert len(every.all_steps()) == 8
    with pytest.raises(FileNotFoundError, match=r"has no step 16; it has \[15, 20, 30"):
        every.restore(16)


def test_random_streams_come_back(tmp_path):
    def drawn():
        return [random.random(), np.random.normal(), fz.random.normal(2).tolist()]

    checkpoint = Checkpoint(tmp_path)
    np.random.normal()  # one of a pair
    checkpoint.save(0)
    first, second = drawn(), drawn()
    checkpoint.restore()
    assert drawn() == first
    Checkpoint(tmp_path, random_state=False).restore()
    assert drawn() == second


def test_seeds_in_one_place():
    def drawn():
        return [random.random(), np.random.random(), fz.random.uniform().item()]

    fz.random.seed_everything(5)
    first = drawn()
    fz.random.seed_everything(5)
    assert drawn() == first != drawn()
    state = fz.random.get_state()
    a = fz.random.uniform(3).tolist()
    fz.random.set_state(state)
    assert fz.random.uniform(3).tolist() == a
    for wrong in (3, fz.ones(2), None):
        with pytest.raises(TypeError, match=r"\[random.set_state\] needs a tensor of get_state"):
            fz.random.set_state(wrong)
    with pytest.raises(ValueError, match=r"must be in 0 ... 2\*\*64 - 1, got -1"):
        fz.random.seed_everything(-1)
    with pytest.raises(TypeError, match=r"\[seed_everything\] seed must be an integer, got float"):
        fz.random.seed_everything(0.5)


def test_what_is_wrong(tmp_path):
    with pytest.raises(TypeError, match="epoch must have state_dict and .*, and is int"):
        Checkpoint(tmp_path, epoch=3)
    with pytest.raises(ValueError, match="keep must be at least 1, got 0"):
        Checkpoint(tmp_path, keep=0)
    checkpoint = Checkpoint(tmp_path, a=Part({"x": 1}))
    with pytest.raises(TypeError, match="step must be an integer, got str"):
        checkpoint.save("a")
    checkpoint.save(1)
    with pytest.raises(ValueError, match=r"has the parts \['a'\], this checkpoint \['b'\]"):
        Checkpoint(tmp_path, b=Part()).restore()
    checkpoint.parts["a"].state = {"x": object()}
    with pytest.raises(TypeError, match="cannot save object at 'parts.a.x'"):
        checkpoint.save(2)
    assert os.listdir(tmp_path) == ["step-00000001.safetensors"]
    fz.io.save_safetensors(checkpoint.path(3), {"x": fz.ones(1)})
    with pytest.raises(ValueError, match=r"\[Checkpoint.restore\] .* is no checkpoint: it has no"):
        checkpoint.restore()
    fz.io.save_safetensors(checkpoint.path(3), {}, {"names": "[]", "structure": '{"tensor": 0}'})
    with pytest.raises(ValueError, match="has a damaged structure"):
        checkpoint.restore()
    fz.save(checkpoint.path(3), {"x": fz.ones(1)})
    with pytest.raises(ValueError, match=r"is no checkpoint: save\(\) wrote it"):
        checkpoint.restore()
    with open(checkpoint.path(3), "wb") as file:
        file.write(b"no")
    with pytest.raises(ValueError, match="is no safetensors file or is damaged"):
        checkpoint.restore()


# One training: a traced step with dropout, momentum, data with random numbers made by workers. It
# writes the bits of every loss, and of the parameters at the end.
SCRIPT = """
import random, sys
import numpy as np
import frazil as fz

class Noisy(fz.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, i):
        x = fz.asarray(np.full(8, i / 24, "float32")) + fz.random.normal(8) * random.random()
        return x, np.float32(np.sin(i))

class Momentum:
    def __init__(self, model):
        self.model = model
        self.state = {"state": {}, "param_groups": [{"lr": 0.05}]}
    def step(self):
        state, lr = self.state["state"], self.state["param_groups"][0]["lr"]
        with fz.no_grad():
            for i, p in enumerate(self.model.parameters()):
                state[i] = {"momentum": p.grad + (0.9 * state[i]["momentum"] if i in state else 0)}
                p -= lr * state[i]["momentum"]
                p.grad = None
        self.state["param_groups"][0]["lr"] = lr * 0.99
    def state_dict(self):
        return self.state
    def load_state_dict(self, state):
        self.state = state

if __name__ == "__main__":
    folder, workers = sys.argv[1], int(sys.argv[2])
    fz.random.seed_everything(1)
    layers = [fz.nn.Linear(8, 16), fz.nn.ReLU(), fz.nn.Dropout(0.3), fz.nn.Linear(16, 1)]
    model = fz.nn.Sequential(*layers)
    optimizer = Momentum(model)
    loader = fz.data.DataLoader(Noisy(), 4, shuffle=True, num_workers=workers)
    parts = {"model": model, "optimizer": optimizer, "loader": loader}
    checkpoint = fz.training.Checkpoint(folder, keep=2, **parts)
    at = checkpoint.restore() or {"step": 0, "losses": []}
    step, losses = at["step"], list(at["losses"])
    loss_of = fz.trace(lambda x, y: ((model(x)[:, 0] - y) ** 2).mean())
    print("begun", flush=True)
    for epoch in range(loader.state_dict()["epoch"], 4):
        for x, y in loader:
            loss = loss_of(x, y)
            loss.backward()
            optimizer.step()
            step += 1
            losses.append(loss.item().hex())
            checkpoint.save(step, losses=losses)
    parameters = [p.tolist() for p in model.parameters()]
    with open(folder + ".txt", "w") as file:
        print(step, losses, parameters, random.random(), np.random.random(), file=file)
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_and_resumed_it_has_the_same_bits(tmp_path, workers):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)

    def shared():  # but for what other programs have there meanwhile, such as MPI's
        return {name for name in os.listdir("/dev/shm") if name.startswith(("frazil", "psm_"))}

    before = shared()

    def start(folder):
        return subprocess.Popen(
            [sys.executable, str(script), str(tmp_path / folder), str(workers)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(process):
        error = process.communicate(timeout=300)[1]
        assert process.returncode in (0, -signal.SIGKILL), (process.returncode, error)
        return process.returncode == 0

    def result(folder):
        return (tmp_path / f"{folder}.txt").read_text()

    begin = time.monotonic()
    process = start("whole")
    assert process.stdout.readline() == "begun\n"
    startup = time.monotonic() - begin
    assert end(process) and result("whole").startswith("24 [")
    training = time.monotonic() - begin - startup
    moment, folder, killed = random.Random(workers), 0, 0
    while killed < KILLS // 2:
        process = start(str(folder))
        if moment.random() < 0.8:
            assert process.stdout.readline() == "begun\n"
            time.sleep(moment.uniform(0, training))
        else:
            time.sleep(moment.uniform(0, startup))
        process.kill()
        if not end(process):
            killed += 1
        else:  # it came to its end: another one begins
            assert result(folder) == result("whole")
            folder += 1
    assert end(start(str(folder))) and result(folder) == result("whole")
    assert shared() <= before
    # Killed between a save and its removals it leaves one file more: the next save removes it.
    Checkpoint(tmp_path / str(folder), keep=2).save(25)
    kept = sorted(os.listdir(tmp_path / str(folder)))
    assert kept == ["step-00000024.safetensors", "step-00000025.safetensors"]
