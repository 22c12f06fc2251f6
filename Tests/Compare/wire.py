"""HTTP/1.1 as bytes: what a program sent, and the first difference of two responses."""

import socket
import time

PATIENCE = 20


class Closed(Exception):
    """The other side closed the connection, or is silent."""


class Connection:
    """A socket with what was received on it and not read yet."""

    def __init__(self, port=None, accepted=None, patience=PATIENCE):
        self.socket = accepted or socket.create_connection(("127.0.0.1", port), timeout=patience)
        self.socket.settimeout(patience)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def send(self, data):
        self.socket.sendall(data)

    def close(self):
        self.socket.close()

    def receive(self):
        try:
            piece = self.socket.recv(1 << 18)
        except OSError as error:
            raise Closed(type(error).__name__) from error
        if not piece:
            raise Closed("closed")
        self.received += piece

    def until(self, end):
        while (place := self.received.find(end)) < 0:
            self.receive()
        place += len(end)
        taken, self.received = self.received[:place], self.received[place:]
        return taken

    def bytes(self, count):
        while len(self.received) < count:
            self.receive()
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def rest(self):
        try:
            while True:
                self.receive()
        except Closed:
            taken, self.received = self.received, b""
            return taken

    def chunks(self):
        """The content of chunks, and the trailers. Where one chunk ends is a matter of time."""
        content = b""
        while size := int(self.until(b"\r\n").split(b";")[0], 16):
            content += self.bytes(size)
            self.bytes(2)
        trailers = b""
        while (line := self.until(b"\r\n")) != b"\r\n":
            trailers += line
        return content, trailers


class Head:
    """A start line and field lines, with the bytes that they came in."""

    def __init__(self, data):
        self.data = data
        self.line, *lines = data.rstrip(b"\r\n").split(b"\r\n")
        self.fields = [tuple(line.split(b":", 1)) if b":" in line else (line, b"") for line in lines]

    def __getitem__(self, name):
        values = [value.strip().decode("latin-1") for found, value in self.fields if found.lower() == name.lower().encode()]
        return ", ".join(values) if values else None


    @property
    def unframed(self):
        """The head without the fields that say how its content ends."""
        head = Head(self.data)
        head.fields = [field for field in self.fields if field[0].lower() not in (b"content-length", b"transfer-encoding", b"connection")]
        return head


class Response:
    """Interim heads, the final one, the content, and how it ended."""

    def __init__(self):
        self.heads, self.content, self.trailers, self.end = [], b"", b"", "kept"

    @property
    def framing(self):
        return [(head["Content-Length"], head["Transfer-Encoding"], head["Connection"]) for head in self.heads]

    @property
    def is_hit(self):
        return any("; hit" in (head["Cache-Status"] or "") for head in self.heads)

    @property
    def text(self):
        return shown(b"".join([head.data for head in self.heads] + [self.content, self.trailers])) + f" [{self.end}]"


def shown(data):
    """The first bytes of messages, fit for a terminal."""
    lines = data[:1500].decode("ascii", "backslashreplace").split("\r\n")
    return "\n    ".join(["", *("".join(c if c.isprintable() else "." for c in line) for line in lines)])


def read_response(connection, method):
    """The next response; its end says whether the connection can be used again."""
    response = Response()
    try:
        while True:
            head = Head(connection.until(b"\r\n\r\n"))
            response.heads.append(head)
            status = int(head.line.split(b" ")[1])
            if status >= 200:
                break
        if method != "HEAD" and status not in (204, 304):
            if "chunked" in (head["Transfer-Encoding"] or ""):
                response.content, response.trailers = connection.chunks()
            elif (length := head["Content-Length"]) is not None:
                response.content = connection.bytes(int(length))
            else:
                response.content, response.end = connection.rest(), "closed"
        if (head["Connection"] or "").lower() == "close":
            response.end = "closed"
    except Closed as closed:
        response.content += connection.received
        response.end = f"broke off: {closed}"
    return response


# MARK: Differences


def difference(old, new):
    """The first difference between two responses, in words; None if they are alike.

    Whether the end of content has come when its head is passed on is a matter of time. So the
    framing of content whose length the origin does not state may differ. That of a hit may not.
    """
    if len(old.heads) != len(new.heads):
        return f"{len(old.heads)} heads and {len(new.heads)}"
    framed = old.framing == new.framing or old.is_hit or new.is_hit
    for one, other in zip(old.heads, new.heads):
        if not framed:
            one, other = one.unframed, other.unframed
        if one.line != other.line:
            return f"'{one.line.decode('latin-1')}' and '{other.line.decode('latin-1')}'"
        if len(one.fields) != len(other.fields):
            names = [{name for name, _ in head.fields} for head in (one, other)]
            return f"the fields {sorted(names[0] ^ names[1]) or 'repeat'}"
        for mine, yours in zip(one.fields, other.fields):
            if mine != yours:
                return f"'{b':'.join(mine).decode('latin-1')}' and '{b':'.join(yours).decode('latin-1')}'"
    if old.content != new.content:
        place = next((i for i, (a, b) in enumerate(zip(old.content, new.content)) if a != b), min(len(old.content), len(new.content)))
        return f"the content, {len(old.content)} and {len(new.content)} bytes, from byte {place} on"
    if old.trailers != new.trailers:
        return "the trailers"
    return None if old.end == new.end or not framed else f"the end, '{old.end}' and '{new.end}'"


def http_date(seconds):
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(seconds))
