"""Files out of a compressed archive: only those asked for, and no larger than expected."""

from __future__ import annotations

import os
import tarfile
import zlib
from typing import Any

from taper.files.atomic import replacing

_MOST_MEMBERS = 1_000


def extract(archive: Any, names: list[str], folder: Any, most_bytes: int) -> None:
    """Write the named members of a `.tar.gz` below a folder.

    Everything else in the archive stays there: links, devices, and names that lead elsewhere are
    never looked at.
    """
    wanted = set(names)
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for number, member in enumerate(tar):
                if number > _MOST_MEMBERS:
                    raise ValueError(f"{archive} has more than {_MOST_MEMBERS} members")
                if member.name in wanted and member.isreg():
                    if member.size > most_bytes:
                        raise ValueError(f"{member.name} in {archive} is larger than {most_bytes}")
                    _write(tar.extractfile(member), os.path.join(folder, member.name))
                    wanted.remove(member.name)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise ValueError(f"{archive} cannot be unpacked: {error}") from None
    if wanted:
        raise ValueError(f"{archive} does not have {', '.join(sorted(wanted))}")


def _write(source: Any, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with replacing(path) as target:
        while chunk := source.read(1 << 20):
            target.write(chunk)
