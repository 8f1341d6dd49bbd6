"""fz.io.renamed: names of weights by rules."""

import re

import pytest

import frazil as fz
from frazil import nn
from frazil.io import renamed


def names(state, rules, **options):
    return list(renamed(dict.fromkeys(state), rules, **options))


def test_the_rest_of_a_name_follows():
    rules = {"transformer.h.{i}.attn": "layers.{i}.attention", "transformer.wte": "tokens"}
    state = [
        "transformer.h.0.attn.c_proj.weight",
        "transformer.h.11.attn",
        "transformer.wte.weight",
    ]
    want = ["layers.0.attention.c_proj.weight", "layers.11.attention", "tokens.weight"]
    assert names(state, rules) == want


def test_a_rule_ends_where_a_part_ends():
    state = ["a.attn2.w", "a.attn.w", "ba.attn.w"]
    assert names(state, {"a.attn": "x"}) == ["a.attn2.w", "x.w", "ba.attn.w"]
    assert names(["ln_1.w", "ln_f.w"], {"ln_{n}": "norm{n}"}) == ["norm1.w", "normf.w"]
    assert names(["a.b.c"], {"a.{x}": "{x}.{x}"}) == ["b.b.c"]
    assert names(["a.b.c.d"], {"{x}": "<{x}>"}) == ["<a>.b.c.d"]


def test_the_same_hole_is_the_same_text():
    rules = {"a.{i}.b.{i}": "twice.{i}", "a.{i}.b.{j}": "{j}.{i}"}
    assert names(["a.1.b.1.w", "a.1.b.2.w"], rules) == ["twice.1.w", "2.1.w"]


def test_the_first_rule_that_fits_is_taken_once():
    assert names(["a.w", "b.w"], {"a": "b.x", "b": "c", "a.w": "never"}) == ["b.x.w", "c.w"]


def test_beginnings_are_added_and_taken_away():
    assert names(["a.w", "b"], {"": "model."}) == ["model.a.w", "model.b"]
    assert names(["model.a.w"], {"model": ""}) == ["a.w"]
    assert names(["model.a.w"], {"model.": ""}) == ["a.w"]
    assert renamed({"a.w": 1, "b": 2}, {"a": None}) == {"b": 2}


def test_signs_of_patterns_are_themselves():
    assert names(["a+.w", "aa.w"], {"a+": "x"}) == ["x.w", "aa.w"]
    assert names(["a.w"], {"a": r"\\1"}) == [r"\\1.w"]


@pytest.mark.parametrize(
    ("state", "rules", "options", "error", "message"),
    [
        ({"a.w": 1, "b.w": 2}, {"a": "b"}, {}, ValueError, "'a.w' and 'b.w' both become 'b.w'"),
        ({"a.w": 1}, {"b": "c"}, {"strict": True}, ValueError, "no rule of ['b'] fits 'a.w'"),
        ({"a": 1}, {"a": "{i}"}, {}, ValueError, "'{i}' has ['i'], which 'a' has not"),
        ({"a": 1}, {"a.{1}": "b"}, {}, ValueError, "a hole begins with a letter, got '{1}'"),
        ({"a": 1}, {"a": 3}, {}, TypeError, "'a' must become a string or None, got int"),
        ({"a": 1}, ["a"], {}, TypeError, "rules must be a dict with strings for keys, got list"),
        ({1: 1}, {}, {}, TypeError, "state must be a dict with strings for keys, got dict"),
        ({}, {}, {"strict": "yes"}, TypeError, "strict"),
    ],
)
def test_what_is_wrong(state, rules, options, error, message):
    with pytest.raises(error, match=r"\[renamed\] .*" + re.escape(message)):
        renamed(state, rules, **options)


def test_a_state_dict_of_another_library_loads(tmp_path):
    theirs = {
        "h.0.mlp.weight": fz.ones((2, 3)), "h.0.mlp.bias": fz.zeros(2),
        "h.1.mlp.weight": fz.ones((1, 2)), "h.1.mlp.bias": fz.ones(1), "version": fz.asarray(2),
    }  # fmt: skip
    fz.io.save_safetensors(tmp_path / "model", theirs)
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    state = fz.io.load_safetensors(tmp_path / "model")
    model.load_state_dict(renamed(state, {"h.{i}.mlp": "{i}", "version": None}, strict=True))
    assert model(fz.ones(3)).tolist() == [7.0]
