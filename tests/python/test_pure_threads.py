"""Pure calls of several threads on one tensor: one of the orders, and never a false accusation."""

import threading

import pytest

import frazil as fz


def in_another_thread(call):
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def skipped_add():
    """A function that adds 100 to its argument, skipped from now on."""
    add = fz.trace(lambda x: x.__iadd__(100), pure=True, check_first=0)
    for _ in range(3):
        add(fz.zeros((2, 2)))
    assert add.stats()["skipped"] == 1
    return add


def body_add():
    """The same; its body always runs and is learnt from."""
    return fz.trace(lambda x: x.__iadd__(100), pure=True, check_first=1000)


def plain_add():
    return lambda x: x.__iadd__(100)


def plain_assignment():
    """Of a content that lies across."""

    def add(x):
        x[...] = (fz.ones((2, 2)) * (x[0, 0] + 100)).T

    return add


@pytest.mark.parametrize("other", [skipped_add, body_add, plain_add, plain_assignment])
@pytest.mark.parametrize(("when", "check_first"), [(1, 0), (2, 0), (1, 2), (2, 2), (3, 2), (4, 2)])
def test_a_write_while_a_body_begins(other, when, check_first):
    add, runs = other(), []

    def body(x):
        runs.append(None)
        if len(runs) == when:
            in_another_thread(lambda: add(x))
        x *= 2
        x += 1
        return x * 3

    f = fz.trace(body, pure=True, check_first=check_first)
    for i in range(8):
        x = fz.ones((2, 2)) * i
        want = 2 * (i + 100 * (i + 1 == when)) + 1
        assert f(x).tolist() == [[3.0 * want] * 2] * 2
        assert x.tolist() == [[float(want)] * 2] * 2
    assert f.stats()["skipped"] > 0  # learnt from the calls that nobody disturbed
    assert len(runs) >= when


@pytest.mark.parametrize("when", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", [fz.optim.SGD, fz.optim.Adam])
def test_an_optimizer_steps_while_a_body_begins(kind, when):
    runs = []

    def body(p):
        runs.append(None)
        if len(runs) == when:
            in_another_thread(optimizer.step)
        return p * 3

    f = fz.trace(body, pure=True)
    for i in range(8):
        p = (fz.ones(4) * i).detach()
        p.requires_grad = True
        p.sum().backward()
        optimizer = kind([p], lr=0.5)
        assert f(p).tolist() == (p * 3).tolist()
    assert f.stats()["skipped"] > 0


@pytest.mark.parametrize("when", [1, 2, 3, 4])
def test_a_draw_while_a_body_begins(when):
    runs = []

    def body(x):
        runs.append(None)
        if len(runs) == when:
            in_another_thread(lambda: fz.random.uniform((3,)))
        return x + fz.random.uniform((4,))

    f = fz.trace(body, pure=True)
    drawn = {tuple(f(fz.zeros(4)).tolist()) for _ in range(8)}
    assert len(drawn) == 8
    assert f.stats()["skipped"] > 0


def test_a_broken_promise_is_named_though_others_call():
    """Another thread's call on other tensors excuses nothing; all share the random generator."""
    fz.random.uniform()
    add, factor, runs = body_add(), [fz.ones(4)], []

    def body(x):
        runs.append(None)
        in_another_thread(lambda: add(fz.ones(4)))
        return x * factor[0]

    f = fz.trace(body, pure=True)
    f(fz.ones(4))
    f(fz.ones(4))
    factor[0] = fz.ones(4) * 2
    with pytest.raises(RuntimeError, match="pure=True promises"):
        f(fz.ones(4))


def test_threads_on_one_tensor():
    """Each call adds one, whole or interleaved, so that most may be lost; none raises."""

    def body(x):
        x *= 1
        x += 1
        return x * 3

    for _ in range(30):
        f, x, errors = fz.trace(body, pure=True), fz.ones(16), []

        def work(f=f, x=x, errors=errors):
            try:
                for _ in range(40):
                    f(x)
            except RuntimeError as error:
                errors.append(error)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not errors, errors[0]
        assert x[0].item() in range(2, 1 + 4 * 40 + 1)
        assert len(set(x.tolist())) == 1
