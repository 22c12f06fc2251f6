"""A recording of the soak, played to both programs one request after the other.

Each line of the recording is what a client sent, or a response of an origin. A program's origin
gives the recorded responses in their order for each kind of request. Where a program sends more
requests of a kind than the soak's gateway did, the last response is repeated.
"""

import base64
import json
import re
import threading
import time
from collections import defaultdict

from cases import sides
from programs import Program
from wire import difference, http_date, shown

# As in cases.py, after each response; there are many.
SETTLING = [0.01, 0.05, 0.2]
# Of a request's fields, those that decide what its response is; the number is of one request alone.
CONDITIONS = ["if-none-match", "if-modified-since", "if-range", "range", "accept-language", "authorization", "cookie"]


class Transcript:
    """The recorded responses, by kind of request, and what clients sent, in order."""

    def __init__(self, path):
        self.sent, self.responses = [], defaultdict(list)
        with open(path) as file:
            for line in file:
                entry = json.loads(line)
                if "connection" in entry:
                    entry["pieces"] = [base64.b64decode(piece) for piece in entry["pieces"]]
                    self.sent.append(entry)
                    continue
                response = base64.b64decode(entry["response"]), entry["closes"]
                for key in kinds(entry["method"], entry["target"], entry["fields"].get):
                    self.responses[key].append(response)
        self.last = {entry["connection"]: number for number, entry in enumerate(self.sent)}


def kinds(method, target, field):
    """The kinds of a request, the narrowest first."""
    conditions = tuple(field(name) for name in CONDITIONS)
    unconditional = (None,) * 4 + conditions[4:]
    return [(method, target, conditions, field("x-soak-number")), (method, target, conditions), (method, target, unconditional), (method, target)]


class Player:
    """The recorded origin of one program."""

    def __init__(self, transcript, clock):
        self.clock = clock
        self.transcript, self.places, self.lock = transcript, defaultdict(int), threading.Lock()
        self.requests = defaultdict(list)

    def respond(self, request):
        with self.lock:
            self.requests[request.target].append((request.method, tuple(request.head[name] for name in CONDITIONS), request.content))
            for key in kinds(request.method, request.target, lambda name: request.head[name]):
                if known := self.transcript.responses.get(key):
                    place = min(self.places[key], len(known) - 1)
                    self.places[key] += 1
                    response, closes = known[place]
                    break
            else:
                return b"HTTP/1.1 404 Unrecorded\r\nContent-Length: 0\r\n\r\n", False
        # As old as it was then.
        return re.sub(rb"\r\nDate: [^\r]*", b"\r\nDate: " + http_date(self.clock.now).encode(), response, count=1), closes


def play(transcript, binaries, folder, clocks, settling):
    """The number of responses, and the first difference: its place, and how it looks."""
    players = [Player(transcript, clock) for clock in clocks.both]
    programs = [Program(binary, player.respond, folder, clock) for binary, player, clock in zip(binaries, players, clocks.both)]
    connections, count = {}, 0
    start = clocks.now
    try:
        for number, entry in enumerate(transcript.sent):
            # At its time, so that stored responses are as fresh as they were.
            clocks.set(start + entry["at"])
            name = entry["connection"]
            if name not in connections:
                connections[name] = [program.connect() for program in programs]
            if connections[name] is None:
                continue
            sides_of = [program.exchange(connection, entry["pieces"], entry["methods"]) for program, connection in zip(programs, connections[name])]
            if len(sides_of[0]) != len(sides_of[1]):
                return count, (number, f"{len(sides_of[0])} responses and {len(sides_of[1])}\n" + "\n".join(sides(*pair) for pair in zip(*sides_of)))
            for place, pair in enumerate(zip(*sides_of)):
                count += 1
                if found := difference(*pair):
                    request = shown(b"".join(entry["pieces"]))
                    return count, (number, f"response {place + 1}: {found}\nrequest: {request}\n{sides(*pair)}")
            time.sleep(settling)
            if sides_of[0][-1].end != "kept" or transcript.last[name] == number:
                for connection in connections[name]:
                    connection.close()
                connections[name] = None
        time.sleep(10 * settling)
        for target in sorted({*players[0].requests, *players[1].requests}):
            old, new = (player.requests[target] for player in players)
            if sorted(map(str, old)) != sorted(map(str, new)):
                return count, (target, f"the origin's requests for {target}\n" + "\n".join(["old:", *map(str, old), "new:", *map(str, new)]))
        for program in programs:
            if reason := program.end_reason():
                return count, ("end", reason)
        return count, None
    finally:
        for pair in connections.values():
            for connection in pair or []:
                connection.close()
        for program in programs:
            program.stop()
