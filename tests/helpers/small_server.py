"""A server of one file for tests, with the faults that downloads meet."""

import http.server
import time


class Server(http.server.ThreadingHTTPServer):
    """Serves one file; ``ranges``: whether it can resume; ``drops``: bytes after which each next answer breaks off."""

    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content, self.ranges, self.drops, self.pace, self.status = content, True, [], 0.0, None
        self.asked = []  # the Range header of every request
        self.url = f"http://127.0.0.1:{self.server_address[1]}/set.archive"

    def handle_error(self, request, client_address):
        """Say nothing of a client that hung up: killed downloads do, and stderr belongs to the test that runs then."""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        s = self.server
        wanted = self.headers.get("Range")
        s.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and s.ranges else 0
        if s.status:
            self.send_error(s.status)
            return
        if start >= len(s.content):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(s.content)}")
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(s.content) - 1}/{len(s.content)}")
        self.send_header("Content-Length", str(len(s.content) - start))
        self.end_headers()
        body = s.content[start:]
        body = body[: s.drops.pop(0)] if s.drops else body
        for i in range(0, len(body), 20_000):
            self.wfile.write(body[i : i + 20_000])
            time.sleep(s.pace)

    def log_message(self, *arguments):
        pass
