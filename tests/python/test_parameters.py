"""What is a parameter of a module, and stays one; buffers; optimizers beside frozen parameters."""

import copy
import pickle

import numpy as np
import pytest

import frazil as fz
from frazil import nn


def leaf(*values):
    return fz.asarray(list(values), requires_grad=True)


def names(module):
    return [name for name, _ in module.named_parameters()]


class Net(nn.Module):
    def __init__(self):
        self.first = nn.Linear(3, 4)
        self.scales = [leaf(1.0), {"deep": leaf(2.0)}]
        self.shift = leaf(0.5)

    def forward(self, x):
        return self.first(x) * self.scales[0] + self.scales[1]["deep"] * self.shift


ALL = ["first.weight", "first.bias", "scales.0", "scales.1.deep", "shift"]


def freeze(module):
    for p in module.parameters():
        p.requires_grad_(False)
    return module


def test_freezing_loses_nothing():
    net = Net()
    full = net.state_dict()
    net.first.weight.requires_grad_(False)
    net.scales[1]["deep"].requires_grad = False
    assert names(net) == ALL and list(net.state_dict()) == ALL
    net.load_state_dict(full)
    assert not net.first.weight.requires_grad and net.first.bias.requires_grad
    net.to("npu")
    assert {p.device for p in net.parameters()} == {"npu"}
    net.zero_grad()
    freeze(net).parameters()[0].requires_grad_()
    assert names(net) == ALL and net.first.weight.requires_grad


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_frozen_parameters(again):
    net = freeze(Net())
    other = again(net)
    assert names(other) == ALL and not any(p.requires_grad for p in other.parameters())
    other.load_state_dict(Net().state_dict())
    assert isinstance(copy.copy(net.shift), nn.Parameter)
    assert not isinstance(net.shift.detach(), nn.Parameter)
    assert not isinstance(net.shift * 1, nn.Parameter)


def test_parameters_made_by_name():
    class Scale(nn.Module):
        def __init__(self):
            x = leaf(2.0)
            self.w = nn.Parameter(x * 0.5)
            self.fixed = nn.Parameter([3.0], requires_grad=False)
            self.plain = fz.ones(1)
            self.made_later = fz.ones(1)

    m = Scale()
    assert names(m) == ["w", "fixed"] and m.w.is_leaf and m.w.requires_grad
    assert isinstance(m.w, nn.Parameter) and isinstance(m.fixed, nn.Parameter)
    assert not isinstance(m.plain, nn.Parameter) and not isinstance(3, nn.Parameter)
    assert m.w.tolist() == [1.0] and m.fixed.tolist() == [3.0] and not m.fixed.requires_grad
    m.made_later.requires_grad_()
    assert names(m) == ["w", "fixed", "made_later"]
    with pytest.raises(RuntimeError, match="only floating-point arrays have gradients"):
        nn.Parameter(fz.arange(3))
    assert nn.Parameter(fz.arange(3), requires_grad=False).tolist() == [0, 1, 2]


def test_a_plain_tensor_that_requires_no_gradient_is_none():
    x = leaf(1.0).requires_grad_(False)
    m = nn.Module()
    m.x = x
    assert names(m) == []
    m.x.requires_grad_()
    assert names(m) == ["x"]


def test_what_is_put_into_a_list_later_is_a_parameter():
    m = nn.Module()
    m.ws = []
    m.ws.append(leaf(1.0))
    m.ws.append(leaf(2.0).requires_grad_(False))
    m.ws.append(fz.ones(1))
    assert names(m) == ["ws.0", "ws.1"]
    m.ws[0].requires_grad_(False)
    assert names(m) == ["ws.0", "ws.1"]


def test_names_of_parameters_stay_so():
    m = nn.Linear(2, 2)
    m.weight = fz.ones((2, 2))
    assert names(m) == ["weight", "bias"] and not m.weight.requires_grad
    m.weight = m.weight * 2
    assert list(m.state_dict()) == ["weight", "bias"]
    m.bias = None
    assert names(m) == ["weight"]
    del m.weight
    assert names(m) == []
    m.weight = fz.ones((2, 2))
    assert names(m) == []
    with fz.no_grad():
        m.bias = leaf(1.0, 2.0)
    assert names(freeze(m)) == ["bias"]


def test_history_in_init_is_an_error():
    def make(assign):
        class Bad(nn.Module):
            def __init__(self):
                self.build()

            def build(self):
                assign(self, fz.ones(3).requires_grad_() * 0.1)

        return Bad

    for assign, name in [
        (lambda m, x: setattr(m, "w", x), "w"),
        (lambda m, x: setattr(m, "ws", [fz.ones(1), {"a": x}]), "ws.1.a"),
    ]:
        with pytest.raises(ValueError, match=rf"Bad\.{name} would be no parameter.*nn.Parameter"):
            make(assign)()
    assert names(make(lambda m, x: setattr(m, "w", nn.Parameter(x)))()) == ["w"]
    assert names(make(lambda m, x: setattr(m, "w", x.detach()))()) == []


