"""fz.distributed.forecast: the arithmetic by hand, the sequence of a step, and what it needs."""

import pytest

import frazil as fz
from frazil.distributed import _forecast, _parallel

NETWORK = _forecast.Network(overhead=1e-5, latency=1e-3, bandwidth=1e9)
SIZE = 4_000_000  # bytes: no array that goes to all as a whole


def ring(n):
    """Seconds of a sum over n ranks: two ways, each with a message to every other rank."""
    return 2 * (n - 1) * 1e-5 + 2 * SIZE * (n - 1) / n / 1e9 + 2e-3


@pytest.mark.parametrize("n", [2, 3, 4, 1000])
def test_collectives_take_the_time_of_their_messages(n):
    others = n - 1
    for call, size, busy, way in [
        ("all_reduce", SIZE, ring(n) - 2e-3, 2e-3),
        ("all_reduce", 900, others * (1e-5 + 900 / 1e9), 1e-3),
        ("reduce_scatter", SIZE, others * 1e-5 + SIZE * others / n / 1e9, 1e-3),
        ("all_to_all", SIZE, others * 1e-5 + SIZE * others / n / 1e9, 1e-3),
        ("all_gather", SIZE, others * (1e-5 + SIZE / 1e9), 1e-3),
        ("broadcast", SIZE, others * (1e-5 + SIZE / 1e9), 1e-3),
        ("send", SIZE, 1e-5 + SIZE / 1e9, 1e-3),
        ("barrier", 0, others * 1e-5, 1e-3),
    ]:
        assert NETWORK.takes(call, size, n) == pytest.approx((busy, way)), call
        assert NETWORK.takes(call, size, 1) == (0, 0)


def test_what_is_computed_meanwhile_hides_the_way():
    step = [
        ("compute", 0.010), ("start", "all_reduce", SIZE), ("compute", 0.1),
        ("start", "all_reduce", SIZE), ("compute", 0.002), ("wait", "all_reduce", SIZE),
        ("compute", 0.001), ("wait", "all_reduce", SIZE), ("compute", 0.003),
    ]  # fmt: skip
    computed = 0.116
    assert _forecast._simulate(step, 1, NETWORK) == pytest.approx((computed, 0))
    for n in (2, 10):
        waiting = ring(n) - 0.003  # of the second one
        assert _forecast._simulate(step, n, NETWORK) == pytest.approx((computed + waiting, waiting))
    at_once = [("compute", 0.01), ("collective", "all_reduce", SIZE)]
    assert _forecast._simulate(at_once, 2, NETWORK) == pytest.approx((0.01 + ring(2), ring(2)))
    # Two at a time share the bandwidth, and not the way.
    both = [("start", "all_reduce", SIZE), ("start", "all_reduce", SIZE)]
    both += [("wait", "all_reduce", SIZE)] * 2
    assert _forecast._simulate(both, 2, NETWORK)[0] == pytest.approx(2 * ring(2) - 2e-3)


def test_a_step_is_taken_apart():
    @fz.trace
    def step(x):
        y = fz.distributed.all_reduce(x)
        z = fz.tanh(x) @ x
        return y + z

    rows = fz.distributed.forecast(
        step, fz.ones(1100, 1100), processes=[1, 2, 50], latency=1e-3, bandwidth=1e9, overhead=1e-5
    )
    _, timeline = _forecast._measure(step, (fz.ones(1100, 1100),), 2)
    kinds = [row[0] for row in timeline if row[0] != "compute"]
    assert kinds == ["start", "wait"]
    assert {row[1:] for row in timeline if row[0] != "compute"} == {("all_reduce", 4 * 1100**2)}
    assert rows.processes == 1
    assert rows.network == NETWORK
    one, two, many = rows
    assert one.efficiency == 1
    assert one.waiting == 0
    assert two.seconds - two.waiting == pytest.approx(one.seconds)
    assert many.efficiency <= two.efficiency <= 1
    lines = str(rows).splitlines()
    assert len(lines) == 5
    assert "10.0 us and takes 1000.0 us, 1.00 GB/s" in lines[0]


def test_what_is_missing_is_said():
    with pytest.raises(ValueError, match=r"give latency= and bandwidth=, or start several"):
        fz.distributed.forecast(fz.exp, fz.ones(2))
    with pytest.raises(ValueError, match=r"\[forecast\] latency must be above 0, got -1"):
        fz.distributed.forecast(fz.exp, fz.ones(2), latency=-1, bandwidth=1e9)
    with pytest.raises(ValueError, match="collective_timeout must be above 0 seconds, got 0"):
        fz.distributed.init(collective_timeout=0)


@pytest.mark.parametrize(
    ("link", "buckets"),
    [
        ((0.0, 0.0, 0.0), 1),  # nothing measured
        ((2e-6, 3e-6, 4e9), 4),  # one machine: sqrt(14 us * 1 MiB * 4 GB/s) is 242 KB
        ((2e-6, 1e-3, 4e9), 12),  # 0.15 of a long way pays for 11 of 14 us, in whole tensors
        ((1e-3, 1e-5, 1e9), 1),
    ],
)
def test_buckets_follow_from_the_network(link, buckets, monkeypatch):
    count = 1 << 18  # elements, of 1 MiB
    monkeypatch.setattr(_parallel, "_link", lambda: link)
    monkeypatch.setattr(_parallel, "_size", lambda group: 2)
    tensors = [fz.zeros(count // 64) for _ in range(64)]
    most = _parallel._bucket_bytes(tensors, None)
    assert len(_parallel._buckets(tensors, most)) in (buckets, buckets + 1)
