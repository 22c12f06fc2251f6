"""The cases of Tests/Fixtures/conformance, whose README has the format.

Each is played to both programs, step by step, on a path of its own. Cases whose clocks move alike
are played at a time.
"""

import glob
import json
import os
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

from programs import OWN_NAME, Program
from wire import difference, http_date, shown

CONTENT = "content without any meaning of its own"[:36]
# A program stores a response, and renews what is stale, a moment after its client has the response.
# Each attempt gives it longer: a real difference is there each time.
SETTLING = [0.05, 0.2, 1]


def load(folder):
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            for case in json.load(file)["cases"]:
                found.append({**case, "id": os.path.basename(path)[:-5] + "/" + case["id"]})
    return found


def text(value, now, path):
    """A field's value as it is sent."""
    if isinstance(value, str):
        return value
    if "target" in value:
        return path + value["target"]
    if "date" not in value:
        return ""
    seconds = now + value["date"]
    return time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(seconds)) if value.get("form") == "rfc850" else http_date(seconds)


class Played:
    """One case at one program: the origin's side."""

    def __init__(self, case, path, clock):
        self.case, self.path, self.clock = case, path, clock
        self.requests, self.sent = [], {}
        self.lock = threading.Lock()

    def respond(self, request):
        with self.lock:
            number = int(request.head["Conformance-Step"] or len(self.requests) + 1)
            fields = [(name.lower(), OWN_NAME.sub(b"", value)) for name, value in request.head.fields if name.lower() not in (b"host",)]
            self.requests.append((request.method, request.target, sorted(fields), request.content))
            if not 1 <= number <= len(self.case["steps"]):
                return b"HTTP/1.1 409 Scripted\r\nContent-Length: 0\r\n\r\n", False
            step = self.case["steps"][number - 1]
            origin = step.get("origin", {})
            if seconds := origin.get("afterSeconds"):
                self.clock.set(self.clock.now + seconds)
            if origin.get("hangsUp"):
                return b"", True
            now = self.clock.now
            lines = [(name, text(value, now, self.path)) for name, value, *_ in origin.get("fields", [])]
            status = origin.get("status", 200)
            if step.get("expect", {}).get("from") == "validation":
                status = 304 if self.is_validated(request, number - 1) else 999
            self.sent[number] = lines
            names = {name.lower() for name, _ in lines}
            if "content-type" not in names:
                lines.append(("Content-Type", "text/plain"))
            if "date" not in names:
                lines.append(("Date", http_date(now)))
            lines += [("Origin-Request-Count", str(len(self.requests))), ("Conformance-Step", str(number)), ("Origin-Time", str(int(now * 1000)))]
            content = "" if status in (204, 304) else origin.get("content", CONTENT)
            if status not in (204, 304) and not names & {"content-length", "transfer-encoding"}:
                lines.append(("Content-Length", str(len(content.encode("latin-1")))))
            head = ""
            for interim in origin.get("interim", []):
                head += f"HTTP/1.1 {interim['status']} Interim\r\n"
                head += "".join(f"{name}: {text(value, now, self.path)}\r\n" for name, value, *_ in interim.get("fields", [])) + "\r\n"
            head += f"HTTP/1.1 {status} Scripted\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n"
            return (head + ("" if request.method == "HEAD" else content)).encode("latin-1"), "transfer-encoding" in names

    def is_validated(self, request, previous):
        lines = self.sent.get(previous)
        if lines is None and previous >= 1:
            fields = self.case["steps"][previous - 1].get("origin", {}).get("fields", [])
            lines = [(name, value) for name, value, *_ in fields if isinstance(value, str)]
        known = {name.lower(): value for name, value in lines or []}
        conditions = [("last-modified", "If-Modified-Since"), ("etag", "If-None-Match")]
        return any(known.get(field) and request.head[name] == known[field] for field, name in conditions)


