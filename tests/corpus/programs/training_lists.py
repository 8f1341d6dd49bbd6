"""Training steps written by hand over lists, tuples and dicts of parameters."""

import collections
import math

from world import World, given, in_turn, numbers, plain, program, trace

import frazil as fz

LEARNING_RATE = 0.1
TRUTH = numbers(7, 3, 1)


def batch(i, size=8):
    x = numbers(i, size, 3)
    return x, x @ TRUTH + 0.5


def keep(params):
    """What `params, loss = step(params, ...)` does with the parameters."""

    def after(result):
        params[:] = result[0]

    return after


# -- Linear regression over a list, with a global learning rate


def linear_loss(params, x, t):
    w, b = params
    return fz.mean((x @ w + b - t) ** 2)


@trace
def sgd_step(params, x, t):
    loss, grads = fz.value_and_grad(linear_loss)(params, x, t)
    return [p - LEARNING_RATE * g for p, g in zip(params, grads, strict=True)], loss


@program
def sgd_over_a_list():
    params = [fz.zeros((3, 1)), fz.zeros(1)]

    def change(i):
        global LEARNING_RATE
        LEARNING_RATE = 1 / i

    return World(sgd_step, lambda i: given(list(params), *batch(i)), change, keep(params))


# -- Logistic regression over a dict


def logistic_loss(params, x, t, penalty=0.0):
    z = fz.vecdot(x, params["w"]) + params["b"]
    fit = fz.mean(fz.nn.softplus(z) - t * z)
    return fit + penalty * sum(fz.sum(p * p) for p in params.values())


@trace
def logistic_step(params, x, t, lr=0.5, penalty=1e-3):
    grads = fz.grad(logistic_loss)(params, x, t, penalty)
    return {name: p - lr * grads[name] for name, p in params.items()}


@program
def logistic_regression_over_a_dict():
    params = {"w": fz.zeros(3), "b": fz.asarray(0.0)}

    def call(i):
        x = numbers(i, 10, 3)
        return given(params, x, fz.astype(x[:, 0] > 0, fz.float32))

    def defaults(*values):
        plain(logistic_step).__defaults__ = values

    change = in_turn(
        lambda: defaults(0.25, 1e-3),
        lambda: params.update(w=fz.ones(3)),
        lambda: defaults(0.25, 0.1),
    )
    return World(logistic_step, call, change, params.update)


# -- Momentum, with velocities in a list of the module


velocities = []
MOMENTUM = {"beta": 0.9, "nesterov": False}


@trace
def momentum_step(params, x, t):
    loss, grads = fz.value_and_grad(linear_loss)(params, x, t)
    if not velocities:
        velocities.extend(fz.zeros_like(p) for p in params)
    new = []
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        velocities[i] = MOMENTUM["beta"] * velocities[i] + g
        step = g + MOMENTUM["beta"] * velocities[i] if MOMENTUM["nesterov"] else velocities[i]
        new.append(p - 0.05 * step)
    return new, loss


@program
def momentum_with_global_velocities():
    params = [fz.zeros((3, 1)), fz.zeros(1)]
    change = in_turn(
        lambda: MOMENTUM.update(beta=0.5),
        lambda: MOMENTUM.update(nesterov=True),
        velocities.clear,
    )
    return World(momentum_step, lambda i: given(list(params), *batch(i)), change, keep(params))


# -- Adam over lists, the time step an argument


@trace
def adam_step(params, m, v, t, x, y, lr=0.01, betas=(0.9, 0.999), eps=1e-8):
    loss, grads = fz.value_and_grad(linear_loss)(params, x, y)
    b1, b2 = betas
    m = [b1 * a + (1 - b1) * g for a, g in zip(m, grads, strict=True)]
    v = [b2 * a + (1 - b2) * g * g for a, g in zip(v, grads, strict=True)]
    scale = lr * math.sqrt(1 - b2**t) / (1 - b1**t)
    params = [p - scale * a / (fz.sqrt(b) + eps) for p, a, b in zip(params, m, v, strict=True)]
    return params, m, v, loss


