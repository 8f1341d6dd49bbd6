"""What modules can besides computing: hooks of gradients and states, lazy layers, names."""

import copy
import pickle

import pytest

import frazil as fz
from frazil import nn
from frazil.nn import functional as F


def model():
    fz.random.seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def gradients(net, x):
    net.zero_grad()
    x = x.detach() * 1
    x.requires_grad_()
    net(x).sum().backward()
    return [p.grad.tolist() for p in (*net.parameters(), x)]


X = fz.asarray([[0.5, -1.0, 2.0], [1.0, 0.25, -0.5]])


def test_backward_hooks_see_gradients():
    net, seen = model(), []
    plain = gradients(net, X)
    with net[2].register_full_backward_hook(lambda *args: seen.append(args)):
        assert gradients(net, X) == plain
    ((module, into, out),) = seen
    assert module is net[2] and len(into) == len(out) == 1
    assert out[0].tolist() == [[1.0, 1.0]] * 2
    assert into[0].tolist() == (out[0] @ net[2].weight).tolist()
    assert gradients(net, X) == plain and len(seen) == 1  # it was taken away


def test_backward_hooks_change_gradients():
    net = model()
    plain = gradients(net, X)
    pre = net.register_full_backward_pre_hook(lambda m, out: (out[0] * 2,))
    assert gradients(net, X)[4 - 1] == [2 * g for g in plain[3]]
    pre.remove()
    first = net[0].register_full_backward_hook(lambda m, into, out: (into[0] * 0,))
    changed = gradients(net, X)
    assert changed[:4] == plain[:4] and not fz.asarray(changed[4]).any()
    first.remove()
    order = []
    net[0].register_full_backward_hook(lambda *_: order.append("second"))
    net[0].register_full_backward_hook(lambda *_: order.append("first"), prepend=True)
    gradients(net, X)
    assert order == ["first", "second"]
    net[0].register_full_backward_hook(lambda *_: (X, X))
    with pytest.raises(ValueError, match="returned 2 gradients, and there are 1 inputs"):
        gradients(net, X)
    for wrong, said in ((fz.ones(3), r"returned \(3,\) as the gradient"), ("x", "returned str as")):
        other = nn.Linear(3, 1)
        other.register_full_backward_hook(lambda *_, wrong=wrong: (wrong,))
        with pytest.raises(ValueError, match=said + r".* inputs\[0\], whose shape is \(2, 3\)"):
            gradients(other, X)


def test_backward_hooks_without_gradients_of_inputs_and_without_any():
    net, seen = model(), []
    net.register_full_backward_hook(lambda m, into, out: seen.append((into, out)))
    net(X).sum().backward()
    assert seen[0][0] == (None,) and seen[0][1][0].shape == (2, 2)
    with fz.no_grad():
        net(X)
    assert len(seen) == 1


