"""A function's syntax tree with both ways to run it: as it was written, and, inside of a vmap, with
every statement that tests, jumps, calls or writes handed to _convert_runtime.py.

    def f(x):
        if __fz_in_vmap():
            with __fz.frame(1) as __f:
                __s1 = __f.split(x > 0)
                if __s1.first(__fz.locals()):
                    y = x
                if __s1.join(__fz.locals(), 'y'):
                    y = __s1.take('y')
        if x > 0:
            y = x

The statements keep their lines. What cannot be rewritten raises Refused with the reason.
"""

from __future__ import annotations

import ast
import copy
import itertools
from typing import TYPE_CHECKING, Any

from frazil._convert_expressions import Expressions, Refused, call, name, text
from frazil._convert_names import Reads, assigned, declared, jumps, own, unsure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_codes = itertools.count(1)


def is_generator(node: Any) -> bool:
    kinds = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
    body = node.body if isinstance(node.body, list) else [node.body]
    return isinstance(node, ast.AsyncFunctionDef) or any(isinstance(n, kinds) for n in own(body))


def _parts(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The docstring and declarations, and the rest."""
    head = []
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        head, body = body[:1], body[1:]
    for kind in (ast.Global, ast.Nonlocal):
        if names := sorted(declared(body, kind)):
            head.append(ast.copy_location(kind(names=names), body[0]))
    return head, _undeclared(body)


class _Undeclare(ast.NodeTransformer):
    def visit_Global(self, node: ast.Global) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        return ast.copy_location(ast.Pass(), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node


def _undeclared(body: list[ast.stmt]) -> list[ast.stmt]:
    kinds = (ast.Global, ast.Nonlocal)
    return [_Undeclare().visit(copy.deepcopy(s)) for s in body if not isinstance(s, kinds)]


def both_ways(node: Any, wrap: Callable[[ast.Call], ast.Call]) -> Any:
    """The function or lambda, which asks where it runs; `wrap` looks at calls of its plain way."""
    node = copy.deepcopy(node)
    if isinstance(node, ast.Lambda):
        inside = _in_frame(node)
        test = _at(ast.Call(func=name("__fz_in_vmap"), args=[], keywords=[]), node)
        node.body = _at(
            ast.IfExp(test=test, body=inside, orelse=_Plain(wrap).visit(node.body)), node.body
        )
        return node
    head, body = _parts(node.body)
    plain = [_Plain(wrap).visit(copy.deepcopy(s)) for s in body]
    where = body[0] if body else node.body[0]
    test = ast.Call(func=name("__fz_in_vmap"), args=[], keywords=[])
    inside = _at(ast.If(test=test, body=[_framed(node, body)], orelse=[]), where)
    node.body = [*head, inside, *plain]
    return node


def in_vmap_only(node: Any) -> Any:
    """The function or lambda for where it is made inside of a vmap."""
    if isinstance(node, ast.Lambda):
        return _at(ast.Lambda(args=node.args, body=_in_frame(node)), node)
    head, body = _parts(node.body)
    node.body = [*head, _framed(node, body)]
    return node


def _in_frame(node: ast.Lambda) -> ast.expr:
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg="__f")], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    body = Statements(node).visit(copy.deepcopy(node.body))
    inner = ast.Lambda(args=arguments, body=body)
    function = ast.Attribute(value=name("__fz"), attr="in_frame", ctx=ast.Load())
    return _at(
        ast.Call(func=function, args=[ast.Constant(next(_codes)), inner], keywords=[]), node.body
    )


def _framed(node: ast.FunctionDef, body: list[ast.stmt]) -> ast.stmt:
    whole = copy.copy(node)
    whole.body = body
    statements = Statements(whole, node.body)
    done = ast.Return(value=call("result"))
    frame = ast.Attribute(value=name("__fz"), attr="frame", ctx=ast.Load())
    entry = ast.withitem(
        context_expr=ast.Call(func=frame, args=[ast.Constant(next(_codes))], keywords=[]),
        optional_vars=name("__f", ast.Store()),
    )
    inner = statements.block(copy.deepcopy(body))
    where = body[-1] if body else node
    return _at(ast.With(items=[entry], body=[*inner, _at(done, where)]), body[0] if body else node)


def _at(node: Any, where: Any) -> Any:
    """`node` with the place of `where`, and what is below it and has none: its first line only, as
    Python says of a method's call that it stands where its name ends."""
    if hasattr(where, "lineno") and not hasattr(node, "lineno"):
        one_line = where.end_lineno == where.lineno
        node.lineno = node.end_lineno = where.lineno
        node.col_offset = where.col_offset
        node.end_col_offset = where.end_col_offset if one_line else where.col_offset
    return ast.fix_missing_locations(node)


class _Plain(ast.NodeTransformer):
    """The way as it was written: only functions that it makes, or gives to transforms, change."""

    def __init__(self, wrap: Callable[[ast.Call], ast.Call]) -> None:
        self._wrap = wrap

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        return node if is_generator(node) else both_ways(node, self._wrap)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node if is_generator(node) else both_ways(node, self._wrap)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        return self._wrap(node)


class Statements(Expressions):
    """Statements of one function as they run inside of a vmap."""

    def __init__(self, function: ast.AST, declares: Sequence[ast.AST] = ()) -> None:
        self._globals = declared(declares, ast.Global)
        self._reads = Reads(function, self._globals, declared(declares, ast.Nonlocal))
        self._nonlocals = declared(declares, ast.Nonlocal)
        self._unsure = unsure(function) - self._globals - self._nonlocals
        self._loops: list[tuple[str, list[str]]] = []
        self._temporaries = itertools.count(1)

    def nested(self, node: Any) -> Any:
        return in_vmap_only(node)

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for i, statement in enumerate(body):
            kinds, rest = jumps([statement]), body[i + 1 :]
            new = self.visit(statement)
            new = new if isinstance(new, list) else [new]
            before, behind = self._shared(statement)
            for one in [*before, *new, *self._bound(statement), *behind]:
                out.append(_at(one, statement))
            if isinstance(statement, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
                break  # nobody comes to what stands behind
            if kinds and rest:
                return out + self._guarded(kinds, rest)
        return out

    def _bound(self, *nodes: ast.AST) -> list[ast.stmt]:
        """Behind statements without a body, and targets: names that all have from here on."""
        if any(hasattr(node, "body") and not isinstance(node, ast.FunctionDef) for node in nodes):
            return []
        words = [ast.Constant(n) for n in assigned(nodes) if n in self._unsure]
        return [_at(ast.Expr(value=call("bound", *words)), nodes[0])] if words else []

    def _shared(self, statement: ast.stmt) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Around a statement that binds names of the function around, which others read."""
        if hasattr(statement, "body"):
            return [], []
        names = [n for n in assigned([statement]) if n in self._nonlocals]
        if not names:
            return [], []
        old = self._temporary("n")
        stores = []
        for n in names:
            new = call("shared", ast.Constant(n), name(n), name(old))
            stores.append(ast.Assign(targets=[name(n, ast.Store())], value=new))
        return [_assign(old, call("seen", _locals(names)))], list(stores)

    def _temporary(self, letter: str) -> str:
        return f"__{letter}{next(self._temporaries)}"

    def _guarded(self, kinds: set[str], rest: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The lines behind one that some examples may have left by."""
        if not rest:
            return []
        names = self._reads.needed(rest) if kinds & {"break", "continue"} else []
        if not names:
            return [_at(ast.If(test=call("alive"), body=self.block(rest), orelse=[]), rest[0])]
        own = self._temporary("r")
        return [
            _at(_assign(own, call("rest", _locals(names))), rest[0]),
            _at(ast.If(test=call("on", owner=own), body=self.block(rest), orelse=[]), rest[0]),
            *self._taken(own, "join", names, rest[-1]),
        ]

    def _taken(self, owner: str, method: str, names: list[str], where: ast.AST) -> list[ast.stmt]:
        """Calls the method, and gives the names what it made of them."""
        if not names:
            return [_at(ast.Expr(value=call(method, owner=owner)), where)]
        words = [ast.Constant(n) for n in names]
        stores: list[ast.expr] = [name(n, ast.Store()) for n in names]
        target = stores[0] if len(names) == 1 else ast.Tuple(elts=stores, ctx=ast.Store())
        body: list[ast.stmt] = [
            ast.Assign(targets=[target], value=call("take", *words, owner=owner))
        ]
        for n in names:
            if n in self._unsure:
                # A function that sees the name does not ask who has it.
                lacks = call("lacks", ast.Constant(n), name(n))
                unset = ast.Attribute(value=name("__fz"), attr="unset", ctx=ast.Load())
                is_unset = ast.Compare(left=name(n), ops=[ast.Is()], comparators=[unset])
                test = lacks if n in self._reads.kept else is_unset
                body.append(
                    ast.If(test=test, body=[ast.Delete(targets=[name(n, ast.Del())])], orelse=[])
                )
        test = call(method, _locals(names), *copy.deepcopy(words), owner=owner)
        return [_at(ast.If(test=test, body=body, orelse=[]), where)]

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        names, own = self._reads.needed(node.body, node.orelse), self._temporary("s")
        out: list[ast.stmt] = [
            _assign(own, call("split", self.test(node.test))),
            ast.If(
                test=call("first", *_given(names), owner=own), body=self.block(node.body), orelse=[]
            ),
        ]
        if node.orelse:
            first = node.orelse[0]
            out += self._taken(own, "turn", names, first)
            second = ast.If(test=call("second", owner=own), body=self.block(node.orelse), orelse=[])
            out.append(_at(second, first))
        return [_at(s, node) for s in out] + self._taken(own, "join", names, node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        if any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)):
            if node.orelse:
                raise Refused("a while with := in its condition has an else", node)
            negated = ast.UnaryOp(op=ast.Not(), operand=node.test)
            leave = _at(ast.If(test=negated, body=[ast.Break()], orelse=[]), node.test)
            node.body = [leave, *node.body]
            node.test = _at(ast.Constant(True), node.test)
        names, own = self._reads.needed(node.body), self._temporary("l")
        test = ast.BoolOp(
            op=ast.And(),
            values=[call("alive", owner=own), call("test", self.test(node.test), owner=own)],
        )
        loop = ast.While(test=test, body=self._iteration(own, names, node), orelse=[])
        return self._loop(own, names, loop, node)

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        for n in ast.walk(node.target):
            if isinstance(n, (ast.Attribute, ast.Subscript)) or (
                isinstance(n, ast.Name) and n.id in self._nonlocals | self._globals
            ):
                raise Refused("a for assigns to what others see", node)
        names, own = self._reads.needed([node.target, *node.body]), self._temporary("l")
        over = call("over", self.visit(node.iter), owner=own)
        body = self._bound(node.target) + self._iteration(own, names, node)
        loop = ast.For(target=node.target, iter=over, body=body, orelse=[])
        return self._loop(own, names, loop, node)

    def _iteration(self, own: str, names: list[str], node: ast.For | ast.While) -> list[ast.stmt]:
        self._loops.append((own, names))
        body = self.block(node.body)
        self._loops.pop()
        return body + self._taken(own, "end", names, node.body[-1])

    def _loop(
        self, own: str, names: list[str], loop: ast.stmt, node: ast.For | ast.While
    ) -> list[ast.stmt]:
        out: list[ast.stmt] = [
            _at(_assign(own, call("loop", *_given(names))), node),
            _at(loop, node),
        ]
        if node.orelse:
            first, assigns = node.orelse[0], self._reads.needed(node.orelse)
            rest = self._temporary("r")
            out.append(_at(_assign(rest, call("completed", *_given(assigns), owner=own)), first))
            body = self.block(node.orelse)
            out.append(_at(ast.If(test=call("on", owner=rest), body=body, orelse=[]), first))
            out += self._taken(rest, "join", assigns, first)
        out.append(_at(ast.Expr(value=call("close", owner=own)), node))
        return out

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = [self.visit(node.value)] if node.value else []
        done = ast.Return(value=call("result"))
        return ast.If(test=call("leave", *value), body=[done], orelse=[])

    def visit_Break(self, node: ast.Break) -> ast.stmt:
        own, _ = self._loops[-1]
        return ast.If(test=call("breaks", owner=own), body=[node], orelse=[])

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        own, names = self._loops[-1]
        return ast.If(test=call("continues", *_given(names), owner=own), body=[node], orelse=[])

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        self.generic_visit(node)
        return ast.If(test=call("raises"), body=[node], orelse=[])

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        message = [self.visit(node.msg)] if node.msg else []
        error = ast.Call(func=name("AssertionError"), args=message, keywords=[])
        test = ast.BoolOp(
            op=ast.And(), values=[name("__debug__"), call("fails", self.test(node.test))]
        )
        return ast.If(test=test, body=[ast.Raise(exc=error)], orelse=[])

    def visit_Try(self, node: ast.Try) -> list[ast.stmt]:
        if jumps(node.finalbody) - {"raise"}:
            raise Refused("a finally returns, breaks or continues", node)
        own, kinds = self._temporary("t"), jumps(node.body)
        body = self.block(node.body)
        handlers = []
        for h in node.handlers:
            caught = _at(ast.Expr(value=call("caught", owner=own)), h)
            kind = self.visit(h.type) if h.type else None
            bound = self._bound(name(h.name, ast.Store())) if h.name else []
            body_of = [caught, *(_at(b, h) for b in bound), *self.block(h.body)]
            handler = ast.ExceptHandler(type=kind, name=h.name, body=body_of)
            handlers.append(_at(handler, h))
        orelse = self._guarded(kinds, node.orelse) if kinds else self.block(node.orelse)
        final: list[ast.stmt] = []
        if node.finalbody:
            before = self._temporary("t")
            final = [
                _at(_assign(before, call("suspend", owner=own)), node.finalbody[0]),
                *self.block(node.finalbody),
                _at(ast.Expr(value=call("resume", name(before), owner=own)), node.finalbody[-1]),
            ]
        new = ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final)
        return [_at(_assign(own, call("attempt")), node), _at(new, node)]

    def visit_TryStar(self, node: ast.AST) -> Any:
        raise Refused("an except* handles groups of exceptions", node)

    def visit_With(self, node: ast.With) -> ast.stmt:
        targets = [item.optional_vars for item in node.items if item.optional_vars]
        if set(assigned(targets)) & (self._nonlocals | self._globals):
            raise Refused("a with assigns to what others see", node)
        items = [self.visit(item) for item in node.items]
        return ast.With(items=items, body=self._bound(*targets) + self.block(node.body))

    def visit_Match(self, node: ast.Match) -> ast.stmt:
        cases = []
        for case in node.cases:
            guard = call("only", self.test(case.guard)) if case.guard else None
            cases.append(
                ast.match_case(
                    pattern=case.pattern,
                    guard=guard,
                    body=self._bound(case.pattern) + self.block(case.body),
                )
            )
        return ast.Match(subject=self.visit(node.subject), cases=cases)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        return node if is_generator(node) else in_vmap_only(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self._unsure and isinstance(node.ctx, ast.Load):
            return call("read", ast.Constant(node.id), node)
        return node

    # -- Writes

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        value = self.visit(node.value)
        simple = len(node.targets) == 1
        if all(_is_names(t) for t in node.targets):
            return [*self._global_writes(node), ast.Assign(targets=node.targets, value=value)]
        if simple and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
            return [self._store(node.targets[0], value)]
        out: list[ast.stmt] = list(self._global_writes(node))
        whole = self._temporary("t")
        out.append(_assign(whole, value))
        for target in node.targets:
            out += self._unpacked(target, name(whole))
        return out

    def _unpacked(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if _is_names(target):
            return [ast.Assign(targets=[target], value=value)]
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            return [self._store(target, value)]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Refused("a starred item is assigned to", target)
        parts: list[ast.expr] = []
        later: list[ast.stmt] = []
        for element in target.elts:
            starred = isinstance(element, ast.Starred)
            inner = element.value if isinstance(element, ast.Starred) else element
            own = self._temporary("t")
            store: ast.expr = name(own, ast.Store())
            parts.append(ast.Starred(value=store, ctx=ast.Store()) if starred else store)
            later += self._unpacked(inner, name(own))
        return [ast.Assign(targets=[ast.Tuple(elts=parts, ctx=ast.Store())], value=value), *later]

    def _store(self, target: ast.expr, value: ast.expr) -> ast.stmt:
        if isinstance(target, ast.Attribute):
            owner = self.visit(target.value)
            return ast.Expr(value=call("set_attr", value, owner, ast.Constant(target.attr)))
        assert isinstance(target, ast.Subscript)
        return ast.Expr(
            value=call("set_item", value, self.visit(target.value), self.index(target.slice))
        )

    def _global_writes(self, node: ast.stmt) -> list[ast.stmt]:
        names = [n for n in assigned([node]) if n in self._globals]
        return [ast.Expr(value=call("set_name", ast.Constant(n))) for n in names]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None or isinstance(node.target, ast.Name):
            node.value = node.value and self.visit(node.value)
            return [*self._global_writes(node), node]
        return self._store(node.target, self.visit(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        operator, target = ast.Constant(_operator(node.op)), node.target
        if isinstance(target, ast.Name):
            old = self.visit(name(target.id))
            new = call("augmented", operator, old, self.visit(node.value))
            return [*self._global_writes(node), ast.Assign(targets=[target], value=new)]
        owner = self.visit(target.value)
        if isinstance(target, ast.Attribute):
            place = call("attr_place", owner, ast.Constant(target.attr))
            return [ast.Expr(value=call("set_attr_place", operator, place, self.visit(node.value)))]
        place = call("place", owner, self.index(target.slice))
        return [ast.Expr(value=call("set_place", operator, place, self.visit(node.value)))]

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for target in node.targets:
            if not isinstance(target, ast.Name) or target.id in self._globals:
                words = ast.Constant(f"`del {text(target)}` is")
                out.append(ast.Expr(value=call("effect", words)))
        return [*out, node]

    def visit_Import(self, node: ast.Import) -> Any:
        return [*self._global_writes(node), node]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        return [*self._global_writes(node), node]


def _is_names(target: ast.AST) -> bool:
    return not any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in ast.walk(target))


def _assign(target: str, value: ast.expr) -> ast.stmt:
    return ast.Assign(targets=[name(target, ast.Store())], value=value)


def _locals(names: list[str]) -> ast.expr:
    function = ast.Attribute(value=name("__fz"), attr="locals", ctx=ast.Load())
    return ast.Call(func=function, args=[], keywords=[])


def _given(names: list[str]) -> list[ast.expr]:
    return [_locals(names)] if names else []


def _operator(op: ast.operator) -> str:
    return "i" + {
        ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.MatMult: "matmul",
        ast.Div: "truediv", ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift",
        ast.RShift: "rshift", ast.BitOr: "or", ast.BitXor: "xor", ast.BitAnd: "and",
        ast.FloorDiv: "floordiv",
    }[type(op)]  # fmt: skip
