"""Functions of one example that test_convert.py runs eagerly, converted, traced and in a vmap.

x is one float32; v is a vector of three; n one integer. Each collection says what its functions
take. They are written as users write them: no function here knows that it may be converted.
"""

import functools

import frazil as fz

OF_X, OF_XV, OF_XN = [], [], []


def of(collection):
    def add(function):
        collection.append(function)
        return function

    return add


# -- Branches


@of(OF_X)
def branch_without_else(x):
    y = x
    if x > 0:
        y = x * 2
    return y


@of(OF_X)
def branch_with_else(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@of(OF_X)
def elif_chain(x):
    if x > 2:
        y = x * 2
    elif x > 0:
        y = x + 10
    elif x == 0:
        y = x - 5
    else:
        y = -x
    return y * 2


@of(OF_X)
def nested_three_deep(x):
    y = x
    if x > -2:
        y = y + 1
        if x > 0:
            y = y * 3
            if x > 2:
                y = y - 7
            else:
                y = y + 7
        else:
            if x < -1:
                y = y * 5
    else:
        y = y * y
    return y


@of(OF_X)
def swaps(x):
    a, b = x, x * 2
    if a > b:
        a, b = b, a
    return a - b * 3


@of(OF_X)
def temporaries_in_both(x):
    if x > 0:
        t = x + 1
        y = t * t
    else:
        t = x - 1
        u = t * 2
        y = u + t
    return y


@of(OF_X)
def a_name_of_one_way_only(x):
    y = x
    if x > 1:
        z = x * 3
        y = z + 1
    return y


@of(OF_X)
def tuple_of_results(x):
    if x > 0:
        r = (x, {"a": x * 2, "b": [x + 1]})
    else:
        r = (-x, {"a": x * 3, "b": [x - 1]})
    return r


@of(OF_X)
def a_number_for_some(x):
    y = 0.0
    if x > 0:
        y = x * 2
    return y + x


@of(OF_X)
def sign_as_numbers(x):
    s = 1 if x > 0 else -1
    return s * x


@of(OF_X)
def numbers_that_differ(x):
    k = 3
    if x > 0:
        k = 5
    k += 1
    return x * k + k


@of(OF_X)
def float_numbers(x):
    k = 0.1
    if x > 0:
        k = 0.3
    return x * k - k / 3 + (-k)


@of(OF_X)
def result_is_a_number(x):
    if x > 0:
        return 1.5
    return 0.25


@of(OF_X)
def result_is_an_int(x):
    k = 2
    if x > 0:
        k = 7
    return k * 3 // 2 - 1


@of(OF_X)
def numbers_meet_half(x):
    k = 2 if x > 0 else 3
    h = x.astype("float16")
    return (h * k).astype("float32") + x


@of(OF_X)
def flags(x):
    big = False
    if x > 1:
        big = True
    return x * 2 if big else x


@of(OF_X)
def nothing_for_all(x):
    y = None
    if x > 0:
        y = x
    else:
        y = -x
    return y


@of(OF_X)
def pass_only(x):
    if x > 0:
        pass
    else:
        pass
    return x


@of(OF_X)
def python_conditions(x):
    y = x
    for i in range(4):
        if i % 2:
            y = y + i
        elif i == 2:
            y = y * 2
    return y


@of(OF_X)
def truth_of_a_number(x):
    y = x * 0
    if x:
        y = y + 1
    if not x:
        y = y + 2
    return y


@of(OF_X)
def a_string_chooses(x):
    kind = "square"
    if kind == "square" and x > 0:
        return x * x
    return x


# -- Expressions


@of(OF_X)
def conditional_expression(x):
    return x * 2 if x > 0 else x - 1


@of(OF_X)
def conditional_expressions_nest(x):
    return (x if x > 2 else x * 2) if x > 0 else (x - 1 if x > -1 else x * x)


@of(OF_X)
def conditional_argument(x):
    return fz.maximum(x if x > 0 else -x, 1.5 if x > 2 else 0.5 * x)


@of(OF_X)
def ands(x):
    return x * 2 if x > 0 and x < 2 else x


@of(OF_X)
def ors(x):
    return x * 2 if x > 2 or x < -1 else x


@of(OF_X)
def nots(x):
    if not x > 0:
        return x - 1
    return x


@of(OF_X)
def mixed_logic(x):
    if (x > 0 and not x > 2) or x < -1.5 or (x == 0 and True):
        return x + 100
    return x


@of(OF_X)
def and_as_a_value(x):
    return (x and x * 2) + (x or x + 3)


@of(OF_X)
def chained_comparison(x):
    if -1 < x <= 2:
        return x * 10
    return x


@of(OF_X)
def chained_three(x):
    return x + 1 if -2 < x < x * x < 5 else x


@of(OF_X)
def walrus(x):
    if (y := x * 2) > 1:
        return y
    return y - 1


@of(OF_X)
def extremes(x):
    return max(x, -x, 0.5 * x) - min(x, 1.0 * x * x)


@of(OF_X)
def a_list_of_choices(x):
    parts = [x * k if x > k else -x for k in range(3)]
    return parts[0] + parts[1] * parts[2]


@of(OF_X)
def a_lambda(x):
    f = lambda a: a * 2 if a > 0 else a - 1  # noqa: E731
    return f(x) + f(-x)


@of(OF_X)
def truth_of_bool(x):
    return x * 2 if bool(x > 0) else x


# -- Loops


@of(OF_X)
def halving(x):
    y = x
    while y > 1:
        y = y / 2
    return y


@of(OF_X)
def counting(x):
    n = 0
    y = abs(x) + 1
    while y < 20:
        y = y * 1.7
        n += 1
    return n


@of(OF_X)
def count_and_use(x):
    n = 0
    y = x
    while y > 0.3:
        y = y * 0.5
        n = n + 1
    return y * n + n


@of(OF_X)
def while_with_else(x):
    y = x
    while y > 1:
        y = y / 2
        if y < 1.2 and y > 1:
            break
    else:
        y = y + 100
    return y


@of(OF_X)
def break_out(x):
    y = x
    for i in range(6):
        if y > 5:
            break
        y = y * 1.5 + i
    return y


@of(OF_X)
def break_keeps_values(x):
    last = x * 0
    for i in range(5):
        last = x * i
        if last > 3:
            break
        last = last + 100
    return last


@of(OF_X)
def continue_past(x):
    total = x * 0
    for i in range(6):
        if x * i > 2:
            continue
        total = total + i
    return total


@of(OF_X)
def break_and_continue(x):
    total = x * 0
    for i in range(8):
        if x + i < 1:
            continue
        total = total + x
        if total > 4:
            break
        total = total * 1.5
    return total


@of(OF_X)
def for_else(x):
    for i in range(4):
        if x * i > 4:
            y = x
            break
    else:
        y = x - 50
    return y


@of(OF_X)
def loops_in_loops(x):
    y = x
    for i in range(3):
        for j in range(3):
            if y > 4:
                break
            if i == j:
                continue
            y = y + 1
        while y > 3:
            y = y - 1.5
    return y


@of(OF_X)
def three_loops_deep(x):
    total = x
    for i in range(3):
        for j in range(2):
            k = x * 0
            while k < i + j:
                k = k + 1
                if total > 10:
                    break
                total = total * 1.2 + k
            if total < -5:
                return total
    return total


@of(OF_X)
def endless_until_return(x):
    y = x
    while True:
        if y > 5:
            return y
        y = abs(y) * 2 + 1


@of(OF_X)
def endless_until_break(x):
    y = x
    n = 0
    while True:
        y = y * 0.5
        n += 1
        if abs(y) < 0.4:
            break
    return y + n


@of(OF_X)
def loop_variable_after(x):
    i = 0
    for i in range(5):
        if x * i > 1.5:
            break
    return x + i


@of(OF_X)
def while_of_two(x):
    a, b = x, x + 10
    while a < b and b > 0:
        a, b = a + 2, b - 1
    return a * b


@of(OF_X)
def walrus_in_while(x):
    y = x
    while (z := y * 0.5) > 0.4:
        y = z
    return y + z


@of(OF_X)
def return_in_for(x):
    for i in range(5):
        if x * i > 2:
            return x * i
    return x - 1


@of(OF_X)
def return_in_nested_loops(x):
    for i in range(4):
        for j in range(4):
            if x * i * j > 6:
                return x + i
            if x < -1:
                return x - j
    return x * 0


@of(OF_X)
def zips(x):
    total = x
    for a, b in zip((1.0, 2.0, 3.0), (x, x + 1, x + 2), strict=True):
        if total > 3:
            continue
        total = total + a * b
    return total


@of(OF_X)
def enumerates(x):
    total = x * 0
    for i, k in enumerate([0.5, -1.0, 2.0]):
        if k * x > 0.5:
            total = total + k + i
    return total


@of(OF_X)
def newton(x):
    a = abs(x) + 0.5
    y = a
    for _ in range(20):
        new = 0.5 * (y + a / y)
        if abs(new - y) < 1e-4:
            break
        y = new
    return y


@of(OF_X)
def collatz(x):
    n = fz.floor(abs(x)).astype("int64") + 1
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@of(OF_X)
def pure_python_generator(x):
    total = x
    for k in (i * i for i in range(4)):
        if total > 2:
            break
        total = total + k
    return total


# -- Returns


@of(OF_X)
def early_return(x):
    if x > 0:
        return x * 2
    y = x - 1
    return y * y


@of(OF_X)
def early_returns(x):
    if x > 2:
        return x
    if x > 0:
        y = x * 2
        if y > 2:
            return y + 1
        y = y - 1
    elif x < -1:
        return x * x
    else:
        y = x
    return y * 3


@of(OF_X)
def both_ways_return(x):
    if x > 0:
        return x
    else:
        return -x


@of(OF_X)
def returns_nothing_else(x):
    y = x + 1
    if y > 0:
        y = y * 2
    return (y, y * 2)


@of(OF_X)
def return_before_and_in_loop(x):
    if x < -1:
        return x
    y = x
    while y < 10:
        y = y * 2 + 1
        if y > 6 and x > 1:
            return y - 100
    return y


# -- Functions


def _clipped(x):
    if x > 1:
        return x * 0 + 1
    if x < -1:
        return x * 0 - 1
    return x


def _power(x, n):
    if n == 0:
        return x * 0 + 1
    return x * _power(x, n - 1)


def _descend(x):
    if x <= 1:
        return x
    return _descend(x - 1) + 1


@of(OF_X)
def calls_a_function(x):
    return _clipped(x) * 2 + _clipped(x * 3)


@of(OF_X)
def calls_in_a_branch(x):
    if x > 0:
        return _clipped(x * 0.7)
    return _power(x, 3)


@of(OF_X)
def recursion(x):
    return _descend(x)


@of(OF_X)
def closures(x):
    k = x * 2

    def inner(y, *, scale=2.0):
        if y > k:
            return y * scale
        return k - y

    return inner(x) + inner(x * 3, scale=3.0)


@of(OF_X)
def nonlocal_names(x):
    total = x * 0

    def add(y):
        nonlocal total
        if y > 0:
            total = total + y
        else:
            total = total - 1

    for i in range(3):
        add(x + i - 1)
    return total


@of(OF_X)
def nonlocal_names_in_a_branch(x):
    total = x * 0

    def add(y):
        nonlocal total
        if y > 0:
            total += y
        else:
            total = total - 1

    for i in range(3):
        if x > 0.3:
            add(x + i - 1)
    return total


@of(OF_X)
def partials(x):
    def between(low, high, y):
        return low < y < high

    return x * 2 if functools.partial(between, 0, 2)(x) else x


class Scale:
    def __init__(self, factor):
        self.factor = factor
        self.__hidden = 3.0

    def __call__(self, x):
        if x > 1:
            return x * self.factor
        return x - self.__hidden

    def method(self, x):
        return self(x) if x > 0 else -x

    @staticmethod
    def static(x):
        return x + 1 if x > 0 else x

    @classmethod
    def made(cls, x):
        return cls(2.0)(x)


SCALE = Scale(4.0)


@of(OF_X)
def methods(x):
    return SCALE.method(x) + SCALE(x) + Scale.static(x) + Scale.made(x)


@of(OF_X)
def state_of_an_object(x):
    s = Scale(x * 2)
    if x > 0:
        s.factor = x * 3
    s.factor += 1
    return s.factor


class Gate(fz.nn.Module):
    def __init__(self):
        self.scale = fz.nn.Parameter(fz.asarray(3.0))

    def forward(self, x):
        if x > 0:
            return x * self.scale
        return x


GATE = Gate()


@of(OF_X)
def modules(x):
    return GATE(x) - 1 if x < 2 else GATE(x)


@of(OF_X)
def functions_of_functions(x):
    keep = sorted(map(abs, [2.0, -1.0]), key=lambda k: -k)
    every = [_clipped(k * x) for k in keep]
    return functools.reduce(lambda a, b: a + b if a > b else a - b, every)


@of(OF_X)
def varargs(x, *more, **named):
    total = x
    for m in (*more, *named.values(), 2.0):
        if total > 0:
            total = total - m
    return total


@of(OF_X)
def structured_ops_inside(x):
    def body(y):
        if y > 2:
            return y + 1
        return y * 2 + 1

    return fz.while_loop(lambda y: y < 20, body, abs(x))


@of(OF_X)
def scan_inside(x):
    def body(c, i):
        if c > 2:
            c = c - i
        else:
            c = c + i
        return c, c * 2

    last, every = fz.scan(body, x, fz.asarray([1.0, 2.0, 3.0]))
    return last + every[1]


@of(OF_X)
def tries(x):
    y = x
    try:
        if y > 0:
            y = y * 2
        y = y + 1
    finally:
        y = y - 3
    return y


@of(OF_X)
def tries_and_catches(x):
    table = {"a": x}
    try:
        y = table["b"]
    except KeyError as error:
        y = x * 2 if x > 0 else x + len(error.args)
    else:
        y = x
    return y


@of(OF_X)
def with_statement(x):
    with fz.no_grad():
        if x > 0:
            return x * 2
        y = x * 3
    return y


@of(OF_X)
def matches(x):
    kind = ("scale", 3.0)
    match kind:
        case ("scale", k) if k > 1:
            y = x * k if x > 0 else x
        case _:
            y = x
    return y


@of(OF_X)
def asserts(x):
    assert x > -100, "x is too small"
    assert x < 100
    return x * 2


@of(OF_X)
def raises_for_none(x):
    if x > 1000:
        raise ValueError("too large")
    if x < -1000:
        raise ValueError(f"too small: {x}")
    return x + 1


@of(OF_X)
def deleted(x):
    y = x * 2
    if x > 0:
        z = y + 1
        y = z
        del z
    return y


@of(OF_X)
def lists_of_one_way(x):
    if x > 0:
        parts = []
        for i in range(3):
            parts.append(x * i)
        y = parts[1] + parts[2]
    else:
        parts = {"k": x}
        parts["j"] = x * 2
        y = parts["j"]
    return y


@of(OF_X)
def lists_are_built_by_all(x):
    parts = []
    for i in range(3):
        parts.append(x + i if x > 0 else x - i)
    return parts[0] * parts[1] - parts[2]


@of(OF_X)
def items_of_lists_and_dicts(x):
    a, d = [x, x * 2], {"k": x}
    if x > 0:
        a[0] = x * 5
        d["k"] = d["k"] + 1
    a[1] += 1
    if x < -1:
        a[1] *= 2
    return a[0] + a[1] * d["k"]


# -- Vectors


@of(OF_XV)
def writes_to_items(x, v):
    w = fz.zeros(3)
    if x > 0:
        w[0] = x
        w[1:] = v[1:] * 2
    else:
        w[2] += x
    return w


@of(OF_XV)
def in_place(x, v):
    w = v * 1
    if x > 0:
        w += 1
    else:
        w *= 2
    u = w
    if x > 1:
        u -= 3
    return w


@of(OF_XV)
def sums_of_positive(x, v):
    total = x * 0
    for e in v:
        if e > 0:
            total = total + e
    return total


@of(OF_XV)
def by_index(x, v):
    total = 0.0
    for i in range(3):
        if v[i] > x:
            total += v[i]
        elif v[i] < -x:
            break
    return total + x


@of(OF_XV)
def first_above(x, v):
    for i in range(3):
        if v[i] > x:
            return v[i]
    return x


@of(OF_XV)
def zipped_tensors(x, v):
    total = x
    for a, b in zip(v, v * 2, strict=True):
        if a < 0:
            continue
        total = total + a * b
    return total


@of(OF_XV)
def normalised(x, v):
    n = fz.max(abs(v))
    if n > 1:
        v = v / n
    return v * x


@of(OF_XV)
def whole_vectors(x, v):
    if x > 0:
        w = v * 2
    elif fz.any(v > 1):
        w = v - x
    else:
        w = fz.zeros(3)
    return w


@of(OF_XV)
def masks(x, v):
    w = v * 1
    if x > 0:
        w[v > 0] = 5.0
    return w


@of(OF_XV)
def bisection(x, v):
    low, high = x * 0 - 10, x * 0 + 10
    n = 0
    while high - low > 0.01:
        middle = (low + high) / 2
        if middle * middle * middle + v[0] * middle < x:
            low = middle
        else:
            high = middle
        n += 1
        if n > 30:
            break
    return low


@of(OF_XN)
def range_of_a_tensor(x, n):
    y = x
    for i in range(n):
        y = y * 1.5 + i
    return y


@of(OF_XN)
def range_from_to(x, n):
    y = x
    for i in range(1, n + 2, 2):
        if y > 10:
            break
        y = y + i * x
    return y


@of(OF_XN)
def integers(x, n):
    if n % 2 == 0:
        k = n // 2
    else:
        k = n * 3 + 1
    return k - (n if x > 0 else 2)


@of(OF_XN)
def index_that_differs(x, n):
    v = fz.asarray([1.0, 2.0, 3.0, 4.0])
    i = 0
    if x > 0:
        i = 2
    return v[i] * x + v[n % 4]


@of(OF_XN)
def index_in_range_for_some(x, n):
    v = fz.asarray([1.0, 2.0, 3.0, 4.0])
    if n < 4:
        return v[n]
    return x


@of(OF_XN)
def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a * x


@of(OF_XN)
def gcd(x, n):
    a, b = n + 6, n * 2 + 4
    while b != 0:
        a, b = b, a % b
    return a
