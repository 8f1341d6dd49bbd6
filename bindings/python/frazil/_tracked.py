"""Tracked: an object whose attributes a traced call that skips Python can compare at once."""

from frazil._frazil import ModuleBase

_changed = ModuleBase._changed


class Tracked(ModuleBase):
    """Notices every assignment to an attribute. What is done to __dict__ itself goes unseen."""

    def __setattr__(self, name, value):
        _changed()
        object.__setattr__(self, name, value)

    def __delattr__(self, name):
        _changed()
        object.__delattr__(self, name)

    def __getstate__(self):
        return self.__dict__.copy()
