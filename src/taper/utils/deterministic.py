"""`taper.utils.deterministic`: whether deterministic algorithms fill uninitialised memory."""

import sys
import types

from taper.settings import set_fill_uninitialized, settings


class _Deterministic(types.ModuleType):
    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory is filled with NaN or the largest integers before use."""
        return settings.fill_uninitialized

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        set_fill_uninitialized(mode)


sys.modules[__name__].__class__ = _Deterministic
