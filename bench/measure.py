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


class Rounds:
    """Times of the variants of a case: `times[name]` is a list of seconds per run, one a round."""

    def __init__(self, variants, rounds, seconds, clock=time.perf_counter):
        """`variants`: name -> a callable, or a pair of a statement and its names.

        Each is repeated in a round until it takes about `seconds`. `clock` is time.thread_time
        where one thread does all the work: others' work on the machine disturbs it less.
        """
        timers = {name: self._timer(what, clock) for name, what in variants.items()}
        number = {name: self._calibrate(timer, seconds) for name, timer in timers.items()}
        self.times = {name: [] for name in timers}
        order = list(timers)
        for _ in range(rounds):
            for name in order:
                self.times[name].append(timers[name].timeit(number[name]) / number[name])
            order.append(order.pop(0))

    @staticmethod
    def _timer(what, clock):
        statement, names = what if isinstance(what, tuple) else ("f()", {"f": what})
        return timeit.Timer(statement, timer=clock, globals=names)

    @staticmethod
    def _calibrate(timer, seconds):
        number = 1
        timer.timeit(2)  # records, compiles, fills caches
        while (taken := timer.timeit(number)) < seconds / 4:
            number *= 2
        return max(1, round(number * seconds / max(taken, 1e-9)))

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
