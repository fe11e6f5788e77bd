"""Where storages of a checkpoint belong: tags of devices, and `map_location`.

Every storage ends on the CPU or in an error; `register_package` lets other packages take part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taper.device import device
from taper.gpu.state import device_count
from taper.storage import TypedStorage, UntypedStorage

MapLocation = Callable[[Any, str], Any] | device | str | dict[str, str] | None

_NO_CUDA = (
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If "
    "you are running on a CPU-only machine, please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)

_packages: list[tuple[int, Callable[[Any], Any], Callable[[Any, str], Any]]] = []


def register_package(
    priority: int,
    tagger: Callable[[Any], str | None],
    deserializer: Callable[[Any, str], Any],
) -> None:
    """Let a package name (`tagger`) and restore (`deserializer`) the locations of storages.

    Packages are asked in the order of their priorities, and answer None for foreign locations.

    Args:
        priority: packages with smaller numbers are asked first.
        tagger: a function from a storage to its location.
        deserializer: a function of (storage, location) that returns the storage there.

    >>> import taper
    >>> taper.serialization.register_package(100, lambda storage: None, lambda storage, tag: None)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: Any) -> str:
    """Return the name by which a checkpoint says where a storage was.

    >>> import taper
    >>> taper.serialization.location_tag(taper.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        tag: str | None = tagger(storage)
        if tag:
            return tag
    return "cuda:0" if storage.device.type == "cuda" else "cpu"


def default_restore_location(storage: Any, location: str) -> Any:
    """Return the storage at the place that a checkpoint names, if taper has such a place.

    >>> import taper
    >>> len(taper.serialization.default_restore_location(taper.UntypedStorage(2), "cpu"))
    2
    """
    for _, _, deserializer in _packages:
        restored = deserializer(storage, location)
        if restored is not None:
            return restored
    if location == "cpu":
        return storage
    if location.startswith("cuda"):
        if not device_count():
            raise RuntimeError(_NO_CUDA)
        return storage.cuda()
    if location.startswith("meta"):
        return UntypedStorage(storage.nbytes(), device="meta")
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage "
        f"(tagged with {location[:100]})"
    )


def restore_location(map_location: MapLocation) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """Return the function that puts a storage where `map_location` wants it."""

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        if map_location is None:
            placed = default_restore_location(storage, location)
        elif isinstance(map_location, dict):
            placed = default_restore_location(storage, map_location.get(location, location))
        elif isinstance(map_location, (str, bytes, device)):
            where = map_location.decode() if isinstance(map_location, bytes) else str(map_location)
            placed = default_restore_location(storage, where)
        else:
            placed = map_location(storage, location)
            if placed is None:
                placed = default_restore_location(storage, location)
        if isinstance(placed, TypedStorage):
            placed = placed.untyped()
        if not isinstance(placed, UntypedStorage) or placed.nbytes() != storage.nbytes():
            raise RuntimeError("map_location must return a storage of the same size")
        return placed

    return restore
