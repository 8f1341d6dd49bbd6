"""What tutorials build: attention, recurrent cells, small networks, mixtures."""

import math

from world import World, classes, given, in_turn, numbers, plain, program, trace

import frazil as fz
from frazil import nn, optim


def seeded(make):
    fz.random.seed(3)
    return make()


# -- Attention with several heads


class Attention(nn.Module):
    def __init__(self, width, heads):
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.causal = True

    def split(self, x):
        t, width = x.shape
        return x.reshape((t, self.heads, width // self.heads)).permute(1, 0, 2)

    def forward(self, x):
        q, k, v = (self.split(part(x)) for part in (self.query, self.key, self.value))
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if self.causal:
            t = x.shape[0]
            scores = fz.where(fz.tril(fz.ones((t, t))) > 0, scores, -math.inf)
        mixed = nn.softmax(scores, axis=-1) @ v
        return mixed.permute(1, 0, 2).reshape(x.shape)


@program
def attention_with_heads():
    attention = seeded(lambda: Attention(6, 2))

    @trace
    def apply(x):
        return attention(x)

    change = in_turn(
        lambda: setattr(attention, "causal", False),
        lambda: setattr(attention, "heads", 3),
        lambda: setattr(attention, "key", attention.query),
        lambda: setattr(attention, "heads", 4),
    )
    return World(apply, lambda i: given(numbers(i, 5, 6)), change)


# -- A transformer block and its training


class Block(nn.Module):
    def __init__(self, width):
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attend = Attention(width, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 8), nn.GELU(), nn.Linear(8, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, vocabulary, width, depth):
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(fz.zeros((6, width)))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.embed(tokens) + self.position[: len(tokens)]
        return self.head(self.blocks(x))


@program
def transformer_training():
    net = seeded(lambda: Transformer(7, 4, 2))
    adam = optim.Adam(net.parameters(), lr=0.01)

    @trace
    def step(tokens):
        loss = nn.cross_entropy(net(tokens[:-1]), tokens[1:])
        adam.zero_grad()
        loss.backward()
        adam.step()
        return loss

    def call(i):
        return given(classes(i, 6, 7))

    change = in_turn(
        lambda: setattr(net.blocks[0].attend, "causal", False),
        lambda: setattr(adam, "lr", 0.1),
        lambda: setattr(Block, "forward", lambda self, x: x + self.mlp(x)),
    )
    return World(step, call, change)


# -- A plain recurrent network over a list


def rnn_cell(params, h, x):
    return fz.tanh(x @ params["wx"] + h @ params["wh"] + params["b"])


@trace
def rnn(params, xs, cell=rnn_cell):
    h = fz.zeros(params["wh"].shape[0])
    out = []
    for x in xs:
        h = cell(params, h, x)
        out.append(h)
    return out[-1], fz.stack(out)


@program
def recurrent_network():
    params = {"wx": numbers(1, 2, 3), "wh": numbers(2, 3, 3) * 0.3, "b": fz.zeros(3)}

    def gated(params, h, x):
        return 0.5 * h + 0.5 * rnn_cell(params, h, x)

    change = in_turn(
        lambda: params.update(b=fz.ones(3)),
        lambda: setattr(plain(rnn), "__defaults__", (gated,)),
        lambda: params["wh"].__setitem__(0, 0.0),
    )
    return World(rnn, lambda i: given(params, numbers(i, 5, 2)), change)


# -- A long short-term memory


class LSTM(nn.Module):
    def __init__(self, inputs, width):
        self.gates = nn.Linear(inputs + width, 4 * width)
        self.width = width
        self.forget_bias = 1.0

    def cell(self, x, state):
        h, c = state
        i, f, g, o = fz.split(self.gates(fz.concat([x, h])), 4)
        c = nn.sigmoid(f + self.forget_bias) * c + nn.sigmoid(i) * fz.tanh(g)
        return nn.sigmoid(o) * fz.tanh(c), c

    def forward(self, xs, state=None):
        state = state or (fz.zeros(self.width), fz.zeros(self.width))
        for x in xs:
            state = self.cell(x, state)
        return state


@program
def lstm_with_state():
    lstm, held = seeded(lambda: LSTM(2, 3)), {"state": None}

    @trace
    def run(xs, state):
        with fz.no_grad():
            return lstm(xs, state)

    change = in_turn(
        lambda: setattr(lstm, "forget_bias", -1.0),
        lambda: held.update(state=None),
        lambda: setattr(LSTM, "cell", lambda self, x, state: state),
    )

    def call(i):
        return given(numbers(i, 3, 2), held["state"])

    return World(run, call, change, lambda r: held.update(state=r))


# -- Sines for positions


def angle(position, i, width, base=10000.0):
    return position / base ** (2 * (i // 2) / width)


@trace
def positions(count, width, scale=1.0):
    rows = [
        [
            math.sin(angle(p, i, width)) if i % 2 == 0 else math.cos(angle(p, i, width))
            for i in range(width)
        ]
        for p in range(count)
    ]
    return fz.asarray(rows) * scale


@program
def encoded_positions():
    change = in_turn(
        lambda: setattr(angle, "__defaults__", (100.0,)),
        lambda: setattr(plain(positions), "__defaults__", (0.5,)),
        lambda: setattr(angle, "__code__", (lambda p, i, width, base: p * i / width).__code__),
    )
    return World(positions, lambda i: given(3 + i % 2, 4), change)


# -- A variational autoencoder


class VAE(nn.Module):
    def __init__(self, size, code):
        self.encoder, self.decoder = nn.Linear(size, 2 * code), nn.Linear(code, size)
        self.beta = 1.0

    def forward(self, x):
        mean, log_var = fz.split(self.encoder(x), 2, axis=-1)
        z = mean + fz.exp(0.5 * log_var) * fz.random.normal(mean.shape)
        return self.decoder(z), mean, log_var

    def loss(self, x):
        y, mean, log_var = self(x)
        divergence = -0.5 * fz.mean(1 + log_var - mean**2 - fz.exp(log_var))
        return nn.mse_loss(y, x) + self.beta * divergence


@program
def variational_autoencoder():
    vae = seeded(lambda: VAE(4, 2))
    sgd = optim.SGD(vae.parameters(), lr=0.05, momentum=0.5)

    @trace
    def step(x):
        sgd.zero_grad()
        loss = vae.loss(x)
        loss.backward()
        sgd.step()
        return loss

    change = in_turn(
        lambda: setattr(vae, "beta", 0),
        lambda: fz.random.seed(9),
        lambda: setattr(vae, "loss", lambda x: fz.mean(vae.decoder(x[:, :2]) ** 2)),
    )
    return World(step, lambda i: given(numbers(i, 5, 4)), change)


# -- Words and their neighbours, with negative samples


@trace
def skip_gram(vectors, contexts, word, near, negatives, lr=0.1):
    def loss_fn(tables):
        v, c = tables
        centre = v[word]
        good = nn.log_sigmoid(fz.sum(c[near] * centre))
        bad = sum(nn.log_sigmoid(-fz.sum(c[k] * centre)) for k in negatives)
        return -(good + bad)

    loss, (gv, gc) = fz.value_and_grad(loss_fn)((vectors, contexts))
    vectors -= lr * gv
    contexts -= lr * gc
    return loss


@program
def words_and_neighbours():
    vectors, contexts = numbers(1, 5, 3), numbers(2, 5, 3)
    negatives = [0, 3]

    def call(i):
        return given(vectors, contexts, i % 5, (i + 1) % 5, negatives)

    change = in_turn(
        lambda: negatives.append(4),
        lambda: setattr(plain(skip_gram), "__defaults__", (0.01,)),
        lambda: negatives.__setitem__(0, 1),
    )
    return World(skip_gram, call, change)


# -- Style as products of features


LAYER_WEIGHTS = {"low": 1.0, "high": 0.2}


def gram(features):
    flat = features.reshape((-1, features.shape[-1]))
    return flat.T @ flat / flat.shape[0]


@trace
def style_loss(image, style, filters):
    total = 0.0
    for name, w in filters.items():
        a, b = (nn.relu(nn.conv2d(x[None], w, padding=1)) for x in (image, style))
        total = total + LAYER_WEIGHTS.get(name, 0) * fz.mean((gram(a) - gram(b)) ** 2)
    return total


@program
def style_of_images():
    filters = {"low": numbers(1, 3, 3, 2, 3), "high": numbers(2, 3, 3, 2, 4)}
    change = in_turn(
        lambda: LAYER_WEIGHTS.update(high=3),
        lambda: filters.update(middle=filters["low"] * 2),
        lambda: LAYER_WEIGHTS.update(middle=1.0),
    )

    def call(i):
        return given(numbers(i, 4, 4, 2), numbers(i + 1, 4, 4, 2), filters)

    return World(style_loss, call, change)


# -- A small convolutional network


class ConvNet(nn.Module):
    def __init__(self):
        self.kernel = nn.Parameter(numbers(5, 3, 3, 1, 2))
        self.head = nn.Linear(2 * 2 * 2, 3)
        self.pool = 2

    def forward(self, x):
        x = nn.relu(nn.conv2d(x, self.kernel))
        n, h, w, c = x.shape
        p = self.pool
        x = x.reshape((n, h // p, p, w // p, p, c)).max(axis=(2, 4))
        return self.head(x.reshape((n, -1)))


@program
def convolutional_network():
    net = seeded(ConvNet)
    sgd = optim.SGD(net.parameters(), lr=0.1)

    @trace
    def step(images, labels):
        loss = nn.cross_entropy(net(images), labels)
        loss.backward()
        sgd.step()
        sgd.zero_grad()
        return loss

    change = in_turn(lambda: setattr(sgd, "lr", 0.0), lambda: setattr(net, "pool", 4))
    return World(step, lambda i: given(numbers(i, 2, 6, 6, 1), classes(i, 2, 3)), change)


# -- Batch normalisation with buffers


class BatchNorm(nn.Module):
    def __init__(self, size, momentum=0.1):
        self.gain, self.shift = nn.Parameter(fz.ones(size)), nn.Parameter(fz.zeros(size))
        self.register_buffer("mean", fz.zeros(size))
        self.register_buffer("var", fz.ones(size))
        self.momentum = momentum
        self.batches = 0

    def forward(self, x):
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            with fz.no_grad():
                self.mean += self.momentum * (mean - self.mean)
                self.var += self.momentum * (var - self.var)
            self.batches += 1
        else:
            mean, var = self.mean, self.var
        return self.gain * (x - mean) * fz.rsqrt(var + 1e-5) + self.shift


@program
def batch_normalisation():
    norm = BatchNorm(3)

    @trace
    def apply(x):
        return norm(x).detach(), norm.batches

    change = in_turn(norm.eval, norm.train, lambda: setattr(norm, "momentum", 1), norm.eval)
    return World(apply, lambda i: given(numbers(i, 6, 3)), change)


# -- The nearest neighbours vote


@trace
def nearest(points, labels, queries, k=3, classes=2):
    apart = fz.sum((queries[:, None] - points[None]) ** 2, axis=-1)
    order = fz.argsort(apart, axis=1)[:, :k]
    votes = fz.take(labels, order.reshape((-1,))).reshape(order.shape)
    counts = fz.stack([fz.sum(votes == c, axis=1) for c in range(classes)], axis=1)
    return fz.argmax(counts, axis=1), counts


@program
def nearest_neighbours():
    points, labels, options = numbers(1, 8, 2), classes(1, 8, 2), {}
    change = in_turn(
        lambda: options.update(k=1), lambda: options.update(classes=3), lambda: options.update(k=8)
    )
    return World(nearest, lambda i: given(points, labels, numbers(i, 3, 2), **options), change)


# -- A mixture of normals, one round of expectation and maximisation a call


class Mixture:
    def __init__(self, k):
        self.means = fz.linspace(-1, 1, k)
        self.variances = fz.ones(k)
        self.shares = fz.ones(k) / k
        self.floor = 1e-3

    def responsibilities(self, x):
        z = (x[:, None] - self.means) ** 2 / self.variances
        logs = fz.log(self.shares) - 0.5 * (z + fz.log(self.variances))
        return nn.softmax(logs, axis=1), fz.mean(fz.logsumexp(logs, axis=1))

    def round(self, x):
        r, likelihood = self.responsibilities(x)
        size = fz.sum(r, axis=0)
        self.shares = size / len(x)
        self.means = fz.sum(r * x[:, None], axis=0) / size
        apart = (x[:, None] - self.means) ** 2
        self.variances = fz.maximum(fz.sum(r * apart, axis=0) / size, self.floor)
        return likelihood


@program
def mixture_of_normals():
    mixture = Mixture(2)
    change = in_turn(
        lambda: setattr(mixture, "floor", 0.5),
        lambda: Mixture.__init__(mixture, 3),
        lambda: setattr(mixture, "means", mixture.means + 1),
    )
    return World(trace(mixture.round), lambda i: given(numbers(i, 10)), change)


# -- A perceptron that learns from its errors


class Perceptron:
    def __init__(self, size):
        self.w, self.b = fz.zeros(size), 0.0
        self.errors = 0

    def predict(self, x):
        return 1 if fz.sum(self.w * x) + self.b > 0 else -1

    def learn(self, x, label):
        if self.predict(x) != label:
            self.w = self.w + label * x
            self.b += label
            self.errors += 1
        return self.errors


@program
def perceptron():
    p = Perceptron(2)
    change = in_turn(
        lambda: setattr(p, "errors", 0),
        lambda: setattr(p, "w", fz.zeros(2)),
        lambda: setattr(p, "b", 9),
    )

    def call(i):
        return given(numbers(i, 2), 1 if i % 3 else -1)

    return World(trace(p.learn), call, change)
