"""Training steps with modules and optimizers."""

from world import World, classes, given, in_turn, numbers, program, trace

import frazil as fz
from frazil import nn, optim


def batch(i):
    x = numbers(i, 8, 4)
    return x, fz.sum(x, axis=1, keepdims=True) * 0.5


def seeded(make):
    fz.random.seed(3)
    return make()


# -- The plain loop


model = seeded(lambda: nn.Linear(4, 1))
optimizer = optim.SGD(model.parameters(), lr=0.05)


@trace
def train_step(x, t):
    optimizer.zero_grad()
    loss = nn.mse_loss(model(x), t)
    loss.backward()
    optimizer.step()
    return loss


@program
def linear_with_sgd():
    def reset():
        with fz.no_grad():
            model.weight *= 0

    change = in_turn(lambda: setattr(optimizer, "lr", 0.01), reset)
    return World(train_step, lambda i: given(*batch(i)), change)


# -- A trainer that counts


class MLP(nn.Module):
    def __init__(self, sizes, activation=nn.relu):
        self.layers = [nn.Linear(m, n) for m, n in zip(sizes[:-1], sizes[1:], strict=True)]
        self.activation = activation

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = optim.Adam(model.parameters(), lr=lr)
        self.steps = 0
        self.losses = []

    @trace
    def step(self, x, t):
        loss = nn.mse_loss(self.model(x), t)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.losses.append(loss)
        return loss


@program
def trainer_with_adam():
    trainer = seeded(lambda: Trainer(MLP([4, 6, 1])))
    change = in_turn(
        lambda: setattr(trainer.model, "activation", fz.tanh),
        lambda: setattr(trainer, "model", seeded(lambda: MLP([4, 3, 1]))),
        trainer.losses.clear,
    )
    return World(trainer.step, lambda i: given(*batch(i)), change)


# -- A classifier with its accuracy


class Classifier(nn.Module):
    def __init__(self, features, count):
        self.body = nn.Sequential(nn.Linear(features, 8), nn.Tanh(), nn.Linear(8, count))
        self.count = count

    def forward(self, x):
        return self.body(x)

    def accuracy(self, logits, labels):
        return fz.mean(fz.astype(fz.argmax(logits, axis=-1) == labels, fz.float32))


classifier = seeded(lambda: Classifier(4, 3))
adam = optim.Adam(classifier.parameters(), lr=0.05)


@trace
def classify(x, labels, train=True):
    logits = classifier(x)
    loss = nn.cross_entropy(logits, labels)
    if train:
        adam.zero_grad()
        loss.backward()
        adam.step()
    return {"loss": loss, "accuracy": classifier.accuracy(logits, labels)}


@program
def classifier_with_accuracy():
    def call(i):
        return given(numbers(i, 8, 4), classes(i, 8, 3), train=i % 4 != 3)

    def nearly(self, logits, labels):
        return fz.mean(nn.softmax(logits, axis=-1)[:, 0])

    change = in_turn(
        lambda: setattr(Classifier, "accuracy", nearly),
        lambda: setattr(classifier.body[0], "weight", nn.Parameter(fz.ones((4, 8)))),
    )
    return World(classify, call, change)


# -- Residual blocks


class Residual(nn.Module):
    scale = 0.5

    def __init__(self, size):
        self.norm = nn.LayerNorm(size)
        self.inner = nn.Linear(size, size)

    def forward(self, x):
        return x + self.scale * nn.gelu(self.inner(self.norm(x)))


class Deep(nn.Module):
    def __init__(self, size, depth):
        self.blocks = [Residual(size) for _ in range(depth)]
        self.head = nn.Linear(size, 1)
        self.skip = set()

    def forward(self, x):
        for i, block in enumerate(self.blocks):
            if i not in self.skip:
                x = block(x)
        return self.head(x)


@program
def residual_blocks():
    deep = seeded(lambda: Deep(4, 3))
    parameters = deep.parameters()

    @trace
    def step(x, t, lr=0.01):
        loss = nn.mse_loss(deep(x), t)
        loss.backward()
        with fz.no_grad():
            for p in parameters:
                if p.grad is not None:
                    p -= lr * p.grad
                p.grad = None
        return loss

    change = in_turn(
        lambda: deep.skip.add(1),
        lambda: setattr(Residual, "scale", 0.25),
        lambda: setattr(deep.blocks[0], "scale", 2.0),
        lambda: deep.blocks.pop(),
    )
    return World(step, lambda i: given(*batch(i)), change)


# -- Dropout, on and off


class Noisy(nn.Module):
    def __init__(self):
        self.first = nn.Linear(4, 6)
        self.drop = nn.Dropout(0.5)
        self.second = nn.Linear(6, 1)

    def forward(self, x):
        return self.second(self.drop(nn.relu(self.first(x))))


@program
def dropout():
    noisy = seeded(Noisy)

    @trace
    def predict(x):
        return nn.sigmoid(noisy(x))

    change = in_turn(noisy.eval, noisy.train, lambda: setattr(noisy.drop, "p", 0.1))
    return World(predict, lambda i: given(numbers(i, 5, 4)), change)


# -- An autoencoder through value_and_grad


