"""What the clients written in Python share: checks that end the client when they fail, and how bodies of sample-origin are known."""

import hashlib
import sys


def check(fact, *details):
    """Ends the client where something is not as it must be."""
    if not fact:
        frame = sys._getframe(1)
        print(f"  FAILED, line {frame.f_lineno}: {' '.join(map(repr, details)) or 'not as it must be'}", file=sys.stderr)
        raise SystemExit(1)


def equal(got, expected, what):
    """Likewise, for two values that must be the same."""
    if got != expected:
        frame = sys._getframe(1)
        print(f"  FAILED, line {frame.f_lineno}: {what}: expected {expected!r:.300}, got {got!r:.300}", file=sys.stderr)
        raise SystemExit(1)


def done(what):
    print(f"    ok  {what}", flush=True)


def settled(ask, said):
    """Asks until nothing is joined that is still being stored: what was read to its end a moment ago may be."""
    for _ in range(1000):
        answer = ask()
        if "collapsed" not in said(answer):
            return answer
    print(f"  FAILED: still being stored after 1,000 requests: {said(answer)}", file=sys.stderr)
    raise SystemExit(1)


def digest(body):
    return hashlib.sha256(body).hexdigest()
