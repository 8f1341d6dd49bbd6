"""Groups, state dicts, hooks, clipping's neighbours: what stands around the formulas."""

import copy
import pickle

import numpy as np
import optimizer_cases as cases
import pytest

import frazil as fz
from frazil import amp, nn, optim
from frazil.optim import lr_scheduler, swa_utils


def leaf(*shape, value=1.0):
    return fz.full(shape, value, dtype="float64").requires_grad_()


def begin(text):
    params = [
        fz.asarray(cases.start(i), dtype="float64").requires_grad_()
        for i in range(len(cases.SHAPES))
    ]
    return params, eval(f"optim.{text}", {"optim": optim, **cases.groups(params)})


def train(params, optimizer, times, first=0):
    for t in range(first, first + times):
        for i, p in enumerate(params):
            p.grad = p.detach() * 0.5 + fz.asarray(cases.drift(i, t))
        optimizer.step()


def words(params):
    return [np.asarray(p.detach()).tobytes() for p in params]


WITHOUT_CLOSURE = [text for text in cases.OPTIMIZERS if "LBFGS" not in text]


@pytest.mark.parametrize("text", WITHOUT_CLOSURE)
@pytest.mark.parametrize("copied", ["state_dict", "file", "pickle", "deepcopy"])
def test_states_go_on_to_the_bit(text, copied, tmp_path):
    params, optimizer = begin(text)
    train(params, optimizer, 4)
    if copied in ("state_dict", "file"):
        others, other = begin(text)
        with fz.no_grad():
            for p, q in zip(others, params, strict=True):
                p[...] = q
        saved = pickle.loads(pickle.dumps(optimizer.state_dict()))
        if copied == "file":
            fz.save(tmp_path / "state.fzt", saved)
            saved = fz.load(tmp_path / "state.fzt")
            assert list(saved["state"]) == list(range(len(optimizer.parameters)))
        train(params, optimizer, 5, 4)  # what was saved stays what it was
        other.load_state_dict(saved)
    else:
        copier = copy.deepcopy if copied == "deepcopy" else lambda x: pickle.loads(pickle.dumps(x))
        others, other = copier((params, optimizer))
        train(params, optimizer, 5, 4)
    assert [g.copy()["lr"] for g in other.param_groups] == [g["lr"] for g in optimizer.param_groups]
    train(others, other, 5, 4)
    assert words(others) == words(params)
    for p, q in zip(params, others, strict=True):
        if p in optimizer.state:
            a, b = optimizer.state[p], other.state[q]
            assert list(a) == list(b) and words(a.values()) == words(b.values())


def test_lbfgs_goes_on_to_the_bit():
    def run(w, optimizer, times):
        def closure():
            optimizer.zero_grad()
            loss = ((w - 3) ** 4 + w**2).sum()
            loss.backward()
            return loss

        for _ in range(times):
            optimizer.step(closure)

    def make(w):
        return optim.LBFGS([w], max_iter=2, history_size=3, line_search_fn="strong_wolfe")

    w = leaf(3)
    first = make(w)
    run(w, first, 4)
    u = fz.asarray(np.asarray(w.detach())).requires_grad_()
    second = make(u)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    run(w, first, 3), run(u, second, 3)
    assert words([w]) == words([u]) and first.state[w]["n_iter"] == second.state[u]["n_iter"]
    with pytest.raises(TypeError, match=r"\[optim.LBFGS\] step\(\) needs a closure"):
        first.step()


