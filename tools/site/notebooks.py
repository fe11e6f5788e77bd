"""Turns notebooks into pages of the site, with what their cells showed when they were run."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any


def text_of(value: str | list[str]) -> str:
    return value if isinstance(value, str) else "".join(value)


def shown(output: dict[str, Any], name: str, pictures: dict[str, bytes]) -> str:
    """Return one output of a cell as Markdown; a picture goes to `pictures`."""
    if output["output_type"] == "stream":
        return f"```text\n{text_of(output['text']).rstrip()}\n```\n"
    if output["output_type"] == "error":
        return f"```text\n{output['ename']}: {output['evalue']}\n```\n"
    data = output["data"]
    for kind, suffix in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            path = f"{name}-{len(pictures)}.{suffix}"
            text = text_of(data[kind])
            pictures[path] = text.encode() if suffix == "svg" else base64.b64decode(text)
            return f"![]({path})\n"
    return f"```text\n{text_of(data.get('text/plain', '')).rstrip()}\n```\n"


def page(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook and the pictures it shows, by name."""
    pictures: dict[str, bytes] = {}
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = text_of(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(f"{text}\n")
            continue
        parts.append(f"```python\n{text}\n```\n")
        parts += [shown(each, path.stem, pictures) for each in cell["outputs"]]
    parts.append(f"[Open this page as a notebook]({path.name})\n")
    return "\n".join(parts), pictures
