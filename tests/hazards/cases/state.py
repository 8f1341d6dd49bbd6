"""What a body reads from around it: globals, closures, attributes, modules."""

from hz import V, case, effect

SCALE = 2.0
CFG = {"scale": 2.0}


@case("01a", "global Python number changes between calls")
def c01a(F, compile):
    global SCALE
    SCALE = 2.0

    def f(x):
        return x * SCALE

    g, x = compile(f), V(F, 1, 2, 3)
    for s in (2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 2.0):
        SCALE = s
        yield g(x)


@case("01b", "entry of a global dict changes")
def c01b(F, compile):
    CFG["scale"] = 2.0

    def f(x):
        return x * CFG["scale"]

    g, x = compile(f), V(F, 1, 2, 3)
    for s in (2.0, 2.0, 2.0, 3.0, 3.0, 4.0, 2.0):
        CFG["scale"] = s
        yield g(x)


@case("02a", "closure tensor rebound to another tensor")
def c02a(F, compile):
    w = V(F, 1, 1, 1)

    def f(x):
        return x * w

    g, x = compile(f), V(F, 1, 2, 3)
    for _ in range(3):
        yield g(x)
    w = V(F, 5, 6, 7)
    for _ in range(3):
        yield g(x)


@case("02b", "closure Python number rebound")
def c02b(F, compile):
    k = 2

    def f(x):
        return x * k

    g, x = compile(f), V(F, 1, 2, 3)
    for k in (2, 2, 2, 5, 5, 7, 2):
        yield g(x)


class Model:
    def __init__(self, w, k):
        self.w, self.k = w, k

    def forward(self, x):
        return x * self.w * self.k


@case("03a", "number attribute of the same object changes")
def c03a(F, compile):
    m = Model(V(F, 1, 2, 1), 2.0)
    g, x = compile(m.forward), V(F, 1, 2, 3)
    for k in (2.0, 2.0, 2.0, 3.0, 3.0, 5.0, 2.0):
        m.k = k
        yield g(x)


@case("03b", "tensor attribute of the same object is rebound")
def c03b(F, compile):
    m = Model(V(F, 1, 2, 1), 2.0)
    g, x = compile(m.forward), V(F, 1, 2, 3)
    for _ in range(3):
        yield g(x)
    for i in range(3):
        m.w = V(F, i + 3, i, 7)
        yield g(x)


@case("03c", "number attribute of a captured object changes")
def c03c(F, compile):
    m = Model(V(F, 1, 2, 1), 2.0)

    def f(x):
        return x * m.k

    g, x = compile(f), V(F, 1, 2, 3)
    for k in (2.0, 2.0, 2.0, 3.0, 3.0, 5.0, 2.0):
        m.k = k
        yield g(x)


@case("04a", "list.append(tensor) on an outer list")
def c04a(F, compile):
    seen = []

    def f(x):
        y = x + 1
        seen.append(y)
        return y * 2

    g = compile(f)
    for i in range(5):
        yield g(V(F, i, i + 1, i + 2))
    yield effect(len(seen))
    yield effect(seen)


@case("04b", "counter in an outer dict")
def c04b(F, compile):
    stats = {"calls": 0}

    def f(x):
        stats["calls"] += 1
        return x * 2

    g = compile(f)
    for i in range(5):
        yield g(V(F, i, i + 1, i + 2))
    yield effect(stats["calls"])


class Layer:
    def __init__(self, w):
        self.w, self.training = w, True

    def train(self, mode):
        self.training = mode

    def __call__(self, x):
        return x * self.w if self.training else x + self.w


class Net:
    def __init__(self, layers):
        self.layers = layers

    def train(self, mode):
        for m in self.layers:
            m.train(mode)

    def __call__(self, x):
        for m in self.layers:
            x = m(x)
        return x


@case("22", "train/eval flag of nested layers flips")
def c22(F, compile):
    net = Net([Layer(V(F, 1, 2, 3)), Layer(V(F, 4, 5, 6))])

    def f(x):
        return net(x)

    g, x = compile(f), V(F, 1, 2, 3)
    for mode in (True, True, True, False, False, True, False):
        net.train(mode)
        yield g(x)


@case("33a", "closure re-created in a loop and compiled each time")
def c33a(F, compile):
    def make(k):
        def f(x):
            return x * k + 1

        return f

    x = V(F, 1, 2, 3)
    for k in range(12):
        g = compile(make(float(k)))
        yield g(x)
        yield g(x)
        yield g(x)


@case("33b", "two lambdas on one source line")
def c33b(F, compile):
    x = V(F, 1, 2, 3)
    a, b = compile(lambda t: t + 1), compile(lambda t: t * 5)
    for g in (a, a, a, b, b, b):
        yield g(x)


@case("34a", "decorated method on two instances, number attribute")
def c34a(F, compile):
    class M:
        def __init__(self, k):
            self.k = k

        @compile
        def step(self, x):
            return x * self.k

    a, b, x = M(2.0), M(5.0), V(F, 1, 2, 3)
    for m in (a, a, a, b, b, a):
        yield m.step(x)


@case("34b", "decorated method on two instances, tensor attribute")
def c34b(F, compile):
    class M:
        def __init__(self, w):
            self.w = w

        @compile
        def step(self, x):
            return x * self.w

    a, b, x = M(V(F, 1, 1, 1)), M(V(F, 5, 6, 7)), V(F, 1, 2, 3)
    for m in (a, a, a, b, b, a):
        yield m.step(x)


def helper37(x):
    return x + 1


def _times10(x):
    return x * 10


class Lib37:
    @staticmethod
    def op(x):
        return x + 1


@case("37a", "global helper function is replaced")
def c37a(F, compile):
    global helper37
    first = helper37

    def f(x):
        return helper37(x) * 2

    g, x = compile(f), V(F, 1, 2, 3)
    try:
        for _ in range(3):
            yield g(x)
        helper37 = _times10
        for _ in range(3):
            yield g(x)
    finally:
        helper37 = first


@case("37b", "static method of a class is replaced")
def c37b(F, compile):
    first = Lib37.op

    def f(x):
        return Lib37.op(x) * 2

    g, x = compile(f), V(F, 1, 2, 3)
    try:
        for _ in range(3):
            yield g(x)
        Lib37.op = staticmethod(_times10)
        for _ in range(3):
            yield g(x)
    finally:
        Lib37.op = staticmethod(first)


@case("38a", "optimizer step outside changes a captured parameter in place")
def c38a(F, compile):
    w = F.mutable([1.0, 2.0, 3.0])

    def f(x):
        return x * w

    g, x = compile(f), V(F, 1, 2, 3)
    for i in range(6):
        yield g(x)
        if i >= 2:
            F.inplace_add(w, 1.0)


@case("38b", "parameter data is replaced as a whole")
def c38b(F, compile):
    w = F.mutable([1.0, 2.0, 3.0])

    def f(x):
        return x * w

    g, x = compile(f), V(F, 1, 2, 3)
    for i in range(6):
        yield g(x)
        if i >= 2:
            F.set_data(w, [i, i + 5.0, i - 5.0])


@case("38c", "update of a captured parameter inside the compiled function")
def c38c(F, compile):
    w = F.mutable([1.0, 2.0, 3.0])

    def f(x):
        y = x * w
        F.inplace_add(w, x)
        return y

    g, x = compile(f), V(F, 1, 2, 3)
    for i in range(6):
        yield g(x)
        yield effect(w * 1)