@program
def adam_over_lists():
    state = [[fz.zeros((3, 1)), fz.zeros(1)] for _ in range(3)]
    options = {"lr": 0.01}

    def after(result):
        state[:] = result[:3]

    def call(i):
        return given(*state, i + 1, *batch(i), **options)

    change = in_turn(
        lambda: options.update(lr=0.1),
        lambda: options.update(betas=(0.8, 0.99)),
        lambda: options.pop("lr"),
    )
    return World(adam_step, call, change, after)


# -- Adam that counts its steps in a dict of state, in place


def new_adam_state(params):
    zeros = [fz.zeros_like(p) for p in params]
    return {"step": 0, "m": list(zeros), "v": list(zeros)}


def adam_update(params, grads, state, lr=1e-2, b1=0.9, b2=0.999, eps=1e-8):
    state["step"] += 1
    fix1, fix2 = 1 - b1 ** state["step"], 1 - b2 ** state["step"]
    for i in range(len(params)):
        state["m"][i] = b1 * state["m"][i] + (1 - b1) * grads[i]
        state["v"][i] = b2 * state["v"][i] + (1 - b2) * fz.square(grads[i])
        params[i] = params[i] - lr * (state["m"][i] / fix1) / (fz.sqrt(state["v"][i] / fix2) + eps)


@trace
def adam_in_place(params, state, x, t):
    loss, grads = fz.value_and_grad(linear_loss)(params, x, t)
    adam_update(params, grads, state)
    return loss


@program
def adam_with_a_dict_of_state():
    params = [fz.zeros((3, 1)), fz.zeros(1)]
    state = new_adam_state(params)
    change = in_turn(
        lambda: state.update(step=0),
        lambda: setattr(adam_update, "__defaults__", (0.1, 0.9, 0.999, 1e-8)),
        lambda: state.update(new_adam_state(params)),
    )
    return World(adam_in_place, lambda i: given(params, state, *batch(i)), change)


# -- Adagrad with a named tuple


Adagrad = collections.namedtuple("Adagrad", "params, squares, lr")


@trace
def adagrad_step(state, x, t):
    grads = fz.grad(linear_loss)(state.params, x, t)
    squares = tuple(s + g * g for s, g in zip(state.squares, grads, strict=True))
    params = tuple(
        p - state.lr * g / (fz.sqrt(s) + 1e-6)
        for p, g, s in zip(state.params, grads, squares, strict=True)
    )
    return state._replace(params=params, squares=squares)


@program
def adagrad_with_a_named_tuple():
    zeros = (fz.zeros((3, 1)), fz.zeros(1))
    held = [Adagrad(zeros, zeros, 0.3)]

    def after(result):
        held[0] = result

    def change(i):
        held[0] = held[0]._replace(lr=2 / i)

    return World(adagrad_step, lambda i: given(held[0], *batch(i)), change, after)


# -- Gradients clipped by their common norm


def global_norm(tensors):
    return fz.sqrt(sum(fz.sum(t * t) for t in tensors))


def clipped(grads, largest):
    norm = global_norm(grads)
    scale = fz.minimum(largest / (norm + 1e-6), 1.0)
    return [g * scale for g in grads], norm


MAX_NORM = 1.0


@trace
def clipped_step(params, x, t):
    loss, grads = fz.value_and_grad(linear_loss)(params, x, t)
    grads, norm = clipped(grads, MAX_NORM)
    return [p - 0.1 * g for p, g in zip(params, grads, strict=True)], loss, norm


@program
def clipped_gradients():
    params = [fz.zeros((3, 1)), fz.zeros(1)]

    def smaller():
        global MAX_NORM
        MAX_NORM /= 4

    def other_norm():
        global global_norm

        def global_norm(tensors):
            return sum(fz.sum(fz.abs(t)) for t in tensors)

    change = in_turn(smaller, other_norm)
    return World(clipped_step, lambda i: given(list(params), *batch(i)), change, keep(params))


