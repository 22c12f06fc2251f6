"""HTTP/1.1 as bytes: what both the clients and the origins read and write."""

import gzip
import zlib


class Message:
    """A head, its content, and what came around it."""

    def __init__(self, first, fields):
        self.first, self.fields = first, fields
        self.content, self.trailers, self.interim = b"", [], []

    def value(self, name, default=None):
        """The field's values in one, or the default."""
        values = [value for key, value in self.fields if key.lower() == name]
        return ", ".join(values) if values else default

    @property
    def status(self):
        return int(self.first.split()[1])

    def decoded(self):
        """The content without its coding, as text."""
        content = self.content
        if (self.value("content-encoding") or "").lower() == "gzip":
            try:
                content = gzip.decompress(content)
            except (OSError, EOFError, zlib.error):
                pass
        return content.decode("latin-1")

    def visible(self):
        """All that a client can see, as text."""
        lines = [f"{name}: {value}" for message in [*self.interim, self] for name, value in [*message.fields, *message.trailers]]
        return "\n".join([self.first, *lines, "", self.decoded()])


async def read_fields(reader):
    lines = (await reader.readuntil(b"\r\n")).decode("latin-1")
    fields = []
    while lines != "\r\n":
        name, _, value = lines.rstrip("\r\n").partition(":")
        fields.append((name, value.strip()))
        lines = (await reader.readuntil(b"\r\n")).decode("latin-1")
    return fields


async def read_head(reader):
    first = (await reader.readuntil(b"\r\n")).decode("latin-1").rstrip("\r\n")
    return Message(first, await read_fields(reader))


async def read_content(reader, message, to_the_end=False):
    coding, length = message.value("transfer-encoding"), message.value("content-length")
    if coding:
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            message.content += await reader.readexactly(size)
            await reader.readexactly(2)
        message.trailers = await read_fields(reader)
    elif length is not None:
        message.content = await reader.readexactly(int(length))
    elif to_the_end:
        message.content = await reader.read()


async def read_response(reader, method):
    """The final response, with the interim ones before it."""
    interim = []
    message = await read_head(reader)
    while 100 <= message.status < 200 and message.status != 101:
        interim.append(message)
        message = await read_head(reader)
    message.interim = interim
    if method != "HEAD" and message.status not in (101, 204, 304):
        await read_content(reader, message, to_the_end=True)
    return message


def head(first, fields):
    return "".join([first, "\r\n", *(f"{name}: {value}\r\n" for name, value in fields), "\r\n"]).encode("latin-1")
