"""Modules and optimizers: what of them changes between calls."""

import copy
import gc

from hz import V, effect, exact

import frazil as fz


def make(*sizes):
    """A network of few layers whose parameters are the same in every run."""
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False)):
        layer = fz.nn.Linear(a, b)
        with fz.no_grad():
            layer.weight[...] = fz.reshape(fz.arange(a * b, dtype="float32"), layer.weight.shape)
            layer.weight -= 0.3 * a * i
            layer.weight *= 0.1
            layer.bias[...] = 0.01 * i
        layers += [layer, fz.nn.Tanh()]
    return fz.nn.Sequential(*layers)


def scramble(model, i):
    """One of the changes that a user may make to a module between calls."""
    layers = model.layers
    kind = i % 13
    if kind == 1:
        model.eval()
    elif kind == 2:
        layers[0] = make(2, 3).layers[0]
    elif kind == 3:
        layers.append(fz.nn.ReLU())
    elif kind == 4:
        layers[0].bias = None
    elif kind == 5:
        layers[0].weight = layers[0].weight.detach() * 2
    elif kind == 6:
        model.train()
    elif kind == 7:
        model.shift = 0.5
    elif kind == 8:
        model.shift = fz.asarray([1.0, 2.0])
    elif kind == 9:
        with fz.no_grad():
            layers[2].weight *= 0.5
    elif kind == 10:
        layers[1], layers[3] = fz.nn.Sigmoid(), layers[1]
    elif kind == 11:
        del layers[-1]
        del model.shift
    elif kind == 12:
        layers[0].weight.requires_grad_(False)


@exact("everything about a module argument changes", pure=True)
def module_argument(F, compile):
    def f(model, x):
        y = model(x) * (2 if model.training else 1)
        return y + getattr(model, "shift", 0), len(list(model.parameters()))

    g, model, x = compile(f), make(2, 3, 2), V(F, 1, -1)
    for i in range(26):
        scramble(model, i)
        with fz.no_grad():
            yield g(model, x), g(model, x), g(model, x)


@exact("everything about a captured module changes")
def captured_module(F, compile):
    model = make(2, 3, 2)

    def f(x):
        y = model(x).sum()
        y.backward()
        return y, [p.grad for p in model.parameters()]

    g = compile(f)
    for i in range(26):
        scramble(model, i)
        if i % 12 < 11:
            yield g(V(F, 1, i)), g(V(F, 2, 1))


@exact("a traced method of a module; several modules; deep copies", pure=True)
def methods_of_modules(F, compile):
    class Net(fz.nn.Module):
        def __init__(self, k):
            self.k = k
            self.inner = make(2, 2)
            self.layers = [make(2, 2), {"x": make(2, 2)}]

        @compile
        def forward(self, x, twice=False):
            y = self.inner(x) * self.k + self.layers[0](x)
            y = self.layers[1]["x"](y)
            return self.inner(y) if twice else y

    nets = [Net(1.0), Net(2)]
    nets.append(copy.deepcopy(nets[0]))
    with fz.no_grad():
        for i in range(6):
            for n, net in enumerate(nets):
                yield net(V(F, i, 1)), net(V(F, i, 1), twice=bool(i % 2))
                if i == 3:
                    net.layers[1]["x"].layers[0].weight *= n + 1
                    net.k = net.k + 1
                if i == 4:
                    net.layers[1]["y"] = net.layers[1].pop("x")
                    net.layers[1]["x"] = make(2, 2)


@exact("tied weights, tied and untied")
def tied_weights(F, compile):
    model = make(2, 2, 2)
    a, b = model.layers[0], model.layers[2]

    def f(x):
        loss = (model(x) ** 2).sum()
        loss.backward()
        return loss, a.weight.grad, b.weight.grad, a.weight is b.weight

    g, own = compile(f), b.weight
    for i in range(10):
        b.weight = a.weight if i in (3, 4, 5, 8) else own
        yield g(V(F, i, 1))
        a.weight.grad = b.weight.grad = None