def test_a_state_dict_of_pytorch_is_taken():
    w = leaf(2)
    adam = optim.Adam([w], lr=0.1)
    adam.load_state_dict(
        {
            "state": {
                0: {
                    "step": np.float32(7),
                    "exp_avg": np.array([0.5, 0.25]),
                    "exp_avg_sq": np.array([0.25, 1.0]),
                }
            },
            "param_groups": [
                {"lr": 0.3, "betas": (0.5, 0.75), "eps": 1e-8, "fused": None, "params": [0]}
            ],
        }
    )
    state = adam.state[w]
    assert (adam.lr, adam.param_groups[0]["betas"], state["step"].item()) == (0.3, (0.5, 0.75), 7)
    assert state["exp_avg"].tolist() == [0.5, 0.25] and state["exp_avg"].dtype.name == "float64"
    sgd = optim.SGD([w], lr=0.1, momentum=0.9, dampening=0.5)
    sgd.load_state_dict(
        {
            "state": {0: {"momentum_buffer": np.array([1.0, 2.0])}},
            "param_groups": [{**sgd.param_groups[0].copy(), "params": [0]}],
        }
    )
    w.grad = fz.ones(2, dtype="float64")
    sgd.step()
    assert sgd.state[w]["momentum_buffer"].tolist() == [1.4, 2.3]  # dampened: not the first step


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    ("text", "changes"),
    [
        ("SGD(params, lr=0.1, momentum=0.5)", {"lr": 0.3, "momentum": 0.25}),
        ("Adam(params, lr=0.1)", {"lr": 0.01, "betas": (0.5, 0.75)}),
        ("RMSprop(params, lr=0.1, momentum=0.5)", {"lr": 0.01, "momentum": 0.75}),
        ("Muon(matrices, lr=0.1)", {"lr": 0.01, "momentum": 0.75}),
    ],
)
def test_assignments_to_groups_reach_a_skipped_step(text, changes, pure):
    def run(wrap):
        params, optimizer = begin(text)

        def step(params, optimizer, *drifts):
            optimizer.zero_grad()
            pairs = zip(params, drifts, strict=True)
            sum((p * p * 0.25 + p * d).sum() for p, d in pairs).backward()
            optimizer.step()

        step = wrap(step)
        drifts = [fz.asarray(cases.drift(i, 0)) for i in range(len(params))]
        for t in range(14):
            if t == 9:
                skipped = step.stats()["skipped"] if wrap is not plain else 0
                for key, value in changes.items():
                    optimizer.param_groups[0][key] = value
                    assert optimizer.param_groups[0][key] == value
            step(params, optimizer, *drifts)
        if wrap is not plain:
            assert step.stats()["skipped"] == skipped + 5, step.explain()
        return words(params)

    def plain(f):
        return f

    if pure:
        assert run(lambda f: fz.trace(f, pure=True)) == run(plain)
    else:
        assert run(fz.trace) == run(plain)


def test_a_momentum_that_comes_later():
    w = leaf(2)
    optimizer = optim.SGD([w], lr=1.0)
    w.grad = fz.ones(2, dtype="float64")
    optimizer.step()
    assert list(optimizer.state[w]) == ["step"]
    optimizer.param_groups[0]["momentum"] = 0.5
    for _ in range(2):
        optimizer.step()
    assert w.tolist() == [1 - 1 - 1 - 1.5] * 2


def test_parameters_count_their_own_steps():
    """As in PyTorch: one that had no gradient begins with the correction of its first step."""
    together, apart = [leaf(2), leaf(2)], [leaf(2), leaf(2)]
    one, several = optim.Adam(together, lr=0.1), [optim.Adam([p], lr=0.1) for p in apart]
    for t in range(6):
        for (a, b), optimizer, late in zip(
            zip(together, apart, strict=True), several, (False, True), strict=True
        ):
            if not late or t in (2, 3, 5):
                a.grad = b.grad = fz.asarray([0.5 + t, -2.0])
                optimizer.step()
            else:
                a.grad = None
        one.step()
    assert words(together) == words(apart)
    assert [one.state[p]["step"].item() for p in together] == [6, 3]
    again = optim.Adam(together, lr=0.1)
    again.load_state_dict(one.state_dict())
    assert [again.state[p]["step"].item() for p in together] == [6, 3]


