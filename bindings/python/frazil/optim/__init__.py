"""Optimizers: they read .grad of the parameters and replace the parameters in place.

Names, arguments and defaults are PyTorch's. Hyperparameters stand in `param_groups`; a traced step
goes on skipping its body while a schedule changes them.

Here: `Optimizer`, the base; `ASGD`, `Adadelta`, `Adafactor`, `Adagrad`, `Adam`, `AdamW`, `Adamax`,
`LBFGS`, `Lion`, `Muon`, `NAdam`, `RAdam`, `RMSprop`, `Rprop`, `SGD`; the modules
`lr_scheduler`, schedules, and `swa_utils`, averages, of which `EMA` is one.

>>> import frazil as fz
>>> w = fz.asarray([1.0, 2.0], requires_grad=True)
>>> optimizer = SGD([w], lr=0.5)
>>> fz.sum(w * w).backward()
>>> optimizer.step()
>>> w.tolist()
[0.0, 0.0]
"""

from frazil.optim import lr_scheduler as lr_scheduler
from frazil.optim import swa_utils as swa_utils
from frazil.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from frazil.optim.adaptive import Adadelta, Adafactor, Adagrad, RMSprop
from frazil.optim.lbfgs import LBFGS
from frazil.optim.muon import Muon
from frazil.optim.optimizer import Optimizer
from frazil.optim.sgd import ASGD, SGD
from frazil.optim.sign import Lion, Rprop
from frazil.optim.swa_utils import EMA

__all__ = [
    "ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "EMA", "LBFGS", "Lion",
    "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "lr_scheduler", "swa_utils",
]  # fmt: skip
