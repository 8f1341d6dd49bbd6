"""Follows a path of the Lorenz system by Runge and Kutta's fourth order, and draws it.

    ./dev python examples/lorenz.py

The whole simulation is one traced function: its loop becomes a loop of the machine.
"""

import time

import frazil as fz

STEPS, H = 1000, 0.005
ROUNDS = 30


def slope(state):
    x, y, z = state
    return fz.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def rk4(state, h):
    k1 = slope(state)
    k2 = slope(state + h / 2 * k1)
    k3 = slope(state + h / 2 * k2)
    k4 = slope(state + h * k3)
    return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def simulate(state, steps):
    for _ in range(steps):
        state = rk4(state, H)
    return state


def start(wrap, steps=STEPS):
    """A function that goes on for some steps and returns where they lead."""
    state = fz.asarray([1.0, 1.0, 1.0])
    run = wrap(simulate)

    def on():
        nonlocal state
        state = run(state, steps)
        return [state]

    return on


def draw(points, width=72, height=24):
    """x to the right, z upwards."""
    rows = [[" "] * width for _ in range(height)]
    for x, _, z in points:
        rows[height - 1 - int(z / 50 * height)][int((x + 22) / 44 * width)] = "*"
    print("\n".join("".join(row) for row in rows))


def main():
    on = start(fz.trace(pure=True), steps=4)
    begin = time.perf_counter()
    points = [on()[0].tolist() for _ in range(1500)]
    seconds = time.perf_counter() - begin
    draw(points)
    print(f"{4 * len(points)} steps in {seconds:.3f} s")


if __name__ == "__main__":
    main()
