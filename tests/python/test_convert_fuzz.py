"""Functions of the corpus, changed at random: in a vmap each example has the results of its own
way, or an exception says what cannot be. FRAZIL_NIGHTLY=1 takes new seeds."""

import ast
import copy
import importlib.util
import inspect
import os
import random
import time

import pytest
from convert_corpus import OF_X
from test_convert import CORPUS, arguments, stacked, words

import frazil as fz

PROGRAMS, NIGHTLY = 200, bool(os.environ.get("FRAZIL_NIGHTLY"))
SEED = int(time.time()) if NIGHTLY else 20
# Loops of these, changed, may have no end.
MUTABLE = [(f, k) for f, k in CORPUS if "fz.while_loop" not in inspect.getsource(f)]
COMPARISONS = [ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq]
ARITHMETIC = [ast.Add, ast.Sub, ast.Mult]


class Mutation(ast.NodeTransformer):
    """A few changes that keep a program runnable, mostly."""

    def __init__(self, dice):
        self.dice = dice
        self.loops = 0

    def happens(self, chance):
        return self.dice.random() < chance

    def visit_Compare(self, node):
        self.generic_visit(node)
        if isinstance(node.ops[0], tuple(COMPARISONS)) and self.happens(0.3):
            node.ops[0] = self.dice.choice(COMPARISONS)()
        return node

    def visit_Constant(self, node):
        if type(node.value) is int and self.happens(0.2):
            return ast.Constant(node.value + self.dice.choice([-1, 1]))
        if type(node.value) is float and self.happens(0.3):
            return ast.Constant(round(node.value * self.dice.uniform(0.5, 2), 2))
        return node

    def visit_BinOp(self, node):
        self.generic_visit(node)
        if type(node.op) in ARITHMETIC and self.happens(0.15):
            node.op = self.dice.choice(ARITHMETIC)()
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        if self.happens(0.3):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_IfExp(self, node):
        self.generic_visit(node)
        if self.happens(0.3):
            node.body, node.orelse = node.orelse, node.body
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        if node.orelse and self.happens(0.3):
            node.body, node.orelse = node.orelse, node.body
        elif self.happens(0.2):
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        return node

    def visit_While(self, node):
        """No loop is longer than 40 iterations."""
        self.generic_visit(node)
        self.loops += 1
        n = f"_n{self.loops}"
        node.test = ast.BoolOp(op=ast.And(), values=[node.test, parsed(f"{n} < 40")])
        node.body = [ast.parse(f"{n} = {n} + 1").body[0], *node.body]
        return [ast.parse(f"{n} = 0").body[0], node]

    def visit_FunctionDef(self, node):
        node.decorator_list = []
        self.generic_visit(node)
        if node.args.args and node.args.args[0].arg == "x":
            node.body = [self.nested(s, i) for i, s in enumerate(node.body)]
        return node

    def nested(self, statement, place):
        """The statement under a condition, or twice, or with a way out before it."""
        if place == 0 or not isinstance(statement, (ast.Assign, ast.AugAssign, ast.If, ast.For)):
            return statement
        kind = self.dice.choice(["if", "for", "leave", "", "", "", "", ""])
        condition = self.dice.choice(["x > 0.3", "x < 1", "x * x > 2", "not x < -1 and x < 3"])
        if kind == "if":
            new = ast.parse(f"if {condition}:\n    pass").body[0]
            new.body = [statement]
        elif kind == "for":
            self.loops += 1
            way_out = self.dice.choice(["break", "continue"])
            text = f"for _k{self.loops} in range(3):\n    if {condition}:\n        {way_out}"
            new = ast.parse(text).body[0]
            new.body = (
                [*new.body, statement]
                if self.happens(0.5)
                else [copy.deepcopy(statement), *new.body]
            )
        elif kind == "leave":
            new = ast.parse(f"if {condition}:\n    return x\nelse:\n    pass").body[0]
            new.orelse = [statement]
        else:
            new = statement
        return new


def parsed(text):
    return ast.parse(text, mode="eval").body


def mutated(function, dice):
    tree = ast.parse(inspect.getsource(function))
    tree = ast.fix_missing_locations(Mutation(dice).visit(tree))
    return ast.unparse(tree)


def outcome(function, args):
    try:
        return function(*args), None
    except Exception as error:
        return None, error


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """(text, function, kind) of every program."""
    dice = random.Random(SEED)
    corpus = inspect.getsource(inspect.getmodule(OF_X[0]))
    helpers = corpus[
        corpus.index("# -- Functions") : corpus.index("@of(OF_X)\ndef calls_a_function")
    ]
    scale = corpus[corpus.index("class Scale:") : corpus.index("@of(OF_X)\ndef methods")]
    texts, kinds = [], []
    for i in range(PROGRAMS):
        function, kind = dice.choice(MUTABLE)
        texts.append(mutated(function, dice).replace(f"def {function.__name__}(", f"def p{i}(", 1))
        kinds.append(kind)
    file = tmp_path_factory.mktemp("fuzz") / f"mutated_{SEED}.py"
    head = "import functools\nimport frazil as fz\n"
    file.write_text(head + helpers + scale + "\n\n" + "\n\n\n".join(texts) + "\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [
        (text, getattr(module, f"p{i}"), kind)
        for i, (text, kind) in enumerate(zip(texts, kinds, strict=True))
    ]


def test_mutated_programs_agree(programs):
    same = refused = raised = 0
    for text, function, kind in programs:
        note = f"seed {SEED}\n{text}"
        every = arguments(kind)
        each = [arguments(kind, i) for i in range(len(every[0]))]
        rows = [outcome(function, args) for args in each]
        errors = [e for _, e in rows if e is not None]
        converted = fz.convert(function)
        again = [outcome(converted, arguments(kind, i)) for i in range(len(rows))]
        for (a, e), (b, f) in zip(rows, again, strict=True):
            assert type(e) is type(f) and str(e) == str(f), note
            assert e is not None or words(a) == words(b), note
        got, error = outcome(fz.vmap(converted), every)
        if errors:
            assert error is not None, note
            raised += 1
        elif error is not None:
            assert str(error).startswith("[convert] mutated_"), f"{note}\n{error!r}"
            refused += 1
        elif len({str([w[:2] for w in words(a)[0]]) for a, _ in rows}) > 1:
            refused += 1  # a number for some examples, a tensor for others
        else:
            assert words(got) == words(stacked([a for a, _ in rows])), note
            same += 1
    assert same > 0.7 * len(programs), (same, refused, raised)
