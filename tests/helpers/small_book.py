"""A book of small chapters, for the tests of the build."""

from __future__ import annotations

from pathlib import Path

HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

"""


def contents(root: Path, names: list[str]) -> None:
    """Lay out a book with chapters of these names, without the chapters themselves."""
    for folder in ("book", "lib", "results"):
        (root / folder).mkdir()
    (root / "requirements.txt").write_text("numpy==1\n")
    pages = "".join(f"  - file: book/{name}\n" for name in names[1:])
    parts = f"parts:\n- chapters:\n{pages}" if pages else ""
    (root / "_toc.yml").write_text(f"root: book/{names[0]}\n{parts}")
    (root / "_config.yml").write_text("parse: {myst_enable_extensions: [colon_fence, dollarmath]}\n")


def chapter(code: str, prose: str = "Prose.", options: str = "") -> str:
    """A page with one cell of code; ``options``: lines such as ``:tags: [hide-input]``."""
    return f"{HEADER}{prose}\n\n```{{code-cell}} ipython3\n{options}{code}\n```\n"
