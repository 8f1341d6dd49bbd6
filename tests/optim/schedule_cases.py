"""Schedules whose rates are in optim.npz, as text over PyTorch's and frazil's lr_scheduler."""

from dataclasses import dataclass

import numpy as np

EPOCHS = 40


@dataclass(frozen=True)
class Case:
    make: str
    optimizer: str = "SGD(groups, lr=0.1, momentum=0.5)"

    def __str__(self):
        return self.make if self.optimizer.startswith("SGD") else f"{self.make}, {self.optimizer}"


def metric(t):
    """What ReduceLROnPlateau is told in epoch t."""
    return float(np.exp(-0.2 * t) + 0.1 * np.cos(t * 1.7) + (0.3 if 12 < t < 20 else 0))


ADAM = "Adam(groups, lr=0.1)"
SCHEDULES = [
    Case("StepLR(o, 7)"),
    Case("StepLR(o, step_size=3, gamma=0.5)"),
    Case("MultiStepLR(o, [4, 9, 9, 30], gamma=0.3)"),
    Case("ConstantLR(o)"),
    Case("ConstantLR(o, 0.5, 11)"),
    Case("LinearLR(o)"),
    Case("LinearLR(o, 0.1, 0.7, 13)"),
    Case("ExponentialLR(o, 0.9)"),
    Case("PolynomialLR(o)"),
    Case("PolynomialLR(o, 17, 2.5)"),
    Case("CosineAnnealingLR(o, 10)"),
    Case("CosineAnnealingLR(o, T_max=7, eta_min=0.01)"),
    Case("CosineAnnealingWarmRestarts(o, 5)"),
    Case("CosineAnnealingWarmRestarts(o, 4, 2, 0.01)"),
    Case("CyclicLR(o, 0.01, 0.4, 6)"),
    Case("CyclicLR(o, [0.01, 0.02], [0.4, 0.3], 4, 7, mode='triangular2')"),
    Case("CyclicLR(o, 0.01, 0.4, 5, mode='exp_range', gamma=0.97, base_momentum=0.7)"),
    Case("CyclicLR(o, 0.01, 0.4, 5, cycle_momentum=False, scale_fn=lambda x: 0.9 ** x)"),
    Case("CyclicLR(o, 0.1, 0.4, 5, scale_fn=lambda x: 1 / x, max_momentum=0.95)", ADAM),
    Case("OneCycleLR(o, 0.5, 41)"),
    Case("OneCycleLR(o, [0.5, 0.7], total_steps=50, anneal_strategy='linear')"),
    Case("OneCycleLR(o, 0.5, epochs=8, steps_per_epoch=6, three_phase=True)"),
    Case("OneCycleLR(o, 0.5, 60, pct_start=0.2, div_factor=10, base_momentum=0.7)", ADAM),
    Case("OneCycleLR(o, 0.5, 45, cycle_momentum=False, final_div_factor=100.0)"),
    Case("ReduceLROnPlateau(o)"),
    Case("ReduceLROnPlateau(o, 'min', 0.5, 2, 0.01, 'abs', 1, 0.02)"),
    Case("ReduceLROnPlateau(o, mode='max', factor=0.5, patience=3, cooldown=2)"),
    Case("ReduceLROnPlateau(o, 'max', 0.3, 1, threshold_mode='abs', min_lr=[0.001, 0.01])"),
    Case("LambdaLR(o, lambda t: 0.95 ** t)"),
    Case("LambdaLR(o, [lambda t: 1 / (1 + t), lambda t: 1.0 if t < 5 else 0.5 ** (t // 5)])"),
    Case("MultiplicativeLR(o, lambda t: 0.95 + 0.01 * (t % 3))"),
    Case("ChainedScheduler([ConstantLR(o, 0.1, 3), ExponentialLR(o, 0.9)])"),
    Case("ChainedScheduler([LinearLR(o, 0.2), StepLR(o, 9), CosineAnnealingLR(o, 20)])"),
    Case("SequentialLR(o, [ConstantLR(o, 0.1, 20), ExponentialLR(o, 0.9)], milestones=[8])"),
    Case("SequentialLR(o, [LinearLR(o, 0.1), CosineAnnealingLR(o, 20), StepLR(o, 3)], [6, 25])"),
    Case("SequentialLR(o, [LinearLR(o), CosineAnnealingWarmRestarts(o, 6)], [5])"),
    Case("SequentialLR(o, [ChainedScheduler([LinearLR(o), StepLR(o, 2)]), PolynomialLR(o)], [7])"),
    Case("SWALR(o, swa_lr=0.02)"),
    Case("SWALR(o, 0.02, anneal_epochs=5, anneal_strategy='linear')"),
]
