"""Expressions as they run inside of a vmap, and the small pieces of syntax trees."""

from __future__ import annotations

import ast
from typing import Any


class Refused(Exception):
    """Why a function cannot be converted, and the line."""

    def __init__(self, reason: str, node: Any = None) -> None:
        line = getattr(node, "lineno", None)
        super().__init__(reason if line is None else f"{reason} (line {line})")


_FRAMES = {"locals", "vars", "dir", "globals", "eval", "exec"}


def name(word: str, context: Any = None) -> ast.Name:
    return ast.Name(id=word, ctx=context or ast.Load())


def call(method: str, *arguments: ast.expr, owner: str = "__f") -> ast.Call:
    function = ast.Attribute(value=name(owner), attr=method, ctx=ast.Load())
    return ast.Call(func=function, args=list(arguments), keywords=[])


def text(node: ast.AST) -> str:
    return ast.unparse(node)


def _guarded(test: str, value: ast.expr) -> ast.expr:
    return ast.IfExp(test=call(test), body=value, orelse=ast.Constant(None))


class Expressions(ast.NodeTransformer):
    """Every expression may be one whose condition differs between examples."""

    def nested(self, node: Any) -> Any:
        raise NotImplementedError

    def _arm(self, node: ast.expr) -> ast.expr:
        """What is computed for some examples only."""
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr):
                raise Refused("a := stands behind a condition of its expression", n)
        return self.visit(node)

    def test(self, node: ast.expr) -> ast.expr:
        """A condition: only its truth counts."""
        if isinstance(node, ast.BoolOp):
            method, way = (
                ("both_true", "first")
                if isinstance(node.op, ast.And)
                else ("either_true", "second")
            )
            return self._chain(method, way, node, self.test)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ast.copy_location(call("negated", self.test(node.operand)), node)
        return self.visit(node)

    def _chain(self, method: str, way: str, node: ast.BoolOp, visit: Any) -> ast.expr:
        for later in node.values[1:]:
            self._arm_check(later)
        out = visit(node.values[-1])
        for value in reversed(node.values[:-1]):
            out = ast.copy_location(
                call(method, call("when", visit(value)), _guarded(way, out)), node
            )
        return out

    def _arm_check(self, node: ast.expr) -> None:
        for n in ast.walk(node):
            if isinstance(n, ast.NamedExpr):
                raise Refused("a := stands behind a condition of its expression", n)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        method, way = ("both", "first") if isinstance(node.op, ast.And) else ("either", "second")
        return self._chain(method, way, node, self.visit)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return call("negated", self.test(node.operand))
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        self._arm_check(node.body)
        self._arm_check(node.orelse)
        when = call("when", self.test(node.test))
        first = _guarded("first", self.visit(node.body))
        return call("choose", when, first, _guarded("second", self.visit(node.orelse)))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        if len(node.ops) == 1:
            return node
        last = len(node.ops) - 1
        out: ast.expr | None = None
        for i in range(last, -1, -1):
            left = node.left if i == 0 else call("kept")
            right = node.comparators[i] if i == last else call("keep", node.comparators[i])
            half: ast.expr = ast.Compare(left=left, ops=[node.ops[i]], comparators=[right])
            half = ast.copy_location(half, node)
            out = half if out is None else call("both", call("when", half), _guarded("first", out))
        assert out is not None
        return out

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name):
            if node.func.id == "super":
                return node
            if node.func.id in _FRAMES and (node.func.id != "vars" or not node.args):
                raise Refused(f"it calls {node.func.id}, which sees the names of a frame", node)
        self.generic_visit(node)
        node.func = ast.copy_location(call("call", node.func), node.func)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.args.kw_defaults = [d and self.visit(d) for d in node.args.kw_defaults]
        return self.nested(node)

    def _made(self, node: Any) -> ast.expr:
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
            return node
        return call("new", node)

    visit_List = visit_Dict = visit_Set = _made

    def _comprehension(self, node: Any) -> ast.expr:
        for generator in node.generators:
            generator.iter = self.visit(generator.iter)
            generator.ifs = [
                ast.copy_location(call("only", self.test(i)), i) for i in generator.ifs
            ]
        if isinstance(node, ast.DictComp):
            node.key, node.value = self.visit(node.key), self.visit(node.value)
        else:
            node.elt = self.visit(node.elt)
        return node if isinstance(node, ast.GeneratorExp) else call("new", node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if not isinstance(node.ctx, ast.Load) or _is_constant(node.slice):
            node.value = self.visit(node.value)
            return node
        return call("item", self.visit(node.value), self.index(node.slice))

    def index(self, node: ast.expr) -> ast.expr:
        """What stands in brackets as an expression."""
        if isinstance(node, ast.Slice):
            parts = [
                self.visit(p) if p else ast.Constant(None)
                for p in (node.lower, node.upper, node.step)
            ]
            function = ast.Attribute(value=name("__fz"), attr="slice", ctx=ast.Load())
            return ast.Call(func=function, args=parts, keywords=[])
        if isinstance(node, ast.Tuple):
            return ast.Tuple(elts=[self.index(e) for e in node.elts], ctx=ast.Load())
        return self.visit(node)


def _is_constant(node: ast.expr) -> bool:
    return all(
        isinstance(n, (ast.Constant, ast.Slice, ast.Tuple, ast.UnaryOp, ast.USub, ast.Load))
        for n in ast.walk(node)
    )
