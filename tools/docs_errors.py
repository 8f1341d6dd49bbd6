"""The index of errors: every form of message that the sources can make; for tools/docs_site.py.

A message is written where it is raised, as pieces: literals and what is put between them. Their
literals are the form; "…" stands for the rest. Calls that get a message of a form, with what they
get, come from the tables of wrong calls that the tests hold (tests/python/wrong_*.txt). Sentences
of explain() are the rows of tracer/causes.def.
"""

import ast
import functools
import re
from collections import defaultdict

import docs_ways

PYTHON = (
    "TypeError ValueError IndexError KeyError AttributeError RuntimeError NotImplementedError "
    "OverflowError MemoryError BufferError FileNotFoundError OSError LinAlgError "
    "FloatingPointError StopIteration ImportError"
).split()
CPP = {
    **{name: name for name in PYTHON},
    "FileError": "OSError",
    "NpuFaultError": "NpuFault",
    # Texts made before it is known where they are raised: those of signatures and numbers.
    "StrCat": "TypeError",
}
FOLDERS = ("core", "kernels", "autograd", "batch", "tracer", "jit", "npu", "bindings")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def arguments(text, at):
    """The arguments of a call whose parenthesis opens before `at`, as texts."""
    depth, begin, found, i = 0, at, [], at
    while i < len(text):
        match = STRING.match(text, i)
        if match:
            i = match.end()
            continue
        c = text[i]
        if c in "([{":
            depth += 1
        elif c in ")]}":
            if depth == 0:
                return [*found, text[begin:i]]
            depth -= 1
        elif c == "," and depth == 0:
            found.append(text[begin:i])
            begin = i + 1
        i += 1
    return []


def form(pieces):
    """A message from pieces: str for a literal, None for what is filled in."""
    text = "".join("…" if piece is None else piece for piece in pieces)
    return re.sub(r"…+", "…", text).strip()


def literal(text):
    """A piece of C++: the text of a literal (or several beside each other), else None."""
    text = text.strip()
    found = STRING.findall(text)
    if found and not STRING.sub("", text).strip():
        return "".join(found).encode().decode("unicode_escape")
    return None


def of_cpp(text):
    """[(exception, form)] of C++ source."""
    text = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    found = []
    for match in re.finditer(rf"\b({'|'.join(CPP)})\(", text):
        pieces = [literal(a) for a in arguments(text, match.end())]
        message = form(pieces) if any(pieces) else ""
        if message and (match[1] != "StrCat" or re.match(r"\[…\] |…\(\) ", message)):
            found.append((CPP[match[1]], message))
    # Of the table of what LAPACK's factors may lack (core/functions/linalg.cc).
    for text_of in re.findall(r"\bSolved\(OpId::[^\"]*\"([^\"]+)\"\)", text):
        found.append(("LinAlgError", f"[…] {text_of}: …."))
    for match in re.finditer(r"PyErr_(?:SetString|Format)\(PyExc_(\w+),", text):
        pieces = [literal(a) for a in arguments(text, match.end())][:1]
        if any(pieces):
            message = re.sub(r"%(?:\.\d+)?z?[a-zA-Z]+?", "…", form(pieces))
            found.append((match[1], message))
    return found


