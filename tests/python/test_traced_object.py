"""What a traced callable is beside its calls: its function's attributes, copies, pickles, names."""

import abc
import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import frazil as fz
from frazil import nn, optim


def untraced(fn):
    return fn


def zero(module):
    with fz.no_grad():
        for p in module.parameters():
            p[...] = 0


class Holder(nn.Module):
    """Keeps its own method, as wrapped, in an attribute."""

    def __init__(self, wrap):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.fast = wrap(self._slow)

    def _slow(self, x):
        return self.linear(x)

    def forward(self, x):
        return self.fast(x)


class Part:
    def __init__(self, wrap):
        self.k = 2
        self.scaled = wrap(functools.partial(self._scaled, by=3))

    def _scaled(self, x, by):
        return x * self.k * by


class Model(nn.Module):
    def __init__(self, wrap):
        super().__init__()
        self.inner = wrap(nn.Linear(2, 2))
        self.more = [wrap(nn.Linear(2, 2))]

    def forward(self, x):
        return self.more[0](self.inner(x))


@fz.trace
def doubled(x):
    return x * 2


WAYS = {"deepcopy": copy.deepcopy, "pickle": lambda v: pickle.loads(pickle.dumps(v))}


@pytest.mark.parametrize("way", WAYS)
def test_copies_work_on_themselves(way):
    x = fz.ones((1, 2))
    for wrap in (untraced, fz.trace):
        model = Holder(wrap)
        model(x)
        twin = WAYS[way](model)
        assert twin(x).tolist() == model(x).tolist()
        zero(twin)
        assert twin(x).tolist() == [[0, 0]] != model(x).tolist()
        model.forward = wrap(model.forward)
        twin = WAYS[way](model)
        zero(twin)
        assert twin(x).tolist() == [[0, 0]] != model(x).tolist()
        part = Part(wrap)
        twin = WAYS[way](part)
        twin.k = 5
        assert [part.scaled(x).tolist(), twin.scaled(x).tolist()] == [[[6, 6]], [[15, 15]]]


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_what_is_traced(way):
    x = fz.ones((1, 2))
    module = nn.Linear(2, 2)
    fast = fz.trace(module, check_every=7)
    twin = WAYS[way](fast)
    assert type(twin) is type(fast) and twin(x).tolist() == module(x).tolist()
    zero(twin)
    assert twin(x).tolist() == [[0, 0]] != fast(x).tolist()
    assert WAYS[way](doubled) is doubled
    assert fz.trace(module, pure=True).pure and WAYS[way](fz.trace(module, pure=True)).pure


def test_a_shallow_copy_shares_what_it_wraps():
    module = nn.Linear(2, 2)
    twin = copy.copy(fz.trace(module))
    assert twin.__wrapped__ is module and copy.copy(doubled) is doubled


def test_averaged_weights_are_the_averages():
    x = fz.ones((1, 2))
    for wrap in (untraced, fz.trace):
        model = Holder(wrap)
        averaged = optim.swa_utils.AveragedModel(model)
        averaged.update_parameters(model)
        before = model(x).tolist()
        zero(model)
        assert averaged(x).tolist() == before


def test_modules_find_traced_modules():
    fz.random.seed(3)
    plain = Model(untraced)
    fz.random.seed(3)
    model = Model(fz.trace)
    names = ["inner.weight", "inner.bias", "more.0.weight", "more.0.bias"]
    assert [name for name, _ in model.named_parameters()] == names == list(model.state_dict())
    assert [n for n, _ in model.named_modules()] == [n for n, _ in plain.named_modules()]
    assert repr(model) == repr(plain)
    x = fz.asarray(np.arange(6, dtype="float32").reshape(3, 2))
    optimizers = [optim.SGD(m.parameters(), lr=0.1) for m in (model, plain)]

    def step(m, optimizer):
        optimizer.zero_grad()
        loss = fz.mean(m(x) ** 2)
        loss.backward()
        optimizer.step()
        return loss.item()

    for _ in range(20):
        assert step(model, optimizers[0]) == step(plain, optimizers[1])
    value, grads = fz.value_and_grad(lambda m: fz.sum(m(x)))(model)
    other, expected = fz.value_and_grad(lambda m: fz.sum(m(x)))(plain)
    assert value.item() == other.item()
    leaves, wanted = fz.tree.leaves(grads), fz.tree.leaves(expected)
    assert [g.tolist() for g in leaves] == [g.tolist() for g in wanted] and len(leaves) == 4
    model.to("float64").eval()
    assert model.inner.weight.dtype == fz.float64 and not model.inner.training


def test_a_traced_module_has_the_modules_methods():
    module = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    fast = fz.trace(module)
    assert [p.shape for p in fast.parameters()] == [(3, 2), (3,)]
    assert fast.eval() is module and not module.training
    fast.training = True
    assert module.training
    assert list(fast.state_dict()) == list(module.state_dict())
    assert "Sequential" in fast.explain() or fast.explain() is not None
    with pytest.raises(AttributeError, match="no_such"):
        fast.no_such  # noqa: B018


def test_attributes_of_functions():
    def f(x, y=1):
        return x * y

    f.calls = 5
    traced = fz.trace(f)
    for name in ("__defaults__", "__code__", "__globals__", "__closure__", "__kwdefaults__"):
        assert getattr(traced, name) is getattr(f, name)
    assert inspect.getfullargspec(traced).args == ["x", "y"]
    traced.__defaults__ = (5,)
    for _ in range(12):
        assert traced(fz.ones(1)).item() == f(fz.ones(1)).item() == 5
    assert traced.calls == 5
    traced.calls += 1
    assert f.calls == 6
    del traced.calls
    assert not hasattr(f, "calls") and not hasattr(traced, "calls")
    assert traced.__name__ == "f" and traced.__doc__ is None

    @fz.trace
    @functools.lru_cache
    def cached(n):
        return fz.ones(n)

    assert cached(2) is cached(2)
    assert cached.cache_info().hits >= 1
    cached.cache_clear()
    assert cached.cache_info().hits == 0


def test_a_body_that_writes_to_its_functions_attributes():
    def counted(wrap):
        @wrap
        def h(x):
            h.calls = getattr(h, "calls", 5) + 1
            h.last = x
            return x * h.calls

        return h

    results = []
    for wrap in (untraced, fz.trace):
        h = counted(wrap)
        results.append(([h(fz.ones(1) * i).item() for i in range(40)], h.calls, h.last.item()))
    assert results[0] == results[1]


def test_methods_that_python_tells_by_name():
    def classes(wrap):
        class Abstract(abc.ABC):
            @wrap
            @abc.abstractmethod
            def f(self): ...

        class Base:
            @wrap
            def __new__(cls, x):
                self = object.__new__(cls)
                self.x = x * 2
                return self

            @wrap
            def __init_subclass__(cls, **options):
                cls.options = options

            @wrap
            def __class_getitem__(cls, item):
                return cls, item

        class Derived(Base, k=3):
            pass

        return Abstract, Base, Derived

    for wrap in (untraced, fz.trace):
        abstract, base, derived = classes(wrap)
        with pytest.raises(TypeError, match="abstract"):
            abstract()
        assert derived.options == {"k": 3} and derived[4] == (derived, 4)
        assert [base(i).x for i in range(15)] == [2 * i for i in range(15)]


def test_classes_are_refused():
    with pytest.raises(TypeError, match=r"\[trace\] .*Plain is a class.*its methods"):

        @fz.trace
        class Plain:
            pass
