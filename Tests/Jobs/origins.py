"""Origins of the tests: servers on a free port of 127.0.0.1, in threads of this process."""

import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers GET and HEAD with the origin's own content and fields."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):  # noqa: N802
        body, fields = self.server.answer(self.path)
        self.send_response(200)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_HEAD(self):  # noqa: N802
        self.do_GET()


class Origin(http.server.ThreadingHTTPServer):
    """Runs until `end`. A class of it has `answer(path)`, or a handler of its own."""

    daemon_threads = True
    request_queue_size = 128
    handler = Handler

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.handler)
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def end(self):
        self.shutdown()
        self.server_close()
        self.thread.join()

    def handle_error(self, request, client_address):
        """A client that was killed is no error."""
