"""mode("graph"): every outermost call of a module is traced; hooks of modules."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import frazil as fz
from frazil import nn


class Block(nn.Module):
    def __init__(self, n):
        self.linear = nn.Linear(n, n)
        self.calls = 0

    def forward(self, x, *, scale=1.0):
        self.calls += 1
        return nn.relu(self.linear(x)) * scale + x


class Net(nn.Module):
    def __init__(self):
        self.blocks = [Block(4), Block(4)]

    def forward(self, x, flag=False):
        for block in self.blocks:
            x = block(x, scale=2.0)
        if bool(x.sum() > 0) and flag:
            return {"out": -x}
        return x


def test_modules_are_traced_from_outside_in():
    net, x = Net(), fz.ones((3, 4))
    want = np.asarray(net(x))
    assert net.explain() == ""
    with fz.mode("graph"):
        for _ in range(4):
            assert np.asarray(net(x)).tobytes() == want.tobytes()
        assert "new plan" in net.explain() and net.explain().startswith("Net: 4 calls")
        assert net.blocks[0].explain() == ""  # part of the net's call
        assert set(net(x, flag=True)) == {"out"} or want.sum() <= 0
        net.blocks[1](x)
        assert net.blocks[1].explain().startswith("Block: 1 calls")
        with fz.mode("eager"):
            net(x)
        assert net.explain().startswith("Net: 5 calls")
    assert [b.calls for b in net.blocks] == [7, 8]  # Python ran each time
    net(x)
    assert net.explain().startswith("Net: 5 calls")


def test_for_the_process_and_strictly():
    net, x = Net(), fz.ones((3, 4))
    try:
        fz.mode("graph")
        net(x), net(x), net(x)
        assert net.explain().startswith("Net: 3 calls, 1 replayed")
    finally:
        fz.mode("auto")
    with fz.mode("graph", strict=True):
        net(x)
        net.blocks[1].linear.bias = None
        with pytest.raises(RuntimeError, match="strict=True"):
            net(x)
    with pytest.raises(ValueError, match='"eager", "auto" or "graph"'):
        fz.mode("static")


def test_training_in_graph_mode_equals_eager():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.25), nn.Linear(8, 1))
    nets = [net, copy.deepcopy(net)]
    losses = []
    for model, mode in zip(nets, ("graph", "eager"), strict=True):
        fz.random.seed(2)
        optimizer = fz.optim.Adam(model.parameters(), lr=0.1)
        with fz.mode(mode):
            for i in range(6):
                optimizer.zero_grad()
                loss = nn.mse_loss(model(fz.ones((5, 4)) * i), fz.ones((5, 1)))
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
    assert losses[:6] == losses[6:]


def test_traced_modules_are_collected_copied_and_pickled():
    net, x = Net(), fz.ones((3, 4))
    with fz.mode("graph"):
        want = net(x).tolist()
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net)), copy.copy(net)):
            assert other.explain() == "" and other(x).tolist() == want
        watch = weakref.ref(net)
        del net, other
        gc.collect()
        assert watch() is None


@pytest.mark.parametrize("mode", ["eager", "graph"])
def test_hooks(mode):
    net, x = Net(), fz.ones((3, 4))
    plain, seen = net(x).tolist(), []
    with fz.mode(mode):
        before = net.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
        after = net.register_forward_hook(lambda m, args, y: seen.append(args[0].tolist()) or y + 1)
        for _ in range(3):
            got = net(x).tolist()
        assert seen == [(x * 2).tolist()] * 3
        before.remove(), after.remove(), after.remove()
        assert net(x).tolist() == plain and len(seen) == 3
        assert got == (net(x * 2) + 1).tolist()


def test_hooks_are_guarded_in_calls_by_promise():
    net, x = nn.Linear(2, 2), fz.ones((1, 2))
    f = fz.trace(net, pure=True)
    with fz.no_grad():
        plain = net(x).tolist()
        for _ in range(6):
            assert f(x).tolist() == plain
        hook = net.register_forward_hook(lambda m, args, y: y * 0)
        for _ in range(6):
            assert f(x).tolist() == [[0, 0]]
        hook.remove()
        for _ in range(6):
            assert f(x).tolist() == plain
        assert f.stats()["skipped"] > 4
