"""What converted code calls inside of a vmap, where a condition may differ between examples.

All examples run together. A frame's `live` says which of them the line that runs is for: True for
all, False for none, else one bool that differs. Where a condition differs (`Split`) both ways run,
one after the other, each for its part of the live examples; then the names that they assign are
merged (_convert_merge.py). An example that returns, breaks or continues before the others is no
longer live; the lines behind run for the rest, and what the others have is held (`Rest`, `Loop`).
A condition that is the same for all examples is Python's, and takes the one way that there is.

What shows outside cannot be done for some examples only: it is an error with the line.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from frazil import _frazil as _fz
from frazil._convert_calls import Calls, Counting, function
from frazil._convert_merge import NOBODY, UNSET, Weak, error, merge, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Frame", "frame", "function", "in_frame", "locals", "slice", "unset"]

_is_batched = _fz.transforms.is_batched
_any_example = _fz.transforms.any_example
_exchange = _fz.transforms.exchange_frame

unset = UNSET
locals = locals  # noqa: A001, PLW0127 -- by names that no user's code has
slice = slice  # noqa: A001, PLW0127
_LOCALS_KEEP = sys.version_info < (3, 13)  # what a frame holds, once they were asked for
_PARTIAL = "__frazil_partial__"


def truth(value: Any) -> Any:
    """That of a condition: True, False, or one bool that differs between examples."""
    if isinstance(value, Weak):
        value = value.value
    if not _is_batched(value):
        return bool(value)
    if value.size != 1:
        return bool(_fz.zeros(value.shape))  # raises what it does for one example
    if value.ndim:
        value = value.reshape(())
    return value if value.dtype == _fz.bool else value != 0


def _meet(live: Any, mask: Any) -> Any:
    return mask if live is True else live & mask


def _any(live: Any) -> bool:
    return live is True or (live is not False and bool(_any_example(live)))


class Jump(NamedTuple):
    """Examples that left before others."""

    how: str  # return, break, continue
    live: Any


def _without(live: Any, jumps: Iterable[Jump]) -> Any:
    for jump in jumps:
        live = _meet(live, ~jump.live)
    return live


def _either_mask(mask: Any, a: Any, b: Any) -> Any:
    """a where mask, else b; each is True, False or one bool that differs."""
    if a is b:
        return a
    first = mask if a is True else a is not False and mask & a
    second = ~mask if b is True else b is not False and ~mask & b
    if first is False or second is False:
        return second if first is False else first
    return first | second


class Partly(NamedTuple):
    """What a name holds that some examples have not."""

    value: Any
    defined: Any  # which have it: one bool


def _parted(found: Any) -> tuple[Any, Any]:
    return found if isinstance(found, Partly) else (found, found is not UNSET)


class Join:
    """What names get where ways join; generated code takes it."""

    __slots__ = ("frame", "values")
    frame: Frame
    values: Mapping[str, Any]

    def take(self, *names: str) -> Any:
        found = []
        for name in names:
            value, defined = _parted(self.values.get(name, UNSET))
            self.frame.partial.pop(name, None)
            if not isinstance(defined, bool):
                self.frame.partial[name] = defined
            found.append(value)
        self.values = {}
        return found[0] if len(found) == 1 else found

    def mix(self, mask: Any, new: Mapping[str, Any], old: Mapping[str, Any], names: Any) -> bool:
        # No comprehension: a function, which whoever watches the call would hold with all it sees.
        values = {}
        for n in names:
            values[n] = _mixed(mask, new.get(n, UNSET), old.get(n, UNSET), n)
        self.values = values
        return bool(names)


def _mixed(mask: Any, new: Any, old: Any, name: str) -> Any:
    (a, has_a), (b, has_b) = _parted(new), _parted(old)
    value = a if b is UNSET else b if a is UNSET else merge(mask, a, b, name)
    defined = _either_mask(mask, has_a, has_b)
    return value if isinstance(defined, bool) else Partly(value, defined)


class Way(NamedTuple):
    """How one of two ways ended."""

    live: Any
    values: Mapping[str, Any] | None  # None if nobody goes on with them
    jumps: int  # of the frame, until then


class Split(Join):
    """A condition and the two ways behind it. In statements: first, turn, second, join."""

    __slots__ = ("before", "entry", "jumps", "mask", "operand", "then", "truth", "value")

    def __init__(self, frame: Frame, value: Any) -> None:
        found = truth(value)
        self.truth: Any = found if isinstance(found, bool) else None
        self.mask: Any = None if isinstance(found, bool) else found
        self.frame, self.entry, self.jumps = frame, frame.live, len(frame.jumps)
        self.before: Mapping[str, Any] = {}
        self.then: Way | None = None
        self.value = value
        self.operand: Any = None

    def _go(self, mask: Any) -> bool:
        """For these examples; in a recursion only if there are any, or it would not end."""
        live = _meet(self.entry, mask)
        self.frame.live = live if not self.frame.recursive or _any(live) else False
        return self.frame.live is not False

    def _end(self, names: Mapping[str, Any]) -> Way:
        """Who returned does not go on with what names have there, unlike who left a loop."""
        frame = self.frame
        begin = self.jumps if self.then is None else self.then.jumps
        gone = frame.live is False and all(jump.how == "return" for jump in frame.jumps[begin:])
        return Way(frame.live, None if gone else names, len(frame.jumps))

    def first(self, names: dict[str, Any] | None = None) -> bool:
        if self.mask is None:
            return bool(self.truth)
        self.before = self.frame.seen(names)
        return self._go(self.mask)

    def turn(self, names: dict[str, Any] | None = None, *assigned: str) -> bool:
        """Behind the first way: True if names get back what they had before it."""
        if self.mask is None:
            return False
        self.then = self._end(self.frame.seen(names))
        self.values = self.before
        self.frame.live = _meet(self.entry, ~self.mask)
        return bool(assigned)

    def second(self) -> bool:
        return not self.truth if self.mask is None else self._go(~self.mask)

    def join(self, names: dict[str, Any] | None = None, *assigned: str) -> bool:
        """Behind both: True if names get merged values."""
        if self.mask is None:
            return False
        frame = self.frame
        if self.then is None:
            self.turn(names)
            other = self._end(self.before)
        else:
            other = self._end(frame.seen(names))
        then = self.then
        self.before, self.then = {}, None
        assert then is not None
        new = frame.jumps[self.jumps :]
        dead = then.live is False and other.live is False
        frame.live = False if dead else _without(self.entry, new)
        if new and frame.recursive and not _any(frame.live):
            frame.live = False
        if then.values is None or other.values is None:
            self.values = (other if then.values is None else then).values or {}
            return bool(assigned)
        return self.mix(self.mask, then.values, other.values, assigned)


class Rest(Join):
    """The lines behind some that not all examples came through."""

    __slots__ = ("before", "mask")

    def __init__(self, frame: Frame, names: dict[str, Any], held: bool) -> None:
        self.frame, self.mask = frame, frame.live
        self.before = frame.seen(names) if held and self.mask is not True else None

    def on(self) -> bool:
        return self.mask is not False

    def join(self, names: dict[str, Any], *assigned: str) -> bool:
        if self.before is None or not self.on():
            return False
        before, self.before = self.before, None
        return self.mix(self.mask, self.frame.seen(names), before, assigned)


class Loop(Join):
    """A loop, which examples leave one after the other."""

    __slots__ = (
        "before",
        "broken",
        "completes",
        "ended",
        "entry",
        "jumps",
        "left",
        "mask",
        "start",
    )

    def __init__(self, frame: Frame, names: dict[str, Any] | None = None) -> None:
        self.frame, self.entry, self.mask = frame, frame.live, frame.live
        self.start = self.jumps = len(frame.jumps)  # of the loop, of its iteration
        self.left: list[Jump] = []  # by break
        self.broken = False  # by all, as in Python
        self.completes = False  # its else has begun
        self.ended = False  # for some examples, by its condition
        self.before = frame.seen(names)

    def _begin(self, live: Any) -> bool:
        self.frame.live = self.mask = live
        self.jumps = len(self.frame.jumps)
        return True

    def alive(self) -> bool:
        """Whether there are examples for another iteration."""
        live = self.frame.live
        if live is not self.entry and not _any(live):
            self.frame.live = False
            return False
        return True

    def test(self, value: Any) -> bool:
        """The condition of a while."""
        found = truth(value)
        if isinstance(found, bool):
            self.ended = self.ended or not found
            return found and self._begin(self.frame.live)
        self.ended = True
        live = _meet(self.frame.live, found)
        return _any(live) and self._begin(live)

    def over(self, iterable: Any) -> Iterator[Any]:
        """What a for goes over, for as long as there are examples."""
        if isinstance(iterable, Counting):
            for value, mask in iterable.steps():
                if not self.alive():
                    return
                self.ended = True
                live = _meet(self.frame.live, mask)
                if not _any(live):
                    return
                self._begin(live)
                yield value
            return
        sized = hasattr(iterable, "__len__")
        items = iter(iterable)
        while self.frame.live is not False and (sized or self.alive()):
            try:
                item = next(items)
            except StopIteration:
                self.ended = True
                return
            self._begin(self.frame.live)
            yield item

    def _leave(self, how: str, names: dict[str, Any] | None) -> bool:
        """True if all leave, by Python's own statement."""
        frame = self.frame
        if frame.live is self.mask and self.mask is self.entry:
            self.before = frame.seen(names)
            return True
        frame.jumps.append(Jump(how, frame.live))
        frame.live = False
        return False

    def breaks(self) -> bool:
        self.broken = self._leave("break", None)
        return self.broken

    def continues(self, names: dict[str, Any] | None = None) -> bool:
        return self._leave("continue", names)

    def end(self, names: dict[str, Any] | None = None, *assigned: str) -> bool:
        """The end of an iteration: True if names get back what some examples had before it."""
        frame = self.frame
        new = frame.jumps[self.jumps :]
        left = [jump for jump in new if jump.how != "continue"]
        self.left += [jump for jump in new if jump.how == "break"]
        frame.jumps[self.jumps :] = [jump for jump in new if jump.how == "return"]
        dead = frame.live is False and len(left) == len(new)
        frame.live = False if dead else _without(self.mask, left)
        before, self.before = self.before, frame.seen(names)
        if self.mask is self.entry or not assigned:
            return False
        self.mix(self.mask, self.before, before, assigned)
        self.before = {**self.before, **self.values}
        return True

    def _complete(self) -> None:
        """Behind the last iteration: live are those who did not break."""
        frame = self.frame
        if self.broken or not self.ended:
            frame.live = False
        else:
            frame.live = _without(self.entry, [*self.left, *frame.jumps[self.start :]])

    def completed(self, names: dict[str, Any] | None = None) -> Rest:
        """The else of the loop."""
        self._complete()
        self.completes = True
        return Rest(self.frame, names or {}, bool(self.left))

    def close(self) -> None:
        """Behind the loop and its else."""
        frame = self.frame
        if not self.completes:
            self._complete()
        if frame.live is not False or self.broken or self.left:
            frame.live = _without(self.entry, frame.jumps[self.start :])


