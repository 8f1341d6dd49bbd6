"""Recurrent layers besides PyTorch's numbers: skipped calls, transforms, packing, errors."""

import copy
import pickle

import numpy as np
import pytest

import frazil as fz
from frazil import nn
from frazil.nn.utils import rnn

KINDS = [nn.RNN, nn.LSTM, nn.GRU]


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("kind", KINDS)
def test_a_traced_training_step_skips_its_body(kind):
    layer = kind(3, 4, 2, bidirectional=True)
    x = fz.random.normal((19, 5, 3))

    def step(x):
        layer.zero_grad()
        output, _ = layer(x)
        loss = (output * output).sum()
        loss.backward()
        return loss, [p.grad for p in layer.parameters()]

    def numbers(result):
        return [np.asarray(result[0]), *(np.asarray(g) for g in result[1])]

    wanted, traced = numbers(step(x)), fz.trace(step)
    for _ in range(8):
        for got, want in zip(numbers(traced(x)), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
    assert traced.stats()["skipped"] >= 3 and traced.stats()["fallbacks"] == 0, traced.explain()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ordered", [True, False])
def test_one_plan_for_all_lengths(kind, ordered):
    """Lengths are data: what was recorded for some serves for others."""
    layer = kind(3, 4, bidirectional=True)

    def run(x, lengths):
        packed = rnn.pack_padded_sequence(x, lengths, enforce_sorted=ordered)
        output, last = layer(packed)
        return rnn.pad_packed_sequence(output)[0], first(last)

    x, traced = fz.random.normal((7, 4, 3)), fz.trace(run)
    rng = np.random.default_rng(1)
    for _ in range(12):
        lengths = rng.integers(1, 8, 4)
        lengths[0] = 7
        lengths = fz.asarray(np.sort(lengths)[::-1].copy() if ordered else rng.permutation(lengths))
        for got, want in zip(traced(x, lengths), run(x, lengths), strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert traced.stats()["skipped"] >= 5, traced.explain()


@pytest.mark.parametrize("kind", KINDS)
def test_packed_like_each_sequence_alone(kind):
    """Whatever stands behind the ends: no NaN gets out, nor into the gradients."""
    layer = kind(3, 4, 2, bidirectional=True).double()
    lengths = [4, 9, 1, 6]
    parts = [fz.random.normal((n, 3), dtype="float64") for n in lengths]
    padded = rnn.pad_sequence(parts, padding_value=float("nan"))
    packed = rnn.pack_padded_sequence(padded, lengths, enforce_sorted=False)
    output, last = layer(packed)
    first(last).sum().backward()
    assert all(np.isfinite(np.asarray(p.grad)).all() for p in layer.parameters())
    found = rnn.unpack_sequence(output)
    last = last if isinstance(last, tuple) else (last,)
    for i, part in enumerate(parts):
        alone, end = layer(part)
        np.testing.assert_allclose(np.asarray(found[i]), np.asarray(alone), atol=1e-12)
        for whole, own in zip(last, end if isinstance(end, tuple) else (end,), strict=True):
            np.testing.assert_allclose(np.asarray(whole[:, i]), np.asarray(own), atol=1e-12)
    out, sizes = rnn.pad_packed_sequence(output)
    behind = np.arange(9)[:, None] >= np.asarray(sizes)
    assert sizes.tolist() == lengths and (np.asarray(out)[behind] == 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_the_steps_of_layers(kind):
    cell, layer = getattr(nn, kind.__name__ + "Cell")(3, 4), kind(3, 4)
    layer.load_state_dict({f"{name}_l0": p for name, p in cell.state_dict().items()})
    x, state = fz.random.normal((11, 2, 3)), None
    output, last = layer(x)
    for t in range(11):
        state = cell(x[t], state)
        np.testing.assert_allclose(np.asarray(first(state)), np.asarray(output[t]), atol=1e-6)
    np.testing.assert_allclose(np.asarray(first(last)[0]), np.asarray(first(state)), atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_all_modes_agree(kind):
    layer = kind(2, 3).double()
    x = fz.random.normal((10, 2), dtype="float64")
    v = fz.random.normal((10, 2), dtype="float64")

    def loss(x):
        return (layer(x)[0] ** 2).sum()

    gradient = fz.grad(loss)(x)
    _, tangent = fz.jvp(loss, (x,), (v,))
    np.testing.assert_allclose(tangent.item(), (gradient * v).sum().item(), rtol=1e-10)
    curved = fz.grad(lambda x: (fz.grad(loss)(x) * v).sum())(x)
    near = [fz.grad(loss)(x + sign * 1e-5 * v) for sign in (1, -1)]
    np.testing.assert_allclose(np.asarray(curved), np.asarray(near[0] - near[1]) / 2e-5, atol=1e-6)
    several = fz.random.normal((4, 10, 2), dtype="float64")
    apart = [np.asarray(layer(one)[0]) for one in several]
    batched = fz.vmap(lambda one: layer(one)[0])(several)
    np.testing.assert_allclose(np.asarray(batched), np.stack(apart), atol=1e-12)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_narrow_dtypes(dtype):
    wide = nn.LSTM(3, 4, bidirectional=True).double()
    narrow = nn.LSTM(3, 4, bidirectional=True, dtype=dtype)
    narrow.load_state_dict(wide.state_dict())
    x = fz.random.normal((6, 2, 3), dtype="float64")
    y, (h, c) = narrow(x.astype(dtype))
    assert {t.dtype.name for t in (y, h, c)} == {dtype}
    near = {"bfloat16": 0.05, "float16": 0.01, "float32": 1e-6}[dtype]
    np.testing.assert_allclose(np.asarray(y.astype("float64")), np.asarray(wide(x)[0]), atol=near)
    y.sum().backward()
    assert narrow.weight_hh_l0.grad.dtype.name == dtype


def test_dropout_acts_between_layers_while_training():
    layer = nn.GRU(3, 4, 2, dropout=0.5)
    x = fz.random.normal((5, 2, 3))
    fz.random.seed(0)
    a, b = np.asarray(layer(x)[0]), np.asarray(layer(x)[0])
    fz.random.seed(0)
    assert (np.asarray(layer(x)[0]) == a).all() and (a != b).any()
    layer.eval()
    np.testing.assert_array_equal(np.asarray(layer(x)[0]), np.asarray(layer(x)[0]))
    with pytest.warns(UserWarning, match="acts between layers"):
        nn.RNN(3, 4, dropout=0.5)


def test_names_representation_and_weights():
    layer = nn.LSTM(3, 5, 2, bidirectional=True, proj_size=2)
    assert repr(layer) == "LSTM(3, 5, proj_size=2, num_layers=2, bidirectional=True)"
    assert repr(nn.RNN(3, 5, nonlinearity="relu")) == "RNN(3, 5, nonlinearity='relu')"
    assert repr(nn.GRUCell(3, 5, bias=False)) == "GRUCell(3, 5, bias=False)"
    parts = "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"
    names = [f"{part}_l{i}{end}" for i in (0, 1) for end in ("", "_reverse") for part in parts]
    assert [name for name, _ in layer.named_parameters()] == names
    assert [len(ws) for ws in layer.all_weights] == [5] * 4 and layer.flatten_parameters() is None
    assert layer.weight_ih_l1.shape == (20, 4) and layer.weight_hr_l1_reverse.shape == (2, 5)
    for p in layer.parameters():
        assert abs(np.asarray(p)).max() <= 5**-0.5
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        x = fz.ones((2, 3))
        np.testing.assert_array_equal(np.asarray(again(x)[0]), np.asarray(layer(x)[0]))


def test_packed_sequences():
    parts = [fz.random.normal((n, 2)) for n in (2, 4, 1, 4)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    data, sizes, order, places = packed
    assert sizes.tolist() == [4, 3, 2, 2] and data.shape == (11, 2)
    assert order.tolist() == [1, 3, 0, 2] and places.tolist() == [2, 0, 3, 1]
    assert repr(packed).startswith("PackedSequence(data=fz.Tensor(")
    again = rnn.PackedSequence(data * 2, sizes, order)
    for got, part in zip(rnn.unpack_sequence(again), parts, strict=True):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(part * 2))
    tied = rnn.PackedSequence(data, sizes, fz.asarray([3, 1, 0, 2]))  # as given, not as sorted
    np.testing.assert_array_equal(np.asarray(tied.data), np.asarray(data))
    np.testing.assert_array_equal(
        np.asarray(rnn.unpack_sequence(tied)[3]), np.asarray(rnn.unpack_sequence(packed)[1])
    )
    assert packed.to(dtype="float64").data.dtype is fz.float64
    assert packed.to("cpu").unsorted_indices.tolist() == places.tolist()
    assert rnn.pack_sequence(parts[1:3]).unsorted_indices is None
    doubled = fz.tree.map(lambda x: x, packed)
    np.testing.assert_array_equal(np.asarray(doubled.data), np.asarray(data))
    # An argument of a traced call, and what it returns.
    layer = nn.GRU(2, 3)
    traced = fz.trace(lambda packed: layer(packed)[0])
    for _ in range(6):
        got = np.asarray(traced(packed).data)
        np.testing.assert_array_equal(got, np.asarray(layer(packed)[0].data))
    assert traced.stats()["skipped"], traced.explain()


def test_gradients_reach_what_is_packed():
    parts = [fz.random.normal((n, 2)).requires_grad_() for n in (3, 1, 2)]
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    weights = fz.arange(6.0)[:, None]
    (rnn.PackedSequence(packed.data * 1, *list(packed)[1:]).data * weights).sum().backward()
    assert [p.grad[:, 0].tolist() for p in parts] == [[0, 3, 5], [2], [1, 4]]


X = fz.ones((5, 4, 3))
ERRORS = [
    (lambda: nn.LSTM(3, 4)(X[..., :2]), ValueError, r"\[nn.LSTM\] the input must have 3 features"),
    (lambda: nn.GRU(3, 4)(X[None]), ValueError, r"2 or 3 axes, got shape \(1, 5, 4, 3\)"),
    (lambda: nn.GRU(3, 4)(X[:0]), ValueError, "at least one step"),
    (lambda: nn.RNN(3, 4)(X, fz.ones((4, 4))), ValueError, r"h_0 must have shape \(1, 4, 4\), got"),
    (lambda: nn.LSTM(3, 4)(X, fz.ones((3, 4, 4))), ValueError, r"\(h_0, c_0\), got 3 tensors"),
    (
        lambda: nn.LSTM(3, 4, proj_size=2)(X, (fz.ones((1, 4, 4)),) * 2),
        ValueError,
        r"h_0 must have shape \(1, 4, 2\)",
    ),
    (lambda: nn.LSTM(3, 4, proj_size=4), ValueError, "must be below hidden_size: 4 and 4"),
    (lambda: nn.RNN(3, 0), ValueError, "hidden_size must be at least 1, got 0"),
    (lambda: nn.RNN(3, 2, nonlinearity="gelu"), ValueError, 'one of "tanh", "relu", got'),
    (lambda: nn.GRU(3, 2, 2, dropout=1.5), ValueError, "dropout must be at most 1, got 1.5"),
    (lambda: nn.GRUCell(3, 2)(X), ValueError, "1 or 2 axes"),
    (lambda: nn.GRUCell(3, 2)(X[0, :, :2]), ValueError, "3 features"),
    (lambda: nn.GRUCell(3, 2)(X[0], X[0]), ValueError, r"must have shape \(4, 2\) beside"),
    (lambda: rnn.pack_padded_sequence(X, [5, 4, 3]), ValueError, "for 4 sequences"),
    (lambda: rnn.pack_padded_sequence(X, [5, 4, 3, 0]), ValueError, r"between 1 and 5, got \[5, 4"),
    (lambda: rnn.pack_padded_sequence(X, [6, 4, 3, 1]), ValueError, "between 1 and 5"),
    (lambda: rnn.pack_padded_sequence(X, [1, 4, 3, 1]), ValueError, "enforce_sorted=False takes"),
    (lambda: rnn.pack_padded_sequence(X, [1.0] * 4), TypeError, "must be integers, got float32"),
    (lambda: rnn.pack_padded_sequence(X[0, 0], [1]), ValueError, "must have time and batch"),
    (lambda: rnn.pad_packed_sequence(X), TypeError, "needs a PackedSequence, got Tensor"),
    (
        lambda: rnn.pad_packed_sequence(rnn.pack_sequence([X]), total_length=4),
        ValueError,
        "at least the largest length: 4 and 5",
    ),
    (lambda: rnn.pad_sequence([]), ValueError, "no sequence"),
    (lambda: rnn.pad_sequence([X, X[0]]), ValueError, "along the first axis only"),
    (lambda: rnn.pad_sequence([X], padding_side="up"), ValueError, "padding_side must be one"),
    (lambda: rnn.unpad_sequence(X, [5]), ValueError, "1 lengths for 4 sequences"),
    (lambda: rnn.PackedSequence(X, [2, 1]), ValueError, "add up to 3, data has 5"),
    (lambda: rnn.PackedSequence(X, []), ValueError, "a vector of batch sizes"),
]


@pytest.mark.parametrize(("call", "kind", "text"), ERRORS)
def test_errors(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
