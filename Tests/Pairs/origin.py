"""An origin that puts all that it receives into its responses, and lies as its path says.

A path ends in `/b/PROBE/DIRECTIVE/FLAGS`. The directive decides `Cache-Control`, the flags the rest:

    vary.NAME   names a request field in `Vary`
    cookie      sets a cookie for this client
    redirect    redirects to the scheme and the host of the request
    html        is a page with a URL of the host
    slow        takes a moment, so that requests meet
    hints       sends 103 with the same before
    trailers    sends the same once more behind the content
    fails       responds 503, if it is the origin and not the mirror
    same        always has the same ETag, whatever the content
"""

import asyncio
import contextlib
import gzip
import hashlib
import re
import socket
from email.utils import formatdate

from clients import FAILURES
from tokens import IDENTITY, ISSUED, OPERATOR
from wire import head, read_content, read_head

DIRECTIVES = {
    "fresh": "max-age=600",
    "public": "public, max-age=600",
    "public-stale": "public, max-age=0",
    "shared": "s-maxage=600",
    "shared-zero": "max-age=600, s-maxage=0",
    "must": "must-revalidate, max-age=600",
    "must-stale": "must-revalidate, max-age=0",
    "proxy-must": "proxy-revalidate, max-age=600",
    "private": "private, max-age=600",
    "no-store": "no-store",
    "no-cache": "no-cache, max-age=600",
    "public-no-cache": "public, no-cache, max-age=600",
    "brief": "max-age=0, stale-while-revalidate=600, stale-if-error=600",
    "none": "",
    "targeted": "public, max-age=600",
}
TARGETED = {"targeted": "private, max-age=600"}
# Fields that a gateway may have set, and their markers, by the names that CGI makes of them.
OVERRIDES = {
    "HTTP_X_FORWARDED_HOST": "xfh", "HTTP_X_ORIGINAL_URL": "url", "HTTP_X_REWRITE_URL": "url",
    "HTTP_X_HTTP_METHOD_OVERRIDE": "override", "HTTP_X_HOST": "xfh",
}
MOMENT = 0.03


class Made:
    """One response: what it was made of."""

    def __init__(self, number, server, request, at):
        self.number, self.server, self.request, self.at = number, server, request, at
        self.tokens, self.control, self.vary, self.party = set(), "", [], None
        self.rules, self.confirms = None, False
        self.scheme = request.value("x-forwarded-proto", "")
        self.method = request.first.split()[0]

    def value(self, name, default=None):
        return self.request.value(name, default)


class Origin:
    """The origin, or its mirror (`name`)."""

    def __init__(self, name, log):
        self.name, self.log = name, log
        self.server, self.port, self.writers, self.mood, self.holder = None, 0, set(), "serve", None

    async def start(self, context=None):
        self.context = context
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port, ssl=context)
        self.port = self.server.sockets[0].getsockname()[1]

    def refuse(self):
        """Refuses connections from now on, and keeps the port: the origin of another world must not get it."""
        self.stop()
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("127.0.0.1", self.port))

    def stop(self):
        if self.server is not None:
            self.server.close()
        if self.holder is not None:
            self.holder.close()
        for writer in list(self.writers):
            writer.transport.abort()

    async def serve(self, reader, writer):
        self.writers.add(writer)
        with contextlib.suppress(*FAILURES):
            while True:
                request = await read_head(reader)
                await read_content(reader, request)
                if self.mood == "hangs up":
                    break
                writer.write(await self.respond(request))
                await writer.drain()
        self.writers.discard(writer)
        with contextlib.suppress(*FAILURES):
            writer.transport.abort()

    async def respond(self, request):
        method, path = request.first.split()[:2]
        made = self.log.take(self.name, request)
        found = re.search(r"/b/(\d+)/([a-z-]+)/([^?/]*)", path)
        if not found:
            return head("HTTP/1.1 200 OK", [("Content-Length", 0), ("Cache-Control", "no-store")])
        flags = set(found[3].split("+"))
        if "slow" in flags:
            await asyncio.sleep(MOMENT)
        if self.name == "origin" and ("fails" in flags and self.mood == "one URL" or self.mood == "503"):
            return head("HTTP/1.1 503 Service Unavailable", [("Content-Length", 0)])
        return Answer(self.log, made, found[2], flags, path).bytes(method)


