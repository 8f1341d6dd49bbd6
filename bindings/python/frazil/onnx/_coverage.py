"""Which operators there are conversions of (_table.py), as the table of docs/onnx.md, which
tools/gen_onnx.py writes."""

from __future__ import annotations

from frazil.onnx import _conversions  # noqa: F401 -- fills the table
from frazil.onnx._reading import package
from frazil.onnx._table import MICROSOFT, TABLE

__all__ = ["rows", "table"]


def rows() -> list[tuple[str, str, str, str]]:
    """(domain, operator, its versions, what there is) of all operators that ONNX knows."""
    defs = package().defs
    versions: dict[tuple[str, str], list[int]] = {}
    functions = {}
    for schema in defs.get_all_schemas_with_history():
        key = (schema.domain, schema.name)
        versions.setdefault(key, []).append(schema.since_version)
        if schema.has_function or schema.has_context_dependent_function:
            functions[key] = True
    found = []
    for key in sorted(versions):
        if key in TABLE:
            what = "from " + ", ".join(str(row.since) for row in TABLE[key])
        else:
            what = "by ONNX's definition" if key in functions else "no"
        found.append((*key, ", ".join(map(str, sorted(versions[key]))), what))
    return found


def table() -> str:
    """The end of the page."""
    lines = [
        "## Operators\n\n"
        "A conversion holds from its version of an operator on, up to the next one's.\n\n"
        "| operator | versions in ONNX | conversions |\n|---|---|---|\n"
    ]
    for domain, name, versions, what in rows():
        shown = f"{domain}::{name}" if domain else name
        lines.append(f"| `{shown}` | {versions} | {what} |\n")
    names = sorted(f"`{name}`" for domain, name in TABLE if domain == MICROSOFT)
    lines.append(
        f"\nOf onnxruntime's own operators (`{MICROSOFT}`), which its quantisation and its "
        f"optimiser write: {', '.join(names)}; and `SimplifiedLayerNormalization`, which it puts "
        "into the standard domain.\n"
    )
    return "".join(lines)
