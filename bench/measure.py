"""Timing in interleaved rounds, and the ratios that come of it.

A round times every variant of a case once, in an order that changes from round to round, so that
what else the machine does hits all of them alike. A ratio is taken within a round; the median and
quartiles over the rounds are reported.
"""

import statistics
import time
import timeit


def quartiles(numbers):
    """(first quartile, median, third quartile)."""
    if len(numbers) == 1:
        return (numbers[0],) * 3
    return tuple(statistics.quantiles(numbers, n=4, method="inclusive"))


class Sampler:
    """Times one variant: calling it gives seconds per run, over as many runs as take `seconds`.

    `what` is a callable, or a pair of a statement and its names. With `setup`, each run has one
    before it, and they are timed one by one. `clock` is time.thread_time where one thread does all
    the work: others' work on the machine disturbs it less.
    """

    def __init__(self, what, seconds, clock=time.perf_counter, setup=None, warm=1):
        statement, names = what if isinstance(what, tuple) else ("f()", {"f": what})
        self._setup = setup
        self._timer = timeit.Timer(statement, setup or "pass", timer=clock, globals=names)
        self._timer.timeit(warm)  # records, compiles, fills caches
        self.number = 1 if setup else self._calibrate(seconds)

    def _calibrate(self, seconds):
        number = 1
        while (taken := self._timer.timeit(number)) < seconds / 4:
            number *= 2
        return max(1, round(number * seconds / max(taken, 1e-9)))

    def warm(self):
        """Fills the caches again, after another process has had the machine."""
        if self.number > 1:
            self._timer.timeit(min(8, self.number))

    def __call__(self):
        return self._timer.timeit(self.number) / self.number


class Rounds:
    """Times of the variants of a case: `times[name]` is a list of seconds per run, one a round."""

    def __init__(self, variants, rounds, seconds, clock=time.perf_counter):
        """`variants`: name -> what a Sampler takes; each takes about `seconds` in a round."""
        samplers = {name: Sampler(what, seconds, clock, warm=2) for name, what in variants.items()}
        self.times = {name: [] for name in samplers}
        order = list(samplers)
        for _ in range(rounds):
            for name in order:
                self.times[name].append(samplers[name]())
            order.append(order.pop(0))

    def ratio(self, slow, fast):
        """How many times faster `fast` is: quartiles over the rounds."""
        return quartiles([a / b for a, b in zip(self.times[slow], self.times[fast], strict=True)])

    def seconds(self, name):
        return quartiles(self.times[name])


def readable(seconds):
    """1.5e-7 -> "150 ns"."""
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)):
        if abs(seconds) * scale >= 1 or unit == "ns":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError
