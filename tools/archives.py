"""Writes wheels and source archives so that the same contents always give the same bytes.

Members are sorted and have one date, one owner and one of two modes; the list of a wheel's files
(`RECORD`) is written anew, so that files may be added on the way.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import tarfile
import time
import zipfile
from pathlib import Path

_FIRST_DATE = 315_532_800  # 1980: zip knows no earlier one


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {each: archive.read(each) for each in archive.namelist() if not each.endswith("/")}


def dist_info(files: dict[str, bytes]) -> str:
    """Return the name of the folder of a wheel's metadata."""
    return next(each.partition("/")[0] for each in files if each.endswith(".dist-info/METADATA"))


def write_wheel(wheel: Path, files: dict[str, bytes], epoch: int) -> None:
    """Write a wheel with these files, all dated `epoch`, and a new list of them."""
    record = f"{dist_info(files)}/RECORD"
    contents = {name: data for name, data in files.items() if name != record}
    # As the standard asks: metadata at the end of the archive, the list last.
    names = sorted(contents, key=lambda name: (".dist-info/" in name, name))
    lines = [f"{name},{_digest(contents[name])},{len(contents[name])}" for name in names]
    contents[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    date = time.gmtime(max(epoch, _FIRST_DATE))[:6]
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in [*names, record]:
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix: the modes count
            entry.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
            archive.writestr(entry, contents[name])


def _digest(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def rewrite_sdist(made: Path, written: Path, epoch: int) -> None:
    """Write a source archive again: sorted, dated `epoch`, owned by nobody in particular."""
    plain = io.BytesIO()
    with (
        tarfile.open(made) as source,
        tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda each: each.name):
            entry = tarfile.TarInfo(member.name)
            entry.type, entry.size, entry.mtime = member.type, member.size, epoch
            entry.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            target.addfile(entry, source.extractfile(member) if member.isfile() else None)
    with (
        open(written, "wb") as file,
        gzip.GzipFile("", "wb", 9, file, mtime=epoch) as packed,
    ):
        packed.write(plain.getvalue())
