"""Nests: every container is the same to fz.tree, gradients, modules, optimizers, files and promises."""

import collections
import dataclasses
import gc
import sys
import weakref
from typing import Any, NamedTuple

import pytest

import frazil as fz
from frazil import nn, optim


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclasses.dataclass
class Data:
    w: Any
    name: str = "data"


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    w: Any


class Line:
    def __init__(self, a, colour):
        self.a, self.colour = a, colour


class Items(list):
    pass


class Ordered(collections.OrderedDict):
    pass


fz.register_pytree_node(Line, lambda x: ((x.a,), x.colour), lambda colour, a: Line(a[0], colour))


def later(dictionary):
    dictionary["w"] = dictionary.pop("w")
    return dictionary


# A container of one leaf, w, and the path of w in it.
HOLDERS = {
    "dict": (lambda w: {"w": w, "none": None}, "['w']"),
    "list": (lambda w: [None, w], "[1]"),
    "tuple": (lambda w: (w,), "[0]"),
    "named tuple": (lambda w: Pair(None, w), ".b"),
    "dataclass": (lambda w: Data(w, None), ".w"),
    "frozen dataclass with slots": (lambda w: Frozen(w), ".w"),
    "registered": (lambda w: Line(w, "red"), "[0]"),
    "subclass of list": (lambda w: Items([w]), "[0]"),
    "OrderedDict": (lambda w: later(collections.OrderedDict(w=w, b=None)), "['w']"),
    "subclass of OrderedDict": (lambda w: Ordered(w=w), "['w']"),
    "defaultdict": (lambda w: collections.defaultdict(list, w=w), "['w']"),
    "nest": (lambda w: {"x": [Pair(Data((w,), None), {})]}, "['x'][0].a.w[0]"),
}
holder = pytest.mark.parametrize(("make", "path"), HOLDERS.values(), ids=HOLDERS.keys())


def weight():
    return fz.asarray([1.0, 2.0], requires_grad=True)


def only(tree):
    (leaf,) = fz.tree.leaves(tree)
    return leaf


# -- The table: each holder, each user


@holder
def test_tree(make, path):
    tree = make(3)
    leaves, how = fz.tree.flatten(tree)
    assert leaves == [3] and how.paths() == [path]
    again = fz.tree.map(lambda x: x + 1, tree)
    assert type(again) is type(tree) and only(again) == 4
    assert fz.tree.structure(again) == how and hash(fz.tree.structure(again)) == hash(how)
    assert how != fz.tree.structure([[3]]) and fz.tree.leaves([tree, 5]) == [3, 5]


@holder
def test_gradients(make, path):
    g = fz.grad(lambda tree: fz.sum(only(tree) ** 2))(make(fz.asarray([1.0, 2.0])))
    assert type(g) is type(make(0)) and only(g).tolist() == [2.0, 4.0]
    with pytest.raises(TypeError, match="floating-point") as error:
        fz.grad(lambda params: fz.sum(only(params)))(make(fz.arange(2)))
    assert f"params{path}" in str(error.value)


@holder
def test_modules(make, path):
    module = nn.Module()
    module.held = make(weight())
    ((name, parameter),) = module.named_parameters()
    assert parameter is only(module.held) and isinstance(parameter, nn.Parameter)
    assert name == "held" + path.replace("['", ".").replace("']", "").replace("[", ".").replace(
        "]", ""
    )
    module.load_state_dict({name: fz.asarray([5.0, 6.0])})
    assert only(module.held).tolist() == [5.0, 6.0]
    inside = nn.Module()
    inside.held = make(nn.Linear(2, 2))
    assert len(inside.parameters()) == 2 and "Linear(2, 2)" in repr(inside)


@holder
def test_optimizers(make, path):
    w = weight()
    optimizer = optim.SGD(make(w), lr=0.5)
    fz.sum(w).backward()
    optimizer.step()
    assert w.tolist() == [0.5, 1.5]


@holder
def test_files(make, path, tmp_path):
    fz.save(tmp_path / "x", make(fz.asarray([1.0, 2.0])))
    again = fz.load(tmp_path / "x")
    assert type(again) is type(make(0)) and only(again).tolist() == [1.0, 2.0]
    assert fz.tree.structure(again) == fz.tree.structure(make(0))


