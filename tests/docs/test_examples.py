"""tools/docs_examples.py writes what examples print."""

import docs_examples


def test_what_is_printed_is_written_behind_the_example():
    text = (
        "# Page\n\n```python\n>>> x = 1\n>>> x + 1\n{}>>> for i in [7]:\n...     i\n{}```\nText.\n"
    )
    assert docs_examples.page(text.format("3\n", "")) == text.format("2\n", "7\n")


def test_what_fits_stays():
    text = ">>> print('a b c')\na ... c\n"
    assert docs_examples.page(text) == text


def test_an_exception_is_its_last_line():
    text = ">>> 1 / 0\n"
    wanted = text + "Traceback (most recent call last):\nZeroDivisionError: division by zero\n"
    assert docs_examples.page(text) == wanted
