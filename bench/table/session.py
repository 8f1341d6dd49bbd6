"""Runs rows: opens a row in every worker, checks every form's result, then times interleaved.

A round times every form that is right, framework by framework, so that only one process works at a
time; where a round begins changes. Ratios are taken within rounds.
"""

import contextlib
import pathlib
import re
import tempfile
import time

import numpy as np

from . import peers
from .check import difference
from .process import Process, WorkerError

REFERENCE = ("numpy", "plain")
PREPARE = 400  # seconds: compilers of peers take their time
REST = 0.15  # seconds between frameworks: idle threads of some spin (OpenBLAS's for 2^28 ticks)
LONG, LEAST = 60, 5  # a row whose timing takes more seconds than this has only so many rounds


class Session:
    """Workers of the frameworks that there are, and the results of rows."""

    def __init__(self, folder, frameworks, threads, settings, say=print):
        self.settings, self.say, self.threads = settings, say, threads
        self._stack = contextlib.ExitStack()
        self._temporary = pathlib.Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        log = settings.log.open("a") if settings.log else (self._temporary / "log").open("a")
        self._log = self._stack.enter_context(log)
        self.pythons = {name: peers.python_of(name, folder) for name in frameworks}
        self.pythons = {name: python for name, python in self.pythons.items() if python}
        self._processes = {}
        self.versions = {}
        for name in list(self.pythons):
            try:
                self.versions |= self.process(name, threads).ask(180, "hello")["versions"]
            except WorkerError as error:
                say(f"bench: {name} is left out: {error}")
                del self.pythons[name]

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for process in self._processes.values():
            process.close()
        self._stack.close()

    def process(self, framework, threads):
        key = framework, threads
        if key not in self._processes:
            self._processes[key] = Process(framework, self.pythons[framework], threads, self._log)
        return self._processes[key]

    def run(self, row):
        """A dict: forms with their peers, times of the rounds, errors and notes."""
        threads = min(row.threads, self.threads)
        kept = {}  # (framework, form, threads) -> (peer, beside)
        result = {"key": row.key, "forms": {}, "errors": {}}
        if row.measure == "memory":
            return self._memory(row, result)
        counts = (1, self.threads) if row.measure == "scaling" else (threads,)
        reference = None
        order = sorted(self.pythons, key=lambda name: name != REFERENCE[0])
        for count in counts:
            for name in order:
                for form, (peer, beside) in self._prepare(row, name, count, result).items():
                    file = self._file(name, form)
                    if (name, form) == REFERENCE and reference is None:
                        reference = self._load(file)
                    wrong = self._wrong(row, file, reference, peer)
                    if wrong:
                        result["errors"][f"{name}: {form}"] = wrong
                    else:
                        kept[name, form, count] = peer, beside
        self._time(kept, result, counts)
        for name, form, count in kept:
            if count == counts[-1]:
                answer = self._try(name, count, "about", form=form)
                result["forms"][f"{name}: {form}"]["about"] = (answer or {}).get("about", {})
        return result

    def limits(self):
        """What the machine gives: rates of multiplications and of memory; None without frazil."""
        if "frazil" not in self.pythons:
            return None
        process = self.process("frazil", self.threads)
        process.prefer(-self.settings.priority)
        limits = self._try("frazil", self.threads, "limits", smoke=self.settings.smoke)
        process.prefer(0)
        return limits

    def _file(self, name, form):
        return self._temporary / f"{name} {form.replace('/', ' ')}.npz"

    @staticmethod
    def _load(file):
        with np.load(file) as saved:
            return [saved[name] for name in saved.files]

    def _wrong(self, row, file, reference, peer):
        """What is wrong with a result, or ""."""
        if peer == "limit":
            return ""
        if reference is None:
            return "there is no reference to compare with."
        off = difference(self._load(file), reference, row.average)
        return "" if off <= row.tolerance else f"differs from the reference by {off:.2g}."

    def _try(self, name, threads, do, **request):
        try:
            return self.process(name, threads).ask(PREPARE, do, **request)
        except WorkerError as error:
            self.say(f"bench: {name}: {error}")
            return None

    def _wanted(self, row, name, form):
        """The reference always is."""
        if (name, form) == REFERENCE:
            return True
        skip = self.settings.skip
        return bool(re.search(row.forms, form)) and not (
            skip and re.search(skip, f"{name}: {form}")
        )

    def _prepare(self, row, name, threads, result):
        """{form: (peer, beside)} of what gave a result; a form that ends the process is skipped."""
        process = self.process(name, threads)
        skipped = set()
        while True:
            done, died = {}, process.died
            opened = self._try(name, threads, "open", row=row.key, smoke=self.settings.smoke)
            for form, (peer, beside) in (opened or {"forms": {}})["forms"].items():
                if form in skipped or not self._wanted(row, name, form):
                    continue
                try:
                    process.ask(PREPARE, "prepare", form=form, file=str(self._file(name, form)))
                    done[form] = peer, beside
                except WorkerError as error:
                    result["errors"][f"{name}: {form}"] = str(error)
                    skipped.add(form)
                    if process.died != died:
                        break
            if process.died == died:
                return done
            if opened is None:
                return {}

    def _time(self, kept, result, counts):
        names = list(dict.fromkeys(name for name, _, _ in kept))
        for (name, form, _), (peer, beside) in kept.items():
            entry = {"peer": peer, "beside": beside, "seconds": [], "one_thread": [], "about": {}}
            result["forms"].setdefault(f"{name}: {form}", entry)
        processes = [self.process(*key) for key in {(name, count) for name, _, count in kept}]
        for process in processes:
            process.prefer(-self.settings.priority)
        start = time.monotonic()
        for done in range(self.settings.rounds):
            if done >= LEAST and time.monotonic() - start > LONG:
                break
            self._round(names, kept, result, counts[-1])
            names = names[1:] + names[:1]
        for process in processes:
            process.prefer(0)

    def _round(self, names, kept, result, most):
        """Each form once, framework by framework; `most` is how many threads count as all."""
        for name in names:
            time.sleep(0 if self.settings.smoke else REST)
            for owner, form, count in kept:
                if owner != name:
                    continue
                seconds = self.settings.seconds
                answer = self._try(name, count, "time", form=form, seconds=seconds)
                times = result["forms"][f"{name}: {form}"]
                times = times["seconds" if count == most else "one_thread"]
                times.append(answer["seconds"] if answer else float("nan"))

    def _memory(self, row, result):
        """Each form once, in a fresh process."""
        for name in self.pythons:
            opened = self._try(name, self.threads, "open", row=row.key, smoke=self.settings.smoke)
            for form, (peer, _) in (opened or {"forms": {}})["forms"].items():
                if not self._wanted(row, name, form):
                    continue
                process = Process(name, self.pythons[name], self.threads, self._log)
                try:
                    process.ask(PREPARE, "open", row=row.key, smoke=self.settings.smoke)
                    answer = process.ask(PREPARE, "memory", form=form)
                    about = process.ask(PREPARE, "about", form=form)["about"]
                    result["forms"][f"{name}: {form}"] = answer | {"peer": peer, "about": about}
                except WorkerError as error:
                    result["errors"][f"{name}: {form}"] = str(error)
                finally:
                    process.close()
        self._check_losses(row, result)
        return result

    @staticmethod
    def _check_losses(row, result):
        """Refuses forms whose training went elsewhere than the reference's."""
        reference = result["forms"].get(": ".join(REFERENCE))
        for name, entry in list(result["forms"].items()):
            if reference is None or abs(entry["loss"] / reference["loss"] - 1) > row.tolerance:
                result["errors"][name] = f"has the loss {entry['loss']:.6g}."
                del result["forms"][name]