@holder
def test_promises(make, path):
    runs = []

    @fz.trace(pure=True)
    def double(tree):
        runs.append(1)
        return only(tree) * 2

    for i in range(6):
        assert double(make(fz.asarray([float(i)]))).tolist() == [2.0 * i]
    assert len(runs) < 6


@pytest.mark.parametrize("name", ["dict", "list", "tuple", "named tuple", "dataclass", "nest"])
def test_results_of_promises(name):
    check_results(HOLDERS[name][0])


def test_a_registered_result_of_a_promise():
    check_results(HOLDERS["registered"][0])


def check_results(make):
    runs = []

    @fz.trace(pure=True)
    def double(x):
        runs.append(1)
        return make(x * 2)

    for i in range(6):
        result = double(fz.asarray([float(i)]))
        assert type(result) is type(make(0)) and only(result).tolist() == [2.0 * i]
        assert fz.tree.structure(result) == fz.tree.structure(make(0))
    assert len(runs) < 6


def test_a_promise_compares_all_that_a_registered_object_holds():
    @fz.trace(pure=True)
    def times(line):
        return line.a * (2 if line.colour == "red" else 3)

    for _ in range(4):
        assert times(Line(fz.ones(1), "red")).item() == 2
        assert times(Line(fz.ones(1), "blue")).item() == 3


# -- Structures


def test_what_is_no_child_stays():
    data = Data(1)
    data.more = [5]
    items = Items([1])
    items.tag = "t"
    factory = collections.defaultdict(list, a=1)
    for tree in (data, items):
        assert vars(fz.tree.map(str, tree)) == vars(tree) | ({"w": "1"} if tree is data else {})
    assert fz.tree.map(str, factory).default_factory is list
    other = Data(1)
    assert fz.tree.structure(other) != fz.tree.structure(data)


def test_order_of_keys():
    a, b = {"x": 1, "y": 2}, {"y": 2, "x": 1}
    assert fz.tree.leaves(a) == [1, 2] and fz.tree.leaves(b) == [2, 1]
    assert fz.tree.structure(a) != fz.tree.structure(b)
    assert fz.tree.map(lambda p, q: (p, q), a, b) == {"x": (1, 1), "y": (2, 2)}


def test_repr():
    tree = {"p": Pair(1, [None]), "e": (), "o": (2,), "l": Line(3, "red"), "i": Items([4])}
    assert repr(fz.tree.structure(tree)) == (
        "Structure({'p': Pair(a=*, b=[None]), 'e': (), 'o': (*,), 'l': Line('red': *), "
        "'i': Items([*])})"
    )


def test_none_and_is_leaf():
    assert fz.tree.leaves(None) == [] and fz.tree.unflatten(fz.tree.structure(None), []) is None
    assert fz.tree.leaves([None, (1, 2)], is_leaf=lambda x: isinstance(x, tuple)) == [(1, 2)]
    assert fz.tree.leaves([None, 1], is_leaf=lambda x: x is None) == [None, 1]


def test_shared_and_circular():
    shared = [1]
    assert fz.tree.leaves([shared, shared]) == [1, 1]
    circle = {"a": []}
    circle["a"].append(circle)
    for use in (fz.tree.leaves, fz.grad(lambda x: x), lambda x: fz.save("unused", x)):
        with pytest.raises(ValueError, match=r"tree\['a'\]\[0\] is the dict that holds it"):
            use(circle)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        fz.tree.leaves(deep)


