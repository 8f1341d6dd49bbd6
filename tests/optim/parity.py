"""Writes optim.npz: parameters after each step and rates of each epoch, by PyTorch in float64.

    python tests/optim/parity.py

where PyTorch is installed. Only numbers, in the order of the cases.
"""

from pathlib import Path

import numpy as np
import optimizer_cases as cases
import torch
from schedule_cases import EPOCHS, SCHEDULES, metric
from torch import optim
from torch.optim import lr_scheduler, swa_utils


def steps(text):
    """The parameters after each step."""
    params = [torch.tensor(cases.start(i), requires_grad=True) for i in range(len(cases.SHAPES))]
    optimizer = eval(f"optim.{text}", {"optim": optim, **cases.groups(params)})
    found = []
    for t in range(cases.STEPS):
        if text.startswith("LBFGS"):

            def closure():
                optimizer.zero_grad()
                total = sum(cases.loss(p, i) for i, p in enumerate(params))
                total.backward()
                return total

            optimizer.step(closure)
        else:
            for i, p in enumerate(params):
                p.grad = p.detach() * 0.5 + torch.tensor(cases.drift(i, t))
            optimizer.step()
        found += [p.detach().numpy().copy().ravel() for p in params]
    return np.concatenate(found)


def rates(case):
    """Rates and momenta of both groups in each epoch."""
    params = [torch.tensor(cases.start(i), requires_grad=True) for i in range(2)]
    groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.3}]
    optimizer = eval(f"optim.{case.optimizer}", {"optim": optim, "groups": groups})
    names = {"o": optimizer, **vars(lr_scheduler), "SWALR": swa_utils.SWALR}
    schedule = eval(case.make, names)
    found = []
    for t in range(EPOCHS):
        for group in optimizer.param_groups:
            found.append(group["lr"])
            found.append(group["betas"][0] if "betas" in group else group["momentum"])
        optimizer.step()
        schedule.step(metric(t)) if "Plateau" in case.make else schedule.step()
    return np.array(found, dtype=np.float64)


def main():
    torch.set_default_dtype(torch.float64)  # some count in it
    # Muon's iteration: rounding is not compared.
    torch.Tensor.bfloat16 = lambda self: self.double().clone()
    numbers = [steps(text) for text in cases.OPTIMIZERS]
    numbers += [rates(case) for case in SCHEDULES]
    file = Path(__file__).with_name("optim.npz")
    np.savez_compressed(file, *numbers)
    print(f"{file.name}: {len(numbers)} cases, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
