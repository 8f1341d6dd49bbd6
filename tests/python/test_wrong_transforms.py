"""Wrong calls of transforms and control flow: wrong_transforms.txt has each with its error."""

import pytest
from wrong_transforms import PAGE, calls, line

LINES = PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_has_every_call():
    assert [text.split("  # ")[0] for text in LINES] == calls() and len(LINES) >= 80


@pytest.mark.parametrize("text", LINES)
def test_it_says_what_is_wrong(text):
    assert line(text.split("  # ")[0]) == text
