"""Figures of the cases of frazil alone, as a Markdown table."""

from measure import readable


class Report:
    """Collects rows, dicts for JSON; each is a ratio or a time with its quartiles."""

    def __init__(self):
        self.rows = []

    def ratio(self, case, rounds, slow, fast, goal=""):
        """`slow` over `fast`: above 1, the second is faster."""
        low, middle, high = rounds.ratio(slow, fast)
        self._add(case, f"{slow} / {fast}", "ratio", low, middle, high, goal, rounds, slow, fast)

    def value(self, case, what, unit, quartiles, goal=""):
        """A figure of its own; unit: seconds or count."""
        self._add(case, what, unit, *quartiles, goal, None)

    def _add(self, case, what, unit, low, middle, high, goal, rounds, *names):
        row = {"case": case, "what": what, "unit": unit, "median": middle}
        row |= {"first_quartile": low, "third_quartile": high, "goal": goal}
        if rounds:
            row["seconds"] = {name: rounds.seconds(name)[1] for name in names}
            row["rounds"] = {name: rounds.times[name] for name in names}
        self.rows.append(row)
        print(self._line(row), flush=True)

    @staticmethod
    def _line(row):
        if row["unit"] == "seconds":
            show = readable
        elif row["unit"] == "ratio":
            show = "{:.2f}".format
        else:
            show = "{:.4g}".format
        times = ", ".join(f"{k} {readable(v)}" for k, v in row.get("seconds", {}).items())
        spread = f"{show(row['first_quartile'])} to {show(row['third_quartile'])}"
        if row["first_quartile"] == row["third_quartile"]:
            spread = ""
        cells = [row["case"], row["what"], show(row["median"]), spread, times, row["goal"]]
        return "| " + " | ".join(cells) + " |"

    HEADER = "| case | what | median | quartiles | times | goal |\n|---|---|---|---|---|---|"

    @classmethod
    def table(cls, rows):
        """Rows, perhaps read back from JSON, as Markdown."""
        return "\n".join([cls.HEADER, *map(cls._line, rows)])
