"""An origin that responds with bytes, one thread for each connection."""

import socket
import threading

from wire import Closed, Connection, Head


class Request:
    def __init__(self, head, content):
        self.head, self.content = head, content
        method, target, _ = head.line.split(b" ", 2)
        self.method, self.target = method.decode(), target.decode("latin-1")


class Origin:
    """`respond(request)` returns the bytes of a response, and whether the connection ends with it."""

    def __init__(self, respond):
        self.respond = respond
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.connections, self.lock, self.is_over = set(), threading.Lock(), False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(accepted,), daemon=True).start()

    def serve(self, accepted):
        connection = Connection(accepted=accepted, patience=3600)
        with self.lock:
            self.connections.add(accepted)
        try:
            while not self.is_over:
                head = Head(connection.until(b"\r\n\r\n"))
                content = b""
                if "chunked" in (head["Transfer-Encoding"] or ""):
                    content, _ = connection.chunks()
                elif length := head["Content-Length"]:
                    content = connection.bytes(int(length))
                response, closes = self.respond(Request(head, content))
                connection.send(response)
                if closes:
                    break
        except (Closed, OSError):
            pass
        with self.lock:
            self.connections.discard(accepted)
        accepted.close()

    def stop(self):
        self.is_over = True
        # Without this, 'accept' would wait on.
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
        with self.lock:
            for connection in self.connections:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