class Autoencoder(nn.Module):
    def __init__(self, size, code):
        self.encode = nn.Linear(size, code)
        self.decode = nn.Linear(code, size)

    def forward(self, x):
        code = fz.tanh(self.encode(x))
        return self.decode(code), code


def reconstruction(model, x, sparsity):
    y, code = model(x)
    return nn.mse_loss(y, x) + sparsity * fz.mean(fz.abs(code)), code


@program
def autoencoder():
    auto = seeded(lambda: Autoencoder(4, 2))
    settings = {"sparsity": 0.01, "lr": 0.1}

    @trace
    def step(x):
        grad_fn = fz.value_and_grad(
            lambda m: reconstruction(m, x, settings["sparsity"]), has_aux=True
        )
        (loss, code), grads = grad_fn(auto)
        with fz.no_grad():
            for p, g in zip(auto.parameters(), fz.tree.leaves(grads), strict=True):
                p -= settings["lr"] * g
        return loss, code.mean()

    change = in_turn(lambda: settings.update(sparsity=1.0), lambda: settings.update(lr=0.01))
    return World(step, lambda i: given(numbers(i, 6, 4)), change)


# -- A bigram language model


class Bigram(nn.Module):
    def __init__(self, vocabulary, width):
        self.embed = nn.Embedding(vocabulary, width)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, temperature=1.0):
        return self.out(self.norm(self.embed(tokens))) / temperature


@program
def bigram_language_model():
    bigram = seeded(lambda: Bigram(7, 4))
    opt = optim.SGD(bigram.parameters(), lr=0.1, momentum=0.9)
    options = {}

    @trace
    def step(tokens, **options):
        logits = bigram(tokens[:-1], **options)
        loss = nn.cross_entropy(logits, tokens[1:])
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss.detach()

    change = in_turn(
        lambda: options.update(temperature=2.0),
        lambda: setattr(opt, "lr", 0.01),
        lambda: bigram.load_state_dict(seeded(lambda: Bigram(7, 4)).state_dict()),
    )
    return World(step, lambda i: given(classes(i, 9, 7), **options), change)


# -- Gradients gathered over several calls


class Accumulator:
    def __init__(self, model, every):
        self.model, self.every = model, every
        self.optimizer = optim.SGD(model.parameters(), lr=0.1)
        self.seen = 0

    def step(self, x, t):
        loss = nn.mse_loss(self.model(x), t) / self.every
        loss.backward()
        self.seen += 1
        if self.seen % self.every == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()
        return loss


@program
def gathered_gradients():
    gather = Accumulator(seeded(lambda: nn.Linear(4, 1)), every=3)
    change = in_turn(lambda: setattr(gather, "every", 2), lambda: setattr(gather, "seen", 10))
    return World(trace(gather.step), lambda i: given(*batch(i)), change)


# -- The rate of the optimizer follows a schedule at each call


class Warmup:
    def __init__(self, optimizer, base, steps):
        self.optimizer, self.base, self.steps = optimizer, base, steps
        self.count = 0

    @property
    def rate(self):
        return self.base * min(1.0, self.count / self.steps)

    def step(self):
        self.count += 1
        self.optimizer.lr = self.rate


@program
def warmed_up_optimizer():
    net = seeded(lambda: nn.Linear(4, 1))
    opt = optim.SGD(net.parameters(), lr=0.0)
    warmup = Warmup(opt, base=0.1, steps=5)

    @trace
    def step(x, t):
        warmup.step()
        loss = nn.mse_loss(net(x), t)
        loss.backward()
        opt.step()
        opt.zero_grad()
        return loss

    change = in_turn(
        lambda: setattr(warmup, "count", 0),
        lambda: setattr(warmup, "base", 0.01),
        lambda: setattr(Warmup, "rate", property(lambda self: 0.5)),
    )
    return World(step, lambda i: given(*batch(i)), change)


# -- Only the head learns


@program
def frozen_body():
    body, head = seeded(lambda: (nn.Linear(4, 6), nn.Linear(6, 1)))
    opt = optim.Adam(head.parameters(), lr=0.02)
    use = {"activation": nn.relu}

    @trace
    def step(x, t):
        with fz.no_grad():
            features = use["activation"](body(x))
        opt.zero_grad()
        loss = fz.mean(fz.abs(head(features) - t))
        loss.backward()
        opt.step()
        return loss, features.mean(axis=0)

    change = in_turn(lambda: use.update(activation=nn.silu), lambda: use.update(activation=fz.sin))
    return World(step, lambda i: given(*batch(i)), change)


# -- A penalty on the weights, summed over named parameters


@program
def penalty_on_weights():
    net = seeded(lambda: MLP([4, 5, 1]))
    opt = optim.SGD(net.parameters(), lr=0.05)
    strength = 0.01

    @trace
    def step(x, t):
        weights = [p for name, p in net.named_parameters() if name.endswith("weight")]
        penalty = sum((w**2).sum() for w in weights) + 0.0
        fit = nn.mse_loss(net(x), t)
        (fit + strength * penalty).backward()
        opt.step()
        opt.zero_grad()
        return {"fit": fit, "penalty": penalty, "weights": len(weights)}

    def change(i):
        nonlocal strength
        strength = 1 / i

    return World(step, lambda i: given(*batch(i)), change)