def test_structures_are_collected():
    line = Line(1, None)
    line.colour = line
    how = fz.tree.structure(line)
    gone = weakref.ref(line)
    line.how = how
    del line, how
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"a": [1]}, {"a": (1,)}, r"tree\['a'\] is a list in the first tree, a tuple in another"),
        ({"a": [1]}, {"a": [1, 2]}, r"tree\['a'\] has length 1 in the first tree, 2 in another"),
        ({"a": 1}, {"b": 1}, r"tree has \['a'\] in the first tree alone"),
        (Pair(1, None), Pair(1, 2), r"tree.b is a None in the first tree, a int in another"),
        (Line(1, "red"), Line(1, "blue"), "tree is a Line with other data"),
        (Data([1]), Data(1), r"tree.w is a list in the first tree, a int in another"),
    ],
)
def test_trees_that_differ(a, b, said):
    with pytest.raises(ValueError, match=said):
        fz.tree.map(lambda x, y: x, a, b)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="has 1 leaves, got 2"):
        fz.tree.unflatten(fz.tree.structure(1), [1, 2])
    with pytest.raises(TypeError, match="needs a Structure, got list"):
        fz.tree.unflatten([], [1])
    with pytest.raises(TypeError, match="is_leaf must be a function"):
        fz.tree.flatten(1, is_leaf=3)
    with pytest.raises(TypeError, match="needs a class, got int: give type"):
        fz.register_pytree_node(3, print, print)
    with pytest.raises(TypeError, match="unflatten must be a function, got int"):
        fz.register_pytree_node(Any.__class__, print, 3)
    for cls in (list, int, fz.Tensor, nn.Linear):
        with pytest.raises(ValueError, match="has a kind of its own"):
            fz.register_pytree_node(cls, print, print)
    with pytest.raises(ValueError, match="Line is registered already"):
        fz.register_pytree_node(Line, print, print)

    class Wrong:
        pass

    assert fz.tree.leaves([x := Wrong()]) == [x]
    fz.register_pytree_node(Wrong, lambda x: 1, lambda d, c: None)
    with pytest.raises(TypeError, match=r"must return a tuple \(children, data\), got int"):
        fz.tree.leaves([Wrong()])


# -- Modules


def model():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


def test_gradient_of_a_module():
    net, x = model(), fz.ones((4, 2))
    net[0].bias.requires_grad_(False)
    net.register_buffer("count", fz.arange(3))
    value, g = fz.value_and_grad(lambda net, x: fz.sum(net(x)))(net, x)
    fz.sum(net(x)).backward()
    found = dict(g.named_parameters())
    assert found.keys() == {"layers.0.weight", "layers.2.weight", "layers.2.bias"}
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


# -- Files


def test_files_keep_what_objects_have_besides(tmp_path):
    data = Data(fz.ones(1))
    data.more = (1, "x")
    line = Line(fz.zeros(1), ("red", 2))
    fz.save(tmp_path / "x", [data, line])
    data, line = fz.load(tmp_path / "x")
    assert data.more == (1, "x") and line.colour == ("red", 2) and line.a.tolist() == [0.0]


def test_files_of_classes_that_changed(tmp_path, monkeypatch):
    here = sys.modules[__name__]
    fz.save(tmp_path / "x", Data(1))
    monkeypatch.delattr(here, "Data")
    with pytest.raises(ValueError, match="class Data of .*, which cannot be imported"):
        fz.load(tmp_path / "x")
    other = dataclasses.make_dataclass("Data", ["w", "size"])
    monkeypatch.setattr(here, "Data", other, raising=False)
    with pytest.raises(ValueError, match=r"has \['w', 'size'\] and had \['w', 'name'\]"):
        fz.load(tmp_path / "x")
    monkeypatch.setattr(here, "Data", int)
    with pytest.raises(ValueError, match="is another kind of class"):
        fz.load(tmp_path / "x")


def test_what_is_not_saved(tmp_path):
    local = dataclasses.make_dataclass("Local", ["x"])
    for tree, error, said in [
        ({"a": local(1)}, ValueError, "Local at 'a' cannot be imported"),
        ({"a": [object()]}, TypeError, "cannot save object at 'a.0'"),
        ({"a": model()}, TypeError, r"'a' is a module \(Sequential\): save its state_dict"),
        (model(), TypeError, "the nest is a module"),
        ({"a": {1: 2}}, TypeError, r"keys must be strings, got \[1\] at 'a'"),
        (collections.defaultdict(lambda: 0, a=1), TypeError, "'rest.default_factory'"),
    ]:
        with pytest.raises(error, match=said):
            fz.save(tmp_path / "x", tree)
