"""The import hook: finds taper's modules under PyTorch's names.

Owns: the entries of `sys.meta_path` and `sys.modules`, and the changes to modules while the proxy
is installed.  A proxied module is taper's own module object under a second name.  Only its
`__getattr__` is changed, which explains missing names, until `stop`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from taper.compat import children
from taper.compat.aliases import counterpart
from taper.compat.attributes import Explained

_SPAWN = "multiprocessing.spawn"


class Proxy(MetaPathFinder):
    """A finder of modules that comes before all others."""

    def __init__(self) -> None:
        self.explained = Explained()
        self.spawn = children.Hook()

    def start(self) -> None:
        """Become the first finder, and handle the modules that are loaded already."""
        sys.meta_path.insert(0, self)
        for name, module in list(sys.modules.items()):
            then = self._after_loading(name)
            if then is not None and module is not None:
                then(module)

    def stop(self) -> None:
        """Leave no trace: free the names, restore the modules."""
        sys.meta_path.remove(self)
        for name, module in list(sys.modules.items()):
            own = counterpart(name)
            if own is not None and sys.modules.get(own) is module:
                del sys.modules[name]
        self.explained.undo()
        self.spawn.undo()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module of PyTorch's as taper's; watch the loading of taper's own."""
        own = counterpart(fullname)
        if own is not None:
            spec = _alias(fullname, own)
            # `importlib.util.find_spec`, which only asks, gets None; see `_is_import`.
            if spec is None and _is_import(sys._getframe(2).f_code):
                # late: read when a name is missing
                explain = importlib.import_module("taper.compat.explanations")
                raise ModuleNotFoundError(explain.no_module(fullname), name=fullname)
            return spec
        then = self._after_loading(fullname)
        return None if then is None else self._watched(then, fullname, path, target)

    def find_distributions(self, context: Any) -> Iterable[Any]:
        """Tell `importlib.metadata` that torch is installed, in the version that taper follows."""
        # late: importlib.metadata is slow to load, and who asks has loaded it
        distributions = importlib.import_module("taper.compat.distributions")
        return distributions.found(context.name)

    def _after_loading(self, name: str) -> Callable[[ModuleType], None] | None:
        if name == "taper" or name.startswith("taper."):
            return self.explained.add
        return self.spawn.put if name == _SPAWN else None

    def _watched(
        self,
        then: Callable[[ModuleType], None],
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = None if find is None else find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Watched(spec.loader, then)
                return spec
        return None


class _AliasLoader(Loader):
    """Gives a module of taper as the module of another name."""

    def __init__(self, name: str, own: str) -> None:
        self.name = name
        self.own = own
        self.spec: ModuleSpec | None = None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        # late: the module that an import asks for
        module = importlib.import_module(self.own)
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The module has run already.  The import system has just put the alias's specification on
        # it.
        module.__spec__ = self.spec
        # Its loaded submodules are known under the other name too.  Importing them would set the
        # attribute of the parent again, which may be a function of that name by now
        # (`weight_norm`).
        for name, child in list(sys.modules.items()):
            if name.startswith(f"{self.own}."):
                sys.modules.setdefault(self.name + name[len(self.own) :], child)

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the module's own code, for `python -m`."""
        real = importlib.util.find_spec(self.own)
        loader: Any = real and real.loader
        return loader.get_code(self.own)


class _Watched(Loader):
    """Loads like another loader, leaves no trace of itself, and passes the module to `then`."""

    def __init__(self, loader: Loader, then: Callable[[ModuleType], None]) -> None:
        self.loader = loader
        self.then = then

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # `get_code` and `get_source` are called without loading

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.then(module)


def _alias(fullname: str, own: str) -> ModuleSpec | None:
    real = importlib.util.find_spec(own)
    if real is None:
        return None
    spec = ModuleSpec(fullname, _AliasLoader(fullname, own), origin=real.origin)
    spec.submodule_search_locations = real.submodule_search_locations
    return spec


def _is_import(asking: CodeType) -> bool:
    """Return whether an import statement or `import_module` called a finder.

    Only an import may get an error, other callers may not, and there is no official way to tell
    them apart.  Should Python rename its function, the message is the plain one.
    """
    return asking.co_name == "_find_and_load_unlocked"