# -- An MLP as a list of (w, b) pairs


def mlp(layers, x, activation=fz.tanh):
    *hidden, last = layers
    for w, b in hidden:
        x = activation(x @ w + b)
    w, b = last
    return x @ w + b


@trace
def mlp_step(layers, x, t, lr=0.1, activation=fz.tanh):
    def loss_fn(layers):
        return fz.nn.mse_loss(mlp(layers, x, activation), t)

    loss, grads = fz.value_and_grad(loss_fn)(layers)
    new = [(w - lr * gw, b - lr * gb) for (w, b), (gw, gb) in zip(layers, grads, strict=True)]
    return new, loss


@program
def mlp_of_pairs():
    sizes = [3, 5, 4, 1]
    layers = [(numbers(i, m, n), fz.zeros(n)) for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]  # noqa: B905
    options = {"lr": 0.1}
    change = in_turn(
        lambda: options.update(activation=fz.nn.relu),
        lambda: options.update(lr=0.01),
        lambda: layers.insert(1, (fz.eye(5), fz.zeros(5))),
    )
    return World(
        mlp_step, lambda i: given(list(layers), *batch(i), **options), change, keep(layers)
    )


# -- A cosine schedule over a global step


step_number = 0
SCHEDULE = dict(base=0.2, warmup=4, total=30)


def learning_rate(step, base, warmup, total):
    if step < warmup:
        return base * (step + 1) / warmup
    return 0.5 * base * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


@trace
def scheduled_step(params, x, t):
    global step_number
    lr = learning_rate(step_number, **SCHEDULE)
    loss, grads = fz.value_and_grad(linear_loss)(params, x, t)
    step_number += 1
    return [p - lr * g for p, g in zip(params, grads, strict=True)], loss


@program
def cosine_schedule():
    params = [fz.zeros((3, 1)), fz.zeros(1)]

    def restart():
        global step_number
        step_number = 0

    change = in_turn(lambda: SCHEDULE.update(base=0.05), restart, lambda: SCHEDULE.update(warmup=9))
    return World(scheduled_step, lambda i: given(list(params), *batch(i)), change, keep(params))


# -- Weight decay for what is a matrix, by name


DECAYED = ("weight", "kernel")


@trace
def decayed_step(params, grads, lr=0.1, decay=0.01):
    out = {}
    for name in sorted(params):
        update = grads[name]
        if any(name.endswith(suffix) for suffix in DECAYED) and params[name].ndim > 1:
            update = update + decay * params[name]
        out[name] = params[name] - lr * update
    return out


@program
def weight_decay_by_name():
    params = {"a.weight": numbers(1, 3, 2), "a.bias": numbers(2, 2), "b.gain": numbers(3, 2, 2)}

    def call(i):
        grads = {name: numbers(i, *p.shape) for name, p in params.items()}
        return given(params, grads)

    def change(i):
        global DECAYED
        DECAYED = ("gain",) if i % 2 else ("bias", "weight", "gain")

    return World(decayed_step, call, change, params.update)


# -- An average of the weights beside them


average = {}
DECAY = 0.9


@trace
def averaged_step(params, x, t):
    grads = fz.grad(linear_loss)(params, x, t)
    new = [p - 0.1 * g for p, g in zip(params, grads, strict=True)]
    for i, p in enumerate(new):
        key = f"param_{i}"
        average[key] = DECAY * average[key] + (1 - DECAY) * p if key in average else p
    return new, linear_loss(list(average.values()), x, t)


@program
def exponential_average():
    params = [fz.zeros((3, 1)), fz.zeros(1)]

    def faster():
        global DECAY
        DECAY = 0.5

    change = in_turn(faster, average.clear, lambda: average.update(param_1=fz.ones(1)))
    return World(averaged_step, lambda i: given(list(params), *batch(i)), change, keep(params))