def test_ways_to_give_parameters():
    net = nn.Linear(3, 2)
    named = optim.SGD(net.named_parameters(), lr=0.1)
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
    assert optim.SGD((p for p in net.parameters()), lr=0.1).parameters == net.parameters()
    nest = optim.SGD({"a": [leaf(1)], "b": leaf(2)}, lr=0.1)
    assert len(nest.parameters) == 2
    groups = [{"params": net.weight, "lr": 1}, {"params": [net.bias], "weight_decay": 0.5}]
    adam = optim.AdamW(groups, lr=0.1)
    found = [(g["lr"], g["weight_decay"]) for g in adam.param_groups]
    assert found == [(1, 0.01), (0.1, 0.5)]
    adam.lr = 0.5
    assert [g["lr"] for g in adam.param_groups] == [0.5, 0.5] and adam.lr == 0.5
    group = adam.param_groups[0]
    assert {**group}["betas"] == group.get("betas") == dict(group.items())["betas"] == (0.9, 0.999)
    assert group.get("none", 3) == 3 and group.setdefault("x", 4) == group.pop("x") == 4
    assert "Parameter Group 1" in repr(adam) and "lr: 0.5" in repr(adam)


def test_hooks_closures_and_gradients():
    w, seen = leaf(2), []
    optimizer = optim.SGD([w], lr=0.5)
    before = optimizer.register_step_pre_hook(lambda o, a, k: seen.append(w.tolist()))
    optimizer.register_step_post_hook(lambda o, a, k: seen.append(w.tolist()))

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with fz.no_grad():
        assert optimizer.step(closure).item() == 2
    before.remove(), before.remove()
    assert seen == [[1, 1], [0, 0]]
    optimizer.zero_grad(set_to_none=False)
    assert w.grad.tolist() == [0, 0]
    optimizer.zero_grad()
    assert w.grad is None


