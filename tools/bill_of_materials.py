"""Writes what a wheel is made of and needs: a bill of materials in the CycloneDX format.

Everything in it comes from the wheel's own files, so the same wheel has the same bill.
"""

from __future__ import annotations

import datetime
import email
import hashlib
import json
import re
import uuid
from typing import Any

from archives import dist_info

_NAMESPACE = uuid.UUID("5b5a8d5e-6f63-5a3e-9d41-1f6d3a0b7c11")


def bill_of_materials(files: dict[str, bytes], tools: dict[str, str], epoch: int) -> bytes:
    """Return the bill of a wheel.

    Args:
        files: the files of the wheel.
        tools: what built it, with versions.
        epoch: the date of the wheel in seconds.
    """
    metadata = email.message_from_bytes(files[f"{dist_info(files)}/METADATA"])
    package = _package(metadata["Name"], metadata["Version"])
    package |= {
        "description": metadata["Summary"],
        "licenses": [{"license": {"id": metadata["License-Expression"]}}],
    }
    needs = [_requirement(each) for each in metadata.get_all("Requires-Dist", [])]
    needs = [each for each in needs if each is not None]
    native = [_module(name, data) for name, data in files.items() if name.endswith(".so")]
    date = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    bill: dict[str, Any] = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": date.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [_tool(*each) for each in sorted(tools.items())]},
            "component": package,
        },
        "components": native + needs,
        "dependencies": [
            {
                "ref": package["bom-ref"],
                "dependsOn": [each["bom-ref"] for each in native + needs],
            }
        ],
    }
    # A number that names the document: the same contents have the same one.
    bill["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, json.dumps(bill, sort_keys=True))}"
    return (json.dumps(bill, indent=1, sort_keys=True) + "\n").encode()


def _package(name: str, version: str | None = None) -> dict[str, Any]:
    normal = re.sub(r"[-_.]+", "-", name).lower()
    address = f"pkg:pypi/{normal}" + (f"@{version}" if version else "")
    found = {"type": "library", "name": name, "purl": address, "bom-ref": address}
    return found | ({"version": version} if version else {})


def _requirement(line: str) -> dict[str, Any] | None:
    """Return the component of a required package; None for those of extras, which nobody gets."""
    wanted, _, marker = line.partition(";")
    if "extra ==" in marker:
        return None
    name = re.split(r"[^\w.-]", wanted.strip(), maxsplit=1)[0]
    wish = {"name": "requirement", "value": wanted.strip()}
    return _package(name) | {"scope": "required", "properties": [wish]}


def _module(name: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {
        "type": "file",
        "name": name,
        "bom-ref": name,
        "description": "compiled from native/*.c of the source archive",
        "hashes": [{"alg": "SHA-256", "content": digest}],
    }


def _tool(name: str, version: str) -> dict[str, Any]:
    return {"type": "application", "name": name, "version": version}
