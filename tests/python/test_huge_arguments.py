"""Arguments at the edge of what integers and memory hold: an error, at once, or NumPy's result."""

import pytest

import frazil as fz

M = fz.ones((2, 2))
ENDLESS: list = []
ENDLESS.append(ENDLESS)
WRONG = [
    (
        lambda: fz.polyadd(fz.ones((2, 3)), fz.ones(3)),
        ValueError,
        r"\[polyadd\] needs vectors, got shapes \(2, 3\) and \(3,\)",
    ),
    (lambda: fz.polysub([1.0, 2.0], [[]]), ValueError, r"\[polysub\] needs vectors"),
    (
        lambda: fz.polyint([[1.0, 2.0]]),
        ValueError,
        r"\[polyint\] needs a vector, got shape \(1, 2\)",
    ),
    (
        lambda: fz.matvec([1.0], 2.0),
        ValueError,
        r"\[matvec\] needs a matrix and a vector, got shapes \(1,\) and \(\)",
    ),
    (
        lambda: fz.vecmat(fz.ones(3), fz.ones(3)),
        ValueError,
        r"\[vecmat\] needs a vector and a matrix",
    ),
    (
        lambda: fz.quantile(fz.ones(3), ENDLESS),
        ValueError,
        r"\[quantile\] q has lists nested deeper than 16",
    ),
    (
        lambda: fz.repeat([1, 2], [2**62, 2**62]),
        MemoryError,
        r"\[repeat\] the counts add up to more",
    ),
    (
        lambda: fz.tensordot(M, M, axes=2**31),
        IndexError,
        r"\[tensordot\] 2147483648 axes of shapes \(2, 2\)",
    ),
    (
        lambda: fz.diag_indices(2, 2**31),
        ValueError,
        r"\[diag_indices\] ndim 2147483648 is over the limit of 16",
    ),
    (lambda: fz.tril_indices(2**62), MemoryError, r"\[tril_indices\] a matrix of"),
    (lambda: fz.tril_indices(2**62, 0, 1), MemoryError, r"\[tril_indices\] a matrix of"),
    (lambda: fz.triu_indices(2, 0, 2**62), MemoryError, r"\[triu_indices\] a matrix of"),
    (lambda: fz.diag([1, 2], -(2**63)), MemoryError, r"\[diag\]"),
    (
        lambda: fz.polyint([1.0, 2.0], 2**40),
        MemoryError,
        r"\[polyint\] m 1099511627776 is over the limit",
    ),
    (
        lambda: fz.polyfit([1.0, 2.0], [1.0, 2.0], 2**40),
        MemoryError,
        r"\[polyfit\] deg 1099511627776 is over",
    ),
    (
        lambda: fz.array_split([1.0, 2.0], 2**40),
        MemoryError,
        r"\[array_split\] 1099511627776 parts are over",
    ),
    (
        lambda: fz.ravel_multi_index(([0], [0]), (0, 2), mode="clip"),
        ValueError,
        r"\[ravel_multi_index\] a shape with extent 0 has no elements",
    ),
    (
        lambda: fz.ravel_multi_index(([2**61], [0]), (2**62, 8)),
        ValueError,
        r"more elements than an index can count",
    ),
    (
        lambda: fz.trim_zeros([0.0, 1.0], "x"),
        ValueError,
        r"\[trim_zeros\] trim must be of the letters f \(front\) and b",
    ),
    (
        lambda: fz.random.truncated_normal(5.0, -5.0),
        ValueError,
        r"\[random.truncated_normal\] lower must not be above upper, got 5",
    ),
    (
        lambda: fz.random.binomial(float("inf"), 0.5, (3,)),
        ValueError,
        r"a count must be below 2\^63, got inf",
    ),
    (lambda: fz.random.poisson(1e20), ValueError, r"a count must be below 2\^63, got 1e\+20"),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_is_refused(number):
    call, kind, message = WRONG[number]
    with pytest.raises(kind, match=message):
        call()


def test_offsets_at_the_ends_of_the_integers():
    assert [t.tolist() for t in fz.triu_indices(2, 2**63 - 1)] == [[], []]
    assert [t.tolist() for t in fz.tril_indices(2, -(2**63))] == [[], []]
    assert [t.tolist() for t in fz.tril_indices(2, 2**63 - 1)] == [[0, 0, 1, 1], [0, 1, 0, 1]]
    assert fz.tri(2, 2, 2**63 - 1).tolist() == [[1, 1], [1, 1]]
    assert fz.tri(2, 2, -(2**63)).tolist() == [[0, 0], [0, 0]]
    assert fz.polyder([1.0, 2.0], 2**40).tolist() == []
    assert fz.unwrap(fz.zeros((3, 0))).shape == (3, 0)
