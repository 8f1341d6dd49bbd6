"""Strict reading of HTML pages that frazil writes: balanced, unique ids, links with targets.

A browser opens them in tests/docs/test_browser.py."""

from html.parser import HTMLParser
from urllib.parse import unquote

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.ids, self.links, self.scripts, self.stack = [], [], [], []
        self.texts, self.tags = [], []
        self.feed(text)
        self.close()
        assert self.stack == [], self.stack
        assert len(set(self.ids)) == len(self.ids), sorted(
            i for i in set(self.ids) if self.ids.count(i) > 1
        )
        for link in self.links:
            assert link.startswith("#") and link[1:] in self.ids, link

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name == "id":
                assert value
                self.ids.append(value)
            if name == "href":
                self.links.append(unquote(value))
            assert name != "src" and not name.startswith("on"), (tag, name)
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        assert self.stack and self.stack[-1] == tag, (self.stack[-3:], tag, self.getpos())
        self.stack.pop()

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script":
            self.scripts.append(data)
        elif data.strip():
            self.texts.append(data)
