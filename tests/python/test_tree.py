"""Every container is the same to fz.tree, gradients, modules, optimizers, files and promises."""

import collections
import dataclasses
import json
import sys
import types

import pytest
from nests import Data, Frozen, Items, Line, Ordered, Pair

import frazil as fz
from frazil import nn, optim


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


# -- Files


def test_files_keep_what_objects_have_besides(tmp_path):
    data = Data(fz.ones(1))
    data.more = (1, "x")
    line = Line(fz.zeros(1), ("red", 2))
    fz.save(tmp_path / "x", [data, line])
    data, line = fz.load(tmp_path / "x")
    assert data.more == (1, "x") and line.colour == ("red", 2) and line.a.tolist() == [0.0]


def test_keys_that_are_integers(tmp_path):
    tree = {"state": {0: {"m": fz.ones(2)}, -3: [1]}, 7: collections.OrderedDict({2: "b", 1: "a"})}
    fz.save(tmp_path / "x", tree)
    got = fz.load(tmp_path / "x")
    assert str(got) == str(tree) and list(got["state"]) == [0, -3]


def test_files_of_classes_that_changed(tmp_path, monkeypatch):
    here = sys.modules[Data.__module__]
    fz.save(tmp_path / "x", Data(1))
    monkeypatch.delattr(here, "Data")
    with pytest.raises(ValueError, match="class Data of .*, which is not there"):
        fz.load(tmp_path / "x")
    other = dataclasses.make_dataclass("Data", ["w", "size"])
    monkeypatch.setattr(here, "Data", other, raising=False)
    with pytest.raises(ValueError, match=r"has \['w', 'size'\] and had \['w', 'name'\]"):
        fz.load(tmp_path / "x")
    monkeypatch.setattr(here, "Data", int)
    with pytest.raises(ValueError, match="is another kind of class"):
        fz.load(tmp_path / "x")


def test_a_file_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "chosen_by_a_file.py").write_text("raise SystemExit('it ran')\nclass A: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    lazy = types.ModuleType("lazy_of_a_file")
    lazy.__getattr__ = lambda name: pytest.fail(f"{name} was asked for")
    monkeypatch.setitem(sys.modules, lazy.__name__, lazy)
    for name, said in [
        (
            "chosen_by_a_file:A",
            "of chosen_by_a_file, which is not imported: import chosen",
        ),
        ("lazy_of_a_file:A", "of lazy_of_a_file, which is not there"),
        (".nests:Data", "which is not imported"),
        ("nests:Data.__init__", "which is none"),
        (5, "damaged structure"),
    ]:
        structure = {"fields": {"w": {"value": 1}, "name": {"value": "x"}}, "class": name}
        metadata = {"structure": json.dumps(structure), "names": "[]"}
        fz.io.save_safetensors(tmp_path / "x", {}, metadata)
        with pytest.raises(ValueError, match=said):
            fz.load(tmp_path / "x")
    assert "chosen_by_a_file" not in sys.modules


def test_what_is_not_saved(tmp_path):
    local = dataclasses.make_dataclass("Local", ["x"])
    for tree, error, said in [
        ({"a": local(1)}, ValueError, "Local at 'a' cannot be imported"),
        ({"a": [object()]}, TypeError, "cannot save object at 'a.0'"),
        ({"a": nn.Linear(2, 2)}, TypeError, r"'a' is a module \(Linear\): save its state_dict"),
        (nn.Linear(2, 2), TypeError, "the nest is a module"),
        ({"a": {1.5: 2}}, TypeError, r"keys must be strings or integers, got \[1.5\] at 'a'"),
        ({True: 2}, TypeError, r"keys must be strings or integers, got \[True\] at ''"),
        (collections.defaultdict(lambda: 0, a=1), TypeError, "'rest.default_factory'"),
    ]:
        with pytest.raises(error, match=said):
            fz.save(tmp_path / "x", tree)
