"""Batches between processes: written by a worker into shared memory, read in place by the parent.

A worker has slots of memory that it made by memfd_create: they have no name, so whatever process is
killed, nothing is left behind. The parent maps each slot once. What it reads are tensors and arrays
over the slot; when the last of them is gone, the slot's number goes back to the worker, which
writes the next batch there. So no page is asked for twice, and no batch is copied by the parent.

A slot holds: the number of buffers and the bytes of the pickle, the bytes of each buffer, the
pickle, and the buffers (PEP 574), each aligned.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import pickle
import socket
import struct
import sys
import weakref
from collections import deque
from typing import Any

from frazil import _frazil as _fz
from frazil._frazil import Tensor
from frazil._views import FORMATS
from frazil._views import elements as _elements

_ALIGNED = 64
_LEAST = 1 << 16  # bytes of a slot
_HEAD = struct.Struct("=qq")
_MESSAGE = struct.Struct("=qqqqq")  # number of the batch, kind, slot, its bytes if new, dropped
_BESIDE = socket.CMSG_SPACE(struct.calcsize("i"))  # of the descriptor of a new slot


NONE_YET: Any = object()


class Pickler(pickle.Pickler):
    """Pickles with the elements of tensors and arrays beside the stream, in `buffers`.

    It refers to nothing that refers to it: batches live no longer than they are needed, and the
    garbage collector never meets a cycle with memoryviews, which CPython 3.11 does not survive.
    """

    def __init__(self, stream: Any) -> None:
        self.buffers: list[pickle.PickleBuffer] = []
        super().__init__(stream, protocol=5, buffer_callback=self.buffers.append)

    def reducer_override(self, x: Any) -> Any:
        if type(x) is not Tensor or x.requires_grad or x.device != "cpu":
            return NotImplemented
        data = pickle.PickleBuffer(_elements(x))
        return _tensor, (data, x.dtype.name, x.shape)


def _tensor(data: Any, dtype: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor over bytes that something else holds."""
    if 0 in shape:
        return _fz.zeros(shape, dtype)
    if dtype in FORMATS:
        return _fz.asarray(data.cast(FORMATS[dtype]), copy=False).reshape(shape)
    return _fz.asarray(data, copy=False).view(dtype).reshape(shape)


class Sender:
    """The worker's end."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._free: dict[int, mmap.mmap] = {}
        self._taken: dict[int, mmap.mmap] = {}
        self._made = 0

    def release(self, slots: list[int]) -> None:
        """Takes slots back."""
        for slot in slots:
            if slot in self._taken:
                self._free[slot] = self._taken.pop(slot)

    def send(self, number: int, kind: int, x: Any) -> None:
        """Sends an object as a batch of this number."""
        stream = io.BytesIO()
        pickler = Pickler(stream)
        pickler.dump(x)
        parts = [stream.getbuffer(), *(buffer.raw() for buffer in pickler.buffers)]
        sizes = [part.nbytes for part in parts]
        head = struct.pack(f"={1 + len(parts)}q", len(parts) - 1, *sizes)
        places: list[int] = []
        end = len(head)
        for part in parts:
            places.append(_aligned(end) if places else end)
            end = places[-1] + part.nbytes
        slot, memory, descriptor, dropped = self._slot(end)
        memory[: len(head)] = head
        for begin, part in zip(places, parts, strict=True):
            memory[begin : begin + part.nbytes] = part
        message = _MESSAGE.pack(number, kind, slot, len(memory), dropped)
        if descriptor is None:
            self._channel.send(message)
            return
        try:
            socket.send_fds(self._channel, [message], [descriptor])
        finally:
            os.close(descriptor)

    def _slot(self, need):
        """A slot of so many bytes: its number, its memory, a descriptor if it is new, and one that
        is forgotten for it, or -1."""
        fits = [n for n, memory in self._free.items() if len(memory) >= need]
        if fits:
            slot = min(fits, key=lambda n: len(self._free[n]))
            memory = self._taken[slot] = self._free.pop(slot)
            return slot, memory, None, -1
        dropped = max(self._free, key=lambda n: len(self._free[n]), default=-1)
        if dropped >= 0:  # all are too small: without this they would be kept for ever
            self._free.pop(dropped).close()
        size = -(-max(need + need // 8, _LEAST) // mmap.PAGESIZE) * mmap.PAGESIZE
        descriptor = os.memfd_create("frazil.data", os.MFD_CLOEXEC)
        os.ftruncate(descriptor, size)
        slot, self._made = self._made, self._made + 1
        memory = self._taken[slot] = mmap.mmap(descriptor, size)
        return slot, memory, descriptor, dropped


class Receiver:
    """The parent's end."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self._slots: dict[int, tuple[mmap.mmap, Any]] = {}  # memory, and a type of its size
        self._lent: dict[int, weakref.ref[Any]] = {}
        self._released: deque[int] = deque()  # filled by whatever thread drops a batch

    def released(self) -> list[int]:
        """The slots that nothing refers to any more, each once."""
        out = []
        while self._released:
            out.append(self._released.popleft())
        return out

    def receive(self) -> tuple[int, int, Any] | None:
        """(number, kind, object); None if the worker is gone, NONE_YET if it has none ready."""
        try:
            message, beside, _, _ = self.channel.recvmsg(_MESSAGE.size, _BESIDE)
        except BlockingIOError:
            return NONE_YET
        if not message:
            return None
        number, kind, slot, size, dropped = _MESSAGE.unpack(message)
        self._slots.pop(dropped, None)
        for _, _, data in beside:
            descriptor = int.from_bytes(data, sys.byteorder)
            try:
                self._slots[slot] = mmap.mmap(descriptor, size), ctypes.c_ubyte * size
            finally:
                os.close(descriptor)
        memory, kind_of_memory = self._slots[slot]
        whole = kind_of_memory.from_buffer(memory)
        released = self._released
        self._lent[slot] = weakref.ref(whole, lambda _: released.append(slot))
        return number, kind, _read(memoryview(whole).cast("B"))


def _read(memory):
    count, pickled = _HEAD.unpack_from(memory)
    begin = 16 + 8 * count
    end = begin + pickled
    stream, buffers = memory[begin:end], []
    for size in memory[16:begin].cast("q"):
        begin = _aligned(end)
        end = begin + size
        buffers.append(memory[begin:end])
    return pickle.loads(stream, buffers=buffers)


def _aligned(n):
    return -(-n // _ALIGNED) * _ALIGNED
