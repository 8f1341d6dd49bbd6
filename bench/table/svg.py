"""Charts as SVG text: axes that may be logarithmic, lines, dots, bars. What plots.py draws with."""

import math
from xml.sax.saxutils import escape

COLOURS = ("#1b6ca8", "#e07a1f", "#3a8f3a", "#b23a48", "#6f4fa0", "#7a6a53", "#d16ba5", "#666666")
STYLE = (
    "text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}"
    ".grid{stroke:#ddd;stroke-width:1}.axis{stroke:#444;stroke-width:1;fill:none}"
)


class Scale:
    """Numbers to pixels, linear or logarithmic."""

    def __init__(self, low, high, start, end, log):
        if log:
            low, high = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
        if high <= low:
            high = low + 1
        self.low, self.high, self.start, self.end, self.log = low, high, start, end, log

    def __call__(self, value):
        if self.log:
            value = math.log10(value)
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self):
        """[(value, text)]: powers of ten, or up to six round numbers."""
        if self.log:
            return [(10.0**i, _power(i)) for i in range(int(self.low), int(self.high) + 1)]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        while (self.high - self.low) / step > 6:
            step *= 2
        first = math.ceil(self.low / step)
        values = [i * step for i in range(first, int(self.high / step) + 1)]
        return [(v, f"{v:g}") for v in values]


def _power(i):
    return f"{10.0**i:g}" if -3 <= i <= 4 else f"1e{i}"


class Canvas:
    """Collects elements; text() is the file."""

    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}">',
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]
        self.write(12, 22, title, css="title")

    def line(self, x1, y1, x2, y2, css="grid", stroke=None, dash=None, width=None):
        more = f' style="stroke:{stroke}"' if stroke else ""
        more += f' stroke-dasharray="{dash}"' if dash else ""
        more += f' stroke-width="{width}"' if width else ""
        self._parts.append(
            f'<line class="{css}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{more}/>'
        )

    def polyline(self, points, colour):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )

    def dot(self, x, y, colour, about=""):
        self._parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
            f"<title>{escape(about)}</title></circle>"
        )

    def bar(self, x, y, width, height, colour, about=""):
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height:.1f}" '
            f'fill="{colour}"><title>{escape(about)}</title></rect>'
        )

    def write(self, x, y, text, anchor="start", css=None, turn=False):
        more = f' class="{css}"' if css else ""
        more += f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
        )

    def text(self):
        return "\n".join([*self._parts, "</svg>", ""])


class Chart(Canvas):
    """A canvas with two axes and a legend at the right."""

    def __init__(self, title, x, y, x_range, y_range, log=(True, True), size=(760, 420), right=170):
        super().__init__(*size, title)
        left, top, bottom = 64, 40, size[1] - 48
        self.x = Scale(*x_range, left, size[0] - right, log[0])
        self.y = Scale(*y_range, bottom, top, log[1])
        for value, text in self.x.ticks():
            self.line(self.x(value), top, self.x(value), bottom)
            self.write(self.x(value), bottom + 16, text, "middle")
        for value, text in self.y.ticks():
            self.line(left, self.y(value), self.x.end, self.y(value))
            self.write(left - 6, self.y(value) + 4, text, "end")
        self.line(left, bottom, self.x.end, bottom, "axis")
        self.line(left, top, left, bottom, "axis")
        self.write((left + self.x.end) / 2, size[1] - 10, x, "middle")
        self.write(16, (top + bottom) / 2, y, "middle", turn=True)
        self._legend = top + 6

    def legend(self, text, colour):
        self.bar(self.x.end + 12, self._legend, 12, 10, colour)
        self.write(self.x.end + 30, self._legend + 10, text)
        self._legend += 18

    def series(self, name, points, colour):
        """A line through (x, y) points, with dots, and its name in the legend."""
        placed = [(self.x(a), self.y(b)) for a, b in points]
        self.polyline(placed, colour)
        for (a, b), (u, v) in zip(points, placed, strict=True):
            self.dot(u, v, colour, f"{name}: {a:g}, {b:.4g}")
        self.legend(name, colour)