class Attempt:
    """A try: what a handler may handle is what happened to all who were there."""

    __slots__ = ("depth", "entry", "frame")

    def __init__(self, frame: Frame) -> None:
        self.frame, self.entry, self.depth = frame, frame.live, len(frame.open)

    def caught(self) -> None:
        """The begin of a handler."""
        frame, exception = self.frame, sys.exc_info()[1]
        if frame.live is not self.entry or getattr(exception, _PARTIAL, False):
            raise error(
                RuntimeError,
                f"{type(exception).__name__} was raised where some examples of a vmap are and "
                "others are not, so an except cannot handle it: test the condition instead "
                "(fz.where, or an if around the try).",
            ) from exception
        del frame.open[self.depth :]

    def suspend(self) -> Any:
        """The begin of a finally, which runs for all."""
        live, self.frame.live = self.frame.live, self.entry
        return live

    def resume(self, live: Any) -> None:
        self.frame.live = live


class Frame(Calls):
    """A call of a converted function."""

    __slots__ = (
        "_live", "caller", "code", "entry", "jumps", "made", "open", "partial", "pending",
        "recursive", "returns", "way",
    )  # fmt: skip

    def __init__(self, code: int) -> None:
        self.code = code
        self.entry = self._live = True
        self.way: Any = None
        self.recursive = False
        self.pending: Any = None
        self.jumps: list[Jump] = []
        self.returns: list[tuple[Any, Any]] = []
        self.open: list[Split] = []
        self.made: list[tuple[Any, Any]] = []
        self.partial: dict[str, Any] = {}  # by name that not all have: which examples have it

    def __enter__(self) -> Frame:
        caller = self.caller = _exchange(self)
        if caller is not None:
            self.entry = self._live = caller.live
        while caller is not None and not self.recursive:
            self.recursive = caller.code == self.code and caller.live is not True
            caller = caller.caller
        return self

    @property
    def live(self) -> Any:
        return self._live

    @live.setter
    def live(self, live: Any) -> None:
        """Lines that are not for all who came here are a way that others do not take."""
        if live is self._live:
            return
        self._live = live
        if self.way is not None:
            self.way.close()
        is_part = live is not self.entry and not isinstance(live, bool)
        self.way = _fz.TakenScope(live) if is_part else None

    def __exit__(self, kind: Any, exception: Any, trace: Any) -> None:
        _exchange(self.caller)
        if self.way is not None:
            self.way.close()
            self.way = None
        if exception is not None and self.live is not self.entry:
            with contextlib.suppress(AttributeError):
                setattr(exception, _PARTIAL, True)

    # -- Statements

    def split(self, value: Any) -> Split:
        return Split(self, value)

    def rest(self, names: dict[str, Any]) -> Rest:
        return Rest(self, names, any(jump.how != "return" for jump in self.jumps))

    def alive(self) -> bool:
        return self.live is not False

    def loop(self, names: dict[str, Any] | None = None) -> Loop:
        return Loop(self, names)

    def attempt(self) -> Attempt:
        return Attempt(self)

    def leave(self, value: Any = None) -> bool:
        """A return: True if it is that of all examples that are left."""
        self.returns.append((self.live, value))
        if self.live is self.entry:
            return True
        self.jumps.append(Jump("return", self.live))
        self.live = False
        return False

    def result(self) -> Any:
        if self.live is not False and not (self.returns and self.returns[-1][0] is self.entry):
            self.returns.append((self.live, None))
        result = self.returns[-1][1] if self.returns else NOBODY
        for live, value in self.returns[-2::-1]:
            result = merge(live, value, result, "the result")
        return settled(result) if self.caller is None else result

    def fails(self, value: Any) -> bool:
        """Whether an assertion fails for any example."""
        found = truth(value)
        if isinstance(found, bool):
            return not found and _any(self.live)
        return _any(_meet(self.live, ~found))

    def raises(self) -> bool:
        """Whether there is an example for which to raise."""
        if not _any(self.live):
            self.live = False
        return self.live is not False

    # -- Names

    def seen(self, names: dict[str, Any] | None) -> dict[str, Any]:
        """What names hold now."""
        found = dict(names or {})
        if names is not None and _LOCALS_KEEP:
            names.clear()  # of the frame, which would keep what it holds alive
        for name, defined in self.partial.items():
            if name in found:
                found[name] = Partly(found[name], defined)
        return found

    def shared(self, name: str, value: Any, before: Mapping[str, Any]) -> Any:
        """The value of a name that other functions see: those who are not here keep theirs."""
        old = before.get(name, UNSET)
        if self.live is True or value is old:
            return value
        if old is UNSET:
            self.effect(f"the name {name} of the function around is bound")
        return merge(self.live, value, old, name)

    def bound(self, *names: str) -> None:
        """Behind a statement that binds them, for all who are there."""
        for name in names:
            self.partial.pop(name, None)

    def lacks(self, name: str, value: Any) -> bool:
        """Whether a live example has not got the name, which holds the value."""
        defined = self.partial.get(name, True)
        return value is UNSET or (defined is not True and _any(_meet(self.live, ~defined)))

    def read(self, name: str, value: Any) -> Any:
        """The value of a name that some examples may not have."""
        if name in self.partial and self.lacks(name, value):
            raise UnboundLocalError(
                f"cannot access local variable '{name}' where it is not associated with a value: "
                "some examples of a vmap come here without it"
            )
        return value

    # -- Expressions: what is open is a stack, as they nest

    def when(self, value: Any) -> None:
        """Opens the choice between two values."""
        self.open.append(Split(self, value))
        self.open[-1].operand = self.pending

    def first(self) -> bool:
        return self.open[-1].first()

    def second(self) -> bool:
        split = self.open[-1]
        split.turn()
        return split.second()

    def choose(self, _: None, a: Any, b: Any) -> Any:
        """a if the condition, else b: what `A if c else B` is."""
        split = self.open.pop()
        split.join()
        if split.mask is None:
            return a if split.truth else b
        return merge(split.mask, a, b, "the conditional expression")

    def both(self, _: None, b: Any) -> Any:
        """What `a and b` is."""
        split = self.open.pop()
        split.join()
        if split.mask is None:
            return b if split.truth else split.value
        return merge(split.mask, b, split.value, "`and`")

    def either(self, _: None, b: Any) -> Any:
        """What `a or b` is."""
        split = self.open.pop()
        split.join()
        if split.mask is None:
            return split.value if split.truth else b
        return merge(split.mask, split.value, b, "`or`")

    def both_true(self, _: None, b: Any) -> Any:
        """The truth of `a and b`."""
        split = self.open.pop()
        split.join()
        if split.mask is None:
            return truth(b) if split.truth else False
        return merge(split.mask, truth(b), False, "`and`")

    def either_true(self, _: None, b: Any) -> Any:
        """The truth of `a or b`."""
        split = self.open.pop()
        split.join()
        if split.mask is None:
            return True if split.truth else truth(b)
        return merge(split.mask, True, truth(b), "`or`")

    def negated(self, value: Any) -> Any:
        found = truth(value)
        return not found if isinstance(found, bool) else ~found

    def keep(self, value: Any) -> Any:
        """b of `a < b < c`, for the second comparison."""
        self.pending = value
        return value

    def kept(self) -> Any:
        return self.open[-1].operand

    def only(self, value: Any) -> bool:
        """A condition that decides how long a list gets, and so has to be the same for all."""
        found = truth(value)
        if not isinstance(found, bool):
            raise error(
                TypeError,
                "the condition differs between the examples of a vmap, and what it chooses would "
                "differ in length or kind: choose with fz.where, or by an if statement.",
            )
        return found


frame = Frame


def in_frame(code: int, body: Callable[[Frame], Any]) -> Any:
    """What a lambda does."""
    with Frame(code) as own:
        own.leave(body(own))
        return own.result()
