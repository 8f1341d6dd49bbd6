"""nn.utils: clipping, vectors of parameters, parametrizations; nn.summary."""

import copy
import pickle

import numpy as np
import pytest

import frazil as fz
from frazil import nn
from frazil.nn import utils
from frazil.nn.utils import parametrizations, parametrize


def with_gradients(*gradients):
    out = []
    for g in gradients:
        p = nn.Parameter(fz.zeros_like(fz.asarray(g)))
        p.grad = fz.asarray(g)
        out.append(p)
    return out


@pytest.mark.parametrize("order", [1, 2, 3.0, float("inf")])
def test_clip_grad_norm(order):
    arrays = [np.array([3.0, -4.0]), np.array([[12.0]])]
    norm = np.linalg.norm(np.concatenate([a.ravel() for a in arrays]), order)
    for bound in (1.0, 1e3):
        parameters = with_gradients(*arrays)
        parameters.append(nn.Parameter(fz.ones(2)))  # without a gradient
        total = utils.clip_grad_norm_(iter(parameters), bound, order)
        np.testing.assert_allclose(total.item(), norm, rtol=1e-6)
        scale = min(bound / (norm + 1e-6), 1)
        for p, a in zip(parameters, arrays, strict=False):
            np.testing.assert_allclose(np.asarray(p.grad), a * scale, rtol=1e-6)
    assert utils.clip_grad_norm_(parameters[2], 1.0).item() == 0


def test_clipping_errors_and_values():
    (p,) = with_gradients([float("inf"), 1.0])
    with pytest.raises(RuntimeError, match="the norm of order 2.0 is inf"):
        utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert p.grad.tolist() == [float("inf"), 1.0]
    utils.clip_grad_value_([p], 0.5)
    assert p.grad.tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match=r"\[clip_grad_value_\] clip_value must be a number"):
        utils.clip_grad_value_(p, "1")


def test_a_traced_step_that_clips_skips_its_body():
    def make():
        fz.random.seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        return net, fz.optim.SGD(net.parameters(), lr=0.1)

    def step(net, optimizer, x):
        optimizer.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        norm = utils.clip_grad_norm_(net.parameters(), 0.5)
        utils.clip_grad_value_(net.parameters(), 0.2)
        optimizer.step()
        return loss, norm

    x, traced = fz.random.normal((5, 3)), fz.trace(step)
    (a, b), (c, d) = make(), make()
    for _ in range(10):
        for got, want in zip(traced(a, b, x), step(c, d, x), strict=True):
            assert got.item() == want.item()
    assert traced.stats()["skipped"] >= 3, traced.explain()


def test_parameters_as_a_vector():
    net = nn.Linear(2, 3)
    vector = utils.parameters_to_vector(net.parameters())
    np.testing.assert_array_equal(np.asarray(vector[:6]), np.asarray(net.weight).ravel())
    cells = net.parameters()
    utils.vector_to_parameters(fz.arange(9.0), cells)
    assert net.weight.tolist() == [[0, 1], [2, 3], [4, 5]] and net.bias.tolist() == [6, 7, 8]
    assert all(p.requires_grad and p.is_leaf for p in cells)
    with pytest.raises(ValueError, match="9 elements need a vector of as many, got shape"):
        utils.vector_to_parameters(fz.ones(8), cells)
    with pytest.raises(TypeError, match="must be a tensor, got list"):
        utils.vector_to_parameters([1.0], cells)
    with pytest.raises(ValueError, match="no parameters"):
        utils.parameters_to_vector([])


class Square(nn.Module):
    def forward(self, x):
        return x * x

    def right_inverse(self, y):
        return fz.sqrt(y)


class Halves(nn.Module):
    """The sum of two tensors."""

    def forward(self, a, b):
        return a + b

    def right_inverse(self, y):
        return y * 0.25, y * 0.75


class Wider(nn.Module):
    def forward(self, x):
        return fz.concat([x, x])


