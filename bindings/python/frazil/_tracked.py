"""Tracked: an object whose attributes a traced call that skips Python can compare at once."""

from typing import Any

from frazil._frazil import ModuleBase

_changed = ModuleBase._changed


class Tracked(ModuleBase):
    """Notices every assignment to an attribute. What is done to __dict__ itself goes unseen."""

    def __setattr__(self, name: str, value: Any) -> None:
        _changed()
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _changed()
        object.__delattr__(self, name)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()
