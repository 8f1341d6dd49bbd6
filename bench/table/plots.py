"""The plots of a run: ratios against the aims, roofline, scaling over size and over threads."""

from . import ratios
from .peers import NAMES
from .rows import ROWS, SIZES
from .svg import COLOURS, Canvas, Chart, Scale

COLOUR = dict(zip(NAMES, COLOURS, strict=False))


def all_of(results, limits):
    """{name of the file: SVG text}, of what there is something to draw for."""
    plots = {"ratios": bars(results), "roofline": roofline(results, limits)}
    plots |= {f"sizes-{name}": sizes(results, name, keys) for name, keys in SIZES.items()}
    plots["threads"] = threads(results)
    return {name: text for name, text in plots.items() if text}


def bars(results):
    """A bar for each aim: the ratio to the form of the peer that it is about; a tick is the aim."""
    groups = []
    for result in results:
        row = ROWS[result["key"]]
        if row.measure != "time" or not row.aims:
            continue
        lines = [line for line in ratios.compare(result)["lines"] if line["aim"]]
        if lines:
            groups.append((row.title, lines))
    if not groups:
        return ""
    count = sum(len(lines) for _, lines in groups)
    height = 80 + 13 * count + 12 * len(groups)
    left, right = 480, 1060
    canvas = Canvas(1080, height, "Peer's time over frazil's; black tick: the aim")
    values = [v for _, lines in groups for x in lines for v in (x["ratio"][1], x["aim"])]
    scale = Scale(min(*values, 0.5), max(*values, 2), left, right, log=True)
    for value, text in scale.ticks():
        canvas.line(scale(value), 56, scale(value), height - 16)
        canvas.write(scale(value), 50, text, "middle")
    y = 64
    for title, lines in groups:
        canvas.write(left - 110, y + 7 * len(lines) + 2, title, "end")
        for line in lines:
            ratio, start = line["ratio"][1], scale(1)
            end = scale(ratio)
            about = f"{line['form']}: {ratio:.3g}, aim {line['aim']}"
            colour = COLOUR[line["peer"]]
            canvas.bar(min(start, end), y, abs(end - start), 10, colour, about)
            canvas.write(left - 4, y + 9, NAMES[line["peer"]], "end")
            at = scale(line["aim"])
            canvas.line(at, y - 1, at, y + 11, "axis", width=2)
            y += 13
        y += 12
    canvas.line(scale(1), 56, scale(1), height - 16, "axis")
    return canvas.text()


def roofline(results, limits):
    """Rows with known work under what memory and multipliers of the machine allow."""
    dots = []
    for result in results:
        row = ROWS[result["key"]]
        name = ratios.best(ratios.of_peer(result, ratios.OURS))
        if not (row.flops and row.bytes and name) or row.measure != "time":
            continue
        seconds = ratios.median(result["forms"][name]["seconds"])
        dots.append((row.title, row.flops / row.bytes, row.flops / seconds / 1e9))
    if not dots or not limits:
        return ""
    peak, memory = limits["flops"] / 1e9, limits["bytes"] / 1e9
    low = min(0.05, *(x for _, x, _ in dots))
    high = max(1000, *(x for _, x, _ in dots))
    chart = Chart(
        f"Roofline: {peak:.0f} GFLOP/s, triad {memory:.0f} GB/s",
        "operations a byte of arrays",
        "GFLOP/s",
        (low, high),
        (min(1, *(y for _, _, y in dots)), peak * 1.5),
        size=(980, 520),
        right=380,
    )
    ridge = peak / memory
    start = 10.0**chart.x.low
    chart.line(chart.x(start), chart.y(max(start * memory, 10.0**chart.y.low)), chart.x(ridge),
               chart.y(peak), "axis", width=2)  # fmt: skip
    chart.line(chart.x(ridge), chart.y(peak), chart.x.end, chart.y(peak), "axis", width=2)
    for i, (title, x, y) in enumerate(dots):
        colour = COLOURS[i % len(COLOURS)]
        chart.dot(chart.x(x), chart.y(y), colour, title)
        chart.write(chart.x(x) + 6, chart.y(y) + 4, str(i + 1))
        chart.legend(f"{i + 1}  {title}: {y:.3g}", colour)
    return chart.text()


def sizes(results, name, keys):
    """Elements or operations a second over size, of the best form of every peer."""
    by_key = {result["key"]: result for result in results}
    points = {}
    for key in keys:
        if key not in by_key:
            continue
        for peer in NAMES:
            forms = ratios.of_peer(by_key[key], peer)
            if forms:
                seconds = ratios.median(forms[ratios.best(forms)]["seconds"])
                n = ROWS[key].sizes["n"]
                work = 2 * n**3 if ROWS[key].kind == "matmul" else n
                points.setdefault(peer, []).append((n, work / seconds / 1e9))
    points = {peer: p for peer, p in points.items() if len(p) > 1}
    if not points:
        return ""
    xs = [x for p in points.values() for x, _ in p]
    ys = [y for p in points.values() for _, y in p]
    x, y = ("n of n x n", "GFLOP/s") if name == "matmul" else ("elements", "G elements/s")
    title = "matmul over size" if name == "matmul" else "10-op chain over size"
    chart = Chart(title, x, y, (min(xs), max(xs)), (min(ys), max(ys)))
    for peer, line in points.items():
        chart.series(NAMES[peer], sorted(line), COLOUR[peer])
    return chart.text()


def threads(results):
    """How much faster all threads are than one: every framework's best form."""
    groups = []
    for result in results:
        row = ROWS[result["key"]]
        if row.measure != "scaling":
            continue
        best = {}
        for peer in NAMES:
            forms = ratios.of_peer(result, peer)
            if forms and peer != "limit":
                best[peer] = ratios.scaling(forms[ratios.best(forms)])[1]
        if best:
            groups.append((row.title, best))
    if not groups:
        return ""
    height = 70 + sum(13 * len(best) + 12 for _, best in groups)
    left = 480
    canvas = Canvas(980, height, "Time on one thread over time on all")
    high = max(v for _, best in groups for v in best.values())
    scale = Scale(0, max(high, 2), left, 940, log=False)
    for value, text in scale.ticks():
        canvas.line(scale(value), 52, scale(value), height - 12)
        canvas.write(scale(value), 46, text, "middle")
    y = 60
    for title, best in groups:
        canvas.write(left - 110, y + 7 * len(best) + 2, title, "end")
        for peer, value in best.items():
            canvas.bar(left, y, scale(value) - left, 10, COLOUR[peer], f"{value:.3g}")
            canvas.write(left - 4, y + 9, NAMES[peer], "end")
            y += 13
        y += 12
    return canvas.text()
