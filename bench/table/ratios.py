"""From times to ratios: a peer's time over frazil's, taken within rounds.

"plain" is the form of a peer called so (or its first), "best" the form with the least median. Forms
marked `beside` do less than the workload and count for neither.
"""

import math
import statistics

from measure import quartiles, readable

from .peers import NAMES
from .rows import ROWS

OURS = "frazil"


def finite(numbers):
    return [x for x in numbers if math.isfinite(x)]


def median(numbers):
    return statistics.median(finite(numbers) or [math.inf])


def of_peer(result, peer, beside=False):
    """{form: entry} of a peer, timed and right."""
    return {
        form: entry
        for form, entry in result["forms"].items()
        if entry["peer"] == peer and (beside or not entry.get("beside")) and _figures(entry)
    }


def figure(entry):
    """A form's median, as text."""
    if "bytes" in entry:
        return f"{entry['bytes'] / 2**20:.0f} MiB"
    return readable(median(entry["seconds"]))


def _figures(entry):
    return finite(entry.get("seconds", ())) or ([entry["bytes"]] if "bytes" in entry else [])


def best(forms):
    """The name of the form with the least median; None if there is none."""
    return min(forms, key=lambda name: median(_figures(forms[name])), default=None)


def ratio(slow, fast):
    """Quartiles of the ratios of two forms' figures, round by round."""
    pairs = zip(_rounds(slow), _rounds(fast), strict=True)
    ratios = finite([a / b for a, b in pairs])
    return quartiles(ratios) if ratios else (math.nan,) * 3


def _rounds(entry):
    return entry["seconds"] if entry.get("seconds") else [entry["bytes"]]


def compare(result):
    """What a row says: a list of dicts, one a peer, and frazil's own forms.

    Keys: peer, form, to ("plain" or "best"), ratio (quartiles), decorator (the ratio of the plain
    decorator, where it is wanted), aim, reached.
    """
    row = ROWS[result["key"]]
    ours = of_peer(result, OURS)
    chosen = best(ours)
    traced = best({name: e for name, e in ours.items() if name.startswith("frazil: traced")})
    lines = []
    for peer in NAMES:
        forms = of_peer(result, peer)
        if peer == OURS or not forms or chosen is None:
            continue
        plain = next((name for name in forms if "plain" in name), next(iter(forms)))
        aims = row.aims.get(peer)
        aims = aims if isinstance(aims, tuple) else (None, aims)
        for to, form, aim in zip(("plain", "best"), (plain, best(forms)), aims, strict=True):
            line = {"peer": peer, "to": to, "form": form, "aim": aim}
            line["figure"] = figure(forms[form])
            line["ratio"] = ratio(forms[form], ours[chosen])
            line["reached"] = aim is None or line["ratio"][1] >= aim
            if row.plain_too and traced:
                line["decorator"] = ratio(forms[form], ours[traced])
                line["decorator_reached"] = aim is None or line["decorator"][1] >= aim / 2
            lines.append(line)
    return {"ours": chosen, "traced": traced, "lines": lines}


def own(result):
    """(figure, form) of frazil's own that a row with such an aim is about; None without it."""
    row, forms = ROWS[result["key"]], of_peer(result, OURS)
    if not row.own or not forms:
        return None
    if row.measure == "memory":
        form = best(forms)
        return forms[form]["bytes"], form
    return max((scaling(entry)[1], form) for form, entry in forms.items())


def scaling(entry):
    """Time on one thread over time on all, of a form of a row that measures it."""
    pairs = zip(entry["one_thread"], entry["seconds"], strict=True)
    return quartiles(finite([a / b for a, b in pairs]) or [math.nan])
