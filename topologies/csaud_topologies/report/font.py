"""The font of figures in PDF. Matplotlib cuts out of it what a file's texts use, file by file. Nearly all of
that time goes into tables for ligatures and scripts that no figure has, which leave the font here, once."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont, TTLibError
from matplotlib.font_manager import FontProperties, findfont, fontManager

_CHARACTERS = frozenset(map(chr, (*range(0x20, 0x180), 0x3BC, *range(0x2010, 0x2027), 0x2212)))
"""Latin, the micro sign, punctuation and the minus sign."""
_UNUSED = ["GSUB", "GPOS", "GDEF", "kern", "MATH", "FFTM"]
_NAMES = (1, 4, 16)
"""By which a font is looked up: family, full name, family as printed (OpenType, name IDs)."""


def pdf_font(texts: str) -> dict[str, Any]:
    """Matplotlib's settings for a PDF with these texts; none if the cut font lacks one of their letters, the
    disk room for it, or the font is one that cannot be cut (a collection)."""
    if not _CHARACTERS.issuperset(texts.replace("\n", "")):
        return {}
    try:
        return {"font.sans-serif": [_cut_font()[0]]}
    except (OSError, TTLibError):
        return {}


@cache
def _cut_font() -> tuple[str, tempfile.TemporaryDirectory[str]]:
    """Its name, and the folder that it lies in while the process lives."""
    font = TTFont(findfont(FontProperties()))
    options = Options(layout_features=[], hinting=False)
    options.drop_tables += _UNUSED
    subsetter = Subsetter(options)
    subsetter.populate(text="".join(_CHARACTERS))
    subsetter.subset(font)
    name = f"{font['name'].getBestFamilyName()} cut"
    for record in font["name"].names:
        if record.nameID in _NAMES:
            record.string = name
    folder = tempfile.TemporaryDirectory(prefix="csaud-font-")
    path = Path(folder.name) / "cut.ttf"
    font.save(path)
    fontManager.addfont(path)
    return name, folder