def test_backward_hooks_are_called_by_traced_steps():
    def trained(trace):
        net, seen = model(), []
        net[0].register_full_backward_hook(lambda m, into, out: seen.append(out[0].sum().item()))
        optimizer = fz.optim.SGD(net.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (net(x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        step = fz.trace(step) if trace else step
        return [step(X).item() for _ in range(6)], seen

    assert trained(True) == trained(False)


def test_forward_mode_names_the_backward_hook():
    net = model()
    for place in (net[0], net):
        with place.register_full_backward_hook(lambda *_: None):
            for call in (fz.jacfwd(net), lambda x: fz.jvp(net, (x,), (x,))):
                message = rf"{type(place).__name__} has a hook .*\(register_full_backward_hook\)"
                with pytest.raises(TypeError, match=message):
                    call(X)
    assert fz.jvp(net, (X,), (X,))[1].shape == net(X).shape


def test_forward_hooks_with_kwargs():
    class Scaled(nn.Module):
        def forward(self, x, by=1.0):
            return x * by

    net, seen = Scaled(), []
    net.register_forward_pre_hook(lambda m, args, kw: (args, {"by": 3.0}), with_kwargs=True)
    net.register_forward_hook(lambda m, args, kw, y: seen.append(kw), with_kwargs=True)
    net.register_forward_hook(lambda m, args, y: y + 1)
    assert net(fz.ones(2), by=2.0).tolist() == [4.0, 4.0] and seen == [{"by": 3.0}]
    net.register_forward_pre_hook(lambda m, args, kw: args, with_kwargs=True)
    with pytest.raises(TypeError, match=r"returns None or \(args, kwargs\)"):
        net(fz.ones(2))
    with pytest.raises(TypeError, match="a hook must be callable, got int"):
        net.register_forward_hook(3)


def test_a_module_that_is_a_hook_is_no_part_of_a_module():
    class Noted(nn.Module):
        def __init__(self):
            self.weight, self.seen = nn.Parameter(fz.ones(1)), 0

        def forward(self, module, args, result):
            self.seen += 1

    net, noted = nn.Linear(3, 1), Noted()
    net.register_forward_hook(noted)
    net(X)
    assert noted.seen == 1 and list(net.state_dict()) == ["weight", "bias"]
    assert list(net.modules()) == [net]


class Counting(nn.Module):
    def __init__(self):
        self.weight, self.calls = nn.Parameter(fz.ones(1)), 0

    def get_extra_state(self):
        return {"calls": self.calls}

    def set_extra_state(self, state):
        self.calls = state["calls"]


def test_extra_state():
    net = nn.ModuleDict({"a": Counting(), "b": nn.Linear(1, 1)})
    net["a"].calls = 7
    state = net.state_dict()
    assert state["a._extra_state"] == {"calls": 7}
    other = nn.ModuleDict({"a": Counting(), "b": nn.Linear(1, 1)})
    other.load_state_dict(state)
    assert other["a"].calls == 7
    del state["a._extra_state"]
    with pytest.raises(ValueError, match=r"missing: \['a._extra_state'\]"):
        other.load_state_dict(state)


def test_hooks_of_states():
    net, said = model(), []
    net[2].register_state_dict_pre_hook(lambda m, prefix, keep: said.append((prefix, keep)))

    @net[2].register_state_dict_post_hook
    def rename(module, state, prefix, metadata):
        state[prefix + "w"] = state.pop(prefix + "weight")

    state = net.state_dict()
    assert said == [("2.", False)] and "2.w" in state and "2.weight" not in state
    assert list(net.state_dict(prefix="net.")) == [f"net.{name}" for name in state]
    assert net.state_dict(keep_vars=True)["0.weight"] is net[0].weight

    other = model()
    with pytest.raises(ValueError, match=r"missing: \['2.weight'\]; not in the module: \['2.w'\]"):
        other.load_state_dict(state)

    def back(module, state, prefix, metadata, strict, missing, unexpected, errors):
        assert strict and prefix == "2."
        state[prefix + "weight"] = state.pop(prefix + "w")

    handle = other[2].register_load_state_dict_pre_hook(back)
    other.load_state_dict(state)
    assert "2.w" in state and other(X).tolist() == net(X).tolist()
    handle.remove()
    other.register_load_state_dict_pre_hook(lambda *args: args[-1].append("too old"))
    with pytest.raises(ValueError, match="too old"):
        other.load_state_dict(state)


@pytest.mark.parametrize("value", [None, "a", [1.0]])
def test_what_is_no_array_is_not_loaded(value):
    net, state = model(), model().state_dict()
    with pytest.raises(TypeError, match=r"0.weight must be a tensor or an array, got"):
        net.load_state_dict({**state, "0.weight": value})


def test_hooks_after_loading_forgive_names():
    net, state = model(), model().state_dict()
    state["more"] = fz.ones(1)
    state["0.bias"] = fz.full(4, 5.0)
    net.register_load_state_dict_post_hook(lambda m, keys: keys.unexpected_keys.clear())
    assert net.load_state_dict(state) == ([], []) and net[0].bias.tolist() == [5.0] * 4


def test_lazy_layers_become_plain():
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    for ask in (net.parameters, lambda: fz.optim.SGD(net.parameters(), 0.1)):
        with pytest.raises(ValueError, match=r"LazyConv2d\] 0 has no parameters before its first"):
            ask()
    assert net[0].has_uninitialized_params() and "LazyConv2d(?, 4, 3)" in repr(net)
    copied = copy.deepcopy(net)
    x = fz.ones((2, 3, 5, 5))
    traced = fz.trace(lambda x: net(x))
    net.eval()
    first = [traced(x).tolist() for _ in range(4)]
    assert first == [net(x).tolist()] * 4
    assert [type(m).__name__ for m in net] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert not net[1].training and net[3].in_features == 36
    assert copied[0].has_uninitialized_params()
    copied.load_state_dict(net.state_dict())  # which tells the extents, too
    assert copied.eval()(x).tolist() == net(x).tolist() and type(copied[3]) is nn.Linear


def test_lazy_layers_remember_what_they_are_told():
    net = nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d(), nn.LazyLinear(1))
    assert net.to("float64") is net and net[0].requires_grad_(False) is net[0]
    net.zero_grad()
    assert "by the first call" in net._repr_html_()
    copied = copy.deepcopy(net)
    for model_ in (net, copied, pickle.loads(pickle.dumps(copied))):
        assert model_(fz.ones((3, 4), dtype="float64")).dtype == fz.float64
        assert [p.requires_grad for p in model_.parameters()] == [False] * 2 + [True] * 4
        assert model_[1].num_batches_tracked.dtype == fz.int64
    assert nn.LazyLinear(2, dtype="float16")(fz.ones((1, 3), dtype="float16")).dtype == fz.float16
    with fz.default_dtype("float64"):  # the default of where it is made counts, as PyTorch's
        layer = nn.LazyConv1d(2, 3)
    assert layer(fz.ones((1, 2, 5), dtype="float64")).dtype == fz.float64


def test_states_of_lazy_layers(tmp_path):
    def lazy():
        return nn.Sequential(nn.LazyLinear(2), nn.LazyBatchNorm1d(affine=False), nn.Linear(2, 1))

    net = lazy()
    state = net.state_dict()
    assert [name for name, value in state.items() if value is None] == [
        "0.weight", "0.bias", "1.running_mean", "1.running_var", "1.num_batches_tracked",
    ]  # fmt: skip
    fz.save(tmp_path / "state", state)
    other = lazy()
    assert other.load_state_dict(fz.load(tmp_path / "state")) == ([], [])
    assert other[0].has_uninitialized_params()
    assert other[2].weight.tolist() == net[2].weight.tolist()
    part = {name: value for name, value in state.items() if name.startswith("2")}
    with pytest.raises(ValueError, match=r"missing: \['0.bias', '0.weight', '1.num_batches_"):
        other.load_state_dict(part)
    assert len(other.load_state_dict(part, strict=False).missing_keys) == 5
    left = nn.LazyLinear(2).load_state_dict({"bias": fz.ones(2)}, strict=False)
    assert left == (["weight"], ["bias"])  # from which the extent cannot be told
    net(fz.ones((3, 4)))
    with pytest.raises(TypeError, match=r"0.weight must be .*None.*: a lazy layer's state must be"):
        net.load_state_dict(state)
    other.to("float64").requires_grad_(False)
    other.load_state_dict(net.state_dict())  # with values the layers are there, as told before
    assert type(other[0]) is nn.Linear and other[0].weight.dtype == fz.float64
    assert not any(p.requires_grad for p in other.parameters())


def test_parameters_made_in_a_copy_would_be_lost():
    x = fz.ones((5, 3))

    def loss(net):
        return fz.sum(net(x))

    for function in (
        fz.value_and_grad(loss),
        fz.grad(loss),
        fz.trace(lambda net: fz.value_and_grad(loss)(net)),
        fz.vmap(lambda net: net(x), in_axes=None, axis_size=2),
    ):
        net = nn.Sequential(nn.LazyLinear(2))
        for _ in range(2):
            with pytest.raises(ValueError, match=r"LazyLinear\] has no parameters .* is a copy"):
                function(net)
        net(x)
        function(net)
    net = nn.LazyLinear(2)  # one that is no argument is the user's own
    assert fz.grad(lambda x: fz.sum(net(x)))(x).shape == (5, 3) and type(net) is nn.Linear
    assert fz.grad(loss)(net).weight.tolist() == [[5.0] * 3] * 2


def test_lazy_layers_in_a_summary():
    rows = nn.summary(nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1)), fz.ones((5, 2)))
    assert (rows.parameters, rows.flops) == (13, 90)