def of_python(text):
    """[(exception, form)] of Python source."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
            continue
        name = getattr(node.exc.func, "id", getattr(node.exc.func, "attr", ""))
        if node.exc.args and (message := pieces_of(node.exc.args[0])) and any(message):
            found.append((name, form(message)))
    return [(name, message) for name, message in found if name in PYTHON]


def pieces_of(node):
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [v.value if isinstance(v, ast.Constant) else None for v in node.values]
    if isinstance(node, ast.BinOp):
        return [*pieces_of(node.left), *pieces_of(node.right)]
    return [None]


@functools.cache
def forms(root):
    """{exception: sorted forms} of all sources; those of fewer than two words are left out."""
    found = defaultdict(set)
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            scan = {".cc": of_cpp, ".h": of_cpp, ".py": of_python}.get(path.suffix)
            for name, message in scan(path.read_text()) if scan else ():
                if len(re.findall(r"[A-Za-z]{2,}", message)) > (name != "LinAlgError"):
                    found[name].add(message)
    return {name: sorted(messages, key=by_words) for name, messages in sorted(found.items())}


def by_words(message):
    return re.sub(r"^\[[^]]*\]\s*", "", message).lstrip("… ").lower(), message


def wrong_calls(root):
    """[(call, exception, message)] of the tables of wrong calls."""
    found = []
    for path in sorted((root / "tests" / "python").glob("wrong_*.txt")):
        rows = re.findall(r"^(.*\S)  # (\w+): (.*)$", path.read_text(), re.MULTILINE)
        found += [(re.sub(r"\bm\.", "fz.", call), error, text) for call, error, text in rows]
    return found


def pattern(message):
    """What a message of a form looks like: an error names the function that was called, whichever
    op inside of it has failed."""
    message = re.sub(r"^\[[^]]*\]", "[…]", message)
    return re.compile(".*?".join(map(re.escape, message.split("…"))) + r"\Z", re.DOTALL)


def first_like(message, calls):
    """The first call that gets a message of a form; "" if there is none."""
    like, longest = pattern(message), max(message.split("…"), key=len)
    return next((call for call, text in calls if longest in text and like.match(text)), "")


def way_out(name, message):
    """What to do about a message; nothing where it says so itself."""
    for words, way in docs_ways.FAMILIES:
        if re.search(words, message):
            return way
    return docs_ways.EXCEPTIONS[name]


def row(text):
    text = re.sub(r"([*_<>\[\]|$~`#\\])", r"\\\1", text.replace("\n", " "))
    return re.sub(r"\s+", " ", text)


def causes(root):
    """[(name, kind, sentence)] of tracer/causes.def."""
    text = (root / "tracer" / "causes.def").read_text()
    return re.findall(r'^FZ_CAUSE\(\w+, "(\w+)", (\w+), "(.*)"\)$', text, re.MULTILINE)


def pages(root):
    """{page of the site: text}: a page for each exception."""
    out, listed = {}, forms(root)
    calls = wrong_calls(root)
    for name, messages in listed.items():
        mine = [(call, text) for call, error, text in calls if error == name]
        lines = [
            f"# {name}",
            "",
            f"The {len(messages)} forms of message, by their first words; … stands for what the "
            "call brings: the function's name in brackets, shapes, dtypes, values. What a form "
            "asks for behind its colon is the way out, or it stands beside it. "
            "[Errors](../errors.md) tells how to read them.",
            "",
            "| message | way out | for example |",
            "| --- | --- | --- |",
        ]
        for message in messages:
            call = first_like(message, mine)
            shown = f"`{call}`".replace("|", "\\|") if call else ""
            lines.append(f"| {row(message)} | {way_out(name, message)} | {shown} |")
        out[f"errors/{name}.md"] = "\n".join(lines) + "\n"
    contents = "\n".join(listed)
    rows = "".join(f"| [{name}]({name}.md) | {len(listed[name])} |\n" for name in listed)
    kinds = {
        "Change": "the call was recorded anew",
        "Plan": "a plan was made",
        "Refusal": "a faster way was not open",
        "Eviction": "something was forgotten",
    }
    told = "".join(
        f"| `{name}` | {kinds[kind]} | {row(sentence)} | {docs_ways.CAUSES[name]} |\n"
        for name, kind, sentence in causes(root)
    )
    out["errors/index.md"] = (
        "# All messages\n\nWritten from the sources. By exception:\n\n"
        "| exception | forms |\n| --- | --- |\n" + rows + "\n## What explain() says\n\n"
        "`fn.explain()` and `FRAZIL_LOG=guard` tell in these sentences why a call was recorded, "
        "planned, run op by op or forgotten. Where something can be done about it, "
        "[Why did it recompile?](../how-to/recompiled.md) says what.\n\n"
        "| cause | what happened | sentence | way out |\n| --- | --- | --- | --- |\n" + told + "\n"
        f"```{{toctree}}\n:hidden:\n\n{contents}\n```\n"
    )
    return out
