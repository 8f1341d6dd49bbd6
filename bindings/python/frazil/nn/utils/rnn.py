"""Sequences of several lengths in one tensor, for recurrent layers.

Here: `PackedSequence`, made by `pack_padded_sequence` and `pack_sequence`, taken apart by
`pad_packed_sequence` and `unpack_sequence`; `pad_sequence` and `unpad_sequence`.

Names, arguments and results are PyTorch's. Inside, a PackedSequence stays padded, beside a tensor
of lengths: what is recorded for a batch serves for all batches of its shape.

>>> import frazil as fz
>>> packed = pack_sequence([fz.asarray([1.0, 2.0]), fz.asarray([3.0])])
>>> packed.data.tolist(), packed.batch_sizes.tolist()
([1.0, 3.0, 2.0], [2, 1])
>>> padded, lengths = pad_packed_sequence(packed, batch_first=True)
>>> padded.tolist(), lengths.tolist()
([[1.0, 2.0], [3.0, 0.0]], [2, 1])
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._frazil.tree import register_pytree_node
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.nn._arguments import one_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from frazil._types import DTypeLike, Operand

__all__ = [
    "PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence:
    """Sequences of several lengths, which recurrent layers take and return.

    data has the elements step by step, those of longer sequences first; batch_sizes how many
    sequences go on at each step; sorted_indices which sequence is the first, second ... longest,
    unsorted_indices the places of sequences among these, both None if they came sorted. It can be
    made of these four, of which the last follows from the one before.
    """

    _padded: Tensor  # (t, n, ...), in the order of the caller, zeros behind the ends
    _lengths: Tensor  # int64 (n,)
    _sorted: Tensor | None

    def __init__(
        self,
        data: Tensor,
        batch_sizes: Operand,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> None:
        sizes = _tensor(batch_sizes)
        if sizes.ndim != 1 or sizes.size == 0 or data.ndim == 0:
            raise ValueError(
                "[PackedSequence] data and a vector of batch sizes are needed: shapes "
                f"{data.shape} and {sizes.shape}."
            )
        n = int(sizes[0])
        if int(sizes.sum()) != data.shape[0]:
            raise ValueError(
                f"[PackedSequence] batch_sizes add up to {int(sizes.sum())}, data has "
                f"{data.shape[0]} entries."
            )
        begins = _fz.cumulative_sum(sizes) - sizes
        rank = _fz.arange(n, device=sizes.device)
        there = rank < sizes[:, None]
        rows = _fz.take(data, _fz.where(there, begins[:, None] + rank, 0), axis=0)
        padded = _fz.where(_beside(there, rows), rows, 0)
        lengths = there.sum(axis=0)
        if sorted_indices is None and unsorted_indices is not None:
            sorted_indices = _fz.argsort(unsorted_indices)
        if sorted_indices is not None:
            if unsorted_indices is None:
                unsorted_indices = _fz.argsort(sorted_indices)
            padded = _fz.take(padded, unsorted_indices, axis=1)
            lengths = _fz.take(lengths, unsorted_indices)
        self._padded, self._lengths, self._sorted = padded, lengths, sorted_indices

    @property
    def data(self) -> Tensor:
        """The elements, step by step."""
        x, there = self._padded, _alive_steps(self)[:, :, 0]
        if self._sorted is not None:
            x, there = _fz.take(x, self._sorted, axis=1), _fz.take(there, self._sorted, axis=1)
        return x[there]

    @property
    def batch_sizes(self) -> Tensor:
        """How many sequences go on at each step."""
        return _alive_steps(self)[:, :, 0].sum(axis=1)

    @property
    def sorted_indices(self) -> Tensor | None:
        """The sequences from the longest on, or None if that is their order."""
        return self._sorted

    @property
    def unsorted_indices(self) -> Tensor | None:
        """The places of the sequences in sorted_indices."""
        return None if self._sorted is None else _fz.argsort(self._sorted)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.data, self.batch_sizes, self.sorted_indices, self.unsorted_indices))

    def __repr__(self) -> str:
        names = "data", "batch_sizes", "sorted_indices", "unsorted_indices"
        return (
            f"PackedSequence({', '.join(f'{n}={x!r}' for n, x in zip(names, self, strict=True))})"
        )

    def to(self, device: str | None = None, dtype: DTypeLike | None = None) -> PackedSequence:
        """On a device, or its elements of a dtype."""
        x, lengths, order = self._padded, self._lengths, self._sorted
        if device is not None:
            x, lengths = x.to_device(device), lengths.to_device(device)
            order = None if order is None else order.to_device(device)
        return _made(None, (x if dtype is None else x.astype(dtype), lengths, order))


def _made(_, parts):
    packed = PackedSequence.__new__(PackedSequence)
    packed._padded, packed._lengths, packed._sorted = parts
    return packed


register_pytree_node(PackedSequence, lambda p: ((p._padded, p._lengths, p._sorted), None), _made)


def _of_padded(padded, like):
    """A PackedSequence of other elements, zeros behind the same ends."""
    return _made(None, (padded, like._lengths, like._sorted))


def _alive_steps(packed):
    """Which sequences go on at each step, bool (t, n, 1)."""
    return _alive(packed._lengths, packed._padded.shape[0])


def _alive(lengths, t):
    return (_fz.arange(t, device=lengths.device)[:, None] < lengths)[:, :, None]


def _beside(there, x):
    """A mask of the first two axes of x with axes for the others."""
    return there.reshape(there.shape + (1,) * (x.ndim - 2))


def _tensor(x):
    return x if isinstance(x, Tensor) else _fz.asarray(x)


def pack_padded_sequence(
    input: Tensor, lengths: Operand, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs a padded batch, (t, n, ...) or (n, t, ...) with batch_first. What stands behind the
    ends is not looked at. The lengths are read.

    Raises
    ------
    ValueError
        If there is not one length for each sequence, if one is not between 1 and t, or if they do
        not fall from one to the next with enforce_sorted=True.

    >>> pack_padded_sequence(_fz.ones((3, 2)), [3, 1]).data.tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    where = "[pack_padded_sequence]"
    if input.ndim < 2:
        raise ValueError(f"{where} the input must have time and batch, got shape {input.shape}.")
    if _flag(f"{where} batch_first", batch_first):
        input = input.swapaxes(0, 1)
    sizes = _tensor(lengths)
    if sizes.dtype.kind not in ("signed integer", "unsigned integer"):
        raise TypeError(f"{where} lengths must be integers, got {sizes.dtype.name}.")
    sizes = sizes.astype(_fz.int64).to_device(input.device)
    t, n = input.shape[:2]
    if sizes.shape != (n,) or n == 0:
        raise ValueError(
            f"{where} lengths must be a vector of one for each sequence: shape {sizes.shape} for "
            f"{n} sequences."
        )
    ordered = _flag(f"{where} enforce_sorted", enforce_sorted)
    usual = (sizes.min() > 0) & (sizes.max() == t)
    if ordered:
        usual = usual & (sizes[1:] <= sizes[:-1]).all()
    if not usual:  # one read where all is as it should be
        input = input[: _longest(where, sizes, t, ordered)]
    input = _fz.where(_beside(_alive(sizes, input.shape[0])[:, :, 0], input), input, 0)
    return _made(None, (input, sizes, None if ordered else _fz.argsort(sizes, descending=True)))


def _longest(where, sizes, t, ordered):
    """The largest length, after errors for wrong ones."""
    if sizes.min() < 1 or sizes.max() > t:
        raise ValueError(f"{where} lengths must be between 1 and {t}, got {sizes.tolist()}.")
    if ordered and (sizes[1:] > sizes[:-1]).any():
        raise ValueError(
            f"{where} lengths must fall from one to the next, got {sizes.tolist()}: "
            "enforce_sorted=False takes them in any order."
        )
    return int(sizes.max())


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch, (t, n, ...) or (n, t, ...) with batch_first, and the lengths, int64. t is
    the largest length, or total_length.

    ValueError if total_length is below the largest length.
    """
    where = "[pad_packed_sequence]"
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"{where} needs a PackedSequence, got {type(sequence).__name__}.")
    x, t = sequence._padded, sequence._padded.shape[0]
    if total_length is not None:
        total = _integer(f"{where} total_length", total_length)
        if total < t:
            raise ValueError(
                f"{where} total_length must be at least the largest length: {total} and {t}."
            )
        x = _fz.pad(x, [(0, total - t)] + [(0, 0)] * (x.ndim - 1))
    if padding_value != 0:
        x = _fz.where(_beside(_alive(sequence._lengths, x.shape[0])[:, :, 0], x), x, padding_value)
    x = x.swapaxes(0, 1) if _flag(f"{where} batch_first", batch_first) else x
    return x, sequence._lengths


