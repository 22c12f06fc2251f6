"""Shared by the clients in Python: checks that end the client on failure, and digests of bodies."""

import hashlib
import sys


def check(fact, *details):
    """Ends the client if a fact is false."""
    if not fact:
        frame = sys._getframe(1)
        print(f"  FAILED, line {frame.f_lineno}: {' '.join(map(repr, details)) or 'the check failed'}", file=sys.stderr)
        raise SystemExit(1)


def equal(got, expected, what):
    """Ends the client if two values differ."""
    if got != expected:
        frame = sys._getframe(1)
        print(f"  FAILED, line {frame.f_lineno}: {what}: expected {expected!r:.300}, got {got!r:.300}", file=sys.stderr)
        raise SystemExit(1)


def done(what):
    print(f"    ok  {what}", flush=True)


def settled(ask, cache_status):
    """Repeats a request until its response joins no response that is still being stored."""
    for _ in range(1000):
        response = ask()
        if "collapsed" not in cache_status(response):
            return response
    print(f"  FAILED: still being stored after 1,000 requests: {cache_status(response)}", file=sys.stderr)
    raise SystemExit(1)


def digest(body):
    return hashlib.sha256(body).hexdigest()
