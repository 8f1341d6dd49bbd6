"""Schedules against PyTorch's rates, between traced training steps and inside of them."""

import copy
import pickle
from pathlib import Path

import numpy as np
import optimizer_cases
import pytest
from schedule_cases import EPOCHS, SCHEDULES, metric

import frazil as fz
from frazil import optim
from frazil.optim import lr_scheduler

with np.load(Path(__file__).with_name("optim.npz")) as file:
    KNOWN = dict(
        zip(SCHEDULES, list(file.values())[len(optimizer_cases.OPTIMIZERS) :], strict=True)
    )
IDS = [str(case) for case in SCHEDULES]


class Run:
    """Two parameters, an optimizer of two groups, and a schedule."""

    def __init__(self, case):
        self.params = [
            fz.asarray(optimizer_cases.start(i), dtype="float64").requires_grad_() for i in range(2)
        ]
        groups = [{"params": self.params[:1]}, {"params": self.params[1:], "lr": 0.3}]
        self.optimizer = eval(f"optim.{case.optimizer}", {"optim": optim, "groups": groups})
        names = {"o": self.optimizer, **vars(lr_scheduler), "SWALR": optim.swa_utils.SWALR}
        self.schedule = eval(case.make, names)
        self.waits = "Plateau" in case.make

    def rates(self):
        found = []
        for group in self.optimizer.param_groups:
            found += [group["lr"], group["betas"][0] if "betas" in group else group["momentum"]]
        return found

    def train(self, x):
        self.optimizer.zero_grad()
        sum((p * p * x).sum() for p in self.params).backward()
        self.optimizer.step()

    def step(self, value):
        self.schedule.step(value) if self.waits else self.schedule.step()

    def parameters(self):
        return [np.asarray(p.detach()).tobytes() for p in self.params]


@pytest.mark.parametrize("case", SCHEDULES, ids=IDS)
def test_like_pytorch(case):
    run, found = Run(case), []
    for t in range(EPOCHS):
        found += run.rates()
        assert run.schedule.get_last_lr() == found[-4::2]
        run.step(metric(t))
    np.testing.assert_allclose(found, KNOWN[case], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", SCHEDULES, ids=IDS)
def test_traced_steps_are_skipped_whoever_steps_the_schedule(case):
    x = fz.asarray(0.1, dtype="float64")
    eager, between, inside = Run(case), Run(case), Run(case)
    train, rates = fz.trace(between.train), []

    @fz.trace
    def both(x, value):
        inside.train(x)
        inside.step(value)

    for t in range(EPOCHS):
        value = fz.asarray(metric(t), dtype="float64")
        eager.train(x), eager.step(value)
        train(x), between.step(value)
        both(x, value)
        rates.append((eager.rates(), between.rates(), inside.rates()))
    assert all(a == b == c for a, b, c in rates)
    assert eager.parameters() == between.parameters() == inside.parameters()
    assert train.stats()["skipped"] >= EPOCHS - 10, train.explain()
    assert both.stats()["skipped"] >= EPOCHS // 2, both.explain()


@pytest.mark.parametrize("case", SCHEDULES, ids=IDS)
def test_states_are_saved_to_the_bit(case):
    first, second = Run(case), Run(case)
    for t in range(9):
        first.train(0.1), first.step(metric(t))
    for p, q in zip(second.params, first.params, strict=True):
        with fz.no_grad():
            p[...] = q
    saved = pickle.loads(pickle.dumps(first.schedule.state_dict()))
    second.optimizer.load_state_dict(copy.deepcopy(first.optimizer.state_dict()))
    second.schedule.load_state_dict(saved)
    for t in range(9, EPOCHS):
        assert first.rates() == second.rates()
        for run in (first, second):
            run.train(0.1), run.step(metric(t))
    assert first.parameters() == second.parameters()
    assert first.schedule.last_epoch == second.schedule.last_epoch


def added(make):
    """The rates of two groups, of which the second is added behind the first step."""
    optimizer = optim.SGD([fz.nn.Parameter(fz.ones(2))], lr=0.1)
    schedule = make(optimizer)
    schedule.step()
    optimizer.add_param_group({"params": [fz.nn.Parameter(fz.ones(2))], "lr": 0.4})
    rates = []
    for _ in range(3):
        schedule.step()
        rates.append([group["lr"] for group in optimizer.param_groups])
    return schedule, rates


@pytest.mark.parametrize(
    ("name", "options", "factors"),
    [
        ("StepLR", {"step_size": 1, "gamma": 0.5}, [1 / 2, 1 / 4, 1 / 8]),
        ("ExponentialLR", {"gamma": 0.5}, [1 / 2, 1 / 4, 1 / 8]),
        ("LinearLR", {"start_factor": 0.5, "total_iters": 1}, [1, 1, 1]),
    ],
)
def test_groups_added_behind_a_schedule(name, options, factors):
    """As PyTorch's: they follow it from the rate that they were added with."""
    schedule, rates = added(lambda o: getattr(lr_scheduler, name)(o, **options))
    assert [row[1] for row in rates] == pytest.approx([0.4 * f for f in factors])
    assert schedule.get_last_lr() == rates[-1]
    chained, same = added(
        lambda o: lr_scheduler.ChainedScheduler([getattr(lr_scheduler, name)(o, **options)])
    )
    assert same == rates and chained.get_last_lr() == rates[-1]


def test_groups_added_behind_a_schedule_that_was_given_something_for_each():
    with pytest.raises(ValueError, match=r"LambdaLR\] lr_lambdas are of 1 groups.* has 2"):
        added(lambda o: lr_scheduler.LambdaLR(o, lambda epoch: 0.5))
    with pytest.raises(ValueError, match=r"OneCycleLR\] .* are of 1 groups"):
        added(lambda o: lr_scheduler.OneCycleLR(o, 1.0, total_steps=9))