def test_accumulated_gradients_are_one_step_and_are_skipped():
    x = fz.asarray(np.arange(24.0).reshape(8, 3) / 10)

    def run(wrap, parts):
        w = leaf(3)
        optimizer = optim.Adam([w], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            for part in fz.split(x, parts):
                ((part @ w) ** 2).sum().backward()
            optimizer.step()

        step = wrap(step)
        for _ in range(12):
            step(x)
        return np.asarray(w.detach()), step

    whole, _ = run(lambda f: f, 1)
    eager, _ = run(lambda f: f, 4)
    traced, step = run(fz.trace, 4)
    np.testing.assert_allclose(eager, whole, rtol=1e-12)
    assert traced.tobytes() == eager.tobytes() and step.stats()["skipped"] >= 7, step.explain()


def test_sixteen_bit_parameters_move_in_float32():
    """A rate that bfloat16 could not tell from nothing, and betas that it rounds to 1."""
    w = fz.ones(3, dtype="bfloat16").requires_grad_()
    adam = optim.Adam([w], lr=0.25)
    for _ in range(2):
        w.grad = fz.full(3, 4.0, dtype="bfloat16")
        adam.step()
    assert w.tolist() == [0.5] * 3 and w.dtype.name == "bfloat16"
    assert adam.state[w]["exp_avg_sq"].dtype.name == "bfloat16"
    assert abs(adam.state[w]["exp_avg_sq"][0].item() / (16 * (1 - 0.999**2)) - 1) < 0.01


@pytest.mark.parametrize(
    "text",
    ["SGD(params, 0.1, 0.9)", "Adam(params, amsgrad=True)", "RMSprop(params)", "Rprop(params)"],
)
def test_complex_parameters_move_as_pairs(text):
    rng = np.random.default_rng(0)
    z, g = rng.normal(size=(2, 3, 2))
    w = fz.asarray(z[:, 0] + 1j * z[:, 1]).requires_grad_()
    v = fz.asarray(z).requires_grad_()
    ones = [eval(f"optim.{text}", {"optim": optim, "params": [p]}) for p in (w, v)]
    for t in range(5):
        w.grad, v.grad = fz.asarray((g[:, 0] + 1j * g[:, 1]) * np.cos(t)), fz.asarray(g * np.cos(t))
        for optimizer in ones:
            optimizer.step()
        assert np.asarray(w.detach()).view("float64").tobytes() == words([v])[0]


class Heavy(optim.Optimizer):
    """An optimizer as a user writes one, with state of its own."""

    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @fz.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if "v" not in state:
                    state["v"] = fz.zeros_like(p)
                state["v"] *= 0.5
                state["v"] += p.grad
                p -= state["v"] * group.cells("lr").astype(p.dtype)


def test_an_optimizer_of_ones_own():
    w = leaf(2)
    own, known = Heavy([w], lr=0.25), optim.SGD([leaf(2)], lr=0.25, momentum=0.5)
    lr_scheduler.StepLR(own, 3), lr_scheduler.StepLR(known, 3)
    for _ in range(3):
        for optimizer in (own, known):
            (p,) = optimizer.parameters
            p.grad = p.detach() * 0.5
            optimizer.step()
    assert words([w]) == words(known.parameters)
    other = Heavy([leaf(2)], lr=1)
    other.load_state_dict(pickle.loads(pickle.dumps(own.state_dict())))
    (p,) = other.parameters
    assert other.lr == 0.25 and other.state[p]["v"].tolist() == own.state[w]["v"].tolist()


@pytest.mark.parametrize("options", [{}, {"weight_decay": 0.1, "maximize": True}])
def test_lion_follows_its_formula(options):
    p, m, w = np.array([1.0, -2.0, 0.5]), np.zeros(3), None
    w = fz.asarray(p).requires_grad_()
    lion = optim.Lion([w], lr=0.1, betas=(0.8, 0.6), **options)
    for t in range(6):
        g = np.cos(np.arange(3) + t)
        w.grad = fz.asarray(g)
        lion.step()
        g = -g if options else g
        p = p * (1 - 0.1 * options.get("weight_decay", 0)) - 0.1 * np.sign(0.8 * m + 0.2 * g)
        m = 0.6 * m + 0.4 * g
        np.testing.assert_allclose(w.detach(), p, rtol=1e-13)


def test_an_eager_step_is_one_plan():
    params = [leaf(4, 4) for _ in range(30)]
    adam = optim.AdamW(params)
    for p in params:
        p.grad = fz.ones((4, 4), dtype="float64")
    for _ in range(3):
        adam.step()
    before = adam._advance.stats()
    adam.step()
    after = adam._advance.stats()
    assert after["skipped"] == before["skipped"] + 1 and after["calls"] == before["calls"] + 1


# -- Averages


def test_running_means_traced_and_eager():
    def run(wrap):
        fz.random.seed(0)
        net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer = optim.SGD(net.parameters(), lr=0.1)
        average, mean = optim.EMA(net, decay=0.75), swa_utils.AveragedModel(net)
        x = fz.random.normal((8, 3))
        start = np.asarray(net[0].weight.detach())
        history = []

        def step(x):
            optimizer.zero_grad()
            (net(x) ** 2).mean().backward()
            optimizer.step()
            average.update()
            mean.update_parameters(net)

        step = wrap(step)
        for _ in range(12):
            step(x)
            history.append(np.asarray(net[0].weight.detach()))
        return start, history, average, mean, step

    start, history, average, mean, _ = run(lambda f: f)
    want = start
    for now in history:
        want = 0.75 * want + 0.25 * now
    np.testing.assert_allclose(average.module[0].weight.detach(), want, rtol=1e-5)
    np.testing.assert_allclose(mean.module[0].weight.detach(), np.mean(history, 0), rtol=1e-5)
    assert mean.n_averaged.item() == 12 and len(average.parameters()) == 6
    _, _, other, _, step = run(fz.trace)
    assert step.stats()["skipped"] >= 5, step.explain()
    for name, value in average.state_dict().items():
        assert np.asarray(other.state_dict()[name]).tobytes() == np.asarray(value).tobytes(), name


def test_update_bn_averages_over_all_batches():
    net = nn.Sequential(nn.BatchNorm1d(2))
    batches = [fz.ones((4, 2)) * i for i in (1.0, 2.0, 6.0)]
    net.eval()
    swa_utils.update_bn([(b, None) for b in batches], net)
    np.testing.assert_allclose(net[0].running_mean, [3, 3], rtol=1e-6)
    assert not net.training and net[0].momentum == 0.1


# -- Scaled losses


def test_scaled_losses_traced_and_eager():
    def run(wrap):
        w = fz.asarray([1.0, 2.0]).requires_grad_()
        optimizer = optim.SGD([w], lr=0.125)
        scaler = amp.GradScaler(init_scale=8.0, growth_interval=3)

        def step(x):
            optimizer.zero_grad()
            scaler.scale((w * x).sum()).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()

        step, scales = wrap(step), []
        for t in range(24):
            step(fz.asarray([float("inf") if t % 7 == 5 else 1.0, 0.5]))
            scales.append(scaler.get_scale())
        return w.tolist(), scales, scaler.state_dict(), step

    eager = run(lambda f: f)
    want, scale, good = [], 8.0, 0
    for t in range(24):
        scale, good = (scale / 2, 0) if t % 7 == 5 else (scale, good + 1)
        if good == 3:
            scale, good = scale * 2, 0
        want.append(scale)
    assert eager[1] == want
    assert eager[0] == [1 - 0.125 * 21, 2 - 0.0625 * 21]
    traced = run(fz.trace)
    assert traced[:3] == eager[:3] and traced[3].stats()["skipped"] >= 12, traced[3].explain()
    other = amp.GradScaler()
    other.load_state_dict(eager[2])
    assert other.state_dict() == eager[2]


def test_scaler_asks_for_its_order():
    w = leaf(2)
    optimizer, scaler = optim.SGD([w], lr=0.1), amp.GradScaler()
    with pytest.raises(RuntimeError, match=r"update\(\) comes after step"):
        scaler.update()
    with pytest.raises(ValueError, match="no parameter of the optimizer has a gradient"):
        scaler.step(optimizer)
    scaler = amp.GradScaler()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="the gradients were unscaled"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="the optimizer has stepped"):
        scaler.step(optimizer)
    scaler.update(32.0)
    assert scaler.get_scale() == 32
    off = amp.GradScaler(enabled=False)
    assert off.scale(w) is w and off.get_scale() == 1 and off.state_dict() == {}


