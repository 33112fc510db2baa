import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bell.app import respond

NOTES = []


class Bell(BaseHTTPRequestHandler):
    def reply(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length).decode()
        status, headers, text = respond(self.command, self.path, body, NOTES)
        data = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = reply

    def log_message(self, *words):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Bell).serve_forever()
