"""Running a model: bodies (graphs, branches, loops) as lists of steps, one list for each set of
shapes.

The first call with new shapes runs node by node and writes down what must run again: what depends
on shapes and constants alone is computed once (folded), branches of conditions that are known are
taken, and constants are handed over in the form in which their operator wants them. Later calls
run the steps. A node that reads data (`Host` wanted, a tensor there) makes what comes from it
`moving`: it is computed at every call.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from typing import TYPE_CHECKING, Any

from frazil._frazil import Tensor
from frazil._grad import no_grad
from frazil.onnx._table import EITHER, HOST, RAW, Conversion, Functions
from frazil.onnx._values import NAMES, Host, array_of, known_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Body", "Node", "Run", "wrap"]

PLANS = 256  # of one body; then the oldest goes

NOTHING, SINK = -1, -2  # places of an input that is not given, of an output that nobody wants

_IDENTITY = ":Identity:1"
_places = itertools.count(-3, -1)  # of constants of plans


class Hidden:
    """What plans are made from. Traced calls compare all that a module reaches: this is read when a
    plan is made, and what it stands for is kept elsewhere. Copies of a model share it."""

    def __init__(self, content: Any) -> None:
        _contents[self] = content

    def read(self) -> Any:
        return _contents[self]

    def __copy__(self) -> Hidden:
        return self

    def __deepcopy__(self, memo: Any) -> Hidden:
        return self

    def __reduce__(self) -> Any:
        return Hidden, (self.read(),)


_contents: weakref.WeakKeyDictionary[Hidden, Any] = weakref.WeakKeyDictionary()


class Site:
    """What a conversion may ask about its node."""

    def __init__(self, outputs: tuple[int, ...], device: str | None) -> None:
        self.wanted = tuple([p != SINK for p in outputs])
        self.device = device

    def wants(self, output: int) -> bool:
        """Whether somebody uses an output."""
        return output < len(self.wanted) and self.wanted[output]

    def deliver(self, value: Any, kind: int) -> Any:
        """A value in the form in which the conversion wants it."""
        if value is None or kind == RAW or isinstance(value, list):
            return value
        if kind == HOST:
            return known_of(value)
        if kind == EITHER and isinstance(value, Host) and value.dtype not in NAMES:
            return value
        return value.tensor(self.device) if isinstance(value, Host) else value


class Node:
    """A node of a model with the conversion that stands for it. Inputs and outputs are places."""

    def __init__(
        self,
        conversion: Conversion,
        attributes: dict[str, Any],
        inputs: tuple[int, ...],
        outputs: tuple[int, ...],
        where: str,
        device: str | None = None,
    ) -> None:
        self.conversion, self.attributes, self.where = conversion, attributes, where
        self.inputs, self.outputs = inputs, outputs
        self.site = Site(outputs, device)
        self.bodies = {n: b for n, b in attributes.items() if isinstance(b, Body)}
        self.extra: Any = None  # what the loader hands to a control conversion besides
        self.uses = tuple(set(inputs).union(*(b.captured for b in self.bodies.values())))
        options = dict(attributes)
        if conversion.wants_node:
            options["node"] = self.site
        self.options = options
        # What was computed of the same constants, for the plans of other shapes: of all inputs by
        # None, of one in its memory order by its number.
        self.kept: dict[int | None, tuple[tuple[Any, ...], Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "kept": {}}

    def once(self, key: int | None, of: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """What `compute` gives, or gave when it was last asked with the very same values."""
        kept = self.kept.get(key)
        if kept is None or len(kept[0]) != len(of) or any(map(operator.is_not, kept[0], of)):
            kept = self.kept[key] = of, compute()
        return kept[1]

    def deliver(self, value: Any, kind: int) -> Any:
        return self.site.deliver(value, kind)

    def kind(self, i: int) -> int:
        kinds = self.conversion.kinds
        rest = self.conversion.rest
        return kinds[i] if i < len(kinds) else RAW if rest is None else rest

    def run(self, values: dict[int, Any], run: Run, static: bool) -> None:
        """Calls the conversion with the values in their places."""
        if self.conversion.control:
            results = self.conversion.fn(self, values, run)
        else:
            given = [self.deliver(values[p], self.kind(i)) for i, p in enumerate(self.inputs)]
            results = self.call(*given)
        self.fill(values, results, static)

    def call(self, *given: Any) -> Any:
        return self.conversion.fn(*given, **self.options)

    def fill(self, values: dict[int, Any], results: Any, static: bool) -> None:
        """Puts what the conversion returned into its places."""
        if not isinstance(results, tuple):
            results = (results,)
        for place, result in zip(self.outputs, results, strict=False):
            values[place] = wrap(result, static)


def wrap(result: Any, static: bool = False) -> Any:
    """What a conversion returned as a value."""
    if isinstance(result, (Tensor, list)) or result is None:
        return result
    if isinstance(result, Host):
        return result if result.static == static else result.again(static)
    return Host(result, static)


class Run:
    """What is the same for all bodies in a call of a model."""

    def __init__(self, device: str | None) -> None:
        self.device = device
        self.reads = 0  # how often data was read while a plan was made


class _Step:
    def __init__(self, node: Node, what: Any, inputs: tuple[int, ...] | None) -> None:
        self.node, self.what, self.inputs = node, what, inputs
        self.options = node.options if what == node.conversion.key else {}
        self.outputs = node.outputs


class _Plan:
    def __init__(self) -> None:
        self.steps: tuple[Any, ...] = ()  # (name in Functions or a node, options, places ...)
        self.constants: dict[int, Any] = {}
        self.reads = False


def _signature(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.shape, value.dtype.name
    if isinstance(value, Host):
        return value.key if value.static else (value.dtype, value.shape)
    if isinstance(value, list):
        return tuple(_signature(v) for v in value)
    return None


class Body:
    """A graph, a branch or the body of a loop."""

    def __init__(
        self, nodes: list[Node], inputs: tuple[int, ...], outputs: tuple[int, ...], name: str
    ) -> None:
        self.inputs, self.outputs, self.name = inputs, outputs, name
        self.hidden = Hidden(nodes)
        made = {p for n in nodes for p in n.outputs} | {NOTHING, SINK, *inputs}
        used = set().union(*(n.uses for n in nodes), outputs)
        self.captured: tuple[int, ...] = tuple(sorted(used - made))
        self.depends: tuple[int, ...] = ()  # inputs and captured places that are not fixed
        self.plans: dict[Any, _Plan] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Plans are made again: their constants have places of this process."""
        return {**self.__dict__, "plans": {}}

    def fix(self, fixed: set[int]) -> None:
        """Tells which places hold weights and constants: no part of what plans are found by."""
        self.depends = tuple(p for p in (*self.inputs, *self.captured) if p not in fixed)
        for node in self.hidden.read():
            for body in node.bodies.values():
                body.fix(fixed)

    def run(
        self, values: dict[int, Any], run: Run, constants: Hidden | None = None
    ) -> tuple[Any, ...]:
        """The outputs, of inputs in their places. `constants` are the model's, for its graph: plans
        have those that they need."""
        key = tuple([_signature(values[p]) for p in self.depends])
        plan = self.plans.get(key)
        if plan is None:
            plan = self._first(values, run, constants.read() if constants else {})
            while len(self.plans) >= PLANS:
                del self.plans[next(iter(self.plans))]
            self.plans[key] = plan
        else:
            run.reads += plan.reads
            values.update(plan.constants)
            for what, options, inputs, outputs, drops in plan.steps:
                if inputs is None:
                    what.run(values, run, False)
                else:
                    result = getattr(Functions, what)(*[values[p] for p in inputs], **options)
                    if len(outputs) == 1 and not isinstance(result, tuple):
                        values[outputs[0]] = result if isinstance(result, Tensor) else wrap(result)
                    else:
                        for p, r in zip(outputs, result, strict=False):
                            values[p] = r if isinstance(r, Tensor) else wrap(r)
                for p in drops:
                    values[p] = None
        return tuple([values[p] for p in self.outputs])

    def _first(self, values: dict[int, Any], run: Run, constants: dict[int, Any]) -> _Plan:
        """Runs the nodes one by one and writes down the plan."""
        values.update(constants)
        builder = _Builder(self, values, run)
        for place in self.depends:
            value = values[place]
            if isinstance(value, list) or (isinstance(value, Host) and not value.static):
                builder.moving.add(place)
        before = run.reads
        builder.nodes(self.hidden.read())
        builder.plan.reads = run.reads > before
        return builder.finished(constants)


