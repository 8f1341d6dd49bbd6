"""Data made ready: scaling, batches, augmentation, windows, running statistics."""

import functools
import itertools
from collections import OrderedDict, defaultdict, deque

import numpy as np
from world import World, classes, given, in_turn, numbers, plain, program, trace

import frazil as fz

# -- Columns with mean nought and deviation one

EPS = 1e-6


@trace
def normalise(x, axis=0, keep=()):
    scaled = (x - x.mean(axis=axis, keepdims=True)) / (x.std(axis=axis, keepdims=True) + EPS)
    for column in keep:
        scaled[:, column] = x[:, column]
    return scaled


@program
def normalised_columns():
    keep = []

    def change(i):
        global EPS
        EPS, _ = 1 / i, keep.append(i % 3)

    return World(normalise, lambda i: given(numbers(i, 6, 3), keep=tuple(keep)), change)


# -- Running mean and variance, by Welford


class RunningStats:
    def __init__(self, size):
        self.count = 0
        self.mean = fz.zeros(size)
        self.m2 = fz.zeros(size)

    @property
    def variance(self):
        return self.m2 / max(self.count - 1, 1)

    def update(self, x):
        self.count += 1
        delta = x - self.mean
        self.mean = self.mean + delta / self.count
        self.m2 = self.m2 + delta * (x - self.mean)
        return (x - self.mean) / fz.sqrt(self.variance + 1e-5)


@program
def running_statistics():
    stats = RunningStats(3)
    change = in_turn(
        lambda: setattr(stats, "count", 100),
        lambda: RunningStats.__init__(stats, 3),
        lambda: setattr(RunningStats, "variance", 1.0),
    )
    return World(trace(stats.update), lambda i: given(numbers(i, 3)), change)


# -- One-hot with smoothing


@trace
def one_hot(labels, count, smoothing=0.0, *, dtype=fz.float32):
    hit = fz.astype(labels[:, None] == fz.arange(count), dtype)
    return hit * (1 - smoothing) + smoothing / count if smoothing else hit


@program
def one_hot_labels():
    options = {}
    change = in_turn(
        lambda: options.update(smoothing=0.1),
        lambda: options.update(dtype=fz.float64),
        lambda: options.update(smoothing=0),
    )
    return World(one_hot, lambda i: given(classes(i, 5, 4), 4, **options), change)


# -- Batches of a data set, in a shuffled order


class Loader:
    def __init__(self, x, y, size):
        self.x, self.y, self.size = x, y, size
        self.order = list(range(len(x)))
        self.epoch = self.at = 0

    def next(self):
        if self.at + self.size > len(self.order):
            self.at = 0
            self.epoch += 1
            self.order = self.order[1:] + self.order[:1]
        picked = self.order[self.at : self.at + self.size]
        self.at += self.size
        index = fz.asarray(picked)
        return fz.take(self.x, index, axis=0), fz.take(self.y, index, axis=0), self.epoch


@program
def batches_in_order():
    loader = Loader(numbers(1, 10, 2), fz.arange(10), 4)
    change = in_turn(
        lambda: setattr(loader, "size", 3),
        lambda: loader.order.reverse(),
        lambda: setattr(loader, "at", 0),
    )
    return World(trace(loader.next), lambda i: given(), change)


# -- Images flipped, moved and made noisy


class Flip:
    def __call__(self, image):
        return fz.where(fz.random.uniform(()) < 0.5, fz.flip(image, axis=1), image)


class Noise:
    def __init__(self, level):
        self.level = level

    def __call__(self, image):
        return image + self.level * fz.random.normal(image.shape)


class Compose:
    def __init__(self, *steps):
        self.steps = list(steps)

    def __call__(self, image):
        return functools.reduce(lambda x, step: step(x), self.steps, image)


@program
def augmented_images():
    noise = Noise(0.1)
    pipeline = Compose(Flip(), lambda x: fz.roll(x, 1, axis=0), noise)
    change = in_turn(
        lambda: setattr(noise, "level", noise.level * 3),
        lambda: pipeline.steps.reverse(),
        lambda: pipeline.steps.pop(1),
        lambda: pipeline.steps.append(fz.abs),
    )
    return World(trace(pipeline), lambda i: given(numbers(i, 4, 3)), change)


# -- Means over a moving window


@trace
def moving_average(x, width):
    total = fz.cumulative_sum(x, include_initial=True)
    return (total[width:] - total[:-width]) / width


@program
def moving_averages():
    widths = {"now": 3}

    def call(i):
        return given(numbers(i, 12), widths["now"])

    return World(moving_average, call, lambda i: widths.update(now=i % 5 + 1))


# -- A window kept between calls


recent = deque(maxlen=4)


@trace
def smoothed(x):
    recent.append(x)
    weights = [1 / (k + 1) for k in range(len(recent))]
    return sum(w * v for w, v in zip(weights, reversed(recent), strict=True)) / sum(weights)


@program
def window_of_recent_values():
    change = in_turn(recent.clear, lambda: recent.append(fz.ones(2)), lambda: recent.rotate(1))
    return World(smoothed, lambda i: given(numbers(i, 2)), change)


