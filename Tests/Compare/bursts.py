"""Thirty clients at once: the same request to both programs, while their origins hold the response.

A recording has one request at a time, so it never shows how callers share a fetch.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from cases import SETTLING, sides
from programs import Program
from wire import difference, http_date

CLIENTS = 30
PATIENCE = 30
HINT = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
FRESH, STALE = [("Cache-Control", "max-age=60")], [("Cache-Control", "max-age=1"), ("ETag", '"1"')]


def made(fields=(), status=200, before="", framing="length", content="some content\n" * 40, asks=()):
    """A response of the origin, and the fields of the requests that it is held for."""
    return {"fields": fields, "status": status, "before": before, "framing": framing, "content": content, "asks": asks}


# Each burst has phases; five seconds pass between two of them.
BURSTS = {
    "a response that is stored": [made(FRESH), made(FRESH)],
    "the same in chunks": [made(FRESH, framing="chunks")],
    "the same to the end of the connection": [made(FRESH, framing="end")],
    "a long one": [made(FRESH, content="long content\n" * 60_000)],
    "a long one in chunks": [made(FRESH, framing="chunks", content="long content\n" * 60_000)],
    "a response that is not stored": [made([("Cache-Control", "no-store")])],
    "a personal response": [made([("Cache-Control", "private")])],
    "a cookie": [made([*FRESH, ("Set-Cookie", "a=1")])],
    "a cookie for all": [made([("Cache-Control", "public, max-age=60"), ("Set-Cookie", "a=1")])],
    "an interim response": [made(FRESH, before=HINT)],
    "several interim responses": [made(FRESH, before=HINT * 3)],
    "an interim response with a cookie": [made(FRESH, before=HINT.replace("Link", "Set-Cookie: a=1\r\nLink"))],
    "an interim response to one client alone": [made([("Cache-Control", "no-store")], before=HINT)],
    "variants": [made([*FRESH, ("Vary", "Accept-Language")], asks=["en", "de", "fr"])],
    "requests with credentials": [made(FRESH, asks=["Bearer x"])],
    "an error": [made(FRESH, 404)],
    "an error that is not stored": [made([], 500)],
    "a status about the request": [made([], 429)],
    "a redirection": [made([*FRESH, ("Location", "/elsewhere")], 301)],
    "no response": [made(framing="none")],
    "content that breaks off": [made(FRESH, framing="short")],
    "a validation": [made(STALE), made(STALE, 304)],
    "a validation with interim responses": [made(STALE), made(STALE, 304, before=HINT)],
    "a validation that brings a new response": [made(STALE), made(FRESH, content="new content")],
    "a validation that must not be stored": [made(STALE), made([("Cache-Control", "no-store"), ("ETag", '"1"')], 304)],
    "an error in place of what is stored": [made(STALE), made([], 503)],
    "an error that the stored response hides": [made([("Cache-Control", "max-age=1, stale-if-error=60")]), made([], 503)],
    "no response in place of what is stored": [made(STALE), made(framing="none")],
    "no response in place of what must be validated": [made([("Cache-Control", "max-age=1, must-revalidate")]), made(framing="none")],
    "renewal in the background": [made([("Cache-Control", "max-age=1, stale-while-revalidate=60"), ("ETag", '"1"')]), made(STALE, 304), made(FRESH)],
}


class Origin:
    """The origin of one program."""

    def __init__(self, clock):
        self.clock, self.lock, self.bursts = clock, threading.Lock(), {}

    def respond(self, request):
        with self.lock:
            phase, gate, requests = self.bursts[request.target]
            requests.append((request.method, *[request.head[name] for name in ("If-None-Match", "Range", "Accept-Language", "Authorization")]))
        gate.wait(PATIENCE)
        framing, content = phase["framing"], phase["content"].encode()
        if framing == "none":
            return b"", True
        lines = [("Date", http_date(self.clock.now)), ("Content-Type", "text/plain"), *phase["fields"]]
        if phase["asks"]:
            lines.append(("For", request.head["Accept-Language"] or "-"))
        if phase["status"] == 304:
            content = b""
        elif framing == "chunks":
            lines.append(("Transfer-Encoding", "chunked"))
            content = b"".join(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" for piece in (content[:100], content[100:])) + b"0\r\n\r\n"
        elif framing != "end":
            lines.append(("Content-Length", str(len(content))))
        if framing == "short":
            content = content[: len(content) // 2]
        head = phase["before"] + f"HTTP/1.1 {phase['status']} Scripted\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n"
        return head.encode() + content, framing in ("end", "short")


def run(binaries, folder, clocks):
    """The number of bursts, and the first that differs each time, in words."""
    origins = [Origin(clock) for clock in clocks.both]
    programs = [Program(binary, origin.respond, folder, clock) for binary, origin, clock in zip(binaries, origins, clocks.both)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        for number, (name, phases) in enumerate(BURSTS.items()):
            for attempt, settling in enumerate(SETTLING):
                found = play(f"/{number}-{attempt}", phases, programs, origins, clocks, settling, pool)
                if not found:
                    break
            if found:
                return number, f"{CLIENTS} clients at once, {name}, {found}"
    for program in programs:
        program.stop()
    return len(BURSTS), None


def play(target, phases, programs, origins, clocks, settling, pool):
    for number, phase in enumerate(phases, 1):
        both, requests = [], []
        for program, origin in zip(programs, origins):
            gate, asked = threading.Event(), []
            with origin.lock:
                origin.bursts[target] = phase, gate, asked
            connections = [program.connect() for _ in range(CLIENTS)]
            for place, connection in enumerate(connections):
                connection.send(request(target, phase, place))
            # Until all of them wait for the response.
            time.sleep(2 * settling)
            gate.set()
            responses = list(pool.map(lambda connection, program=program: program.exchange(connection, [], ["GET"])[0], connections))
            both.append(sorted(responses, key=lambda response: ([head.unframed.fields for head in response.heads], response.content, response.end)))
            time.sleep(settling)
            requests.append(sorted(map(str, asked)))
            for connection in connections:
                connection.close()
        for pair in zip(*both):
            if found := difference(*pair):
                return f"phase {number}: {found}\n{sides(*pair)}"
        if requests[0] != requests[1]:
            return "\n".join([f"phase {number}: the origin's requests, {len(requests[0])} and {len(requests[1])}", "old:", *requests[0], "new:", *requests[1]])
        clocks.set(clocks.now + 5)
    return None


def request(target, phase, place):
    lines = [f"GET {target} HTTP/1.1", "Host: compare.test"]
    if phase["asks"]:
        value = phase["asks"][place % len(phase["asks"])]
        lines.append(f"{'Authorization' if ' ' in value else 'Accept-Language'}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
