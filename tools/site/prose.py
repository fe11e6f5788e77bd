"""Markdown as this repository writes it, made ready for a site: fences, links, lists, pictures.

Knows nothing of which pages there are: `rewritten` asks a function where a link leads.
"""

from __future__ import annotations

import re
from collections.abc import Callable

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<mark>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^()\s]+)\)")


def outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Apply a function to what is not code."""
    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def with_room_before_lists(text: str) -> str:
    """Put an empty line before a list, which the site's Markdown needs and GitHub's does not."""
    return re.sub(r"^((?![-|#> ]).+)\n(?=- )", r"\1\n\n", text, flags=re.MULTILINE)


def rewritten(text: str, where: Callable[[str], str], faces: Callable[[str], bool]) -> str:
    """Return a page whose links lead to `where` they say.

    Args:
        where: gives the new target of a link.
        faces: whether a picture, by its new target, has a dark face beside the light one.
    """

    def link(found: re.Match[str]) -> str:
        mark, words, target = found["mark"], found["text"], where(found["target"])
        if mark and faces(target):
            dark = f"{target.removesuffix('.svg')}.dark.svg"
            return f"![{words}]({target}#only-light)\n![{words}]({dark}#only-dark)"
        return f"{mark}[{words}]({target})"

    return outside_fences(text, lambda part: with_room_before_lists(LINK.sub(link, part)))


DARK_FACE = re.compile(r"@media\(prefers-color-scheme:dark\)\{(.*?\})\}", re.DOTALL)
# What a picture without a dark face of its own is painted with instead.
REPAINTED = {
    'fill="white"': 'fill="#1e2129"',
    "#000": "#e7eaf0",
    "#333": "#ccd2dc",
    "#2f6fb3": "#6aa9e6",
}


def light_face(picture: str) -> str:
    """Return an SVG that is light in every browser."""
    return DARK_FACE.sub("", picture)


def dark_face(picture: str) -> str:
    """Return an SVG that is dark in every browser."""
    if DARK_FACE.search(picture):
        return DARK_FACE.sub(r"\1", picture)
    for light, dark in REPAINTED.items():
        picture = picture.replace(light, dark)
    return picture
