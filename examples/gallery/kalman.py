"""A Kalman filter whose unrest is learnt: gradients of the likelihood through the whole filter.

A thing is pushed about on a line; where it is, is measured, off by a metre.
"""

import math

import frazil as fz

DT = 0.5


def track(log_push, measured):
    """Positions after each measurement, and the negative log likelihood of all."""
    move = fz.asarray([[1.0, DT], [0.0, 1.0]], dtype=fz.float64)
    unrest = fz.exp(2 * log_push) * fz.asarray([[0.0, 0.0], [0.0, DT**2]], dtype=fz.float64)
    seen = fz.asarray([[1.0, 0.0]], dtype=fz.float64)

    def update(carry, z):
        state, variance = carry
        state = move @ state
        variance = move @ variance @ move.T + unrest
        spread = (seen @ variance @ seen.T)[0, 0] + 1
        surprise = z - state[0]
        gain = variance[:, 0] / spread
        state = state + gain * surprise
        variance = variance - gain[:, None] * (seen @ variance)
        return (state, variance), (state[0], surprise**2 / spread + fz.log(spread))

    first = fz.zeros(2, dtype=fz.float64), 10 * fz.eye(2, dtype=fz.float64)
    _, (positions, losses) = fz.scan(update, first, measured)
    return positions, fz.mean(losses) / 2 + math.log(2 * math.pi) / 2


@fz.trace
def step(log_push, measured, rate):
    loss, slope = fz.value_and_grad(lambda p: track(p, measured)[1])(log_push)
    return log_push - rate * slope, loss


def main(small=False):
    count, steps, push = (200, 60, 1.0) if small else (500, 100, 1.0)
    fz.random.seed(0)
    velocity = push * DT * fz.cumulative_sum(fz.random.normal(count, dtype=fz.float64))
    position = DT * fz.cumulative_sum(velocity)
    measured = position + fz.random.normal(count, dtype=fz.float64)
    log_push = fz.asarray(-2.0, dtype=fz.float64)
    losses = []
    for _ in range(steps):
        log_push, loss = step(log_push, measured, 1.0)
        losses.append(loss)
    filtered, _ = track(log_push, measured)
    off = fz.sqrt(fz.mean((filtered - position) ** 2))
    curves = {"true": position[:100], "measured": measured[:100], "filtered": filtered[:100]}
    return {
        "quality": (off / fz.sqrt(fz.mean((measured - position) ** 2))).item(),
        "of": "error after the filter, of that before",
        "figure": {"x": DT * fz.arange(100), "curves": curves, "losses": fz.stack(losses)},
        "traced": step,
    }
