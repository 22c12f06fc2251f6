"""The fixed list of probes. Each names the attacks of `docs/attacks.md` that it tries.

A probe yields cases: requests that come first, and requests that must not see what these left.
"""

from origin import DIRECTIVES
from tokens import CONTENT, IDENTITY, ORDINARY, SECRET, TARGET, UNKNOWN

HONEST, STRANGER, PROXY = "honest", "stranger", "proxy"
# How a host can be spelled.
SPELLINGS = {
    "plain": lambda host: host,
    "capitals": str.upper,
    "port": lambda host: host + ":80",
    "zeros": lambda host: host + ":00080",
    "colon": lambda host: host + ":",
    "dot": lambda host: host + ".",
}


class Step:
    """One request. `fields`: (name, text with {} for a token, kind). `same`: the bytes of an earlier step."""

    def __init__(self, who, *fields, method="GET", spelling="plain", way=None, content=None, query="", same=False, scheme=None):
        self.who, self.fields, self.method, self.spelling, self.way = who, fields, method, spelling, way
        self.content, self.query, self.same, self.scheme = content, query, same, scheme


class Case:
    """`first`: the requests that leave something. `then`: those that must not see it.

    `together`: they are sent at once. `is_quick`: those that must not see it follow in the same stage,
    too, because what was left may be gone by the next one.
    """

    def __init__(self, probe, directive, flags, first, then, together=False, is_quick=False):
        self.probe, self.directive, self.flags = probe, directive, "+".join(flags) or "-"
        self.first, self.then, self.together, self.is_quick = first, then, together, is_quick
        self.number = 0

    def path(self, prefix, query=""):
        return f"{prefix}/b/{self.number}/{self.directive}/{self.flags}{query}"


def authorization():
    return [("Authorization", "Bearer {}", SECRET)]


def cookie():
    return [("Cookie", "sid={}", SECRET)]


STRANGERS = [Step(STRANGER), Step(STRANGER, *authorization()), Step(STRANGER, *cookie())]


def by_directive(name, fields, directives=tuple(DIRECTIVES), flags=()):
    return [Case(name, directive, flags, [Step(HONEST, *fields)] * 2, STRANGERS) for directive in directives]


def credentials():
    yield from by_directive("authorization", authorization())
    yield from by_directive("cookie", cookie())
    some = ("fresh", "public", "must", "must-stale", "shared-zero")
    yield from by_directive("api key", [("X-Api-Key", "{}", SECRET)], some)
    yield from by_directive("proof", [("DPoP", "{}", SECRET)], ("fresh", "must", "shared-zero"))
    yield from by_directive("both", authorization() + cookie(), some)
    yield from by_directive("principal", [*cookie(), ("X-Principal", "{}", UNKNOWN)], ("public", "fresh", "must"))
    named = [("Connection", "Authorization, Cookie", None)]
    yield from by_directive("named by Connection", authorization() + cookie() + named, ("fresh",))


def variants():
    for name, fields in (("Cookie", cookie()), ("Authorization", authorization()), ("Accept-Language", [("Accept-Language", "de, {}", ORDINARY)])):
        for directive in ("public", "shared", "brief"):
            yield Case(f"vary {name}", directive, [f"vary.{name}"], [Step(HONEST, *fields)] * 2, STRANGERS)


def cookies_that_are_set():
    for directive in ("public", "shared", "fresh", "must", "brief"):
        yield Case("Set-Cookie", directive, ["cookie"], [Step(HONEST)] * 2, [Step(STRANGER)] * 2)


def spellings():
    for spelling in SPELLINGS:
        for flags in ([], ["redirect"]):
            first = [Step(STRANGER, spelling=spelling)] * 2
            then = [Step(HONEST), Step(HONEST, spelling="capitals"), Step(HONEST, spelling="port")]
            yield Case("spelling", "public", [*flags, "html"], first, then)


def schemes():
    for directive in ("fresh", "public"):
        for flags in ([], ["redirect"]):
            for first, then in (("http", "tls"), ("tls", "http")):
                yield Case("scheme", directive, flags, [Step(HONEST, way=first)] * 2, [Step(STRANGER, way=then)] * 2)
    for first, then in (("http", "tls"), ("tls", "http")):
        again = [Step(STRANGER, way=then, same=True)] * 2
        yield Case("scheme of the same bytes", "public", ["redirect", "elsewhere"], [Step(HONEST, way=first)] * 4, again, is_quick=True)
    said = [("X-Forwarded-Proto", "https", None)]
    yield Case("scheme of a proxy", "fresh", ["redirect"], [Step(PROXY, *said, way="http", scheme="https")] * 3, [Step(STRANGER, way="http")] * 2)
    yield Case("scheme of a stranger", "fresh", ["redirect"], [Step(STRANGER, *said, way="http")] * 3, [Step(HONEST, way="http")] * 2)


