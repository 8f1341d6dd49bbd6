"""Builds the site in build/docs/html; `./dev docs` calls it.

    ./dev docs [--pictures all|some|none] [--output DIR]

What Sphinx reads is first put into DIR/source: the pages of docs/ and the larger ones of the tree,
their links changed to where the site has them; notebooks as pages; the reference (docs_api.py), the
gallery and the index of errors (docs_errors.py), which are written from what is in the sources.
A warning fails the build.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from statistics import geometric_mean

import docs_api
import docs_errors

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
# Pages of the tree that do not lie in docs/.
OTHERS = {
    "ARCHITECTURE.md": "inside/architecture.md",
    "CONTRIBUTING.md": "inside/contributing.md",
    "core/SEMANTICS.md": "inside/semantics.md",
    "README.md": "inside/readme.md",
}
# Entries of a table of contents that may be missing: their pages are written elsewhere.
OPTIONAL = {"export", "onnx", "profiling", "parity"}
PEERS = ("PyTorch", "torch.compile", "JAX", "TensorFlow XLA", "NumPy", "numba")
BEST = re.compile(r"×([\d.]+)")
RATIOS = "<!-- the table of ratios stands here -->"
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")
FEW = ("heat", "life", "filters")  # whose pictures are quickly drawn


def pages():
    """{path in the tree: page of the site}, both relative."""
    found = {path.relative_to(ROOT): path.relative_to(DOCS) for path in DOCS.rglob("*.md")}
    found |= {path.relative_to(ROOT): path.relative_to(DOCS) for path in DOCS.rglob("*.svg")}
    for path in DOCS.rglob("*.ipynb"):
        found[path.relative_to(ROOT)] = path.relative_to(DOCS).with_suffix(".md")
    for path in (ROOT / "examples" / "gallery").glob("*.py"):
        found[path.relative_to(ROOT)] = Path("gallery", path.stem + ".md")
    found |= {Path(name): Path(page) for name, page in OTHERS.items()}
    return {str(name): str(page) for name, page in found.items()}


def linked(text, name, where):
    """The text of a page with links to where the site has what they lead to.

    A link to a file or folder that the site has not becomes its text; one to nothing stays, and
    Sphinx complains.
    """
    here = os.path.dirname(where[name])

    def changed(match):
        target, part = match[1], match[2] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(name), target))
        if path in where:
            return f"]({os.path.relpath(where[path], here)}{part})"
        if not part and (ROOT / path).exists():
            return "]()"
        return match[0]

    return re.sub(r"\[([^]]*)\]\(\)", r"\1", LINK.sub(changed, text))


def without_missing(text, folder):
    """A page without the entries of its tables of contents that OPTIONAL lets be missing."""
    kept = [
        line
        for line in text.splitlines(keepends=True)
        if line.strip() not in OPTIONAL or (folder / (line.strip() + ".md")).exists()
    ]
    return "".join(kept)


def ratios(text):
    """A table of docs/performance.md in short: of each section and peer, the geometric mean of the
    peer's time over frazil's, each in its best form."""
    out = [f"| workloads | rows | {' | '.join(PEERS)} |", "| --- | --- |" + " --- |" * len(PEERS)]
    for section in re.split(r"^### ", text, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        head = re.search(r"^\| workload \|(.*)\|$", body, re.MULTILINE)
        rows = [line for line in body.splitlines() if line.startswith("| ") and "×" in line]
        if not head or not rows:
            continue
        names = [name.strip() for name in head[1].split("|")]
        cells = [row.split("|")[2:-1] for row in rows]
        shown = []
        for peer in PEERS:
            column = [row[names.index(peer)] for row in cells if peer in names]
            best = [BEST.search(cell.rpartition("·")[2]) for cell in column]
            numbers = [float(match[1]) for match in best if match]
            shown.append(f"{geometric_mean(numbers):.1f}" if numbers else "")
        out.append(f"| {title} | {len(rows)} | {' | '.join(shown)} |")
    return "\n".join(out)


def with_others(index, texts):
    """The front page with a table of contents of the pages that no other one has."""
    listed = set()
    for page, text in texts.items():
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            lines = [line for line in block.splitlines() if line and not line.startswith(":")]
            entries = [re.sub(r".*<(.*)>", r"\1", line) for line in lines]
            listed |= {os.path.normpath(os.path.join(os.path.dirname(page), e)) for e in entries}
    left = sorted({page[:-3] for page in texts if page.endswith(".md")} - listed - {"index"})
    block = "```{toctree}\n:hidden:\n:caption: More\n\n" + "\n".join(left) + "\n```\n"
    return f"{index}\n{block}" if left else index


def notebook(path):
    """A notebook as a page."""
    cells = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        cells.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    return "\n\n".join(cells) + f"\n\nThis page is the notebook `docs/notebooks/{path.name}`.\n"


def gallery_page(path, picture):
    """A program of the gallery as a page: its picture, what it says of itself, its source."""
    source = path.read_text()
    doc = re.match(r'"""(.*?)"""', source, re.DOTALL)
    text = doc[1].strip().split("\n\n", 1)
    parts = [f"# {path.stem.replace('_', ' ').capitalize()}", *text]
    if picture:
        parts.append(f"![what it draws, with small sizes]({path.stem}.svg)")
    rest = source[doc.end() :].strip()
    parts += [f"`./dev gallery {path.stem}` runs it.", f"```python\n{rest}\n```"]
    return "\n\n".join(parts) + "\n"


def gallery_contents(names, drawn):
    """What the page of the gallery has on the site besides: pictures, and the programs' pages."""
    pictures = "\n".join(
        f"[![{name}](gallery/{name}.svg)](gallery/{name}.md)" for name in names if name in drawn
    )
    entries = "\n".join(f"gallery/{name}" for name in names)
    return f"\n{pictures}\n\n```{{toctree}}\n:hidden:\n\n{entries}\n```\n"