class Cases:
    """All cases at two programs."""

    def __init__(self, binaries, folder, clocks):
        self.clocks, self.played = clocks, [{}, {}]
        self.programs = []
        for binary, played, clock in zip(binaries, self.played, clocks.both):
            self.programs.append(Program(binary, lambda request, played=played: self.respond(played, request), folder, clock))

    @staticmethod
    def respond(played, request):
        # "/number-attempt/…" or "/number-attempt?…"
        name = request.target.lstrip("/").split("/")[0].split("?")[0]
        if name not in played:
            return b"HTTP/1.1 404 Unknown\r\nContent-Length: 0\r\n\r\n", False
        return played[name].respond(request)

    def run(self, cases):
        """The first case that differs each time, and how; None if there is none."""
        groups = defaultdict(list)
        for number, case in enumerate(cases):
            moves = [(step.get("thenSeconds", 0), step.get("origin", {}).get("afterSeconds", 0)) for step in case["steps"]]
            # A clock that an origin moves is no other case's.
            groups[tuple(moves), number if any(after for _, after in moves) else None].append(number)
        found = {}
        for attempt, settling in enumerate(SETTLING):
            for numbers in groups.values():
                chosen = [number for number in numbers if attempt == 0 or number in found]
                results = self.play([(cases[number], f"{number}-{attempt}") for number in chosen], settling)
                for number, result in zip(chosen, results):
                    found.pop(number, None)
                    if result:
                        found[number] = result
        if found:
            number = min(found)
            return f"case '{cases[number]['id']}' ({cases[number]['claim']})\n{found[number]}"
        return next((reason for program in self.programs if (reason := program.end_reason())), None)

    def play(self, named, settling):
        """Plays cases with the same seconds between their steps; returns what differs for each."""
        if not named:
            return []
        both = [TwoSides(case, "/" + name, self) for case, name in named]
        with ThreadPoolExecutor(min(len(both), 32)) as pool:
            for number, step in enumerate(named[0][0]["steps"], 1):
                list(pool.map(lambda one, number=number: one.play(number), both))
                time.sleep(settling)
                self.clocks.set(self.clocks.now + step.get("thenSeconds", 0))
        return [one.end() for one in both]


class TwoSides:
    """One case at both programs."""

    def __init__(self, case, path, cases):
        self.case, self.path, self.clocks, self.programs = case, path, cases.clocks, cases.programs
        self.played = [Played(case, path, clock) for clock in self.clocks.both]
        for known, one in zip(cases.played, self.played):
            known[path[1:]] = one
        self.connections = [None, None]
        self.made = self.found = None

    def play(self, number):
        if self.found:
            return
        asked = self.case["steps"][number - 1].get("request", {})
        # A request's dates count from when the response before it was made.
        data = self.request(asked, number, self.clocks.now if self.made is None else self.made)
        responses = []
        for place, program in enumerate(self.programs):
            self.connections[place] = self.connections[place] or program.connect()
            responses.append(program.exchange(self.connections[place], [data], [asked.get("method", "GET")])[0])
            if responses[-1].end != "kept":
                self.connections[place].close()
                self.connections[place] = None
        if found := difference(*responses):
            self.found = f"step {number}: {found}\nrequest: {shown(data)}\n{sides(*responses)}"
        stamp = responses[0].heads[-1]["Origin-Time"] if responses[0].heads else None
        self.made = int(stamp.split(",")[0]) / 1000 if stamp and stamp.split(",")[0].isdigit() else None

    def end(self):
        """The difference, if there is one."""
        for connection in self.connections:
            if connection:
                connection.close()
        old, new = (one.requests for one in self.played)
        if not self.found and old != new:
            self.found = "\n".join([f"the origin's requests, {len(old)} and {len(new)}", "old:", *map(str, old), "new:", *map(str, new)])
        return self.found

    def request(self, asked, number, now):
        lines = [("Accept", "*/*"), ("Pragma", "means-nothing"), ("Cache-Control", "means-nothing")]
        lines += [(name, text(value, now, "")) for name, value, *_ in asked.get("fields", [])]
        lines.append(("Conformance-Step", str(number)))
        content = asked.get("content", "").encode("latin-1")
        if "content" in asked:
            lines.append(("Content-Length", str(len(content))))
        head = f"{asked.get('method', 'GET')} {self.path}{asked.get('target', '')} HTTP/1.1\r\nHost: compare.test\r\n"
        return (head + "".join(f"{name}: {value}\r\n" for name, value in lines) + "\r\n").encode("latin-1") + content


def sides(old, new):
    return f"old: {old.text}\nnew: {new.text}"
