"""Modules as containers: gradients of them, what belongs to their structure."""

import pytest

import frazil as fz
from frazil import nn, optim


def weight():
    return fz.asarray([1.0, 2.0], requires_grad=True)


def model():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


def test_gradient_of_a_module():
    net, x = model(), fz.ones((4, 2))
    net[0].bias.requires_grad_(False)
    net.register_buffer("count", fz.arange(3))
    value, g = fz.value_and_grad(lambda net, x: fz.sum(net(x)))(net, x)
    fz.sum(net(x)).backward()
    found = dict(g.named_parameters())
    assert found.keys() == {"0.weight", "2.weight", "2.bias"}
    for name, p in net.named_parameters():
        assert (p.grad is None) == (name not in found)
        assert p.grad is None or found[name].tolist() == p.grad.tolist()
    assert g.count is None and net.count.tolist() == [0, 1, 2]
    assert value.item() == fz.sum(net(x)).item()


def test_a_parameter_that_is_held_twice_is_one():
    net = nn.Module()
    net.a = net.b = weight()
    g = fz.grad(lambda net: fz.sum(net.a * 2 + net.b * 3 + sum(p for p in net.parameters())))(net)
    assert g.a.tolist() == g.b.tolist() == [6.0, 6.0]


def test_modules_keep_what_holds_no_tensor():
    net = model()
    net.sizes, net.words = [1, 2], {"a": "b"}
    again = fz.tree.map(lambda x: x, net)
    assert again is not net and again.sizes == [1, 2] and again.words == {"a": "b"}
    assert fz.tree.leaves(net) == net.parameters()
    assert list(dict(again.named_parameters())) == list(dict(net.named_parameters()))


def test_optimizers_refuse_modules():
    with pytest.raises(TypeError, match=r"got Sequential: give its parameters\(\)"):
        optim.SGD(model(), lr=0.1)
