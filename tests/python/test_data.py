"""fz.data without a loader: datasets, splits, samplers, collating."""

import collections
import dataclasses
import itertools

import numpy as np
import pytest

import frazil as fz
from frazil.data import (
    BatchSampler,
    ConcatDataset,
    Dataset,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)


def test_datasets():
    x, y = fz.arange(6).reshape(3, 2), fz.asarray([5, 6, 7])
    data = TensorDataset(x, y)
    assert len(data) == 3 and [t.tolist() for t in data[-1]] == [[4, 5], 7]
    assert [t.tolist() for t in data.batch([2, 0])] == [[[4, 5], [0, 1]], [7, 5]]
    both = data + Subset(data, fz.asarray([2, 0]))
    assert isinstance(both, ConcatDataset) and len(both) == 5
    assert [int(both[i][1]) for i in range(-5, 5)] == [5, 6, 7, 7, 5] * 2
    assert ConcatDataset(["", "ab", "", "c"])[2] == "c"
    for index in (5, -6):
        with pytest.raises(IndexError, match=f"index {index} is out of range for 5 examples"):
            both[index]


def test_wrong_datasets():
    for make, error, message in (
        (TensorDataset, ValueError, "there are no tensors"),
        (lambda: TensorDataset([1, 2], [3]), ValueError, r"lengths differ: shapes are \[.*2.*1"),
        (lambda: TensorDataset(1.0), ValueError, "lengths differ"),
        (lambda: ConcatDataset([]), ValueError, "there are no datasets"),
        (lambda: ConcatDataset([iter("a")]), TypeError, "has no length"),
        (lambda: random_split("abc", [1, 1]), ValueError, "add up to 2, the dataset has 3"),
        (lambda: random_split("abc", [0.5, 0.4]), ValueError, "must add up to 1, got 0.9"),
        (lambda: random_split("abc", [-1, 4]), ValueError, "-1 is no length"),
        (lambda: Dataset()[0], NotImplementedError, "Dataset defines no __getitem__"),
        (lambda: iter(IterableDataset()), NotImplementedError, "defines no __iter__"),
        (lambda: iter(Sampler()), NotImplementedError, "defines no __iter__"),
    ):
        with pytest.raises(error, match=message):
            make()


def test_random_split():
    for lengths, sizes in (([6, 4], [6, 4]), ([0.5, 0.5], [5, 5]), ([0.33, 0.33, 0.34], [4, 3, 3])):
        parts = random_split(range(10), lengths)
        assert [len(p) for p in parts] == sizes
        assert sorted(itertools.chain(*parts)) == list(range(10))
    one, other = (random_split(range(99), [0.9, 0.1], fz.random.Generator(3)) for _ in "ab")
    assert [*one[0]] == [*other[0]] != sorted(one[0])


def test_orders_depend_on_the_seed_and_the_epoch():
    makes = {
        "random": lambda seed: RandomSampler(range(50), seed=seed),
        "replacement": lambda seed: RandomSampler(range(50), True, seed=seed),
        "more": lambda seed: RandomSampler(range(50), num_samples=120, seed=seed),
        "subset": lambda seed: SubsetRandomSampler(range(100, 150), seed=seed),
        "weighted": lambda seed: WeightedRandomSampler(range(1, 51), 60, seed=seed),
        "once": lambda seed: WeightedRandomSampler(range(1, 51), 40, False, seed=seed),
        "batches": lambda seed: BatchSampler(RandomSampler(range(50), seed=seed), 7),
    }
    for make in makes.values():
        sampler, same, other = make(1), make(1), make(2)
        first, second = list(sampler), list(sampler)
        assert len(first) == len(sampler) and first != second and list(same) == first
        assert list(other) != first
        same.set_epoch(1)
        assert list(same) == second
        state = sampler.state_dict()
        third = list(sampler)
        other.load_state_dict(state)
        assert list(other) == third
    fz.random.seed(7)
    drawn = list(RandomSampler(range(50)))
    fz.random.seed(7)
    assert list(RandomSampler(range(50))) == drawn != list(RandomSampler(range(50)))


def test_what_samplers_draw():
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler(range(50), seed=0)) == list(range(50))
    more = list(RandomSampler(range(5), num_samples=12, seed=0))
    assert sorted(more[:5]) == sorted(more[5:10]) == list(range(5)) and len(more) == 12
    assert list(RandomSampler([], seed=0)) == []
    counts = collections.Counter(WeightedRandomSampler([1, 0, 3], 4000, seed=0))
    assert counts[1] == 0 and abs(counts[2] / counts[0] - 3) < 0.4
    once = [list(WeightedRandomSampler([1, 0, 3], 2, False, seed=s)) for s in range(400)]
    assert all(sorted(x) == [0, 2] for x in once)
    assert abs(sum(x[0] == 2 for x in once) / 400 - 0.75) < 0.08
    assert list(BatchSampler("abcde", 2)) == [["a", "b"], ["c", "d"], ["e"]]
    short = BatchSampler("abcde", 2, drop_last=True)
    assert list(short) == [["a", "b"], ["c", "d"]] and len(short) == 2


