"""A physics-informed network learns u'' = -pi^2 sin(pi x), u(-1) = u(1) = 0 from these alone."""

import math

import frazil as fz
from frazil import nn, optim


class Net(nn.Module):
    def __init__(self, width):
        self.layers = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.layers(x)


def second_derivative(f, x):
    """Of f at each row of x: forward over forward."""
    ones = fz.ones_like(x)

    def first(x):
        return fz.jvp(f, (x,), (ones,))[1]

    return fz.jvp(first, (x,), (ones,))[1]


@fz.trace
def step(net, optimizer, x, edges):
    residual = second_derivative(net, x) + math.pi**2 * fz.sin(math.pi * x)
    loss = fz.mean(residual**2) + 100 * fz.mean(net(edges) ** 2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def main(small=False):
    width, points, steps = (16, 32, 600) if small else (32, 128, 3000)
    fz.random.seed(0)
    net = Net(width)
    optimizer = optim.Adam(net.parameters(), lr=0.005)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    edges = fz.asarray([[-1.0], [1.0]])
    losses = []
    for _ in range(steps):
        losses.append(step(net, optimizer, 2 * fz.random.uniform((points, 1)) - 1, edges))
        schedule.step()
    x = fz.linspace(-1, 1, 201)[:, None]
    with fz.no_grad():
        u = net(x)
    exact = fz.sin(math.pi * x)
    curves = {"exact": exact[:, 0], "network": u[:, 0]}
    return {
        "quality": fz.max(fz.abs(u - exact)).item(),
        "of": "largest error",
        "figure": {"x": x[:, 0], "curves": curves, "losses": fz.stack(losses)},
        "traced": step,
    }