def draw(names, folder):
    """Pictures of gallery programs, run with small sizes. Returns the names of those drawn."""
    if not names:
        return set()
    import gallery

    for name in names:
        gallery.plot(name, gallery.load(name).main(True)["figure"], folder)
    return set(names)


def put(path, text):
    """Writes a file, unless it is that already: Sphinx reads anew what has changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def stage(source, pictures):
    """Puts all that Sphinx reads into a folder, and takes away what is there from before."""
    where = pages()
    texts = {}
    for name, page in where.items():
        path = ROOT / name
        if path.suffix == ".svg":
            texts[page] = path.read_text()
        elif path.suffix == ".md":
            texts[page] = without_missing(linked(path.read_text(), name, where), path.parent)
        elif path.suffix == ".ipynb":
            texts[page] = notebook(path)
    programs = sorted((ROOT / "examples" / "gallery").glob("*.py"))
    wanted = {"all": [path.stem for path in programs], "some": FEW, "none": ()}[pictures]
    drawn = draw(wanted, source / "gallery")
    for path in programs:
        texts[f"gallery/{path.stem}.md"] = gallery_page(path, path.stem in drawn)
    table = ratios((DOCS / "performance.md").read_text())
    texts["how-fast.md"] = texts["how-fast.md"].replace(RATIOS, table)
    texts["gallery.md"] += gallery_contents([path.stem for path in programs], drawn)
    texts |= docs_api.pages(DOCS / "api")
    texts |= docs_errors.pages(ROOT)
    texts["index.md"] = with_others(texts["index.md"], texts)
    texts["conf.py"] = (DOCS / "conf.py").read_text()
    for path in list(source.rglob("*")):
        kept = str(path.relative_to(source)) in texts or path.stem in drawn
        if path.is_file() and not kept:
            path.unlink()
    for page, text in texts.items():
        put(source / page, text)


def build(output, pictures="all"):
    """Builds the site; returns the folder of its pages. Raises SystemExit after a warning."""
    from sphinx.cmd.build import build_main

    source, html = output / "source", output / "html"
    source.mkdir(parents=True, exist_ok=True)
    stage(source, pictures)
    argv = ["-q", "-W", "--keep-going", "-b", "html", "-d", str(output / "doctrees")]
    if build_main([*argv, str(source), str(html)]):
        raise SystemExit("docs: the site has warnings.")
    return html


def main():
    parser = argparse.ArgumentParser(prog="./dev docs", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--pictures", choices=("all", "some", "none"), default="all", help="of the gallery"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs", help="its folder")
    args = parser.parse_args()
    begin = time.monotonic()
    html = build(args.output.resolve(), args.pictures)
    print(f"docs: {html}/index.html, built in {time.monotonic() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
