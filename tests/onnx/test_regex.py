"""Regular expressions: RE2's syntax, in time linear in the text."""

import random
import re

import numpy as np
import pytest
from onnx import TensorProto, helper

import frazil as fz
from frazil.onnx._regex import Pattern

# (pattern, texts that fit, texts that do not)
CASES = [
    ("", ["", ], ["a"]),
    ("[a-z]*b", ["b", "aab"], ["", "ba", "b\n"]),
    (r"\d+", ["12"], ["", "\u0663", "1 "]),
    (r"\s", [" ", "\n"], ["\v", "\u00a0"]),
    (r"\w+\b-\b\w+", ["a-b"], ["\u00e9-b", "-"]),
    ("a$", ["a"], ["a\n"]),
    ("(?m:a$\n^b)", ["a\nb"], ["ab", "a\n\nb"]),
    ("a.b", ["axb"], ["a\nb"]),
    ("(?s)a.b", ["a\nb"], ["ab"]),
    ("(?i)stra\u00dfe[k-m]", ["STRA\u00dfEL", "strassel"[:4] + "\u00dfek"], ["strasse"]),
    ("(?i:a)b|c", ["Ab", "c"], ["aB", "C"]),
    (r"\pL\p{Lu}\P{L}[^\pN_]\p{^L}", ["aB1 2"], ["ab1 2", "aB1_2"]),
    ("[[:alpha:]]+[[:^digit:]x]", ["ab", "a!"], ["a1", "\u00e9a"]),
    (r"\Qa.b*\E+", ["a.b*", "a.b***"], ["axb"]),
    (r"\x{1F600}?\z", ["\U0001f600", ""], ["a"]),
    ("(?<first>a)(?P<second>b)", ["ab"], ["a"]),
    ("(?:a{2}){2,3}?", ["aaaa", "aaaaaa"], ["aa", "aaaaa", "a" * 8]),
    ("(a*)*b|(c?){3}", ["b", "aab", "ccc", ""], ["a", "cccc"]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "fit", "others"), CASES)
def test_patterns(pattern, fit, others):
    own = Pattern(pattern)
    assert [own.matches(s) for s in fit] == [True] * len(fit)
    assert [own.matches(s) for s in others] == [False] * len(others)


def test_python_agrees_where_both_mean_the_same():
    draw = random.Random(1)

    def part(depth):
        made = ""
        for _ in range(draw.randint(1, 3)):
            if depth and draw.random() < 0.4:
                made += f"({draw.choice(['', '?:', '?i:'])}{part(depth - 1)}|{part(depth - 1)})"
            else:
                made += draw.choice(["a", "b", ".", "[ab]", "[^a]", "(?s:.)", "[b-d]"])
            made += draw.choice(["", "", "", "", "*", "+", "?", "{2}", "*?"])
        return made

    texts = ["".join(draw.choice("abcA\n") for _ in range(draw.randint(0, 5))) for _ in range(25)]
    for _ in range(60):
        pattern = part(2)
        own, theirs = Pattern(pattern), re.compile(pattern, re.ASCII)
        for text in texts:
            assert own.matches(text) == (theirs.fullmatch(text) is not None), (pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 20000 + "b"), ("(a|a)*b", "a" * 20000), ("(.*)*x", "a" * 20000),
        ("a?" * 50 + "a" * 50, "a" * 49), ("a*" * 20 + "b", "a" * 20000),
        (r"([\w.]+)+@", "a" * 20000),
    ],
)  # fmt: skip
def test_hostile_patterns_end(pattern, text):
    """With as many steps as there are characters, by what is remembered: backtracking would not
    come back."""
    own = Pattern(pattern)
    assert own._quick is None and not own.matches(text)
    assert len(own._kept) < 200


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?=a)b", "assert is not supported"), (r"(a)\1", "groupref"), ("a++", "possessive"),
        ("(((a{100}){100}){100})", "more than 20000 states"), ("[", "unterminated"),
        (r"\p{Greek}", "'Greek' is not supported"), ("[[:foo:]]", "no class"),
        ("(" * 3000 + ")" * 3000, "too deep"), ("\U000f0000", "private area"),
        (r"\y", "bad escape"), (r"\x{FFFFFFFF}", "no character 0xffffffff"),
    ],
)  # fmt: skip
def test_what_is_refused(pattern, said):
    with pytest.raises(ValueError, match=r"RegexFullMatch of the pattern") as error:
        Pattern(pattern)
    assert said in str(error.value)


def test_in_a_model():
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=r"(\w+\.)+com")
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, ["n", 2])],
        [helper.make_tensor_value_info("y", TensorProto.BOOL, ["n", 2])],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    x = np.asarray([["a.com", "a.b.com"], ["com", "a..com"]], dtype=object)
    assert fz.onnx.load(model)(x).tolist() == [[True, True], [False, False]]
