"""The scripts of tools/ that make the site, and the list of public modules, imported by path; and
the site itself, built once for all tests of it."""

import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests" / "python")]


@pytest.fixture(scope="session")
def html(tmp_path_factory):
    """The folder of its pages."""
    import docs_site

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Sphinx says of its extensions to their authors
        return docs_site.build(tmp_path_factory.mktemp("site"), pictures="some")