def test_wrong_samplers():
    for make, message in (
        (lambda: RandomSampler("ab", num_samples=-1), r"num_samples must be at least 0, got -1"),
        (lambda: list(RandomSampler([], num_samples=2)), "2 indices of an empty dataset"),
        (lambda: WeightedRandomSampler([1.0, -1.0], 1), "must be finite and at least 0"),
        (lambda: WeightedRandomSampler([float("nan")], 1), "must be finite and at least 0"),
        (lambda: WeightedRandomSampler([[1.0]], 1), "of one axis"),
        (lambda: WeightedRandomSampler([0.0], 1), "num_samples is 1, and 0 weights are above 0"),
        (lambda: WeightedRandomSampler([1, 0, 1], 3, False), "is 3, and 2 weights are above 0"),
        (lambda: BatchSampler("ab", 0), r"batch_size must be at least 1, got 0"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match=r"\[RandomSampler\] seed must be an integer, got float"):
        RandomSampler("ab", seed=0.5)


@dataclasses.dataclass
class Example:
    image: object
    label: int


Point = collections.namedtuple("Point", "x y")


def test_collate_keeps_the_form():
    made = default_collate([{"a": (fz.ones(2), [1, True]), "b": Point(0.5, "s")} for _ in range(3)])
    assert made["a"][0].shape == (3, 2) and isinstance(made["a"], tuple)
    assert made["a"][1][0].dtype == fz.int64 and made["a"][1][1].dtype == fz.bool
    assert isinstance(made["a"][1], list) and made["b"].y == ["s"] * 3
    assert type(made["b"]) is Point and made["b"].x.tolist() == [0.5] * 3
    assert made["b"].x.dtype == fz.float32
    made = default_collate([Example(np.eye(2, dtype="uint8"), i) for i in range(2)])
    assert type(made) is Example and made.image.shape == (2, 2, 2) and made.label.tolist() == [0, 1]
    assert made.image.dtype == fz.uint8
    made = default_collate([collections.defaultdict(int, a=np.float64(1))] * 2)
    assert made["nothing"] == 0 and made["a"].dtype == fz.float64
    made = default_collate([collections.OrderedDict(b=b"x", a=2j)])
    assert list(made) == ["b", "a"] and made["b"] == [b"x"] and made["a"].tolist() == [2j]


@pytest.mark.parametrize("dtype", ["?", "u1", "i8", "f2", "f4", ">f4", "c8"])
def test_arrays_are_collated_as_their_tensors_are(dtype):
    arrays = [
        np.arange(12).reshape(3, 4)[:, ::-1].astype(dtype) + np.dtype(dtype).type(i) for i in (0, 1)
    ]
    for examples in (arrays, [a[1:2, ::2] for a in arrays], [a[0, 0, ...] for a in arrays]):
        got, expected = default_collate(examples), fz.stack([fz.asarray(a) for a in examples])
        assert got.dtype == expected.dtype and got.tolist() == expected.tolist()
        examples[0][...] = 0  # a batch is a copy
        assert got.tolist() == expected.tolist()
    mixed = default_collate([np.zeros(2, "u1"), np.ones(2, "f4")])
    assert mixed.dtype == fz.float32 and mixed.tolist() == [[0, 0], [1, 1]]


def test_what_cannot_be_collated():
    for batch, error, message in (
        ([], ValueError, "there are no examples"),
        ([None], TypeError, "a batch of NoneType: give the loader a collate_fn"),
        ([{"a": [object()]}], TypeError, r"a batch of object at 'a.0'"),
        ([fz.ones(2), fz.ones(3)], ValueError, r"differ in shapes: \(2,\) and \(3,\). Give"),
        ([{"a": 1}, {"b": 1}], ValueError, r"differ in keys: \['a'\] and \['b'\]"),
        ([{"a": 1}, 1], ValueError, r"differ in keys: \['a'\] and \[\]"),
        ([{"x": (1, 2)}, {"x": (1,)}], ValueError, r"differ in lengths at 'x': 2 and 1"),
        ([(1, 2), 3], ValueError, "differ in lengths: tuple and int"),
        ([1, "a"], TypeError, "of the examples: "),
    ):
        with pytest.raises(error, match=r"\[default_collate\] .*" + message):
            default_collate(batch)
