"""The first cell of every generated notebook: all after this sentence, with the address filled in."""

# Installs the book's package where it is missing. The numpy, torch, ... that the kernel has stay as they are.
import importlib.metadata
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = ""  # where this notebook comes from, such as "https://github.com/OWNER/NAME"
REVISION = ""  # a branch, tag or commit of it; empty: its main branch


def lacking() -> list[str]:
    """What the notebooks need and an install of the package without its extra did not bring."""
    try:
        asked = [line for line in importlib.metadata.requires("lrtransfer") or [] if re.search("extra.*chapters", line)]
    except importlib.metadata.PackageNotFoundError:  # a folder on the path: it says nothing of extras
        return []
    here = {re.sub("[-_.]+", "-", one.metadata["Name"] or "").lower() for one in importlib.metadata.distributions()}
    return [name for name in (re.split(r"[^\w.-]", line)[0] for line in asked) if name.lower() not in here]


if importlib.util.find_spec("lrtransfer"):
    if lacking():
        source = f"lrtransfer[chapters] @ git+{REPOSITORY}" if REPOSITORY else ".[chapters]"
        where = "" if REPOSITORY else "in a copy of the book's repository "
        raise RuntimeError(
            f"The package lrtransfer is here without its extra for notebooks ({', '.join(lacking())} missing): {where}"
            f'run  pip install "{source}"  and restart the kernel.'
        )
    done = "is here already; nothing was installed."
elif not REPOSITORY:
    raise RuntimeError(
        "The package lrtransfer is missing and this notebook does not know where to get it. Set REPOSITORY, above in "
        "this cell, to the address of the book's repository and run the cell again; or, in a copy of the repository, "
        'run  pip install ".[chapters]"  and restart the kernel.'
    )
else:
    kept = []
    for name in ("numpy", "torch", "scipy", "matplotlib", "ipywidgets"):
        if importlib.util.find_spec(name):
            kept.append(f"{name}=={importlib.metadata.version(name)}")
    with tempfile.TemporaryDirectory() as folder:
        constraints = pathlib.Path(folder, "kept.txt")
        constraints.write_text("\n".join(kept))
        package = f"lrtransfer[chapters] @ git+{REPOSITORY}" + (f"@{REVISION}" if REVISION else "")
        command = [sys.executable, "-m", "pip", "install", "--constraint", str(constraints), package]
        pip = subprocess.run(command, capture_output=True, text=True)
    if pip.returncode:
        raise RuntimeError(f"pip could not install lrtransfer:\n{pip.stdout}\n{pip.stderr}")
    importlib.invalidate_caches()
    done = f"was installed from {REPOSITORY}; left as they were: {', '.join(kept) or 'nothing'}."

import lrtransfer  # noqa: E402

print(f"lrtransfer {lrtransfer.__version__} {done}")

try:  # Colab shows widgets of other packages only when asked to
    from google.colab import output
except ImportError:
    pass
else:
    output.enable_custom_widget_manager()
