"""HTML pages that need no other file: what `fz.profile` and `fn.show()` write.

Invariant: every text is escaped, every link within a page has its target, and nothing is fetched.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 1.5em auto; max-width: 75em; padding: 0 1em;
       color: #222; background: #fff }
h1 { font-size: 1.4em } h2 { font-size: 1.15em; margin-top: 1.6em } h3 { font-size: 1em }
pre { background: #f6f6f6; padding: .6em; overflow-x: auto;
      font: 12px/1.4 ui-monospace, monospace }
table { border-collapse: collapse; margin: .5em 0 }
td, th { padding: .15em .7em; text-align: right }
td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f6f6f6 }
td.text, th.text { text-align: left } :target, .lit { background: #fff3bf }
a { color: #0b5cad; text-decoration: none } a:hover { text-decoration: underline }
nav a { margin-right: 1em } .note { color: #666 } summary { cursor: pointer }
svg { max-width: 100%; height: auto }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1b1b1b } pre, tr:nth-child(even) { background: #262626 }
  a { color: #7db8f0 } :target, .lit { background: #5c4b00 } .note { color: #999 } }
"""

# Opens what hides the target of a link: when the page is opened at it, when it is followed, and
# when it is followed once more after the reader has closed what it leads to.
_REVEAL = """
const reveal = () => {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let e = found; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (found) found.scrollIntoView();
};
addEventListener('hashchange', reveal);
addEventListener('click', event => {
  const link = event.target.closest('a');
  if (link && link.hash && link.href === location.href) reveal();
});
reveal();
"""


def page(title: str, body: Iterable[str], script: str = "") -> str:
    """A whole document."""
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
            f"<h1>{escape(title)}</h1>",
            *body,
            f"<script>{_REVEAL}{script}</script>",
            "</body></html>\n",
        ]
    )


def table(head: Sequence[str], rows: Iterable[Sequence[object]], texts: Iterable[int] = ()) -> str:
    """Rows of cells; columns in `texts` are aligned left, and a `Link` is one."""
    left = set(texts)

    def row(cells, tag):
        marks = (' class="text"' if i in left else "" for i in range(len(cells)))
        return "".join(
            f"<{tag}{mark}>{cell.html if isinstance(cell, Link) else escape(str(cell))}</{tag}>"
            for mark, cell in zip(marks, cells, strict=True)
        )

    lines = [f"<tr>{row(cells, 'td')}</tr>" for cells in rows]
    return "\n".join(
        [f"<table><thead><tr>{row(head, 'th')}</tr></thead><tbody>", *lines, "</tbody></table>"]
    )


class Link:
    """A cell that leads to the element with that id."""

    def __init__(self, target: str, text: str) -> None:
        self.html = f'<a href="#{quote(target)}">{escape(text)}</a>'
