"""The oracle: no client gets a byte that another client's secret, host, scheme, identity or method
influenced, unless the origin said so and no rule removed the premise.

`docs/attacks.md` has the table of what the origin may say. A server is judged too: a mirror is
another owner, so it gets no secret, and no server gets what a stranger says about itself.
"""

import re

from tokens import CONTENT, HOST, HOSTNAME, IDENTITY, ISSUED, MARKER, OPERATOR, SECRET, TARGET, UNKNOWN, canonical


class Directives:
    """Response directives, without those that a rule ignores."""

    def __init__(self, text, ignored=()):
        self.values = {}
        for member in filter(None, (member.strip() for member in text.split(","))):
            name, _, value = member.partition("=")
            if name.lower() not in ignored:
                self.values[name.lower()] = value.strip('"')

    def __contains__(self, name):
        return name in self.values

    def shares(self):
        """`public`, or a positive `s-maxage`. RFC 9111 §3.5"""
        seconds = self.values.get("s-maxage", "0")
        return "public" in self or seconds.isdigit() and int(seconds) > 0


class Rules:
    """The rule of a world, as far as it changes who may see what."""

    def __init__(self, rule, route, top, origin):
        self.trusts_mirrors = origin.get("credentials", False)
        self.ignored_fields = {name.lower() for name in rule.get("ignore.fields", [])}
        self.drops_cookies = "sid" not in rule.get("cookies", {"keep": ["sid"]})["keep"]
        self.ignored = set(rule.get("ignore.directives", []))
        self.despite = set(rule.get("stale.ignore", []))
        # A lifetime of 0 makes the cache ask each time, as 'must-revalidate' does.
        self.has_lifetime = rule.get("freshness.lifetime", "0 s") != "0 s"
        self.principal = rule.get("store.per")
        self.removed = {name.lower() for name in rule.get("to-origin.remove", [])}
        self.unknown = route.get("unknown-fields", "pass")
        self.preserves_host = route.get("preserve-host", False)
        self.underscores = top.get("clients.underscored-fields", "drop")

    def directives(self, made):
        return Directives(made.control, self.ignored)

    def selects(self, made, field):
        """Whether the response varies with the field, and the operator has not said otherwise."""
        return field in made.vary and field not in self.ignored_fields

    def lifts(self, directive):
        """Whether a rule takes away what a directive promises."""
        return directive in self.despite or directive in self.ignored or self.has_lifetime

    def names_principal(self, made):
        """Whether the request named the principal of 'store.per'."""
        if not self.principal:
            return False
        if name := self.principal.get("cookie"):
            return re.search(rf"(^|;\s*){name}=", made.value("cookie") or "") is not None
        return made.value(self.principal["field"].lower()) is not None


class Finding:
    """A byte that reached the wrong client."""

    def __init__(self, rule, words, taint=None, reason=None):
        self.rule, self.words, self.taint, self.reason = rule, words, taint, reason
        # Where it was found.
        self.case = self.stage = self.exchange = self.made = None

    @property
    def signature(self):
        """Findings that differ in nothing but numbers are one."""
        probe = self.case.probe if self.case and self.rule not in ("mirror", "scheme") else None
        reason = self.words.partition("\n")[2][-60:] if self.rule == "harness" else self.reason
        return self.rule, probe, self.taint.kind if self.taint else None, reason

    def is_like(self, other):
        """Whether both are the same, for whatever reason: other settings give other reasons."""
        return self.signature == other.signature or self.rule != "harness" and self.signature[:3] == other.signature[:3]

    def __str__(self):
        place = f"probe '{self.case.probe}' ({self.case.directive}), {self.stage}: " if self.case else f"{self.stage}: "
        return f"[{self.rule}] {place}{self.words}"