def test_forward_may_keep_what_it_computes():
    class Keeps(nn.Module):
        def __init__(self):
            self.inner = nn.Linear(2, 2)
            self.last = self.history = None
            self(fz.ones((1, 2)))  # also within __init__

        def forward(self, x):
            self.last = self.inner(x)
            self.history = [self.last]
            return self.last

    m = Keeps()
    m(fz.ones((3, 2))).sum().backward()
    assert m.last.shape == (3, 2) and names(m) == ["inner.weight", "inner.bias"]

    class Holds(nn.Module):
        def __init__(self, w):
            self.w = w

        def forward(self, x):
            return x * self.w

    g = fz.grad(lambda w: Holds(w * 2)(fz.ones(2)).sum())(fz.ones(2))
    assert g.tolist() == [2, 2]


class TestBuffers:
    def test_they_are_no_parameters(self):
        m = nn.Module()
        m.register_buffer("mean", leaf(1.0))
        m.register_buffer("empty", None)
        assert names(m) == [] and [n for n, _ in m.named_buffers()] == ["mean"]
        m.mean = m.mean * 0.9 + leaf(1.0)
        m.empty = fz.zeros(2)
        assert list(m.state_dict()) == ["mean", "empty"] and names(m) == []
        m.mean = None
        assert list(m.state_dict()) == ["empty"]
        m.empty = nn.Parameter(fz.zeros(2))
        assert names(m) == ["empty"] and m.buffers() == []
        m.register_buffer("gone", fz.zeros(1))
        del m.gone
        assert m.buffers() == [] and list(m.state_dict()) == ["empty"]

    def test_wrong_ones(self):
        m = nn.Module()
        with pytest.raises(TypeError, match=r"\[register_buffer\] x must be a tensor or None"):
            m.register_buffer("x", [1.0])
        with pytest.raises(ValueError, match="without dots"):
            m.register_buffer("a.b", fz.ones(1))
        m.register_buffer("x", fz.ones(1))
        with pytest.raises(TypeError, match="x is a buffer of Module"):
            m.x = [fz.ones(1)]
        assert m.x.tolist() == [1] and vars(m)["x"] is m.x


@pytest.mark.parametrize(
    "make", [lambda p: fz.optim.SGD(p, lr=0.5, momentum=0.9), lambda p: fz.optim.Adam(p, lr=0.5)]
)
def test_optimizers_leave_frozen_parameters_alone(make):
    net = Net()
    net.first.weight.requires_grad_(False)
    optimizer = make(net.parameters())

    def step():
        before = net.state_dict()
        net(fz.ones((2, 3))).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return [k for k, v in net.state_dict().items() if (v != before[k]).any()]

    assert step() == ALL[1:]
    net.first.weight.requires_grad_()
    net.first.bias.requires_grad_(False)
    assert step() == [ALL[0], *ALL[2:]]
    with pytest.raises(ValueError, match="or frozen parameters of a module"):
        make([fz.ones(3)])


def test_being_a_parameter_is_part_of_what_pure_calls_compare():
    def body(m, x):
        for p in m.parameters():
            x = x * p
        return x

    m = nn.Module()
    m.a, m.b = leaf(2.0), fz.asarray([3.0])
    f = fz.trace(body, pure=True, check_first=0)
    with fz.no_grad():
        for _ in range(4):
            assert f(m, fz.ones(1)).item() == 2
        freeze(m)
        for _ in range(4):
            assert f(m, fz.ones(1)).item() == 2
        other = nn.Module()
        other.b = m.b.requires_grad_()
        m.b.requires_grad_(False)  # a parameter now, by the other's name
        for _ in range(4):
            assert f(m, fz.ones(1)).item() == 6
    assert f.stats()["skipped"] >= 6
    g = fz.trace(lambda x: nn.Parameter(x * 2), pure=True, check_first=0)
    for _ in range(4):
        assert isinstance(g(fz.ones(1)), nn.Parameter)


def test_two_tensors_of_one_name_are_no_checkpoint():
    class Net(nn.Module):
        def __init__(self):
            self.ws = {1: nn.Parameter(fz.ones(1)), "1": nn.Parameter(fz.ones(1) * 2)}

    with pytest.raises(ValueError, match="two tensors of .*Net have the name 'ws.1'"):
        Net().state_dict()


def test_buffers_take_no_name_that_is_taken():
    layer = nn.Linear(2, 3)
    for name in ("weight", "training", "forward"):
        with pytest.raises(ValueError, match=f"has an attribute '{name}' already"):
            layer.register_buffer(name, fz.zeros(1))
    with pytest.raises(TypeError, match="is a parameter"):
        layer.register_buffer("scale", nn.Parameter(fz.ones(1)))
    layer.register_buffer("seen", fz.zeros(1))
    layer.register_buffer("seen", fz.ones(1))
    assert layer.seen.item() == 1


def test_modules_that_hold_themselves():
    layer = nn.Linear(2, 3)
    layer.me = layer
    assert "(me): ..." in repr(layer)
    assert len(layer.eval().state_dict()) == 2


def test_snapshots_of_borrowed_memory_are_copies():
    array = np.zeros(2, "float32")
    layer = nn.Linear(2, 3)
    layer.register_buffer("seen", fz.asarray(array, copy=False))
    seen = layer.seen
    copies = [
        copy.copy(seen), copy.deepcopy(seen), fz.asarray(seen, copy=True), nn.Parameter(seen),
        copy.deepcopy(layer).seen, layer.state_dict()["seen"],
    ]  # fmt: skip
    array[:] = 9
    assert seen.tolist() == [9, 9]
    assert all(c.tolist() == [0, 0] for c in copies)
