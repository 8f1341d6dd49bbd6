"""Training that survives: checkpoints from which it goes on with the same bits.

Here: `Checkpoint`.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Any

from frazil import _frazil as _fz
from frazil import _seeding
from frazil._named import flag as _flag
from frazil._named import integer as _integer
from frazil.io import _read, _write

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Checkpoint"]

_FILE = re.compile(r"step-(\d+)\.safetensors")
_LEFT = re.compile(r"\.step-\d+\.safetensors\..*\.tmp")  # by a process that was killed


class Checkpoint:
    """Saves the parts of a training in a folder, a file for each step, and puts them back.

    A file is written beside the others and gets its name when it is on the disk: whatever kills the
    process, the last complete one is there. It is of the format safetensors, and holds the states
    of the parts, the values of the program and, unless `random_state` is false, where the random
    streams of frazil, Python and NumPy are. A run that saves between two batches and is resumed
    computes the bits of one that was never interrupted. One process writes to a folder at a time.

    Parameters
    ----------
    folder : path
        Is made if need be.
    keep : int, optional
        How many of the latest files stay, by default 3; None: all.
    random_state : bool
    **parts
        Objects with state_dict() and load_state_dict(): modules, optimizers, schedulers, data
        loaders. A state is a nest of tensors, numbers, strings and None.

    >>> import tempfile
    >>> import frazil as fz
    >>> model = fz.nn.Linear(2, 1)
    >>> loader = fz.data.DataLoader(range(100), batch_size=10)
    >>> checkpoint = Checkpoint(tempfile.mkdtemp(), model=model, loader=loader)
    >>> checkpoint.restore() is None  # nothing there yet: the training begins
    True
    >>> checkpoint.save(7, loss=0.5)
    >>> checkpoint.restore()
    {'loss': 0.5, 'step': 7}
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        keep: int | None = 3,
        random_state: bool = True,
        **parts: Any,
    ) -> None:
        self.folder = os.path.abspath(os.fspath(folder))
        self.keep = None if keep is None else _integer("[Checkpoint] keep", keep, 1)
        self.random_state = _flag("[Checkpoint] random_state", random_state)
        for name, part in parts.items():
            if not hasattr(part, "state_dict") or not hasattr(part, "load_state_dict"):
                raise TypeError(
                    f"[Checkpoint] {name} must have state_dict and load_state_dict, and is "
                    f"{type(part).__name__}: give numbers and tensors to save(step, {name}=...)."
                )
        self.parts = parts
        os.makedirs(self.folder, exist_ok=True)

    def save(self, step: int, **values: Any) -> None:
        """Writes the file of a step, then removes those that are too many.

        Parameters
        ----------
        step : int
            The number of what has been done: restore() takes the file of the largest.
        **values
            Nests of tensors, numbers and strings that restore() gives back.

        Raises
        ------
        OSError
            If it cannot be written: the older files stay.
        """
        step = _integer("[Checkpoint.save] step", step, 0)
        if "step" in values:
            raise TypeError("[Checkpoint.save] step is given twice.")
        tree = {
            "parts": {name: self._state(part) for name, part in self.parts.items()},
            "values": values,
            "random": _seeding.states() if self.random_state else None,
        }
        self._store(step, tree)

    # How distributed.Checkpoint does it otherwise: a state and its way back, files and their end.

    def _state(self, part: Any) -> Any:
        return part.state_dict()

    def _give(self, name: str, part: Any, state: Any) -> None:
        part.load_state_dict(state)

    def _store(self, step: int, tree: dict[str, Any]) -> None:
        _write("Checkpoint.save", self.path(step), tree)
        left = [name for name in os.listdir(self.folder) if _LEFT.fullmatch(name)]
        old = map(self.path, self._too_many(step))
        for path in (*old, *(os.path.join(self.folder, name) for name in left)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def _too_many(self, step: int) -> list[int]:
        """The steps before this one that are not kept."""
        before = [] if self.keep is None else [s for s in self.all_steps() if s < step]
        return before[: -self.keep + 1 or None] if self.keep else []

    def restore(self, step: int | None = None) -> dict[str, Any] | None:
        """Puts all parts and random streams where they were when a step was saved.

        Parameters
        ----------
        step : int, optional
            By default the largest there is.

        Returns
        -------
        dict or None
            What save() was given, and "step"; None if the folder has no checkpoint.

        Raises
        ------
        FileNotFoundError
            If there is no file of this step.
        ValueError
            If the file is damaged or has other parts. What load_state_dict raises may leave some
            parts restored and others not.
        """
        found = self.latest_step() if step is None else _integer("[Checkpoint.restore] step", step)
        if found is None:
            return None
        path = self.path(found)
        if found not in self.all_steps():
            raise FileNotFoundError(
                f"[Checkpoint.restore] '{self.folder}' has no step {found}; it has "
                f"{self.all_steps()}."
            )
        tree = self._tree(path)
        saved, own = list(tree["parts"]), list(self.parts)
        if sorted(saved) != sorted(own):
            raise ValueError(
                f"[Checkpoint.restore] '{path}' has the parts {saved}, this checkpoint {own}."
            )
        for name, part in self.parts.items():
            self._give(name, part, tree["parts"][name])
        if self.random_state and tree["random"] is not None:
            _seeding.set_states(tree["random"])
        return {**tree["values"], "step": found}

    def _tree(self, path):
        tensors, metadata = _fz.runtime.load_tensors("Checkpoint.restore", path)
        if "structure" not in metadata:
            raise ValueError(
                f"[Checkpoint.restore] '{path}' is no checkpoint: it has no structure."
            )
        tree = _read("Checkpoint.restore", path, tensors, metadata)
        if not isinstance(tree, dict) or tree.keys() != {"parts", "values", "random"}:
            raise ValueError(f"[Checkpoint.restore] '{path}' is no checkpoint: save() wrote it.")
        return tree

    def path(self, step: int) -> str:
        """The file of a step."""
        return os.path.join(self.folder, f"step-{step:08d}.safetensors")

    def all_steps(self) -> list[int]:
        """The steps whose files are there, in order."""
        found = map(_FILE.fullmatch, os.listdir(self.folder))
        return sorted(int(match[1]) for match in found if match)

    def latest_step(self) -> int | None:
        """The largest step there is, or None."""
        return max(self.all_steps(), default=None)
