"""Which names stand for which modules of taper, and the versions they report."""

from __future__ import annotations

ALIASES = {
    "torch": "taper",
    "torchvision": "taper.vision",
    "torchviz": "taper.viz",
    "functorch": "taper.functorch",
}

# The releases whose behaviour taper follows; programs ask for them.
VERSIONS = {
    "torch": "2.13.0",
    "torchvision": "0.28.0",
    "torchviz": "0.0.3",
    "functorch": "2.13.0",
}


def counterpart(name: str) -> str | None:
    """Return taper's module for a name like `torch.nn`; None for a foreign name.

    >>> from taper.compat.aliases import counterpart
    >>> counterpart("torch.nn.functional"), counterpart("torchvision.models")
    ('taper.nn.functional', 'taper.vision.models')
    """
    package, dot, rest = name.partition(".")
    own = ALIASES.get(package)
    return None if own is None else own + dot + rest


def public_name(name: str) -> str:
    """Return the name by which programs know a module of taper.

    >>> from taper.compat.aliases import public_name
    >>> public_name("taper.nn.functional"), public_name("taper.vision.models")
    ('torch.nn.functional', 'torchvision.models')
    """
    fitting = [
        (len(own), alias)
        for alias, own in ALIASES.items()
        if name == own or name.startswith(f"{own}.")
    ]
    if not fitting:
        return name  # a module that has its public name already
    length, alias = max(fitting)
    return alias + name[length:]
