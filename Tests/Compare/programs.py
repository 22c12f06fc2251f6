"""A program that is compared: a gateway with an origin, a store and a folder of its own."""

import os
import re
import signal
import subprocess
import tempfile
import threading

from origin import Origin
from wire import Connection, read_response

OWN_NAME = re.compile(rb"\bholdfast-[0-9a-f]{8}\b")


class Program:
    """`holdfast serve` in front of an origin that responds as a function says."""

    running = []

    def __init__(self, binary, respond, folder, clock):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.origin = Origin(respond)
        path = os.path.join(self.folder, "holdfast.yaml")
        with open(path, "w") as file:
            file.write(
                "version: 1\nlisten: 127.0.0.1:0\n"
                f"store: {{path: '{self.folder}/store', memory: 64 MiB}}\n"
                # Probes come when they come, and a target that fails is not what is compared.
                "breaker: {failures: 1000000}\n"
                f"routes:\n  - {{name: origin, origin: 'http://127.0.0.1:{self.origin.port}'}}\n"
            )
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen([binary, "serve", "--config", path, "--threads", "1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, env=clock.environment)
        Program.running.append(self)
        line = self.process.stdout.readline().decode()
        if not line.startswith("holdfast listening on "):
            raise SystemExit(f"error: '{binary}' did not start: '{line}'; see '{self.log.name}'.")
        self.port = int(line.rsplit(":", 1)[1])
        # Nothing more is read, and a full pipe would stop it.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def connect(self):
        return Connection(self.port)

    def exchange(self, connection, pieces, methods):
        """Sends pieces, and reads the responses to the requests in them."""
        try:
            for piece in pieces:
                connection.send(piece)
        except OSError:
            # It may have responded and closed before it took all.
            pass
        responses = []
        for method in methods:
            responses.append(self.neutral(read_response(connection, method)))
            if responses[-1].end != "kept":
                break
        return responses

    def neutral(self, response):
        """The response without what each process has of its own: ports, and its name in Via."""
        response.content = self.neutral_bytes(response.content)
        for head in response.heads:
            head.fields = [(name, self.neutral_bytes(value)) for name, value in head.fields]
        return response

    def neutral_bytes(self, data):
        for port in (self.port, self.origin.port):
            data = data.replace(f":{port}".encode(), b":PORTS")
        return OWN_NAME.sub(b"holdfast-........", data)

    def stop(self):
        Program.running.remove(self)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()
        self.origin.stop()

    def end_reason(self):
        """Why it ended by itself; None while it runs."""
        status = self.process.poll()
        return None if status is None else f"the program ended with status {status}; see '{self.log.name}'"