def _laid(node: Node, order: Callable[..., Any], i: int, value: Any) -> Any:
    """A constant in the memory order of input `i`. What is prepared for this node alone is not
    kept in its own order besides."""
    made = order(node.deliver(value, node.kind(i)), **node.attributes)
    if isinstance(value, Host) and any(i in at for _, at in node.conversion.prepared):
        value.forget()
    return made


class _Builder:
    def __init__(self, body: Body, values: dict[int, Any], run: Run) -> None:
        self.body, self.values, self.run = body, values, run
        self.plan = _Plan()
        self.moving: set[int] = set()  # places whose shape or content may change from call to call
        self.steps: list[_Step] = []
        self.folded: set[int] = set()

    def nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            try:
                self.node(node)
            except Exception as error:
                if not hasattr(error, "_onnx_node"):
                    error.add_note(f"in {node.where} of body {self.body.name!r}")
                    error._onnx_node = node.where  # type: ignore[attr-defined]
                raise

    def _static(self, place: int) -> bool:
        value = self.values[place]
        return value is None or (
            isinstance(value, Host) and value.static and place not in self.moving
        )

    def node(self, node: Node) -> None:
        values, conversion = self.values, node.conversion
        if conversion.name == "If" and node.inputs and self._static(node.inputs[0]):
            self.branch(node)
            return
        fixed = not conversion.random and not conversion.control
        if conversion.shape_only:
            fixed = fixed and not any(p in self.moving for p in node.inputs)
            fixed = fixed and not any(isinstance(values[p], list) for p in node.inputs)
        else:
            fixed = fixed and all(self._static(p) for p in node.inputs)
        if fixed:
            given = tuple([values[p] for p in node.inputs])
            if conversion.shape_only:
                self.fold(node)
            else:
                made = node.once(None, given, lambda: self.fold(node))
                values.update(zip(node.outputs, made, strict=True))
            for place in node.outputs:
                if isinstance(values.get(place), list):  # of tensors: made anew each time
                    break
                self.folded.add(place)
            else:
                return
        before = self.run.reads
        reads = conversion.data or any(
            node.kind(i) == HOST and not self._static(p) and values[p] is not None
            for i, p in enumerate(node.inputs)
        )
        step = self._ran(node)
        self.run.reads += reads
        reads = reads or self.run.reads > before
        if reads or any(p in self.moving for p in node.uses):
            self.moving.update(node.outputs)
        self.moving.update(p for p in node.outputs if isinstance(values.get(p), list))
        self.steps.append(step)

    def fold(self, node: Node) -> tuple[Any, ...]:
        """Runs a node of constants; tensors among its results become arrays of the host."""
        values = self.values
        with no_grad():
            node.run(values, self.run, True)
        for place in node.outputs:
            if isinstance(values.get(place), Tensor):
                values[place] = Host(array_of(values[place]))
        return tuple([values.get(p) for p in node.outputs])

    def _ran(self, node: Node) -> _Step:
        """The node has run; the step that runs it again."""
        values = self.values
        if node.conversion.control:
            node.run(values, self.run, False)
            return _Step(node, node, None)
        given, inputs, quick = [], [], True
        for i, place in enumerate(node.inputs):
            value, kind, static = values[place], node.kind(i), self._static(place)
            order = node.conversion.laid.get(i) if static and value is not None else None
            if order is None:
                made = node.deliver(value, kind)
            else:
                lay = functools.partial(_laid, node, order, i, value)
                made = node.once(i, (value,), lay)
            if static:
                inputs.append(self.constant(made))
            else:
                quick = quick and (made is value or kind == RAW)
                inputs.append(place)
            given.append(made)
        node.fill(values, node.call(*given), False)
        if not quick:
            return _Step(node, node, None)
        return _Step(node, node.conversion.key, tuple(inputs))

    def branch(self, node: Node) -> None:
        """The branch of a condition that is known, as part of this plan."""
        taken = bool(self.values[node.inputs[0]].whole)
        body = node.bodies["then_branch" if taken else "else_branch"]
        self.nodes(body.hidden.read())
        for source, place in zip(body.outputs, node.outputs, strict=False):
            self.values[place] = self.values[source]
            if self._static(source):
                self.folded.add(place)
            else:
                if source in self.moving:
                    self.moving.add(place)
                alias = _Step(node, _IDENTITY, (source,))
                alias.outputs = (place,)
                self.steps.append(alias)

    def constant(self, value: Any) -> int:
        if value is None:
            return NOTHING
        own = next(_places)
        self.plan.constants[own] = value
        return own

    def finished(self, constants: dict[int, Any]) -> _Plan:
        """With what is folded as constants, and places given up after their last use."""
        plan = self.plan
        last: dict[int, int] = {}
        for i, step in enumerate(self.steps):
            used = step.node.uses if step.inputs is None else step.inputs
            for p in (*used, *step.outputs):
                last[p] = i
        kept = {*self.body.outputs, *self.body.captured, *self.body.inputs, NOTHING, SINK}
        made = {p for step in self.steps for p in step.outputs}
        drops: dict[int, list[int]] = {}
        for p, i in last.items():
            if p in made and p not in kept:
                drops.setdefault(i, []).append(p)
        wanted = set(last) | set(self.body.outputs)
        plan.constants.update((p, self.values[p]) for p in self.folded if p in wanted)
        plan.constants.update((p, c) for p, c in constants.items() if p in wanted)
        plan.constants[NOTHING] = None
        plan.steps = tuple(
            (s.what, s.options, s.inputs, s.outputs, tuple(drops.get(i, ())))
            for i, s in enumerate(self.steps)
        )
        return plan
