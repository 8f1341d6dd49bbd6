"""One framework's process: `python -m table.worker FRAMEWORK`, requests and answers as JSON lines.

    hello                       versions of what is loaded
    open row smoke              {forms: {name: [peer, beside]}}; makes the inputs
    prepare form file           warms it, and saves what it gives
    time form seconds           seconds per call, of about that long a sample
    about form                  what the framework tells of its last call
    limits smoke                what the machine allows (frazil's process has the yardsticks)
    memory form                 bytes at the peak of a step (see Worker.memory)

An answer to what went wrong is {error: text}. Standard output belongs to the protocol: what a
framework prints goes to standard error.
"""

import ctypes
import gc
import importlib
import json
import os
import sys

import numpy as np
from measure import Sampler

from . import inputs
from .rows import ROWS

MODULES = ("calls", "arrays", "networks", "convolutions", "simulations", "numba_forms")


def resident(field="VmRSS"):
    """Bytes of this process's memory; field VmHWM is the peak."""
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field + ":"):
                return int(line.split()[1]) << 10
    raise OSError(f"[bench] the system does not tell {field}.")


class Worker:
    def __init__(self, framework):
        self.name = f"table.forms.{framework}"
        self.package = importlib.import_module(self.name)
        self.forms, self.samplers = {}, {}
        self.inputs = None

    def hello(self):
        return {"versions": self.package.versions()}

    def open(self, row, smoke=False):
        """Forms come from every module of the package that has the row's kind."""
        self.forms, self.samplers, self.inputs = {}, {}, None
        gc.collect()
        row = ROWS[row]
        self.inputs = inputs.of(row, smoke)
        errors = {}
        for module in MODULES:
            try:
                found = importlib.import_module(f"{self.name}.{module}")
            except ModuleNotFoundError as error:
                if error.name and not error.name.startswith("table."):
                    errors[module] = str(error)  # a peer's optional part is not installed
                continue
            make = getattr(found, row.kind, None)
            if make and getattr(make, "__module__", None) == found.__name__:
                self.forms |= make(self.inputs)
        forms = {name: [self._peer(name), form.beside] for name, form in self.forms.items()}
        return {"forms": forms, "missing": errors}

    def _peer(self, form):
        return next(peer for start, peer in self.package.PEERS.items() if form.startswith(start))

    def prepare(self, form, file):
        made = self.forms[form]
        with made.around():
            for _ in range(self.inputs["row"].warm):
                result = made.run()
        np.savez(file, *(() if result is None else self.package.to_numpy(result)))
        return {}

    def time(self, form, seconds):
        made = self.forms[form]
        with made.around():
            sampler = self.samplers.get(form)
            if sampler is None:
                sampler = Sampler(made.call, seconds, setup=made.setup)
                self.samplers[form] = sampler
            gc.collect()
            gc.disable()
            try:
                sampler.warm()
                return {"seconds": sampler(), "number": sampler.number}
            finally:
                gc.enable()

    def about(self, form):
        return {"about": self.forms[form].about()}

    def limits(self, smoke=False):
        limits = importlib.import_module(f"{self.name}.limits")
        return limits.rates(smoke)

    def memory(self, form, calls=4):
        """Resident bytes at the peak of a step, above those with the framework loaded.

        In a process of its own, and the same for every framework: the step has run a few times (it
        is recorded, compiled, its libraries are there), and what allocators keep of those calls
        has been given back. So parameters and the optimizer's state count, gradients, whatever the
        step makes, and what compilers hold; memory that only the first calls needed does not.
        """
        gc.collect()
        before = resident()
        step = self.forms[form].make()
        for _ in range(calls):
            step()
        gc.collect()
        getattr(self.package, "settle", lambda: None)()
        ctypes.CDLL(None).malloc_trim(0)
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak starts again
        result = step()
        peak = resident("VmHWM") - before
        return {"bytes": peak, "loss": float(self.package.to_numpy(result)[0])}


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # noqa: BLE001 - a framework may raise anything
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