def test_lazy_layers_of_other_layouts():
    layer = nn.LazyConv2d(4, 3, channels_last=True)
    assert layer(fz.ones((1, 5, 5, 2))).shape == (1, 3, 3, 4) and layer.in_channels == 2
    grouped = nn.LazyConv1d(4, 3, groups=2)
    grouped.load_state_dict(nn.Conv1d(6, 4, 3, groups=2).state_dict())
    assert grouped.in_channels == 6
    with pytest.raises(ValueError, match=r"LazyConv2d\] an input of shape \(4,\) has no channels"):
        nn.LazyConv2d(4, 3)(fz.ones(4))
    with pytest.raises(ValueError, match=r"LazyLinear\] an input of shape \(\) has no features"):
        nn.LazyLinear(2)(fz.asarray(1.0))
    with pytest.raises(TypeError, match=r"\[nn.LazyLinear\] missing a required argument"):
        nn.LazyLinear()


def test_names_of_modules_and_buffers():
    net = nn.ModuleDict({"norm": nn.BatchNorm1d(3), "tail": model()})
    net.rest = [nn.ReLU(), {"inner": nn.Tanh()}]
    assert net.get_buffer("norm.running_mean") is net["norm"].running_mean
    with pytest.raises(AttributeError, match=r"\[get_buffer\] ModuleDict has no buffer 'norm.x'"):
        net.get_buffer("norm.x")
    for name in ("norm", "tail.1", "rest.0", "rest.1.inner"):
        new = nn.Softplus()
        net.set_submodule(name, new)
        assert net.get_submodule(name) is new
    with pytest.raises(AttributeError, match="no module 'tail.7'"):
        net.set_submodule("tail.7", nn.ReLU())
    with pytest.raises(ValueError, match="'' is no module inside"):
        net.set_submodule("", nn.ReLU())
    with pytest.raises(TypeError, match="needs a module, got int"):
        net.set_submodule("norm", 3)


