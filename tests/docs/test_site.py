"""The site is built without a warning, its links lead somewhere, and answers are near."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import docs_site as docs
import pytest


class Page(HTMLParser):
    """What a page is linked to, and what may be linked to in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.files = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        for name in ("id", "name"):
            if found.get(name):
                self.anchors.add(found[name])
        for name in ("src", "href"):
            if tag in ("img", "script", "link") and found.get(name):
                self.files.append(found[name])


@pytest.fixture(scope="session")
def site(html):
    """{path: Page}."""
    return {path: Page(path.read_text()) for path in html.rglob("*.html")}


def split(here, link):
    """(path, anchor) of a link within the site, or None."""
    if re.match(r"[a-z]+:|//", link):
        return None
    path, _, anchor = link.partition("#")
    path = path.partition("?")[0]
    return ((here.parent / unquote(path)).resolve() if path else here), unquote(anchor)


def test_links_lead_somewhere(html, site):
    broken = []
    for here, page in site.items():
        for link in page.links + page.files:
            target = split(here, link)
            if target is None:
                continue
            path, anchor = target
            if path.is_dir():
                path = path / "index.html"
            lost = not path.exists() or (
                anchor and path in site and anchor not in site[path].anchors
            )
            if lost:
                broken.append(f"{here.relative_to(html)}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.values():
        assert not [name for name in page.files if re.match(r"https?:|//", name)]


def test_answers_are_two_clicks_away(html, site):
    front = html / "index.html"
    first = {target[0] for link in site[front].links if (target := split(front, link))}
    faq = html / "faq.html"
    assert faq in first  # so each question is a heading of a page that is one click away
    questions = re.findall(r"^## (.*\?)$", (docs.DOCS / "faq.md").read_text(), re.MULTILINE)
    text = faq.read_text()
    for question in questions:
        assert re.search(r"<h2>" + re.escape(question.replace("'", "’")[:20]), text) or (
            question[:20] in text
        )
    more = [split(faq, link)[0] for link in site[faq].links if split(faq, link)]
    assert all(path.exists() for path in more)


def test_pages_of_the_tree_are_there(html):
    where = docs.pages()
    for page in where.values():
        if page.endswith(".md"):
            assert (html / page).with_suffix(".html").exists(), page


def test_pictures_are_drawn(html):
    for name in docs.FEW:
        text = (html / "gallery" / f"{name}.html").read_text()
        assert f"{name}.svg" in text


def test_what_is_written_elsewhere_may_be_missing(tmp_path):
    (tmp_path / "onnx.md").write_text("# ONNX\n")
    text = "```{toctree}\nonnx\nexport\nother\n```\n"
    assert docs.without_missing(text, tmp_path) == "```{toctree}\nonnx\nother\n```\n"


def test_pages_that_no_table_of_contents_has_are_on_the_front_page():
    texts = {"index.md": "```{toctree}\na/index\n```\n", "a/index.md": "```{toctree}\nb\n```\n"}
    assert docs.with_others(texts["index.md"], texts | {"a/b.md": ""}) == texts["index.md"]
    more = docs.with_others(texts["index.md"], texts | {"a/b.md": "", "a/c.md": ""})
    assert more.endswith("caption: More\n\na/c\n```\n")


def test_links_are_changed_to_where_the_site_has_them():
    where = {"docs/a/x.md": "a/x.md", "core/SEMANTICS.md": "inside/semantics.md"}
    text = "[m](../../core/SEMANTICS.md#values) [d](../../dev) [n](gone.md) [w](https://x.y)"
    assert docs.linked(text, "docs/a/x.md", where) == (
        "[m](../inside/semantics.md#values) d [n](gone.md) [w](https://x.y)"
    )
    assert Path(docs.ROOT / "dev").exists()


def test_ratios_are_those_of_the_table():
    text = """# Performance

### Calls

| workload | eager | PyTorch | NumPy | the machine |
|---|---|---|---|---|
| add | 38 ns | 978 ns ×26.1 (aim 18) · **8 ns ×2** |  |  |
| exp | 38 ns | 8 ns ×8 (aim 5) | 9 ns ×3, decorator ×1 |  |

### No table
"""
    assert docs.ratios(text).splitlines() == [
        "| workloads | rows | PyTorch | torch.compile | JAX | TensorFlow XLA | NumPy | numba |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| Calls | 2 | 4.0 |  |  |  | 3.0 |  |",
    ]
    whole = docs.ratios((docs.DOCS / "performance.md").read_text())
    assert len(whole.splitlines()) > 5


def test_a_page_of_the_gallery(tmp_path):
    path = tmp_path / "two_words.py"
    path.write_text('"""What it is.\n\nMore of it.\n"""\n\nx = 1\n')
    text = docs.gallery_page(path, picture=True)
    assert text.startswith("# Two words\n\nWhat it is.\n\nMore of it.\n\n![")
    assert text.endswith("```python\nx = 1\n```\n") and "(two_words.svg)" in text
