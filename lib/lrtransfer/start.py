"""Where the command ``lrtransfer`` starts: an interrupt while the package is read is told as any other."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line, ``lrtransfer.cli.main``.

    Returns
    -------
    int
        the exit status; 130 after an interrupt.
    """
    try:
        from lrtransfer import cli

        return cli.main()
    except KeyboardInterrupt:
        print("lrtransfer: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
