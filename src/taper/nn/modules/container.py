"""Containers of modules and parameters: Sequential, ModuleList, ModuleDict, Parameter..."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Self, overload

from taper.nn.modules.module import Module, indented
from taper.nn.parameter import Parameter
from taper.ops.creation.convert import typename
from taper.tensor import Tensor


def position_in(index: Any, length: int) -> int:
    """Check an index, and count it from the front."""
    number = operator.index(index)
    if not -length <= number < length:
        raise IndexError(f"index {number} is out of range")
    return number % length


class Sequential(Module):
    """Call modules in a row; each gets what the one before it returned.

    Supports indexing, slices, `len`, `+`, `*`, `append`, `extend`, `insert` and `pop`, as a list
    does.

    Args:
        args: the modules, or one OrderedDict of them to choose names other than "0", "1", ...

    Example:
        >>> from taper import nn
        >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        Sequential(
          (0): Linear(in_features=2, out_features=3, bias=True)
          (1): ReLU()
        )
    """

    @overload
    def __init__(self, *args: Module) -> None: ...
    @overload
    def __init__(self, arg: OrderedDict[str, Module], /) -> None: ...
    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, index: Any) -> str:
        return list(self._modules)[position_in(index, len(self))]

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Module: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name_at(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name_at(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name_at(index)]
        for name in names:
            delattr(self, name)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._modules = {str(position): module for position, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __add__(self, other: Sequential) -> Sequential:
        self._refuse_other(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        self._refuse_other(other)
        return self.extend(list(other))

    @staticmethod
    def _refuse_other(other: Any) -> None:
        if not isinstance(other, Sequential):
            raise ValueError(
                "add operator supports only objects of Sequential class, but "
                f"{type(other)} is given."
            )

    def __mul__(self, other: int) -> Sequential:
        """Repeat the row: the same modules, not copies."""
        return Sequential(*self._repeated(other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(self._repeated(other)[len(self) :])

    def _repeated(self, other: Any) -> list[Any]:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return list(self) * other

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before the one at `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: int | slice) -> Module:
        """Take a module (or, for a slice, several) out and return it."""
        taken = self[key]
        del self[key]
        return taken

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


class ModuleList(Module):
    """Hold modules in a list, so that their parameters are registered; there is no `forward`.

    Args:
        modules: the first modules.

    Example:
        >>> from taper import nn
        >>> nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Module: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(position_in(index, len(self)))]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, str(position_in(index, len(self))), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self._modules.values())
        if isinstance(index, slice):
            del modules[index]
        else:
            del modules[position_in(index, len(self))]
        self._renumber(modules)

    def _renumber(self, modules: Iterable[Any]) -> None:
        self._modules = {str(position): module for position, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleList.extend should be called with an iterable, but got "
                + type(modules).__name__
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one at `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def pop(self, key: int | slice) -> Module:
        """Take a module (or, for a slice, several) out and return it."""
        taken = self[key]
        del self[key]
        return taken

    def __repr__(self) -> str:
        """Describe the modules as Module does, but equal neighbours share a line."""
        runs: list[tuple[int, int, str]] = []  # first, last, text
        for position, module in enumerate(self):
            text = repr(module)
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], position, text)
            else:
                runs.append((position, position, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {indented(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {indented(text)}"
            for first, last, text in runs
        ]
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


def checked_pairs(values: Any, container: str, caller: str) -> list[tuple[str, Any]]:
    """Check an iterable of keys and values, as `update` takes it."""
    if not isinstance(values, Iterable):
        raise TypeError(
            f"{caller}.update should be called with an iterable of key/value pairs, but got "
            + type(values).__name__
        )
    pairs = []
    for position, pair in enumerate(values):
        where = f"{container} update sequence element #{position}"
        if not isinstance(pair, Iterable):
            raise TypeError(f"{where} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:  # type: ignore[arg-type]
            raise ValueError(f"{where} has length {len(pair)}; 2 is required")  # type: ignore[arg-type]
        key, value = pair
        pairs.append((key, value))
    return pairs


class ModuleDict(Module):
    """Hold modules in a dictionary, so that their parameters are registered; there is no `forward`.

    Args:
        modules: the first modules: a mapping, or pairs of name and module.

    Example:
        >>> from taper import nn
        >>> list(nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()}))
        ['a', 'b']
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Take a module out and return it."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """Return the names with their modules."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[Any]) -> None:
        """Add modules from a mapping or from pairs; equal names are replaced."""
        if isinstance(modules, (Mapping, ModuleDict)):
            pairs = list(modules.items())
        else:
            pairs = checked_pairs(modules, "ModuleDict", "ModuleDict")
        for key, module in pairs:
            self[key] = module


class ParameterList(Module):
    """Hold parameters in a list, so that they are registered; tensors become Parameters.

    Args:
        values: the first values; those that are no tensors stay as they are.

    Example:
        >>> import taper
        >>> [name for name, _ in taper.nn.ParameterList([taper.ones(1)] * 2).named_parameters()]
        ['0', '1']
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @overload
    def __getitem__(self, index: int) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[each] for each in range(*index.indices(len(self)))])
        return getattr(self, str(position_in(index, len(self))))

    def __setitem__(self, index: int, param: Any) -> None:
        setattr(self, str(position_in(index, len(self))), as_parameter(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(len(self))])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def append(self, value: Any) -> Self:
        """Add a value at the end."""
        setattr(self, str(self._size), as_parameter(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several values at the end."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                "ParameterList.extend should be called with an iterable, but got "
                + type(values).__name__
            )
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        return "\n".join(
            entry_text(position, value, with_dtype=True) for position, value in enumerate(self)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]


def as_parameter(value: Any) -> Any:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


def entry_text(name: Any, value: Any, with_dtype: bool) -> str:
    """Return a line of the `repr` of a container of parameters."""
    if not isinstance(value, Tensor):
        return f"  ({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    size = "x".join(str(length) for length in value.shape)
    what = value.dtype if with_dtype else typename(value)
    return f"  ({name}): {kind} containing: [{what} of size {size}]"


class ParameterDict(Module):
    """Hold parameters in a dictionary, so that they are registered; tensors become Parameters.

    Args:
        parameters: the first values: a mapping, or pairs of name and value.

    Example:
        >>> import taper
        >>> list(taper.nn.ParameterDict({"a": taper.ones(1)}).state_dict())
        ['a']
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _checked(key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type "
                f"is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._checked(key))

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, self._checked(key), as_parameter(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, self._checked(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return another dictionary of the same parameters."""
        return ParameterDict(OrderedDict((key, self[key]) for key in self._keys))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, which becomes `default` if there is none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all values."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take a value out and return it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take the last value out and return it with its name."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of `key`, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Make a new dictionary with the same value for all keys."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return the names with their values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values from a mapping (a plain dict in order of its keys' names) or from pairs."""
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            pairs = list(parameters.items())
        elif isinstance(parameters, Mapping):
            pairs = sorted(parameters.items())
        else:
            pairs = checked_pairs(parameters, "ParameterDict", "ParametersDict")
        for key, value in pairs:
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(entry_text(key, value, with_dtype=False) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: ParameterDict) -> ParameterDict:
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other: ParameterDict) -> ParameterDict:
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other: ParameterDict) -> Self:
        self.update(other)
        return self
