"""Link the terms of book/glossary.md from their first use on each chapter's page.

python tools/notebooks/terms.py check     name what is missing, linked twice or late, and fail
python tools/notebooks/terms.py write     put it right, in place

A term is linked once a page, where its words first stand in running text: not in a heading, a formula, code, a link, a
caption, an option or the box at the top. Exit status 1: something is wrong, or was.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "build"))

import execute

ROOT = execute.ROOT
# Where no term is linked: what is not running text. Each is blanked before the search, so that places stay.
_NOT_TEXT = re.compile(
    r"\A---\n.*?^---$"  # the header
    r"|^:::\{admonition\} At a glance$.*?^:::$"
    r"|^(`{3,})\{?[\w-]+.*?^\1$"  # code, and directives between backticks
    r"|^#.*?$|^\([^\n]+\)=$|^:{3,}.*?$|^:[\w-]+:.*?$|^\|.*?$"  # headings, targets, fences, options, tables
    r"|\$\$.+?\$\$(?: \([\w-]+\))?|(?<![\\$])\$(?!\$).+?(?<!\\)\$"
    r"|\{[\w:]+\}`[^`]*`|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)"  # roles, code
    r"|!?\[[^\]]*\]\([^)]*\)|<https?:[^>]*>",
    re.M | re.S,
)
UNLINKED = {"course", "open", "performance"}  # pages that are no chapters
# Words that mean something else on a page.
ELSEWHERE = {
    "width": {"chain", "split", "plateau", "signal"},
    "residual": {"split", "chain", "balance"},
    "layers": {"chain", "stage"},
    "stages": {"chain", "balance", "split"},
}
TERM = re.compile(r"\{term\}`([^`<]+?)(?: <([^`>]+)>)?`")


def pages() -> list[Path]:
    """The pages whose terms are linked."""
    return [path for path in execute.chapters() if path.stem not in UNLINKED]


def glossary() -> list[list[str]]:
    """The entries of the glossary, each as the words that name it."""
    text = (ROOT / "book" / "glossary.md").read_text("utf8")
    body = text.partition("```{glossary}\n")[2].partition("\n```")[0]
    return [[line for line in entry.splitlines() if line[:1] != " "] for entry in body.split("\n\n")]


def _words(name: str) -> str:
    """A pattern of a term's words as they stand in text: at a line's end too, and in the plural."""
    plural = r"(?:es|s)?" if name[-1].isalpha() and not name.isupper() else ""
    first = name[0] if name[:2].isupper() or name[0].isupper() else f"[{name[0]}{name[0].upper()}]"
    rest = r"\s+".join(re.escape(word) for word in name[1:].split(" "))
    return rf"(?<![\w-]){first}{rest}{plural}(?![\w-])"


def _plain(text: str) -> str:
    """A page without its links to the glossary."""
    return TERM.sub(lambda link: link[1], text)


def linked(text: str, page: str = "") -> str:
    """A page with every term linked from its first use, and from nowhere else."""
    text = _plain(text)
    blank = _NOT_TEXT.sub(lambda part: re.sub(r"[^\n]", "\0", part.group()), text)
    found: list[tuple[int, int, str]] = []
    # Longer names first, so that "lazily revealed matrix" is not taken for a matrix.
    for names in sorted(glossary(), key=lambda names: -max(map(len, names))):
        if names[0] in ELSEWHERE.get(page, ()):
            continue
        uses = [(m.start(), m.end(), name) for name in names for m in re.finditer(_words(name), blank)]
        if uses:
            first = min(uses, key=lambda use: (use[0], -use[1]))
            found.append(first)
            blank = blank[: first[0]] + "\0" * (first[1] - first[0]) + blank[first[1] :]
    for start, end, name in sorted(found, reverse=True):
        words = text[start:end]
        role = f"{{term}}`{words}`" if words == name else f"{{term}}`{words} <{name}>`"
        text = text[:start] + role + text[end:]
    return text


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("check", "write"))
    action = parser.parse_args(arguments).action
    wrong = 0
    for path in pages():
        text = path.read_text("utf8")
        right = linked(text, path.stem)
        if right != text:
            wrong += 1
            differ = sum(a != b for a, b in zip(text.splitlines(), right.splitlines(), strict=True))
            print(f"book/{path.name}: {differ} lines differ" + (": put right" if action == "write" else ""))
            if action == "write":
                path.write_text(right, "utf8")
    if action == "check":
        print("Run python tools/notebooks/terms.py write." if wrong else "Every term is linked from its first use.")
    return int(bool(wrong) and action == "check")


if __name__ == "__main__":
    raise SystemExit(main())
