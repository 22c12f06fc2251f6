"""Unguessable tokens. Each belongs to one party, and says by which way it came in."""

import re

TOKEN = re.compile(r"(?i)t[0-9a-f]{14}x")
# A host in all spellings that a probe sends.
HOST = re.compile(r"(?i)t[0-9a-f]{14}x\.pairs\.test\.?(?::[0-9]*)?")
MARKER = re.compile(r"<<([a-z]+):([^<>]*)>>")

# The kinds of tokens.
SECRET = "secret"  # a credential, or a proof that goes with one
ISSUED = "issued"  # a cookie that the origin set for one client
IDENTITY = "identity"  # who a trusted proxy's client is
TARGET = "target"  # a field that claims another host, URL or method
CONTENT = "content"  # content of a request
HOSTNAME = "host"
ORDINARY = "ordinary"  # a field that may select a variant, such as Accept-Language
UNKNOWN = "unknown"  # a field that the gateway does not know
OPERATOR = "operator"  # a secret that a rule sends to the origin


class Taint:
    """Where a token comes from: whose it is, its kind, and the field that it was in."""

    def __init__(self, party, kind, field):
        self.party, self.kind, self.field = party, kind, field.lower()

    def __repr__(self):
        return f"{self.kind} of {self.party} ({self.field})"


class Tokens:
    def __init__(self, randomness):
        self.random, self.taints = randomness, {}

    def new(self, party, kind, field):
        token = f"t{self.random.getrandbits(56):014x}x"
        self.taints[token] = Taint(party, kind, field)
        return token

    def of(self, token):
        return self.taints.get(token.lower())

    def within(self, text):
        """The known tokens in a text, in lower case."""
        return {token for found in TOKEN.findall(text) if (token := found.lower()) in self.taints}


def canonical(host, port=80):
    """A host in one form: lower case, without the scheme's port, zeros before a port, or an empty one."""
    name, colon, digits = host.lower().partition(":")
    if not colon or not digits or int(digits) == port:
        return name
    return f"{name}:{int(digits)}"
