"""Docstrings of plain text as reStructuredText: prose, names with their meanings, and formulas as they stand."""

import re

ITEM = re.compile(r"(?P<name>\S(?:.{0,38}?\S)?) {2,}(?P<meaning>\S.*)")


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring, marked up."""
    found: list[str] = []
    for paragraph in _paragraphs(lines):
        if all(line.startswith("    ") for line in paragraph):
            found += ["::", "", *(f"    {line}" for line in paragraph), ""]
        elif ITEM.fullmatch(paragraph[0]):
            found += _list(paragraph)
        else:
            found += [*map(_prose, map(str.strip, paragraph)), ""]
    return found


def _paragraphs(lines: list[str]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [one for one in found if one]


def _list(paragraph: list[str]) -> list[str]:
    """Names with their meanings, of which a line that is indented is a further part."""
    found: list[str] = []
    for line in paragraph:
        item = ITEM.fullmatch(line)
        if item and not line.startswith(" "):
            found += ["", f"``{item['name'].strip('`')}``", f"    {_prose(item['meaning'])}"]
        else:
            found.append(f"    {_prose(line.strip())}")
    return [*found, ""]


def _prose(line: str) -> str:
    """Code as code; the rest as it is, whatever signs it has."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return _escaped(line)
    return "".join(_escaped(part) if place % 2 == 0 else f"``{part}``" for place, part in enumerate(parts))


def _escaped(text: str) -> str:
    text = re.sub(r"([\\*|`])", r"\\\1", text)
    return re.sub(r"_(?=\W|$)", r"\\_", text)
