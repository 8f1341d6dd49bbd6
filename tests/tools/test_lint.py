"""The pattern for what has no place in a public project."""

import pytest


@pytest.mark.parametrize("before", ["/ro", "see /ho", '"/wo', "-I/mn"])
def test_a_path_of_a_machine_is_stray(lint, before):
    after = {"ro": "ot/x", "ho": "me/x", "wo": "rk/x", "mn": "t/x"}[before[-2:]]
    assert lint.STRAY.search(before + after)


@pytest.mark.parametrize("host", ["deb.debian" + ".org", "files.pythonhosted" + ".org"])
def test_a_registry_host_is_stray(lint, host):
    assert lint.STRAY.search(f"get it at {host}")


@pytest.mark.parametrize("text", ["/usr/bin/python3", "a/work/b", "github.com/org/repo", "x.work"])
def test_ordinary_text_is_not(lint, text):
    assert not lint.STRAY.search(text)
