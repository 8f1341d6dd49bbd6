"""Schedules of learning rates: `schedule.step()` once an epoch, or once a step.

Names, arguments, defaults and rates are PyTorch's. A schedule may be stepped between the calls of a
traced training step or inside of one: it goes on skipping its body.

Here: `LRScheduler`, the base; by formula `StepLR`, `MultiStepLR`, `ConstantLR`, `LinearLR`,
`ExponentialLR`, `PolynomialLR`, `CosineAnnealingLR`, `CosineAnnealingWarmRestarts`, `LambdaLR`,
`MultiplicativeLR`; of momentum, too, `CyclicLR`, `OneCycleLR`; by a metric `ReduceLROnPlateau`;
composed `SequentialLR`, `ChainedScheduler`.

>>> import frazil as fz
>>> from frazil import optim
>>> optimizer = optim.SGD([fz.ones(2, requires_grad=True)], lr=1.0)
>>> schedule = CosineAnnealingLR(optimizer, T_max=10)
>>> for epoch in range(10):
...     optimizer.step()
...     schedule.step()
>>> schedule.get_last_lr()
[0.0]
"""

from frazil.optim.composed import ChainedScheduler, SequentialLR
from frazil.optim.cycles import CyclicLR, OneCycleLR
from frazil.optim.plateau import ReduceLROnPlateau
from frazil.optim.scheduler import LRScheduler
from frazil.optim.schedules import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts",
    "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip
