"""From a ModelProto to bodies of nodes: names become places, operators conversions.

Each name gets one place in the whole model (graphs see the names of those around them), functions
are put in the place of their calls, and all that is not supported is told at once.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from frazil._progress import progress as _progress
from frazil.onnx import _conversions  # noqa: F401 -- fills the table
from frazil.onnx._columns import COLUMNS
from frazil.onnx._plan import NOTHING, SINK, Body, Node
from frazil.onnx._reading import array_of_proto, array_of_sparse, package
from frazil.onnx._table import HOST, OWN, Conversion, find
from frazil.onnx._values import Host

__all__ = ["Builder"]

NODES = 200_000  # of a model, with those of its functions
DEPTH = 64  # of graphs and functions within one another

_FLOATS = frozenset("float16 bfloat16 float32 float64 complex64 complex128".split())
# Their scales are constants, so that they fold.
_FIXED = (
    "QuantizeLinear", "DequantizeLinear", "MatMulNBits", "MatMulBnb4", "GatherBlockQuantized",
)  # fmt: skip
# Of old operators: how memory is shared; which outputs are wanted.
_UNUSED = frozenset(("consumed_inputs", "output_sequence"))
_STANDARD = ("", "ai.onnx")
_MANY = 1000  # elements of columns (_columns.py) that are arrays


class _Scope:
    """Names of a graph or function, and what is around it."""

    def __init__(self, parent: _Scope | None, opsets: dict[str, int], depth: int) -> None:
        self.names: dict[str, int] = {}
        self.parent, self.opsets, self.depth = parent, opsets, depth
        self.given: dict[str, Any] = {}  # attributes of the call of a function
        self.outputs: dict[str, int] = {}  # places that outputs of a function already have
        self.protos: list[Any] = []

    def find(self, name: str) -> int | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


class Builder:
    """Builds the bodies of one model; `problems` are told together by `check`."""

    def __init__(
        self, model: Any, folder: str | None, device: str | None, trainable: bool = True,
        columns: dict[tuple[int, str], Any] | None = None,
    ) -> None:  # fmt: skip
        self.trainable = trainable
        self.columns: dict[int, dict[str, Any]] = {}  # attributes that nodes of the graph lack
        for (i, name), column in (columns or {}).items():
            self.columns.setdefault(i, {})[name] = column
        self.onnx = package()
        self.model, self.folder, self.device = model, folder, device
        self.constants: dict[int, Host] = {NOTHING: None, SINK: None}  # type: ignore[dict-item]
        self.weights: dict[int, tuple[str, np.ndarray[Any, Any], bool]] = {}
        self.laid: dict[int, Any] = {}  # how weights lie in memory
        self.functions = {(self.domain(f.domain), f.name): f for f in model.functions}
        self.problems: dict[str, None] = {}
        self.operators: set[tuple[str, str]] = set()
        self.places = 0
        self.count = 0
        self.types: dict[str, Any] | None = None
        self.calls: list[tuple[str, str]] = []
        self.nodes_of: dict[int, Node] = {}

    @staticmethod
    def domain(name: str) -> str:
        return "" if name in _STANDARD else name

    def place(self) -> int:
        self.places += 1
        return self.places

    def opsets(self, imports: Any) -> dict[str, int]:
        versions = {self.domain(o.domain): o.version for o in imports}
        for domain, version in versions.items():
            if not 0 <= version < 1 << 31:
                raise ValueError(f"[onnx] {domain or 'ai.onnx'} has no opset {version}.")
        newest = self.onnx.defs.onnx_opset_version()
        if versions.get("", 1) > newest:
            raise ValueError(
                f"[onnx] the model is of opset {versions['']}, the package onnx "
                f"{self.onnx.__version__} knows {newest}: install a newer one, or convert the "
                "model with onnx.version_converter."
            )
        return versions

    def check(self) -> None:
        if self.problems:
            raise ValueError("[onnx] the model is not supported:\n  " + "\n  ".join(self.problems))

    # Graphs

    def graph(self, proto: Any, parent: _Scope | None, opsets: dict[str, int]) -> Body:
        depth = parent.depth + 1 if parent else 0
        scope = _Scope(parent, opsets, depth)
        if depth > DEPTH:
            raise ValueError(f"[onnx] graphs lie more than {DEPTH} deep within one another.")
        if parent is not None:
            scope.given = parent.given
        scope.protos = list(proto.node)
        filled = {t.name for t in proto.initializer} | {
            t.values.name for t in proto.sparse_initializer
        }
        inputs = []
        for value in proto.input:
            if value.name not in filled:
                inputs.append(self.define(scope, value.name, f"input of graph {proto.name!r}"))
        arrays = [(t.name, t) for t in proto.initializer]
        for t in proto.sparse_initializer:
            arrays.append((t.values.name, t))
        fixed = self.fixed(proto, opsets) if arrays else {}
        shown = arrays if parent else _progress(arrays, "onnx.load: initializers")
        for name, tensor in shown:
            where = self.define(scope, name, f"initializer of graph {proto.name!r}")
            array = self.array(tensor)
            use = fixed.get(name, "weight")
            plain = array.dtype.name not in _FLOATS or array.ndim == 0
            if use == "constant" or plain or not self.trainable:
                self.constants[where] = Host(array)
            else:
                self.weights[where] = (name, array, use == "buffer")
        nodes = self.nodes(proto.node, scope)
        outputs = tuple(self.look_up(scope, v.name, f"graph {proto.name!r}") for v in proto.output)
        return Body(nodes, tuple(inputs), outputs, proto.name)

    def fixed(self, proto: Any, opsets: dict[str, int]) -> dict[str, str]:
        """Initializers that are no weights: read as numbers of the host, or running averages."""
        uses: dict[str, str] = {}
        for node in proto.node:
            row = find(self.domain(node.domain), node.op_type, opsets.get("", 1))
            for i, name in enumerate(node.input):
                kind = None
                if row is not None:
                    kind = row.kinds[i] if i < len(row.kinds) else row.rest
                if node.op_type == "BatchNormalization" and i in (3, 4):
                    uses.setdefault(name, "buffer")
                elif kind == HOST or (node.op_type in _FIXED and i > 0):
                    uses[name] = "constant"
        return uses

    def array(self, proto: Any) -> np.ndarray[Any, Any]:
        if hasattr(proto, "indices"):
            return array_of_sparse(proto, self.folder)
        return array_of_proto(proto, self.folder)

    def define(self, scope: _Scope, name: str, what: str) -> int:
        if name in scope.names:
            raise ValueError(f"[onnx] the name {name!r} is defined twice: {what}.")
        where = scope.outputs.get(name)
        scope.names[name] = where = self.place() if where is None else where
        return where

    def look_up(self, scope: _Scope, name: str, what: str) -> int:
        if not name:
            return NOTHING
        found = scope.find(name)
        if found is None:
            raise ValueError(
                f"[onnx] {what} uses {name!r}, which nothing before it defines: nodes must be in "
                "the order in which they run."
            )
        return found

    # Nodes

    def nodes(self, protos: Any, scope: _Scope) -> list[Node]:
        made: list[Node] = []
        for i, proto in enumerate(protos):
            self.count += 1
            if self.count > NODES:
                raise ValueError(f"[onnx] the model has more than {NODES} nodes.")
            made += self.node(proto, scope, i)
        return made

    def node(self, proto: Any, scope: _Scope, i: int) -> list[Node]:
        domain, name = self.domain(proto.domain), proto.op_type
        function = self.functions.get((domain, name))
        opset = scope.opsets.get(domain, 0)
        shown = f"{domain}::{name}" if domain else name
        where = f"node {proto.name or i!r} ({shown}, opset {opset or '?'})"
        inputs = tuple(self.look_up(scope, n, where) for n in proto.input)
        if function is not None:
            return self.call(function, proto, inputs, scope, where)
        if not opset:
            self.problems[f"{where}: the model imports no operator set of domain {domain!r}"] = None
            opset = 1
        row = find(domain, name, opset)
        if row is None:
            body = self.body_of(domain, name, opset, proto)
            if body is not None:
                return self.call(body, proto, inputs, scope, where)
            self.unsupported(domain, name, opset, where)
            row = Conversion(domain, name, 1, _nothing, (), 2, 0, None, frozenset(),
                             False, False, False, False, False, {}, ())  # fmt: skip
        self.operators.add((domain, name))
        attributes = self.attributes(proto, scope, where)
        if not scope.depth:
            attributes.update(self.columns.get(i, {}))
        if row.attributes is not None:
            for unused in _UNUSED - row.attributes:
                attributes.pop(unused, None)
        own = [find(OWN, n, 1) for n, _ in row.prepared]
        self.fits(row, [r for r in own if r is not None], attributes, inputs, where)
        if row.control:
            self.bodies_fit(name, opset, attributes, len(inputs), len(proto.output), where)
        before, inputs = self.prepared(row, attributes, inputs, where)
        if row.attributes is not None:  # without those of what is prepared alone
            attributes = {n: v for n, v in attributes.items() if n in row.attributes}
        outputs = tuple(self.define(scope, n, where) if n else SINK for n in proto.output)
        node = Node(row, attributes, inputs, outputs, where, self.device)
        if name == "Gradient":
            self.gradient(node, scope, where)
        for i, fn in row.laid.items():
            if i < len(inputs):
                self.laid[inputs[i]] = functools.partial(fn, **attributes)
        for p in outputs:
            self.nodes_of[p] = node
        return [*before, node]

    def prepared(
        self, row: Conversion, attributes: dict[str, Any], inputs: tuple[int, ...], where: str
    ) -> tuple[list[Node], tuple[int, ...]]:
        """Nodes for what a conversion wants prepared, and the inputs with their results."""
        nodes, given = [], list(inputs)
        for name, at in row.prepared:
            first = find(OWN, name, 1)
            assert first is not None and first.attributes is not None
            given += [NOTHING] * (max(at) + 1 - len(given))
            own = {n: v for n, v in attributes.items() if n in first.attributes}
            made = tuple(self.place() for _ in at)
            nodes.append(Node(first, own, tuple(given[i] for i in at), made, where, self.device))
            for i, place in zip(at, made, strict=True):
                given[i] = place
        return nodes, tuple(given)

    def unsupported(self, domain: str, name: str, opset: int, where: str) -> None:
        from frazil.onnx._table import TABLE

        rows = TABLE.get((domain, name))
        if rows:
            way = f"it is from opset {rows[0].since} on: convert the model with " + (
                "onnx.version_converter.convert_version"
            )
        elif self.onnx.defs.has(name, domain):
            way = "there is no conversion; a model-local function of this name would be used"
        else:
            way = (
                "the operator is unknown to ONNX; a model-local function of this name would be used"
            )
        self.problems[f"{where}: {way}"] = None

    def fits(
        self, row: Conversion, own: list[Conversion], attributes: dict[str, Any], inputs: Any,
        where: str,
    ) -> None:  # fmt: skip
        """Whether a conversion, with its `own` ones beforehand, takes the attributes and inputs."""
        if len(inputs) < row.least or (row.rest is None and len(inputs) > len(row.kinds)):
            self.problems[f"{where}: it has {len(inputs)} inputs"] = None
        unknown: list[str] = []
        if row.attributes is not None:
            known = row.attributes.union(*(r.attributes or () for r in own))
            unknown = sorted(set(attributes) - known)
        if unknown:
            self.problems[f"{where}: attributes {', '.join(unknown)} are not supported"] = None
        missing = sorted(row.needed.union(*(r.needed for r in own)) - set(attributes))
        if missing:
            self.problems[f"{where}: attributes {', '.join(missing)} are missing"] = None

    def bodies_fit(
        self, name: str, opset: int, attributes: dict[str, Any], given: int, wanted: int, where: str
    ) -> None:
        """Whether graphs within a node take what it hands them, and make what it wants."""
        scans = attributes.get("num_scan_inputs", 1)
        takes, states = {
            "If": (0, 0),
            "Loop": (max(given, 2), max(given - 2, 0)),
            "Scan": (given - (opset < 9), given - (opset < 9) - scans),
        }.get(name, (None, 0))
        makes = wanted + (name == "Loop")
        for key, body in attributes.items():
            if takes is None or not isinstance(body, Body):
                continue
            if states < 0 or scans < 1 or len(body.inputs) != takes or len(body.outputs) < makes:
                self.problems[
                    f"{where}: {key} has {len(body.inputs)} inputs and {len(body.outputs)} "
                    f"outputs, the node has {given} and {wanted}"
                ] = None

    def attributes(self, proto: Any, scope: _Scope, where: str) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for attribute in proto.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name in scope.given:
                    read[attribute.name] = scope.given[attribute.ref_attr_name]
                continue
            read[attribute.name] = self.attribute(attribute, scope, where)
        return read

    def attribute(self, a: Any, scope: _Scope, where: str) -> Any:
        kinds = self.onnx.AttributeProto
        try:
            if a.type == kinds.STRING:
                return a.s.decode("utf-8")
            if a.type == kinds.STRINGS:
                words: dict[bytes, str] = {}  # equal ones are one
                return tuple([words.get(s) or words.setdefault(s, s.decode()) for s in a.strings])
        except UnicodeDecodeError:
            raise ValueError(f"[onnx] {where}: attribute {a.name!r} holds no UTF-8.") from None
        if a.type == kinds.TENSOR:
            return Host(self.array(a.t))
        if a.type == kinds.SPARSE_TENSOR:
            return Host(self.array(a.sparse_tensor))
        if a.type == kinds.GRAPH:
            return self.graph(a.g, scope, scope.opsets)
        if a.type in (kinds.INTS, kinds.FLOATS):
            whole = a.type == kinds.INTS
            given = a.ints if whole else a.floats
            if len(given) > _MANY and a.name.startswith(COLUMNS):
                return np.fromiter(given, np.int64 if whole else np.float32, len(given))
            return tuple(given)
        if a.type in (kinds.INT, kinds.FLOAT):
            return a.i if a.type == kinds.INT else a.f
        if a.type == kinds.TYPE_PROTO:
            return a.tp
        raise ValueError(f"[onnx] {where}: attribute {a.name!r} is of type {a.type}.")

    # Functions

    def call(
        self, function: Any, proto: Any, inputs: tuple[int, ...], outer: _Scope, where: str
    ) -> list[Node]:
        """The nodes of a function in the place of its call."""
        key = (self.domain(proto.domain), proto.op_type)
        if key in self.calls or len(self.calls) > DEPTH:
            raise ValueError(f"[onnx] {where}: the function calls itself, or calls lie too deep.")
        opsets = self.opsets(function.opset_import) or outer.opsets
        scope = _Scope(None, {**outer.opsets, **opsets}, outer.depth + 1)
        scope.given = {
            a.name: self.attribute(a, outer, where)
            for a in function.attribute_proto
        }  # fmt: skip
        scope.given.update(self.attributes(proto, outer, where))
        for i, name in enumerate(function.input):
            scope.names[name] = inputs[i] if i < len(inputs) else NOTHING
        made = []
        for name, output in zip(function.output, proto.output, strict=False):
            if not output:
                continue
            place = self.define(outer, output, where)
            if name in scope.names:  # an input handed on
                made.append((scope.names[name], place))
            else:
                scope.outputs[name] = place
        self.calls.append(key)
        nodes = self.nodes(function.node, scope)
        self.calls.pop()
        identity = find("", "Identity", 1)
        assert identity is not None
        return nodes + [Node(identity, {}, (a,), (b,), where) for a, b in made]

    def body_of(self, domain: str, name: str, opset: int, proto: Any) -> Any:
        """The function by which ONNX defines an operator, if it does."""
        try:
            schema = self.onnx.defs.get_schema(name, opset, domain)
        except self.onnx.defs.SchemaError:
            return None
        if schema.has_function:
            return schema.function_body
        if not schema.has_context_dependent_function:
            return None
        types = [self.type_of(n).SerializeToString() if n else b"" for n in proto.input]
        versions = [v for v in schema.context_dependent_function_opset_versions if v <= opset]
        if not versions:
            return None
        text = schema.get_context_dependent_function_with_opset_version(
            max(versions), proto.SerializeToString(), types
        )
        body = self.onnx.FunctionProto()
        body.ParseFromString(text)
        return body

    def type_of(self, name: str) -> Any:
        if self.types is None:
            graph = self.onnx.shape_inference.infer_shapes(self.model).graph
            self.types = {v.name: v.type for v in (*graph.input, *graph.value_info, *graph.output)}
        return self.types.get(name, self.onnx.TypeProto())

    # Gradients

    def gradient(self, node: Node, scope: _Scope, where: str) -> None:
        """What the operator Gradient differentiates: the nodes between xs and y."""
        wanted = {self.look_up(scope, node.attributes["y"], where)}
        xs = [self.look_up(scope, n, where) for n in node.attributes["xs"]]
        zs = [self.look_up(scope, n, where) for n in node.attributes.get("zs", ())]
        y, path, todo = next(iter(wanted)), [], list(wanted)
        seen: set[int] = set(xs) | set(zs)
        while todo:
            place = todo.pop()
            made = self.nodes_of.get(place)
            if place in seen or made is None:
                continue
            seen.update(made.outputs)
            path.append(made)
            todo += made.uses
        order = {id(n): i for i, n in enumerate(dict.fromkeys(self.nodes_of.values()))}
        path.sort(key=lambda n: order[id(n)])
        body = Body(path, tuple(xs + zs), (y,), "gradient")
        node.extra = body, len(xs)
        node.bodies["gradient"] = body
        node.uses = tuple({*node.uses, *body.captured})


def _nothing(*_: Any) -> None:
    return None