class Oracle:
    """Judges what clients get and what servers receive. It is told what the rules are now."""

    def __init__(self, tokens, log, is_trusted):
        self.tokens, self.log, self.is_trusted = tokens, log, is_trusted
        self.rules, self.removed_at, self.port = None, {}, 80

    # Responses to clients.

    def of_response(self, asked, response):
        """`asked`: who asked, with which host, scheme and method."""
        text = response.visible()
        markers = MARKER.findall(text)
        made = [self.log.made[int(value)] for name, value in markers if name == "made" and value.isdigit() and int(value) in self.log.made]
        yield from self.of_tokens(asked, text, made)
        yield from self.of_hosts(asked, text)
        yield from self.of_urls(asked, text)
        for name, value in set(markers):
            if name == "scheme" and value not in ("", asked.scheme) and "x-forwarded-proto" not in self.rules.ignored_fields:
                yield Finding("scheme", f"a client of {asked.scheme} gets what was made for {value}")
            if name == "method" and value != asked.method and (value, asked.method) != ("GET", "HEAD"):
                yield Finding("method", f"{asked.method} gets what {value} made")
        for one in {one.number: one for one in made}.values():
            if one.server == "mirror" and not self.may_answer(one, asked):
                yield Finding("mirror", "a request with credentials gets a mirror's response in the origin's name")
            if self.is_removed(one, asked):
                yield Finding("purge", "a response that a purge has removed is served")

    def is_removed(self, made, asked):
        """Whether it was made before a purge of its URL: at the host that was named, or at all hosts."""
        at, host = self.removed_at.get(asked.case.number, (0, None))
        asked_for = made.value("host", "")
        return made.at < at and (host is None or not HOST.fullmatch(asked_for) or canonical(asked_for, self.port) == host)

    def may_answer(self, made, asked):
        """Whether a mirror's response may: not a request with credentials in its origin's name."""
        secrets = {name for name in asked.secrets if name not in self.rules.ignored_fields or name == "authorization"}
        # No server gets the fields that a rule removes, so the origin would have sent the same.
        secrets -= self.rules.removed
        if self.rules.drops_cookies:
            secrets.discard("cookie")
        return not secrets or self.rules.trusts_mirrors or self.rules.directives(made).shares()

    def of_tokens(self, asked, text, made):
        for token in sorted(self.tokens.within(text)):
            taint = self.tokens.of(token)
            if taint.kind == HOSTNAME:
                continue
            if taint.kind == OPERATOR:
                yield Finding("operator", "a client gets the operator's secret", taint)
            if taint.party == asked.party or taint.kind == OPERATOR or self.is_own(asked, token, taint):
                continue
            origins = [one for one in made if token in one.tokens]
            if any(self.is_confirmed(asked, one, made) for one in origins):
                continue
            reasons = [self.forbids(taint, one) for one in origins] or ["no response of the origin holds it"]
            if reason := next(filter(None, reasons), None):
                yield Finding("token", f"{asked.party} gets the {taint}: {reason}", taint, reason)

    def is_confirmed(self, asked, made, visible):
        """Whether the origin has said, in a 304 to this client or to one without credentials, that it is theirs."""
        return any(
            one.confirms and one.number > made.number and (one.party == asked.party or not self.has_secrets(one)) for one in visible
        )

    def has_secrets(self, made):
        return any(self.tokens.of(token).kind == SECRET for token in self.tokens.within(str(made.request.fields)))

    def is_own(self, asked, token, taint):
        """Whether the client sent it itself. What it says about itself counts only if it is trusted."""
        is_believed = taint.kind not in (IDENTITY, SECRET) or self.is_trusted(asked.party)
        return is_believed and token in self.tokens.within(asked.request.text)

    def forbids(self, taint, made):
        """Why a response may not show a token to others; `None` if it may."""
        rules, says = self.rules, self.rules.directives(made)
        if taint.kind in (ISSUED, TARGET, CONTENT):
            return {ISSUED: "a cookie is for one client", TARGET: "it claims another target", CONTENT: "it is in no key of another"}[taint.kind]
        if taint.kind == IDENTITY and not self.is_trusted(taint.party):
            return "its client is not trusted"
        if rules.selects(made, taint.field):
            return f"'Vary' names {taint.field}"
        if taint.kind == UNKNOWN and rules.unknown != "pass":
            return f"'unknown-fields' is '{rules.unknown}'"
        # A response that was stored for all before the rule stays so: the origin said so.
        if made.rules.names_principal(made) and rules.principal and taint.field not in rules.ignored_fields:
            return "'store.per' keeps it for its principal"
        if taint.kind == SECRET:
            return self.keeps_secret(taint, made, says)
        if "private" in says:
            return "the response is 'private'"
        if "no-store" in says and "no-store" not in rules.despite:
            return "the response is 'no-store'"
        return None

    def keeps_secret(self, taint, made, says):
        rules = self.rules
        if taint.field in rules.ignored_fields and taint.field != "authorization":
            return None
        if "private" in says or "no-store" in says:
            return "the response is 'private' or 'no-store'"
        if says.shares():
            return None
        if "must-revalidate" in says and made.value("authorization") is not None and self.is_without_cookie(made):
            return "a rule lifts 'must-revalidate'" if rules.lifts("must-revalidate") else None
        return "no directive shares it"

    def is_without_cookie(self, made):
        return made.value("cookie") is None or "cookie" in self.rules.ignored_fields

    def of_hosts(self, asked, text):
        """Each host is as this client wrote it, or in the one form that it is keyed in."""
        forms = {canonical(asked.host, port) for port in (80, 443)}
        own = {asked.host, *forms, canonical(asked.host).partition(":")[0].rstrip(".")}
        for host in sorted(set(HOST.findall(text))):
            taints = [self.tokens.of(token) for token in self.tokens.within(host)]
            if host not in own and any(taint.kind == HOSTNAME for taint in taints):
                is_same = canonical(host) == canonical(asked.host)
                yield Finding("spelling" if is_same else "host", f"a client of '{asked.host}' gets '{host}'")

    def of_urls(self, asked, text):
        """Where the origin does not know the client's host, the gateway has written its URLs."""
        other = {"http": "https", "https": "http"}[asked.scheme]
        if not self.rules.preserves_host and f"{other}://{asked.host}" in text:
            yield Finding("scheme", f"a client of {asked.scheme} gets a URL of its own host with '{other}'", None, "a URL")

    # Requests to servers.

    def of_receipt(self, made):
        request = made.request
        for token in self.tokens.within("\n".join([request.first, *(f"{name}: {value}" for name, value in request.fields)])):
            taint = self.tokens.of(token)
            if made.server == "mirror" and taint.kind in (SECRET, ISSUED, OPERATOR) and not self.rules.trusts_mirrors:
                yield Finding("mirror-receives", f"a mirror receives the {taint} in '{request.first.split()[0]}'", taint)
            if taint.kind == IDENTITY and not self.is_trusted(taint.party):
                yield Finding("receives", f"a server receives the {taint} of a client that is not trusted", taint)
            is_odd = re.search(r"[^a-z0-9-]", taint.field) is not None
            if taint.kind == TARGET and not (is_odd and self.rules.underscores == "pass"):
                yield Finding("receives", f"a server receives the {taint}", taint)