def test_parametrize():
    layer = nn.Linear(2, 2)
    weight, kind = layer.weight, type(layer)
    nn.init.constant_(weight, 9.0)
    assert parametrize.register_parametrization(layer, "weight", Square()) is layer
    assert parametrize.is_parametrized(layer) and not parametrize.is_parametrized(layer, "bias")
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert parametrize.type_before_parametrizations(layer) is kind
    assert dict(layer.named_parameters())["parametrizations.weight.original"] is weight
    assert weight.tolist() == [[3, 3], [3, 3]] and layer.weight.tolist() == [[9, 9], [9, 9]]
    layer.weight = fz.full((2, 2), 4.0)
    assert weight.tolist() == [[2, 2], [2, 2]]
    parametrize.register_parametrization(layer, "weight", Square())  # a second one
    assert layer.weight.tolist() == [[16, 16], [16, 16]] and len(layer.parametrizations.weight) == 2
    layer(fz.ones((1, 2))).sum().backward()
    assert weight.grad.tolist() == [[32, 32], [32, 32]]  # 4 w^3
    assert "(0): Square()" in repr(layer)
    parametrize.register_parametrization(layer, "bias", Halves())
    assert sorted(layer.state_dict()) == [
        "parametrizations.bias.original0", "parametrizations.bias.original1",
        "parametrizations.weight.original",
    ]  # fmt: skip
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is weight and layer.weight.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(ValueError, match="made of 2 tensors"):
        parametrize.remove_parametrizations(layer, "bias", leave_parametrized=False)
    bias = layer.bias
    parametrize.remove_parametrizations(layer, "bias")
    np.testing.assert_array_equal(np.asarray(layer.bias), np.asarray(bias))
    assert type(layer) is kind and not parametrize.is_parametrized(layer)
    assert sorted(name for name, _ in layer.named_parameters()) == ["bias", "weight"]


def test_parametrized_buffers_and_frozen_parameters():
    layer = nn.Linear(2, 2).requires_grad_(False)
    layer.register_buffer("scale", fz.full((2,), 4.0))
    parametrize.register_parametrization(layer, "scale", Square())
    parametrize.register_parametrization(layer, "weight", Halves())
    assert not any(p.requires_grad for p in layer.parameters())
    assert [name for name, _ in layer.named_buffers()] == ["parametrizations.scale.original"]
    parametrize.remove_parametrizations(layer, "scale")
    assert [name for name, _ in layer.named_buffers()] == ["scale"]
    assert layer.scale.tolist() == [4, 4]