class Answer:
    """What one response says."""

    def __init__(self, log, made, directive, flags, path):
        self.log, self.made, self.flags, self.path = log, made, flags, path
        made.control = TARGETED.get(directive, DIRECTIVES[directive])
        made.vary = [flag.removeprefix("vary.").lower() for flag in flags if flag.startswith("vary.")]
        self.directive, self.coded = directive, log.codes and "gzip" in (made.value("accept-encoding") or "")
        if log.codes:
            made.vary.append("accept-encoding")
        made.party = log.party(made.request)

    def echo(self):
        """All that it was made of, on lines."""
        made, request = self.made, self.made.request
        markers = [("made", made.number), ("server", made.server), ("method", made.method), ("scheme", made.scheme), ("host", request.value("host", ""))]
        lines = ["".join(f"<<{name}:{value}>>" for name, value in markers)]
        for name, value in request.fields:
            as_read = "HTTP_" + re.sub(r"[^A-Z0-9]", "_", name.upper())
            if as_read in OVERRIDES:
                lines.append(f"<<{OVERRIDES[as_read]}:{value}>>")
            elif self.shows(name, value):
                lines.append(f"{name.lower()}={value}")
        lines.append(request.content.decode("latin-1"))
        return lines

    def shows(self, name, value):
        """Whether a field is in the response: secrets of the operator are not, and identities only if `Vary` says so."""
        kinds = {self.log.tokens.of(token).kind for token in self.log.tokens.within(value)}
        if OPERATOR in kinds or name.lower() in ("host", "via", "forwarded", "x-forwarded-for"):
            return False
        return IDENTITY not in kinds or name.lower() in self.made.vary

    def bytes(self, method):
        if method == "TRACE":
            return self.trace()
        made, host = self.made, self.made.request.value("host", "")
        scheme = made.scheme or "http"
        lines = self.echo()
        if "html" in self.flags:
            lines.append(f'<a href="{scheme}://{host}/next">next</a>')
        text = "\n".join(lines) + "\n" + "." * 200 + f"<<end:{made.number}>>\n"
        fields = self.fields(" ".join(line for line in lines[:-1] if line), host, scheme)
        made.tokens = self.log.tokens.within(text + "\n".join(value for _, value in fields))
        validators = dict(fields)
        tag, known = validators.get("ETag"), made.value("if-none-match", "")
        if tag and tag in known or not tag and made.value("if-modified-since") == validators.get("Last-Modified", ""):
            made.confirms = True
            return head("HTTP/1.1 304 Not Modified", fields)
        content = text.encode("latin-1")
        if self.coded:
            content = gzip.compress(content, mtime=0)
            fields.append(("Content-Encoding", "gzip"))
        status = "301 Moved Permanently" if "redirect" in self.flags else "200 OK"
        if (part := re.fullmatch(r"bytes=(\d+)-(\d+)", made.value("range") or "")) and status.startswith("200") and not made.value("if-range"):
            first, last = int(part[1]), min(int(part[2]), len(content) - 1)
            if first <= last:
                status = "206 Partial Content"
                fields.append(("Content-Range", f"bytes {first}-{last}/{len(content)}"))
                content = content[first:last + 1]
        return self.framed(method, status, fields, content, lines)

    def framed(self, method, status, fields, content, lines):
        hints = b""
        echo = " ".join(line for line in lines if line)
        if "hints" in self.flags:
            hints = head("HTTP/1.1 103 Early Hints", [("Link", "</style.css>; rel=preload"), ("X-Echo", echo)])
        if "trailers" in self.flags and method != "HEAD":
            start = head(f"HTTP/1.1 {status}", [*fields, ("Transfer-Encoding", "chunked"), ("Trailer", "X-Last")])
            return hints + start + b"%x\r\n%s\r\n0\r\nX-Last: %s\r\n\r\n" % (len(content), content, echo.encode("latin-1"))
        return hints + head(f"HTTP/1.1 {status}", [*fields, ("Content-Length", len(content))]) + (b"" if method == "HEAD" else content)

    def fields(self, echo, host, scheme):
        made = self.made
        fields = [("X-Echo", echo), ("Content-Type", "text/html"), ("Server", "pairs"), ("Date", self.log.date())]
        if control := DIRECTIVES[self.directive]:
            fields.append(("Cache-Control", control))
        if self.directive in TARGETED:
            fields.append(("CDN-Cache-Control", TARGETED[self.directive]))
        if made.vary:
            fields.append(("Vary", ", ".join(made.vary)))
        if "redirect" in self.flags:
            fields.append(("Location", f"{scheme}://{host}/elsewhere"))
        if "cookie" in self.flags and made.party:
            fields.append(("Set-Cookie", f"issued={self.log.tokens.new(made.party, ISSUED, 'set-cookie')}; Path=/"))
        if self.log.validators == "etag" or "same" in self.flags:
            fields.append(("ETag", self.tag()))
        elif self.log.validators == "modified":
            # The content decides the second.
            fields.append(("Last-Modified", formatdate(1_600_000_000 + int(self.tag()[1:7], 16), usegmt=True)))
        return fields + [("Surrogate-Key", "pairs"), ("Cache-Tag", "pairs")]

    def tag(self):
        """Another one for each content that differs in what a client may be told apart by."""
        request, known = self.made.request, self.log.tokens
        parts = [self.path, self.made.method]
        if "same" not in self.flags:
            told = known.within("\n".join(value for name, value in request.fields if name.lower() != "user-agent"))
            parts += [*sorted(told), request.value("host"), self.made.scheme, str(self.coded)]
        return '"' + hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16] + '"'

    def trace(self):
        """The request as it came. RFC 9110 §9.3.8"""
        content = head(self.made.request.first, self.made.request.fields)
        return head("HTTP/1.1 200 OK", [("Content-Type", "message/http"), ("Content-Length", len(content))]) + content


class Log:
    """What both servers received and made, by number."""

    def __init__(self, tokens, parties, clock, codes=False, validators="etag"):
        self.tokens, self.parties, self.clock = tokens, parties, clock
        self.codes, self.validators = codes, validators
        self.made, self.received, self.rules = {}, [], None

    def take(self, server, request):
        made = Made(len(self.made) + 1, server, request, self.clock())
        made.rules = self.rules
        self.made[made.number] = made
        self.received.append(made)
        return made

    def party(self, request):
        """The client that a request is from: its name stands in `User-Agent`."""
        return next((taint.party for token in self.tokens.within(request.value("user-agent", "")) if (taint := self.tokens.of(token))), None)

    def date(self):
        return formatdate(usegmt=True)
