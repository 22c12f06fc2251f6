"""The history of a run, and the judge of every response.

Versions of a key only grow, and the origin has a version before the purge that makes the one before
useless is sent. So for each node and key there is a least version that is right without a mark:

I1  when a purge was acknowledged at a node, that node's is the purge's version;
I3  when a purge was acknowledged as being everywhere, that of every node is the purge's version;
I2  when a node has served a version, its is that one, also if it takes the response from another
    node;
I5  when the fleet has come to rest, all nodes' are those of all acknowledged purges;
I6  when a node starts, its is that of each purge that was in the log before, if the log can be read;
I7  no URL, tag or secret is readable in the engine.

A request is held against the least version of the moment before it was sent. A response that says
that it may be stale (a 'detail') is right offline.
"""

import collections
import time

MOST_VIOLATIONS = 5


class Purge:
    def __init__(self, words, versions):
        self.words, self.versions = words, versions
        self.start = time.monotonic()


class Request:
    def __init__(self, node, key, least):
        self.node, self.key, self.least = node, key, least
        self.start = time.monotonic()


class History:
    def __init__(self, origin, nodes):
        self.origin, self.nodes, self.start = origin, nodes, time.monotonic()
        # No purge removes from then on.
        self.removes_until = self.start
        # The version, and why it is the least one.
        self.least = {(node, key): (1, "the beginning") for node in nodes for key in origin.versions}
        self.purged = dict.fromkeys(origin.versions, 1)
        self.counts = collections.Counter()
        self.events = collections.defaultdict(lambda: collections.deque(maxlen=60))
        self.faults = collections.deque(maxlen=40)
        self.violations = []

    @property
    def has_ended(self):
        return len(self.violations) >= MOST_VIOLATIONS

    def note(self, key, words):
        self.events[key].append((time.monotonic(), words))

    def note_fault(self, words):
        self.faults.append((time.monotonic(), words))

    def clock(self, at=None):
        return f"{(at or time.monotonic()) - self.start:8.3f}"

    # MARK: Purges

    def begin_purge(self, node, words, keys):
        """Raises the versions at the origin first."""
        for key in keys:
            self.origin.versions[key] += 1
        purge = Purge(f"{words} at {node}", {key: self.origin.versions[key] for key in keys})
        for key, version in purge.versions.items():
            self.note(key, f"purge of {purge.words} is sent; the origin has version {version}")
        return purge

    def end_purge(self, node, purge, is_acknowledged, why="", is_everywhere=False):
        self.counts["purges acknowledged" if is_acknowledged else "purges without a response"] += 1
        self.counts["purges everywhere"] += is_everywhere
        for key, version in purge.versions.items():
            self.note(key, f"purge of {purge.words} (version {version}): {'acknowledged' if is_acknowledged else why}")
            if is_acknowledged:
                self.purged[key] = max(self.purged[key], version)
                self.raise_least(node, key, version, f"I1: purge of {purge.words}, acknowledged")
            if is_everywhere:
                for other in self.nodes:
                    self.raise_least(other, key, version, f"I3: purge of {purge.words}, everywhere")

    def miss(self, node, purge):
        """A purge is in the log while a node is down."""
        for key, version in purge.versions.items():
            self.raise_least(node, key, version, f"I6: purge of {purge.words}, before its start")

    def come_to_rest(self, nodes):
        """Every acknowledged purge is in force at every node from now on."""
        for key, version in self.purged.items():
            for node in nodes:
                self.raise_least(node, key, version, "I5: the fleet had come to rest")

    def raise_least(self, node, key, version, why):
        if version > self.least[node, key][0]:
            self.least[node, key] = (version, f"{why} at {self.clock()}")

    # MARK: Requests

    def begin(self, node, key):
        return Request(node, key, self.least[node, key])

    def fail(self, request, error):
        self.counts["requests without a response"] += 1
        self.note(request.key, f"{request.node}: no response: {error!r}")

    def end(self, request, response):
        """Judges a response."""
        node, key = request.node, request.key
        status = response.fields.get("cache-status", "")
        words = response.body.split()
        kinds = {"detail=fleet": "from another node", "detail=": "marked", "; hit": "hit", "fwd-status=304": "validated", "": "fetched"}
        kind = next(kind for mark, kind in kinds.items() if mark in status)
        self.counts[f"responses {kind}"] += 1
        version = int(words[1]) if len(words) == 2 and words[1].isdigit() else 0
        self.note(key, f"{node}: version {version}, requested at {self.clock(request.start)}: {response.status} {status}")
        if response.status != 200:
            return self.violate(key, f"{node} responded to {key} with {response.status} ({status})")
        if words[0] != key.encode() or not version or response.fields.get("etag") != f'"{version}"':
            return self.violate(key, f"{node} responded to {key} with {response.body!r}, {response.fields}")
        least, why = request.least
        if kind == "marked":
            return None
        if version < least:
            self.violate(key, f"{node} served version {version} of {key} ({status}), not {least} or later ({why})")
        self.raise_least(node, key, version, f"I2: {node} had served it")
        return None

    def judge_content(self, content, words):
        """Judges what the engine holds."""
        self.counts["dumps of Redis"] += 1
        for word in words:
            if word in content:
                self.violate(None, f"I7: Redis holds {word!r}")

    def violate(self, key, words):
        """Records a violation with what came before it."""
        self.counts["violations"] += 1
        if self.has_ended:
            return
        lines = sorted([*self.events[key], *self.faults] if key else self.faults)[-45:]
        history = "\n".join(f"    {self.clock(at)}  {line}" for at, line in lines)
        self.violations.append(f"VIOLATION after {time.monotonic() - self.start:.1f} s: {words}\n{history}")
