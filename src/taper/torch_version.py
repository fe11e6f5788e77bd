"""`TorchVersion`: a version that is text and compares as versions do.

Programs compare `torch.__version__` with texts, tuples and lists.  The order is that of Python
packages (PEP 440), as far as comparing needs it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_PATTERN = r"""
    \s* v? (?:(?P<epoch>\d+)!)? (?P<release>\d+(?:\.\d+)*)
    (?: [-_.]? (?P<stage>alpha|a|beta|b|preview|pre|c|rc) [-_.]? (?P<stage_nr>\d*) )?
    (?P<post> -(?P<post_bare>\d+) | [-_.]? (?:post|rev|r) [-_.]? (?P<post_nr>\d*) )?
    (?P<dev> [-_.]? dev [-_.]? (?P<dev_nr>\d*) )?
    (?: \+ (?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*) )? \s*
"""
_STAGES = {"a": 1, "alpha": 1, "b": 2, "beta": 2, "c": 3, "rc": 3, "pre": 3, "preview": 3}
_DEVELOPMENT, _FINAL = 0, 4

Key = tuple[Any, ...]


def version_key(text: str) -> Key | None:
    """Return a key that orders as the version does; None if the text is no version.

    >>> from taper.torch_version import version_key
    >>> version_key("2.13.0rc1") < version_key("2.13") < version_key("2.13.1.dev3")
    True
    >>> version_key("parrot")
    """
    match = re.fullmatch(_PATTERN, text, re.VERBOSE | re.IGNORECASE)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    stage = _STAGES[match["stage"].lower()] if match["stage"] else _FINAL
    if stage == _FINAL and match["dev"] and not match["post"]:
        stage = _DEVELOPMENT  # 1.0.dev1 comes before 1.0a1
    post = int(match["post_bare"] or match["post_nr"] or 0) if match["post"] else -1
    dev = int(match["dev_nr"] or 0) if match["dev"] else float("inf")
    local = re.split(r"[-_.]", match["local"].lower()) if match["local"] else []
    return (
        int(match["epoch"] or 0),
        release,
        (stage, int(match["stage_nr"] or 0)),
        post,
        dev,
        [(1, int(part), "") if part.isdigit() else (0, 0, part) for part in local],
    )


def _compared(name: str) -> Callable[[Any, Any], Any]:
    as_text = getattr(str, name)

    def compare(self: str, other: Any) -> Any:
        text = other
        if not isinstance(other, str) and isinstance(other, Iterable):
            text = ".".join(str(part) for part in other)
        ours, theirs = version_key(self), version_key(text) if isinstance(text, str) else None
        if ours is None or theirs is None:
            return as_text(self, other)  # as in PyTorch: compare as text what is no version
        return getattr(ours, name)(theirs)

    compare.__name__, compare.__qualname__ = name, f"TorchVersion.{name}"
    return compare


class TorchVersion(str):
    """A version's text; compared with texts, tuples and lists it orders as versions do.

    >>> from taper.torch_version import TorchVersion
    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    __lt__ = _compared("__lt__")
    __le__ = _compared("__le__")
    __eq__ = _compared("__eq__")
    __ge__ = _compared("__ge__")
    __gt__ = _compared("__gt__")
    __hash__ = str.__hash__


del _compared
