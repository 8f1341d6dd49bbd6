"""Long attributes of ensembles of trees, read from a file's bytes into arrays, for _reading.py.

The parser of messages makes an object of 16 and more bytes for each number and each string. Here
the wire format of one graph is walked (https://protobuf.dev/programming-guides/encoding), down to
attributes of nodes: long ones become arrays, and what is left is a message without their numbers.
Whatever has another form than files of trees have is left to the parser, which names what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COLUMNS", "Words", "separated"]

COLUMNS = ("nodes_", "leaf_", "target_", "class_")  # how names of columns begin
_LARGE = 1 << 20  # bytes of an attribute
_PART = 1 << 22  # bytes that are decoded together
_GRAPH, _FUNCTION, _NODE, _ATTRIBUTE = 7, 25, 1, 5
_NAME, _FLOATS, _INTS, _STRINGS = 1, 7, 8, 9
_TYPE = 20
_TYPES = {_FLOATS: 6, _INTS: 7, _STRINGS: 8}  # values of it
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Words(NamedTuple):
    """Strings, of which few differ."""

    words: tuple[str, ...]
    codes: Any  # which one, uint8

    def __len__(self) -> int:
        return len(self.codes)


class _Other(Exception):
    """The file has another form."""


def separated(content: Any) -> tuple[Any, dict[tuple[int, str], Any]]:
    """The bytes of a model without long columns, and these by (node of the graph, name)."""
    if len(content) < _LARGE:
        return content, {}
    columns: dict[tuple[int, str], Any] = {}
    try:
        parts = _rest(memoryview(content), (_GRAPH, _NODE, _ATTRIBUTE), columns)
    except _Other:
        return content, {}
    return (b"".join(parts), columns) if columns else (content, {})


def _varint(view: Any, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(view) and shift < 70:
        byte = view[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise _Other


def _fields(view: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """(number, kind, where it begins, where its content begins and ends) of each field."""
    at = 0
    while at < len(view):
        begin = at
        tag, at = _varint(view, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            _, end = _varint(view, at)
        elif kind == _BYTES:
            size, at = _varint(view, at)
            end = at + size
        elif kind in (_FIXED64, _FIXED32):
            end = at + (8 if kind == _FIXED64 else 4)
        else:
            raise _Other
        if end > len(view):
            raise _Other
        yield number, kind, begin, at, end
        at = end


def _encoded(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    return bytes([*made, value])


def _rest(view: Any, way: tuple[int, ...], columns: dict[Any, Any], node: int = -1) -> list[Any]:
    """Parts of a message, less the columns in its fields down the `way`."""
    parts: list[Any] = []
    graphs = 0
    for number, kind, begin, at, end in _fields(view):
        if number == _FUNCTION and len(way) == 3:  # nodes may be calls, which hand attributes on
            raise _Other
        if number != way[0] or kind != _BYTES:
            parts.append(view[begin:end])
            continue
        node += len(way) == 2
        graphs += len(way) == 3
        if graphs > 1:  # which the parser puts together
            raise _Other
        inside = view[at:end]
        if end - at >= _LARGE:
            own = _attribute(inside, columns, node) if len(way) == 1 else None
            own = _rest(inside, way[1:], columns, node) if len(way) > 1 else own
            if own is not None:
                parts += [_encoded(number << 3 | _BYTES), _encoded(sum(map(len, own))), *own]
                continue
        parts.append(view[begin:end])
    return parts


def _attribute(view: Any, columns: dict[Any, Any], node: int) -> list[Any] | None:
    """Parts of an attribute without its numbers, which are entered; None if it is no column."""
    name, at = "", 0
    while at < len(view):
        tag, inside = _varint(view, at)
        if tag in (_FLOATS << 3 | _FIXED32, _INTS << 3 | _VARINT, _STRINGS << 3 | _BYTES):
            break
        if tag & 7 != _BYTES or tag >> 3 != _NAME:
            return None
        size, inside = _varint(view, inside)
        try:
            name, at = bytes(view[inside : inside + size]).decode(), inside + size
        except UnicodeDecodeError:
            raise _Other from None
    if not name.startswith(COLUMNS) or at >= len(view):
        return None
    read = {_FLOATS: _floats, _INTS: _ints, _STRINGS: _strings}[view[at] >> 3]
    column, end = read(np.frombuffer(view, np.uint8)[at:])
    behind = view[at + end :]
    kinds = [_varint(behind, begin)[0] for n, k, _, begin, _ in _fields(behind) if n == _TYPE]
    if kinds != [_TYPES[view[at] >> 3]] or len(list(_fields(behind))) > 1:
        raise _Other  # more than numbers and what they are
    if (node, name) in columns:
        raise _Other
    columns[node, name] = column
    return [view[:at], behind]


def _floats(data: Any) -> tuple[Any, int]:
    rows = data[: len(data) // 5 * 5].reshape(-1, 5)
    tags = rows[:, 0] == (_FLOATS << 3 | _FIXED32)
    count = len(rows) if tags.all() else int(tags.argmin())
    return np.ascontiguousarray(rows[:count, 1:]).view("<f4").reshape(-1), 5 * count


def _ints(data: Any) -> tuple[Any, int]:
    """Tags and numbers are integers of 7 bits in each byte, in turn."""
    tag, at, parts = _INTS << 3 | _VARINT, 0, []
    while at < len(data) and data[at] == tag:
        part = data[at : at + _PART]
        ends = np.flatnonzero(part < 128)
        ends = ends[: len(ends) // 2 * 2]
        if not len(ends):
            raise _Other
        begins = np.concatenate([[0], ends[:-1] + 1])
        own = (part[ends[::2]] == tag) & (begins[::2] == ends[::2])
        count = len(own) if own.all() else int(own.argmin())
        first, last = begins[1 : 2 * count : 2], ends[1 : 2 * count : 2]
        sizes = last - first + 1
        if sizes.max() > 10:
            raise _Other
        values = np.zeros(count, np.uint64)
        for k in range(int(sizes.max())):
            more = sizes > k
            digits = part[first[more] + k].astype(np.uint64) & np.uint64(127)
            values[more] |= digits << np.uint64(7 * k)
        whole = values.view(np.int64)
        low, high = whole.min(), whole.max()
        fits = low >= -(1 << 31) and high < 1 << 31
        parts.append(whole.astype(np.int32) if fits else whole)
        at += int(last[-1]) + 1
        if count < len(own):
            break
    return np.concatenate(parts), at


def _strings(data: Any) -> tuple[Any, int]:
    """Of up to 127 characters, none of which is the tag of a string: J."""
    tag = _STRINGS << 3 | _BYTES
    begins = np.flatnonzero(data == tag)
    if begins[-1] + 2 > len(data):
        raise _Other
    sizes = data[begins + 1].astype(np.int64)
    ends = begins + 2 + sizes
    follows = ends[:-1] == begins[1:]
    count = len(begins) if follows.all() else int(follows.argmin()) + 1
    begins, sizes = begins[:count], sizes[:count]
    if ends[count - 1] > len(data) or sizes.max() > 127:
        raise _Other
    words: list[bytes] = []
    codes, left = np.zeros(count, np.uint8), np.arange(count)
    while len(left):
        begin = int(begins[left[0]])
        word = data[begin + 2 : begin + 2 + int(sizes[left[0]])]
        same = left[sizes[left] == len(word)]
        for k, byte in enumerate(word.tolist()):
            same = same[data[begins[same] + 2 + k] == byte]
        codes[same] = len(words)
        words.append(word.tobytes())
        left = np.setdiff1d(left, same, assume_unique=True)
        if len(words) > 200:
            raise _Other
    try:
        return Words(tuple(w.decode() for w in words), codes), int(ends[count - 1])
    except UnicodeDecodeError:
        raise _Other from None
