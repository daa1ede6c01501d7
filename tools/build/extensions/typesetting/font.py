"""The font of formulas: STIX Two Math, cut to the characters that the book uses."""

from __future__ import annotations

import importlib.util
import logging
from pathlib import Path

from fontTools import subset

# Letters as they stand in MathML; a browser sets a lone Latin or Greek letter in italics, which are other characters.
ITALIC_LATIN, ITALIC_GREEK = 0x1D434, 0x1D6E2


def source() -> Path:
    """Where the pinned wheel keeps the font."""
    spec = importlib.util.find_spec("ziamath")
    if spec is None or spec.origin is None:
        raise RuntimeError("The font of formulas is missing: pip install ziamath (pinned in requirements.txt).")
    return Path(spec.origin).parent / "fonts" / "STIXTwoMath-Regular.ttf"


def italics(characters: set[str]) -> set[str]:
    """Return the characters that stand for lone letters: a to z, A to Z, and Greek with its variants."""
    found = set()
    for each in characters:
        code = ord(each)
        if each == "h":
            found.add("\u210e")  # the italic h is Planck's constant
        elif each.isascii() and each.isalpha():
            found.add(chr(ITALIC_LATIN + (code - 65 if each.isupper() else code - 97 + 26)))
        elif 0x391 <= code <= 0x3A9:
            found.add(chr(ITALIC_GREEK + code - 0x391))
        elif 0x3B1 <= code <= 0x3C9:
            found.add(chr(ITALIC_GREEK + 26 + code - 0x3B1))
    variants = dict(zip("∂ϵϑϰϕϱϖ", range(ITALIC_GREEK + 51, ITALIC_GREEK + 58), strict=True))
    return found | {chr(variants[each]) for each in characters if each in variants}


def cut(characters: set[str], target: Path) -> None:
    """Write the font with these characters, what they stretch to and what stands for them small, as WOFF."""
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = subset.Options(
        flavor="woff", layout_features=["*"], notdef_outline=True, hinting=False, desubroutinize=True
    )
    options.drop_tables += ["FFTM", "GDEF"]
    cutter = subset.Subsetter(options)
    cutter.populate(text="".join(sorted(characters | italics(characters))))
    target.parent.mkdir(parents=True, exist_ok=True)
    with subset.load_font(str(source()), options) as font:
        cutter.subset(font)
        subset.save_font(font, str(target), options)
