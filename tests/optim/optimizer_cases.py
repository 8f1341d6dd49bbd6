"""Cases of optim.npz, which has PyTorch's numbers (parity.py writes them): text that means the same
over frazil's optim and PyTorch's.
"""

import numpy as np

STEPS = 10
# `matrices` are the parameters of two axes; `parts` are two groups.
OPTIMIZERS = [
    "SGD(params, 0.1)",
    "SGD(params)",
    "SGD(params, lr=0.1, momentum=0.9)",
    "SGD(params, 0.1, 0.9, 0.3, 0.05)",
    "SGD(params, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)",
    "SGD(params, lr=0.1, maximize=True, weight_decay=0.1, momentum=0.5)",
    "SGD(parts, lr=0.1, momentum=0.8)",
    "Adam(params)",
    "Adam(params, 0.1, (0.8, 0.95), 1e-3, 0.1, True)",
    "Adam(params, lr=0.1, amsgrad=True)",
    "Adam(params, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)",
    "Adam(params, lr=0.1, maximize=True)",
    "Adam(parts, lr=0.05, weight_decay=0.2)",
    "AdamW(params, lr=0.1)",
    "AdamW(params, 0.1, (0.7, 0.9), 1e-6, 0.3, True, maximize=True)",
    "Adamax(params, lr=0.1)",
    "Adamax(params, 0.1, (0.8, 0.9), 1e-3, 0.1, maximize=True)",
    "NAdam(params, lr=0.1)",
    "NAdam(params, 0.1, (0.8, 0.9), 1e-3, 0.1, 0.01)",
    "NAdam(params, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True)",
    "RAdam(params, lr=0.1)",
    "RAdam(params, lr=0.1, betas=(0.8, 0.7), weight_decay=0.1)",
    "RAdam(params, 0.1, (0.9, 0.9), 1e-3, 0.1, True, maximize=True)",
    "RMSprop(params)",
    "RMSprop(params, 0.1, 0.9, 1e-3, 0.1)",
    "RMSprop(params, lr=0.1, centered=True)",
    "RMSprop(params, lr=0.1, centered=True, momentum=0.8, maximize=True)",
    "RMSprop(params, lr=0.1, momentum=0.8)",
    "Adagrad(params)",
    "Adagrad(params, 0.1, 0.2, 0.1, 0.5, 1e-3)",
    "Adagrad(params, lr=0.1, maximize=True)",
    "Adadelta(params)",
    "Adadelta(params, 0.5, 0.8, 1e-3, 0.1, maximize=True)",
    "Adafactor(params)",
    "Adafactor(params, 0.1, -0.6, (1e-3, 1e-2), 1.5, 0.1)",
    "Adafactor(params, lr=0.9, maximize=True)",
    "ASGD(params, lr=0.1)",
    "ASGD(params, 0.1, 0.1, 0.6, 4, 0.1)",
    "ASGD(params, lr=0.1, t0=0, maximize=True)",
    "Rprop(params)",
    "Rprop(params, 0.1, (0.3, 1.5), (0.01, 0.4), maximize=True)",
    "Muon(matrices, lr=0.1)",
    "Muon(matrices, 0.1, 0.2, 0.8, False, (2.0, -1.5, 0.5), 1e-3, 7)",
    'Muon(matrices, lr=0.1, adjust_lr_fn="match_rms_adamw")',
    "LBFGS(params)",
    "LBFGS(params, lr=0.5, max_iter=3, history_size=2)",
    'LBFGS(params, lr=0.5, max_iter=4, history_size=3, line_search_fn="strong_wolfe")',
    'LBFGS(params, max_iter=2, max_eval=9, line_search_fn="strong_wolfe")',
    "LBFGS(params, 1, 30, None, 1e-3, 1e-4)",
]
SHAPES = [(3, 4), (5,), (2, 2, 2), (), (4, 3)]


def start(i):
    """The parameter before the first step."""
    size = int(np.prod(SHAPES[i]))
    return (np.sin(np.arange(size) * 1.3 + i) * 2).reshape(SHAPES[i])


def drift(i, t):
    """What is added to half of the parameter, its gradient in step t."""
    size = int(np.prod(SHAPES[i]))
    return np.cos(np.arange(size) * 0.7 + i + 0.9 * t).reshape(SHAPES[i])


def groups(params):
    """{name: what an optimizer is given}"""
    return {
        "params": params,
        "matrices": [p for p in params if p.ndim == 2],
        "parts": [
            {"params": params[:2], "lr": 0.02},
            {"params": params[2:], "weight_decay": 0.3},
        ],
    }


def loss(p, i):
    """What L-BFGS minimises, of one parameter: neither quadratic nor convex far away."""
    return ((p - 0.3 * i) ** 2 / (1 + 0.1 * p**2) + 0.05 * p**4).sum()
