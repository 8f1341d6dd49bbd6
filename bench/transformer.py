"""A transformer's training step as plain functions over a list of arrays: bench/deep.py and
bench/peak.py measure it. `fz.value_and_grad`, Adam written out over lists.
"""

import frazil as fz

HEADS, VOCABULARY = 4, 65
RATE, DECAY1, DECAY2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def parameters(layers, width, length, seed=0):
    """12 for each layer, then four."""
    fz.random.seed(seed)

    def normal(*shape):
        return fz.random.normal(shape) * 0.02

    def norm():
        return [fz.ones(width), fz.zeros(width)]

    def linear(to, of):
        return [normal(to, of), fz.zeros(to)]

    made = []
    for _ in range(layers):
        made += norm() + linear(3 * width, width) + linear(width, width)
        made += norm() + linear(4 * width, width) + linear(width, 4 * width)
    return made + norm() + [normal(VOCABULARY, width), normal(length, width)]


def tokens(batch, length, seed=1):
    draws = fz.random.Generator(seed)
    return [draws.integers(0, VOCABULARY, (batch, length)) for _ in range(2)]


def layer(x, p):
    b, t, d = x.shape
    gain1, shift1, qkv, qkv_bias, out, out_bias, gain2, shift2, up, up_bias, down, down_bias = p
    y = fz.nn.layer_norm(x, gain1, shift1)
    y = (y @ qkv.T + qkv_bias).reshape(b, t, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
    y = fz.nn.attention(y[0], y[1], y[2], causal=True)
    x = x + (y.permute(0, 2, 1, 3).reshape(b, t, d) @ out.T + out_bias)
    y = fz.nn.layer_norm(x, gain2, shift2)
    return x + (fz.nn.gelu(y @ up.T + up_bias, approximate="tanh") @ down.T + down_bias)


def loss_of(params, x, y):
    *layers, gain, shift, embedding, places = params
    h = fz.take(embedding, x, axis=0) + places
    for at in range(0, len(layers), 12):
        h = layer(h, layers[at : at + 12])
    logits = fz.nn.layer_norm(h, gain, shift) @ embedding.T
    return fz.nn.cross_entropy(logits.reshape(-1, VOCABULARY), y.reshape(-1))


loss_and_grads = fz.value_and_grad(loss_of)


def step(params, first, second, count, x, y):
    """One step of Adam: the loss and the new state."""
    loss, grads = loss_and_grads(params, x, y)
    count = count + 1
    rate = RATE * fz.sqrt(1 - DECAY2**count) / (1 - DECAY1**count)
    new_params, new_first, new_second = [], [], []
    for p, g, m, v in zip(params, grads, first, second, strict=True):
        m = DECAY1 * m + (1 - DECAY1) * g
        v = DECAY2 * v + (1 - DECAY2) * g * g
        new_params.append(p - rate * m / (fz.sqrt(v) + EPSILON))
        new_first.append(m)
        new_second.append(v)
    return loss, new_params, new_first, new_second, count


def state(layers, width, length):
    params = parameters(layers, width, length)
    first, second = ([fz.zeros(p.shape) for p in params] for _ in range(2))
    return params, first, second, fz.zeros(1).sum()