def test_containers_change():
    net = model()
    last = net.pop(2)
    assert net.extend([nn.ReLU(), last]).insert(0, nn.Identity()) is net
    assert [type(m).__name__ for m in net] == ["Identity", "Linear", "Tanh", "ReLU", "Linear"]
    named = nn.Sequential({"a": nn.ReLU(), "b": nn.Tanh()})
    assert type(named.pop(0)) is nn.ReLU and type(named.pop("b")) is nn.Tanh and not len(named)
    with pytest.raises(TypeError, match="layers with names have no numbers"):
        named.insert(0, nn.ReLU())
    layers = nn.ModuleList([nn.ReLU(), last])
    assert layers.pop() is last and len(layers.parameters()) == 0
    table = nn.ModuleDict({"a": last})
    assert table.get("a") is last and table.get("b") is None
    table.clear()
    assert not len(table) and table.parameters() == []


def test_fold_is_the_gradient_of_unfold():
    x = fz.random.normal((2, 3, 6, 5), dtype="float64")
    how = {"dilation": 2, "padding": 2, "stride": (1, 2)}
    columns = F.unfold(x, 3, **how)
    other = fz.random.normal(columns.shape, dtype="float64")
    got = fz.grad(lambda x: (F.unfold(x, 3, **how) * other).sum())(x)
    assert fz.allclose(got, F.fold(other, (6, 5), 3, **how), rtol=1e-13)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: F.unfold(fz.ones((2, 2)), 2), "needs 3 or 4 axes"),
        (lambda: F.unfold(fz.ones((1, 2, 2)), 3), "a window of 3 elements does not fit 2"),
        (lambda: F.fold(fz.ones((1, 5, 4)), 3, 2), r"a multiple of 4 rows and 4 columns \(2 x 2"),
        (lambda: F.fold(fz.ones((1, 4, 1)), 1, 2), "windows"),
        (
            lambda: F.grid_sample(fz.ones((1, 1, 2, 2)), fz.ones((2, 1, 1, 2))),
            r"got \(1, 1, 2, 2\)",
        ),
        (
            lambda: F.grid_sample(fz.ones((1, 1, 2, 2, 2)), fz.ones((1, 1, 1, 1, 3)), "bicubic"),
            "is for images, got a volume",
        ),
        (lambda: F.affine_grid(fz.ones((1, 2, 2)), (1, 1, 2, 2)), "needs theta of"),
        (lambda: F.pdist(fz.ones(3)), "needs two axes"),
        (lambda: F.pdist(fz.ones((3, 2)), -1.0), "p must be at least 0, got -1.0"),
    ],
)
def test_wrong_extents(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_layers_of_a_sequential_are_replaced_removed_and_joined():
    for make in (lambda *n: n, lambda *n: ({f"n{i}": layer for i, layer in enumerate(n)},)):
        model = nn.Sequential(*make(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4)))
        traced = fz.trace(model)
        for _ in range(12):
            assert traced(fz.ones((1, 2))).shape == (1, 4)
        model[-1] = nn.Linear(3, 5)
        assert traced(fz.ones((1, 2))).shape == (1, 5)
        del model[1]
        assert [type(layer) for layer in model] == [nn.Linear, nn.Linear]
        del model[:1]
        assert len(model) == 1 and model[0].weight.shape == (5, 3)
        with pytest.raises(TypeError, match=r"\[nn.Sequential\] a layer must be callable, got int"):
            model[0] = 3
        both = model + nn.Sequential(nn.Tanh())
        assert [type(layer) for layer in both] == [nn.Linear, nn.Tanh] and both[0] is model[0]
        with pytest.raises(IndexError):
            model[4] = nn.ReLU()