def identities():
    """The same bytes from a trusted proxy and from a stranger."""
    for name in ("X-Remote-User", "X-SSL-Client-S-DN"):
        said = [(name, "{}", IDENTITY)]
        for directive in ("fresh", "public", "private"):
            first = [Step(PROXY, *said, way="http")] * 4
            yield Case("identity", directive, [f"vary.{name}"], first, [Step(STRANGER, way="http", same=True)] * 4, is_quick=True)
        yield Case("identity of a stranger", "fresh", [f"vary.{name}"], [Step(STRANGER, *said)] * 2, [Step(HONEST), Step(PROXY)])


def targets():
    names = ["X-Forwarded-Host", "X_Forwarded_Host", "X.Forwarded.Host", "X-Original-URL", "X-Rewrite-URL", "X-Host", "X-HTTP-Method-Override"]
    for name in names:
        said = [(name, "{}.pairs.test" if "ost" in name else "{}", TARGET)]
        yield Case(f"target {name}", "fresh", ["redirect"] if "Host" in name else [], [Step(STRANGER, *said)] * 2, [Step(HONEST)])
    yield Case("unknown field", "fresh", [], [Step(STRANGER, ("X-Pairs", "{}", UNKNOWN))] * 2, [Step(HONEST)])


def methods():
    yield Case("HEAD", "fresh", [], [Step(HONEST, method="HEAD")] * 2, [Step(STRANGER)])
    yield Case("fat GET", "fresh", [], [Step(STRANGER, content=CONTENT)] * 2, [Step(HONEST)])
    for method in ("POST", "QUERY"):
        said = [("Content-Type", "application/json", None)]
        first = [Step(HONEST, *said, method=method, content=CONTENT)] * 2
        yield Case(method, "public", [], first, [Step(STRANGER), Step(STRANGER, *said, method=method, content=CONTENT)])
    yield Case("TRACE", "fresh", [], [Step(HONEST, method="TRACE")], [Step(STRANGER, method="TRACE"), Step(STRANGER)])


def parts():
    for directive in ("fresh", "must", "public"):
        first = [Step(HONEST, *authorization(), ("Range", "bytes=0-99", None)), Step(HONEST, *authorization())]
        then = [Step(STRANGER, ("Range", "bytes=50-299", None)), Step(STRANGER), Step(STRANGER, ("Range", "bytes=0-20", None), ("If-Range", '"x"', None))]
        yield Case("range", directive, [], first, then)
    for codes in ("gzip", "identity"):
        yield Case("coding", "fresh", ["html"], [Step(HONEST, *cookie(), ("Accept-Encoding", codes, None))] * 2, STRANGERS)


def renewals():
    """A stored response of nobody's is renewed by a request with credentials."""
    for directive in ("brief", "none", "must-stale", "public-stale"):
        for fields in (authorization(), cookie()):
            first = [Step(PROXY), Step(HONEST, *fields, ("Cache-Control", "no-cache", None)), Step(HONEST, *fields)]
            yield Case("renewal", directive, ["same"], first, STRANGERS)


def mirrors():
    for fields in (authorization(), cookie(), []):
        for directive in ("fresh", "public", "must"):
            yield Case("mirror", directive, ["fails", "redirect"], [], [Step(HONEST, *fields)] * 2 + STRANGERS)


def meetings():
    """Requests that meet while a response is on its way."""
    for directive in ("fresh", "public", "must", "private", "no-store", "no-cache"):
        for flags in (["slow"], ["slow", "hints"], ["slow", "trailers"]):
            for fields in ([], cookie(), authorization()):
                yield Case("meeting", directive, flags, [], [Step(HONEST, *fields), Step(STRANGER), Step(STRANGER, *cookie())], together=True)
        german, french = ([("Accept-Language", language + ", {}", ORDINARY)] for language in ("de", "fr"))
        steps = [Step(HONEST, *german), Step(STRANGER, *french), Step(STRANGER)]
        yield Case("meeting variants", directive, ["slow", "vary.Accept-Language"], [], steps, together=True)


def repetitions():
    """The same bytes again, which a table of an event loop may answer, after all that happens to a world."""
    for directive in ("fresh", "public", "shared", "must", "brief"):
        yield Case("again", directive, [], [Step(HONEST)] * 4, [Step(HONEST, same=True)] * 2)


PROBES = [credentials, variants, cookies_that_are_set, spellings, schemes, identities, targets, methods, parts, renewals, mirrors, meetings, repetitions]

# These need much to come together, so they are in each world.
ALWAYS = {"again", "identity"}


def cases():
    """All cases of all probes, numbered."""
    result = [case for probe in PROBES for case in probe()]
    for number, case in enumerate(result):
        case.number = number
    return result