@exact("buffers written by forward in training only (running mean)", pure=True)
def buffers(F, compile):
    class Norm(fz.nn.Module):
        def __init__(self):
            self.mean = fz.zeros(2)
            self.count = 0

        def forward(self, x):
            if self.training:
                self.mean += 0.1 * (x - self.mean)
                self.count += 1
            return x - self.mean

    norm = Norm()
    g = compile(lambda m, x: m(x) * 2)
    for i in range(14):
        norm.train(i % 5 != 4)
        yield g(norm, V(F, i, 1))
        yield norm.mean, norm.count


@exact("training steps with SGD, momentum and Adam; their settings change", pure=True)
def optimizers(F, compile):
    def step(model, optimizer, x, t):
        optimizer.zero_grad()
        loss = fz.nn.mse_loss(model(x), t)
        loss.backward()
        optimizer.step()
        return loss.detach()

    g = compile(step)
    for make_optimizer in (
        lambda p: fz.optim.SGD(p, lr=0.1),
        lambda p: fz.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: fz.optim.Adam(p, lr=0.05),
    ):
        model = make(2, 3, 2)
        optimizer = make_optimizer(model.parameters())
        for i in range(14):
            if i == 7:
                optimizer.lr = 0.02
            if i == 9:
                with fz.no_grad():
                    model.layers[0].weight *= 0
            if i == 11:
                optimizer = make_optimizer(list(model.parameters())[:2])
            yield g(model, optimizer, V(F, 1, i), V(F, 0, 1))
            yield list(model.parameters())


@exact("forward is replaced; a layer wraps another; a hook in Python")
def replaced_forward(F, compile):
    model, log = make(2, 2), []
    g = compile(lambda x: model(x) + 1)
    first = fz.nn.Sequential.forward
    try:
        for i in range(9):
            if i == 3:
                inner = model.forward
                model.forward = lambda x: (log.append(x.sum().item()), inner(x * 2))[1]
            if i == 6:
                del model.forward
                fz.nn.Sequential.forward = lambda self, x: first(self, x) * 3
            yield g(V(F, i, 1))
            yield effect(log)
    finally:
        fz.nn.Sequential.forward = first


@exact("modules made, called once and dropped", pure=True)
def short_lived_modules(F, compile):
    g = compile(lambda m, x, k: m(x) * k)
    with fz.no_grad():
        for i in range(20):
            m = make(2, 2) if i % 2 else make(2, 3, 2)
            m.layers[0].bias[...] = float(i)
            yield g(m, V(F, 1, 2), i % 3)
            del m
            gc.collect()


@exact("dropout and train, eval; the generator is the program's")
def dropout(F, compile):
    fz.random.seed(5)
    model = fz.nn.Sequential(fz.nn.Dropout(0.5), fz.nn.LayerNorm(2))
    g = compile(lambda x: model(x) + 0)
    for i in range(10):
        model.train(i % 4 != 3)
        yield g(V(F, i, 1))
        yield fz.random.uniform((2,))


@exact("attributes of many kinds on a module", pure=True)
def attributes(F, compile):
    class Odd(fz.nn.Module):
        kind = "class"

        def __init__(self):
            self.number, self.items, self.table = 1, [1, 2.0], {"k": 1}

        def forward(self, x):
            y = x * self.number + sum(self.items) * self.table["k"]
            return y, self.kind, type(self.number).__name__

    m = Odd()
    g = compile(lambda m, x: m(x))
    changes = [
        lambda: setattr(m, "number", 1.0),
        lambda: setattr(m, "number", True),
        lambda: m.items.append(3),
        lambda: m.table.update(k=2.5),
        lambda: setattr(m, "kind", "instance"),
        lambda: m.items.__setitem__(0, -0.0),
        lambda: m.table.clear() or m.table.update(z=1, k=3),
        lambda: setattr(m, "number", V(F, 2, 3)),
        lambda: m.items.clear(),
        lambda: vars(m).update(number=7),
        lambda: vars(m).pop("kind"),
        lambda: setattr(Odd, "kind", "changed"),
    ]
    for change in [lambda: None, *changes]:
        change()
        for _ in range(4):
            yield g(m, V(F, 1, 2))