def pad_sequence(
    sequences: Iterable[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors (length, ...) as one, (t, n, ...) or (n, t, ...) with batch_first, the shorter ones
    filled up at their end, or at their beginning with padding_side="left".

    >>> pad_sequence([_fz.ones(2), _fz.ones(1)], batch_first=True).tolist()
    [[1.0, 1.0], [1.0, 0.0]]
    """
    where = "[pad_sequence]"
    right = one_of(f"{where} padding_side", padding_side, "right", "left") == "right"
    parts = list(sequences)
    if not parts or any(x.ndim == 0 or x.shape[1:] != parts[0].shape[1:] for x in parts):
        shapes = ", ".join(str(x.shape) for x in parts) or "no sequence"
        raise ValueError(f"{where} sequences may differ along the first axis only: {shapes}.")
    t = max([x.shape[0] for x in parts])
    full = []
    for x in parts:
        rest = t - x.shape[0]
        widths = [(0, rest) if right else (rest, 0)] + [(0, 0)] * (x.ndim - 1)
        full.append(_fz.pad(x, widths, constant_values=padding_value) if rest else x)
    return _fz.stack(full, axis=0 if _flag(f"{where} batch_first", batch_first) else 1)


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs tensors (length, ...); see pack_padded_sequence."""
    parts = list(sequences)
    padded = pad_sequence(parts)
    return pack_padded_sequence(padded, [x.shape[0] for x in parts], False, enforce_sorted)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Operand, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch as a list. The lengths are read."""
    if not _flag("[unpad_sequence] batch_first", batch_first):
        padded_sequences = padded_sequences.swapaxes(0, 1)
    sizes = _tensor(lengths).tolist()
    if len(sizes) != padded_sequences.shape[0]:
        raise ValueError(
            f"[unpad_sequence] {len(sizes)} lengths for {padded_sequences.shape[0]} sequences."
        )
    return [x[:n] for x, n in zip(padded_sequences, sizes, strict=True)]


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences as a list."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences))
