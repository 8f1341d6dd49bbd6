"""threadpoolctl sees frazil's worker pool: a controller is registered once both are imported."""

import importlib.util
import sys

from frazil._frazil import __version__
from frazil._frazil import runtime as _runtime


def _register(threadpoolctl):
    if not hasattr(threadpoolctl, "register"):  # older than 3.2
        return

    class FrazilController(threadpoolctl.LibController):
        """The worker pool behind fz.set_num_threads."""

        user_api = internal_api = "frazil"
        filename_prefixes = ("_frazil",)

        def get_num_threads(self):
            return _runtime.get_num_threads()

        def set_num_threads(self, num_threads):
            _runtime.set_num_threads(num_threads)

        def get_version(self):
            return __version__

    threadpoolctl.register(FrazilController)


class _Loader:
    """The module's own loader, and what follows it."""

    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _register(module)


class _Finder:
    """Waits for threadpoolctl to be imported; finds nothing by itself."""

    def find_spec(self, name, path=None, target=None):
        if name != "threadpoolctl":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader)
        return spec


def watch():
    """Registers now if threadpoolctl is there, otherwise when it is imported."""
    if "threadpoolctl" in sys.modules:
        _register(sys.modules["threadpoolctl"])
    else:
        sys.meta_path.insert(0, _Finder())
