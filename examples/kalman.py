"""A Kalman filter: where a moving thing is, from measurements that are off by a metre.

    ./dev python examples/kalman.py

The loop over the series is Python's; with pure=True all of it is one call.
"""

import time

import frazil as fz

STEPS, DT = 1000, 0.1  # measurements, and the seconds between them
ROUNDS = 30


def measurements():
    """Positions in metres of something that is pushed about at random, true and measured."""
    fz.random.seed(0)
    velocity = fz.cumulative_sum(fz.random.normal(STEPS)) * DT
    position = fz.cumulative_sum(velocity) * DT
    return position, position + fz.random.normal(STEPS)


def track(measured):
    """The estimated positions."""
    move = fz.asarray([[1.0, DT], [0.0, 1.0]])  # of position and velocity, in a step
    unrest = fz.asarray([[0.0, 0.0], [0.0, 0.01]])  # what a push adds to their variance
    seen = fz.asarray([[1.0, 0.0]])  # of both, the position
    state, variance = fz.zeros((2, 1)), fz.eye(2)
    positions = []
    for z in measured:
        state = move @ state
        variance = move @ variance @ move.T + unrest
        gain = variance @ seen.T / (seen @ variance @ seen.T + 1)
        state = state + gain * (z - seen @ state)
        variance = variance - gain @ seen @ variance
        positions.append(state[0, 0])
    return fz.stack(positions)


def start(wrap):
    """A function that filters the series and returns the positions."""
    _, measured = measurements()
    run = wrap(track)
    return lambda: [run(measured)]


def main():
    true, measured = measurements()
    run = start(fz.trace(pure=True))
    for _ in range(4):
        begin = time.perf_counter()
        (positions,) = run()
        print(f"{STEPS} measurements in {1e3 * (time.perf_counter() - begin):.2f} ms")
    for name, x in (("measured", measured), ("filtered", positions)):
        print(f"{name}: off by {fz.sqrt(fz.mean((x - true) ** 2)):.2f} m")


if __name__ == "__main__":
    main()