def test_parametrize_errors():
    layer = nn.Linear(2, 2)
    for name in ("wieght", "in_features"):
        with pytest.raises(ValueError, match=f"Linear has no parameter or buffer '{name}'"):
            parametrize.register_parametrization(layer, name, Square())
    with pytest.raises(ValueError, match=r"float32\[4, 2\] instead of float32\[2, 2\]: unsafe=Tr"):
        parametrize.register_parametrization(layer, "weight", Wider())
    assert type(layer) is nn.Linear and isinstance(layer.weight, nn.Parameter)
    parametrize.register_parametrization(layer, "weight", Wider(), unsafe=True)
    with pytest.raises(ValueError, match="would be float32"):
        parametrize.register_parametrization(layer, "weight", Wider())
    with pytest.raises(NotImplementedError, match="Wider has no right_inverse"):
        layer.weight = fz.ones((4, 2))
    with pytest.raises(ValueError, match="Linear has no parametrization of 'bias'"):
        parametrize.remove_parametrizations(layer, "bias")
    with pytest.raises(ValueError, match="has no weight 'w'"):
        parametrizations.spectral_norm(nn.Linear(2, 2), "w")
    with pytest.raises(IndexError, match=r"dim 2 is out of range for shape \(2, 2\)"):
        parametrizations.spectral_norm(nn.Linear(2, 2), dim=2)


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_norms_are_those_of_their_formulas_and_training_skips(name):
    fz.random.seed(0)
    layer = getattr(parametrizations, name)(nn.Linear(4, 3).double())
    x = fz.random.normal((5, 4), dtype="float64")
    optimizer = fz.optim.SGD(layer.parameters(), lr=0.1)
    other = copy.deepcopy(layer)
    others = fz.optim.SGD(other.parameters(), lr=0.1)

    def step(layer, optimizer, x):
        optimizer.zero_grad()
        loss = (layer(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    traced = fz.trace(step)
    for _ in range(10):
        assert traced(layer, optimizer, x).item() == step(other, others, x).item()
    assert traced.stats()["skipped"] >= 3, traced.explain()
    for _ in range(40 if name == "spectral_norm" else 1):
        weight = np.asarray(layer.weight)
    if name == "spectral_norm":
        np.testing.assert_allclose(np.linalg.norm(weight, 2), 1, rtol=1e-6)
    else:
        lengths = abs(np.asarray(layer.parametrizations.weight.original0)[:, 0])
        np.testing.assert_allclose(np.linalg.norm(weight, axis=1), lengths, rtol=1e-10)
    layer.eval()
    before = np.asarray(layer(x))
    for again in (copy.deepcopy(layer), copy.copy(layer), pickle.loads(pickle.dumps(layer))):
        assert type(again) is type(layer)
        np.testing.assert_array_equal(np.asarray(again(x)), before)
    fresh = getattr(parametrizations, name)(nn.Linear(4, 3).double()).eval()
    fresh.load_state_dict(layer.state_dict())
    np.testing.assert_array_equal(np.asarray(fresh(x)), before)
    parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_array_equal(np.asarray(layer(x)), before)
    assert type(layer) is nn.Linear and layer.weight.requires_grad and layer.weight.is_leaf


class Net(nn.Module):
    def __init__(self):
        self.convolution = nn.Conv2d(3, 8, 3, groups=1)
        self.shared = nn.Linear(8, 8)
        self.norms = [nn.BatchNorm1d(8), nn.Dropout(0.5)]
        self.unused = nn.Linear(2, 2)

    def forward(self, x, times=2):
        y = self.convolution(x).mean(axis=(2, 3))
        for _ in range(times):
            y = self.shared(y)
        for layer in self.norms:
            y = layer(y)
        return y, y.sum()


def test_summary():
    net = Net()
    net.shared.requires_grad_(False)
    net.norms[1].eval()
    before = {name: t.tolist() for name, t in net.state_dict().items()}
    flags = [m.training for m in net.modules()]
    fz.random.seed(4)
    drawn = fz.random.uniform((3,)).tolist()
    fz.random.seed(4)
    table = nn.summary(net, fz.ones((2, 3, 6, 6)), times=3)
    assert fz.random.uniform((3,)).tolist() == drawn
    assert {name: t.tolist() for name, t in net.state_dict().items()} == before
    assert [m.training for m in net.modules()] == flags and "forward" not in vars(net)
    rows = {row.name: row for row in table}
    assert list(rows) == ["", "convolution", "shared", "norms.0", "norms.1", "unused"]
    convolution, linear = 2 * 2 * 8 * 16 * 27, 3 * 2 * 2 * 64
    assert rows["convolution"].shapes == ((2, 8, 4, 4),)
    assert rows["convolution"].flops == convolution and rows["shared"].flops == linear
    assert rows[""].shapes == ((2, 8), ()) and table.flops == convolution + linear
    assert table.parameters == sum(p.size for p in net.parameters()) == rows[""].parameters
    assert table.trained == table.parameters - 72 and rows["shared"].trained == 0
    assert rows["unused"].shapes == () and rows["unused"].flops == 0
    text = str(table).splitlines()
    assert text[0].split() == ["module", "class", "output", "parameters", "FLOPs"]
    assert len(text) == 8 and len({len(line) for line in text[:7]}) == 1
    with pytest.raises(TypeError, match="needs a module, got Tensor"):
        nn.summary(fz.ones(2))


@pytest.mark.parametrize(
    ("layer", "shape", "products"),
    [
        (nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2), (2, 4, 5), 2 * 5 * 4 * 3 * 3),
        (nn.Conv1d(4, 6, 2, groups=2, channels_last=True), (2, 5, 4), 2 * 4 * 6 * 2 * 2),
        (nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3), 10 * 2 * 16 * (3 + 4 + 8 + 4)),
        (nn.LSTM(3, 4, proj_size=2), (5, 2, 3), 10 * (16 * (3 + 2) + 8)),
        (nn.GRUCell(3, 4), (5, 3), 5 * 12 * 7),
        (nn.LSTMCell(3, 4), (3,), 16 * 7),
    ],
)
def test_flops_of_layers(layer, shape, products):
    assert nn.summary(layer, fz.ones(shape)).flops == 2 * products
    if isinstance(layer, nn.ConvTranspose1d):
        assert nn.summary(layer, input=fz.ones(shape)).flops == 2 * products


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpooling_of_channels_last_and_errors(rank):
    x = fz.random.normal((2, 3) + (4,) * rank)
    last = fz.moveaxis(x, 1, -1)
    pool, unpool = (getattr(nn, f"Max{name}{rank}d") for name in ("Pool", "Unpool"))
    want = unpool(2)(*pool(2, return_indices=True)(x))
    top, places = pool(2, return_indices=True, channels_last=True)(last)
    got = unpool(2, channels_last=True)(top, places)
    np.testing.assert_array_equal(np.asarray(fz.moveaxis(got, -1, 1)), np.asarray(want))
    assert (np.asarray(want) != 0).sum() == top.size
    with pytest.raises(ValueError, match=r"less than a stride from \[4.*got \(7,"):
        unpool(2, channels_last=True)(top, places, (7,) * rank)
    with pytest.raises(ValueError, match="the indices as many as the input: shapes"):
        unpool(2)(top, places[:1])
    with pytest.raises(IndexError):
        unpool(2)(top, places + 999)