# -- Errors

COMPLEX = [fz.ones(2, dtype="complex64").requires_grad_()]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: optim.SGD(p, nesterov=True), "[optim.SGD] nesterov needs a momentum"),
        (lambda p: optim.SGD(p, lr="1"), "[optim.SGD] lr must be a number, got str."),
        (lambda p: optim.SGD(p, nesterov=3), "[optim.SGD] nesterov must be True or False, got 3."),
        (lambda p: optim.SGD([]), "[optim.SGD] there are no parameters."),
        (lambda p: optim.SGD(p + p), "[optim.SGD] a parameter is in two places: (2,)."),
        (lambda p: optim.SGD([{"params": p}, p[0]]), "[optim.SGD] parameters must be all tensors"),
        (lambda p: optim.SGD(p).add_param_group(p), "[optim.SGD] a group must be a dict"),
        (lambda p: optim.SGD(p).load_state_dict(5), "[optim.SGD] a state dict has 'state' and"),
        (
            lambda p: optim.SGD(p).load_state_dict(optim.SGD([leaf(1), leaf(1)]).state_dict()),
            "[optim.SGD] the state dict has groups of [2] parameters, the optimizer of [1].",
        ),
        (
            lambda p: optim.Adam(p).load_state_dict(optim.Adam([leaf(3)]).state_dict()),
            "[optim.Adam] the state dict's exp_avg has shape (3,), a parameter's has (2,).",
        ),
        (lambda p: optim.SGD(p, differentiable=True), "[optim.SGD] differentiable must be False"),
        (lambda p: optim.Adam(p, betas=(0.9,)), "[optim.Adam] betas must be two numbers"),
        (lambda p: optim.AdamW(p, eps=-1), "[optim.AdamW] eps must be at least 0, got -1."),
        (lambda p: optim.NAdam(p, momentum_decay=-1), "[optim.NAdam] momentum_decay must be at le"),
        (lambda p: optim.Rprop(p, etas=(1, 2)), "[optim.Rprop] etas must be below 1 and above 1"),
        (lambda p: optim.Adadelta(p, rho=2), "[optim.Adadelta] rho must be at most 1, got 2."),
        (lambda p: optim.Adafactor(p, eps=1e-3), "[optim.Adafactor] eps must be a pair"),
        (lambda p: optim.Adafactor(p, d=0), "[optim.Adafactor] d must be at least 1, got 0."),
        (lambda p: optim.Muon(p), "[optim.Muon] parameters must be matrices, got shape (2,)"),
        (lambda p: optim.Muon([leaf(2, 2) * 1j]), "[optim.Muon] parameters must be leaf tensors"),
        (lambda p: optim.Adafactor(COMPLEX), "[optim.Adafactor] parameters must be real, got comp"),
        (lambda p: optim.LBFGS(COMPLEX), "[optim.LBFGS] parameters must be real, got complex64."),
        (lambda p: optim.LBFGS(p, line_search_fn="x"), '[optim.LBFGS] line_search_fn must be "str'),
        (lambda p: optim.LBFGS([{"params": p}, {"params": leaf(1)}]), "takes one group"),
        (lambda p: lr_scheduler.StepLR(5, 3), "[lr_scheduler.StepLR] needs an optimizer"),
        (lambda p: lr_scheduler.StepLR(optim.SGD(p), 0), "step_size must be at least 1, got 0."),
        (lambda p: lr_scheduler.StepLR(optim.SGD(p), 3, last_epoch=2), "has no 'initial_lr'"),
        (lambda p: lr_scheduler.LambdaLR(optim.SGD(p), 5), "lr_lambda must be a function, got int"),
        (lambda p: lr_scheduler.OneCycleLR(optim.SGD(p), 1), "needs total_steps, or epochs"),
        (lambda p: lr_scheduler.OneCycleLR(optim.Adagrad(p), 1, 5), "needs an optimizer with mom"),
        (lambda p: lr_scheduler.ConstantLR(optim.SGD(p), 2), "factor must lie from 0 to 1, got 2"),
        (lambda p: lr_scheduler.ReduceLROnPlateau(optim.SGD(p), "x"), 'mode must be one of "min"'),
        (lambda p: lr_scheduler.SequentialLR(optim.SGD(p), [], []), "at least one schedule"),
        (lambda p: optim.EMA(nn.Linear(1, 1), 2), "[EMA] decay must lie from 0 to 1, got 2."),
        (lambda p: amp.GradScaler(growth_factor=1), "growth_factor must be above 1, got 1."),
    ],
)
def test_errors_name_the_optimizer_and_the_argument(call, message):
    with pytest.raises((TypeError, ValueError, KeyError)) as error:
        call([leaf(2)])
    assert message in str(error.value)


def test_a_cycle_ends():
    optimizer = optim.SGD([leaf(2)], lr=0.1)
    schedule = lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=3, cycle_momentum=False)
    for _ in range(3):
        schedule.step()
    with pytest.raises(
        ValueError, match=r"the cycle has 3 steps, step\(\) was called for number 4"
    ):
        schedule.step()


def test_a_wrong_assignment_changes_nothing():
    optimizer = optim.Adam([leaf(2)], lr=0.1)
    group = optimizer.param_groups[0]
    for key, value in (("lr", -1), ("betas", (0.5, 2)), ("eps", "x"), ("amsgrad", 2)):
        before = group[key]
        with pytest.raises((TypeError, ValueError), match=r"\[optim.Adam\]"):
            group[key] = value
        assert group[key] == before
