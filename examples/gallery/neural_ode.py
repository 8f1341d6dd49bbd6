"""A neural ODE: the vector field of a damped spiral is learnt from pieces of its path."""

import frazil as fz
from frazil import nn, optim


def runge_kutta(field, y, dt, steps):
    """The path from y on: (steps, *y.shape)."""
    path = []
    for _ in range(steps):
        a = field(y)
        b = field(y + dt / 2 * a)
        c = field(y + dt / 2 * b)
        d = field(y + dt * c)
        y = y + dt / 6 * (a + 2 * b + 2 * c + d)
        path.append(y)
    return fz.stack(path)


def spiral(y):
    return (y**3) @ fz.asarray([[-0.1, -2.0], [2.0, -0.1]])


class Field(nn.Module):
    def __init__(self, width):
        self.layers = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, y):
        return self.layers(y**3)


@fz.trace
def step(field, optimizer, starts, pieces, dt):
    loss = fz.mean(fz.abs(runge_kutta(field, starts, dt, pieces.shape[0]) - pieces))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(small=False):
    steps, batch, length, dt = (400, 16, 5, 0.05) if small else (1000, 20, 10, 0.025)
    fz.random.seed(0)
    first = fz.asarray([[2.0, 0.0]])
    true = fz.concat([first, runge_kutta(spiral, first, dt, int(10 / dt))[:, 0]])
    field = Field(50)
    optimizer = optim.Adam(field.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        at = fz.random.integers(0, true.shape[0] - length, batch)
        pieces = true[at[None, :] + fz.arange(1, length + 1)[:, None]]
        losses.append(step(field, optimizer, true[at], pieces, dt))
        schedule.step()
    with fz.no_grad():
        learnt = fz.concat([first, runge_kutta(field, first, dt, true.shape[0] - 1)[:, 0]])
    return {
        "quality": fz.mean(fz.abs(learnt - true)).item(),
        "of": "mean error of the whole path",
        "figure": {"points": {"true": true, "learnt": learnt}, "losses": fz.stack(losses)},
        "traced": step,
    }