# -- Sequences of unequal length in one array


@trace
def padded(sequences, value=0.0):
    longest = max(len(s) for s in sequences)
    rows = [fz.pad(s, (0, longest - len(s)), constant_values=value) for s in sequences]
    mask = [[j < len(s) for j in range(longest)] for s in sequences]
    batch, mask = fz.stack(rows), fz.asarray(mask)
    return batch, mask, fz.sum(batch * mask, axis=1) / fz.sum(mask, axis=1)


@program
def padded_sequences():
    lengths = [2, 4, 3]

    def call(i):
        return given([numbers(i + n, n) for n in lengths])

    def longer():
        lengths[0] += 1

    def fill(value):
        plain(padded).__defaults__ = (value,)

    change = in_turn(longer, lambda: fill(-1.0), lambda: lengths.append(1), lambda: fill(0))
    return World(padded, call, change)


# -- A scaler that is fitted once


class MinMax:
    fitted = False

    def __init__(self, low=0.0, high=1.0):
        self.low, self.high = low, high

    def fit(self, x):
        self.least, self.most = fz.min(x, axis=0), fz.max(x, axis=0)
        self.fitted = True
        return self

    def transform(self, x):
        if not self.fitted:
            raise RuntimeError("MinMax: fit first")
        share = (x - self.least) / (self.most - self.least)
        return self.low + share * (self.high - self.low)

    def __call__(self, x):
        if isinstance(x, dict):
            return {key: self(value) for key, value in x.items()}
        if isinstance(x, (list, tuple)):
            return type(x)(self(v) for v in x)
        return self.transform(x)


@program
def fitted_scaler():
    scaler = MinMax().fit(numbers(1, 8, 2))
    change = in_turn(
        lambda: setattr(scaler, "high", 10.0),
        lambda: vars(scaler).pop("fitted"),
        lambda: scaler.fit(numbers(2, 8, 2)),
        lambda: setattr(scaler, "low", -1),
    )

    def call(i):
        return given({"train": numbers(i, 3, 2), "rest": [numbers(i + 1, 2), numbers(i, 1, 2)]})

    return World(trace(scaler), call, change)


# -- Columns by name, joined in order


COLUMNS = ["age", "height", "weight"]
scales = defaultdict(lambda: 1.0, age=0.01)


@trace
def features(table):
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise KeyError(f"no columns {', '.join(missing)}")
    parts = [table[name] * scales[name] for name in COLUMNS]
    return fz.stack(parts, axis=1), len(parts)


@program
def columns_by_name():
    def call(i):
        return given(
            {name: numbers(i + k, 4) for k, name in enumerate("weight height age".split())}
        )

    change = in_turn(
        lambda: COLUMNS.reverse(),
        lambda: scales.update(height=2.0),
        lambda: COLUMNS.append("income"),
        lambda: COLUMNS.remove("income"),
        lambda: scales.clear(),
    )
    return World(features, call, change)


# -- Outliers brought in, with a configuration


CONFIG = {"clip": {"low": -1.0, "high": 1.0}, "fill": 0.0, "scale": None}


@trace
def cleaned(x):
    x = fz.where(fz.isnan(x), CONFIG["fill"], x)
    bounds = CONFIG.get("clip") or {}
    x = fz.clip(x, bounds.get("low"), bounds.get("high"))
    if (scale := CONFIG["scale"]) is not None:
        x = x * scale
    return x


@program
def cleaned_by_configuration():
    def call(i):
        x = numbers(i, 6)
        x[i % 6] = float("nan")
        return given(x)

    change = in_turn(
        lambda: CONFIG["clip"].update(high=0.5),
        lambda: CONFIG.update(scale=2),
        lambda: CONFIG.update(clip=dict(low=-0.1, high=None)),
        lambda: CONFIG.update(fill=9.0, clip={"low": None, "high": 5}),
    )
    return World(cleaned, call, change)


# -- Smoothing with a memory of names


memory = OrderedDict()


@trace
def smooth_by_name(name, value, rate=0.3):
    if name in memory:
        memory[name] = (1 - rate) * memory[name] + rate * value
    else:
        memory[name] = value
    memory.move_to_end(name)
    while len(memory) > 2:
        memory.popitem(last=False)
    return memory[name], list(memory)


@program
def smoothing_by_name():
    names = itertools.cycle("aab")
    change = in_turn(memory.clear, lambda: memory.update(b=fz.ones(2)), lambda: memory.pop("a", 0))
    return World(smooth_by_name, lambda i: given(next(names), numbers(i, 2)), change)


# -- A table of NumPy's in a global


weights = np.array([0.2, 0.3, 0.5], np.float32)


@trace
def weighted(x):
    return fz.sum(x * fz.asarray(weights), axis=-1), float(weights.sum())


@program
def weights_in_numpy():
    def change(i):
        global weights
        if i % 2:
            weights = weights * 2
        else:
            weights[i % 3] += 1

    return World(weighted, lambda i: given(numbers(i, 4, 3)), change)
