"""Serve the built site on localhost and open it in the reader's browser."""

from __future__ import annotations

import sys
import webbrowser
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HTML = Path(__file__).resolve().parents[2] / "_build" / "html"


def main() -> None:
    """Serve until interrupted; a port in use is a sentence, not a traceback."""
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8000
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=str(HTML)))
    except OSError as error:
        raise SystemExit(f"Port {port} cannot be used ({error.strerror}): try make serve PORT={port + 1}.") from None
    address = f"http://localhost:{port}/"
    print(f"{address} (Ctrl-C stops)", flush=True)
    webbrowser.open(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
