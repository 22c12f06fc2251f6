"""Every setting of a configuration file, with the levels that worlds have.

A row is (levels, why). The first level is `None`: the setting is not in the file. A setting with no
other level says why. `Tests/Scripts/pairs` compares the names with the sources, so a new setting
without a row fails.

A level in `MASKS` keeps most of the gateway from being used. Worlds set it by a reload, after
responses were stored, and never two at a time. A level in `VEILS` keeps hits from the table of an
event loop, so that nothing about that table is seen.
"""

LIABLE = "10.1.0.0/16"
PROXY, STRANGER, HONEST = "127.0.0.2", "127.0.0.3", "127.0.0.4"

# A setting that changes when something happens, and not what is sent to whom.
PACE = "only changes when something happens"

RULE = {
    "freshness.lifetime": [None, "1 h", "0 s"],
    "freshness.default": [None, "1 h"],
    "freshness.errors": [None, "1 h"],
    "stale.while-revalidate": [None, "1 h"],
    "stale.unreachable": [None, "unlimited", "0 s"],
    "stale.on-error": [None, "1 h"],
    "stale.offline": [None, "unlimited"],
    "stale.ignore": [
        None, ["must-revalidate"], ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage", "invalidated"],
        ["no-store"],
    ],
    "mode": [None, "online", "preferStored", "offline"],
    "ignore.parameters": [None, ["ignored"]],
    "ignore.fields": [None, ["Cookie"], ["Accept-Language", "X-Remote-User"], ["X-Api-Key", "X-Forwarded-Proto"]],
    "ignore.directives": [
        None, ["private"], ["no-store", "no-cache"], ["must-revalidate", "proxy-revalidate"], ["s-maxage"],
    ],
    "cookies": [None, {"keep": ["sid"]}, {"keep": ["other"]}, {"keep": ["other"], "forward": "all"}],
    "vary": [None, {"cookies": {"lang": ["de"]}, "fields": {"Accept-Language": ["de", "en"]}}],
    "normalize.sort-parameters": [None, True],
    "normalize.drop-parameters": [None, ["tracking"]],
    "normalize.accept-encoding": [None, True],
    "tags": [None, ["pairs"]],
    "tags-from": [None, ["Cache-Tag"]],
    "store.methods": [None, ["GET", "POST", "QUERY"], ["POST"]],
    "store.statuses": [None, [200, 301, 404], [404]],
    "store.largest": [None, "1 MiB", "1 B"],
    "store.smallest": [None, "1 B"],
    "store.content": [None, "any", "graphql", "json"],
    "store.events": [None, {"ends-with": "end"}],
    "store.per": [None, {"cookie": "sid"}, {"field": "Authorization"}, {"field": "X-Principal"}],
    "store.without-cookies": [None, ["issued"]],
    "store.pin": [None, True],
    "store.after-uses": [None, 2],
    "fleet": [None, False],
    "bypass": [None, True],
    "credentials": [None, "none"],
    "guard": [None, True],
    "eager-refresh": [None, 0.0],
    "to-origin.set": [None, {"X-Operator-Key": {"env": "PAIRS_SECRET"}}],
    "to-origin.remove": [None, ["Referer"], ["X-Api-Key"]],
    "from-origin.remove": [None, ["Server"]],
    "from-origin.vary": [None, ["User-Agent"]],
    "to-client.set": [None, {"X-Served-By": "pairs"}],
    "to-client.remove": [None, ["Server"]],
    "timeouts.soft": [None, "20 ms"],
    "timeouts.hard": [None, "10 s"],
    "breaker": [None, "off"],
}

TOP = {
    "threads": [None, 1],
    "mode": [None, "online", "preferStored", "offline"],
    "clients.trusted": [None, [PROXY, LIABLE], [PROXY, "unix"]],
    "clients.purgers": [None, [PROXY]],
    "clients.allow": [None, ["0.0.0.0/0", "::/0", "unix"]],
    "clients.deny": [None, ["203.0.113.0/24"]],
    "clients.cache-status": [None, "trusted"],
    "clients.underscored-fields": [None, "pass"],
    "clients.trace": [None, "forward"],
    "clients.request-id": [None, "on"],
    "health.path": [None, "/gateway-health"],
    "health.live": [None, "/gateway-live"],
    "health.ready": [None, "/gateway-ready"],
    "metrics.listen": [None, "127.0.0.1:0"],
    "metrics.public": [None, True],
    "metrics.token": [None, "metrics.token"],
    "store.budget": [None, "16 MiB"],
    "store.memory": [None, "0 B"],
    "store.largest-resident-body": [None, "1 B"],
    "store.variants-per-key": [None, 1],
    "store.secure-delete": [None, True],
    "store.keep-offline-copies": [None, True],
    "store.quotas": [None, {"each-origin": "8 MiB"}],
    "control.listen": [None, "127.0.0.1:0"],
    "control.tokens": [None, [{"name": "pairs", "file": "pairs.token", "scope": "operate"}]],
    "control.hosts": [None, ["control.pairs.test"]],
    "control.insecure": [None, True],
    "log.access": [None, "all"],
    "log.format": [None, "json"],
    "log.to": [None, "access.log"],
    "log.query": [None, "full"],
    "log.client": [None, "masked"],
    "limits.connections": [None, 500],
    "limits.connections-per-client": [None, 200],
    "limits.request-body": [None, "1 MiB"],
    "limits.upload-rate": [None, "off"],
    "limits.in-flight-per-origin": [None, 64],
    "limits.waiting-per-origin": [None, 64],
    "limits.keyed-content": [None, "64 KiB"],
    "limits.request-head": [None, "32 KiB"],
    "limits.response-memory": [None, "32 MiB"],
    "limits.tunnels": [None, 10],
    "limits.requests": [None, {"rate": "100000/s"}],
    "drain.delay": [None, "off"],
    "timeouts.drain": [None, "2 s"],
    "timeouts.connect": [None, "1 s"],
    "timeouts.first-byte": [None, "5 s"],
    "timeouts.idle": [None, "50 ms"],
    "timeouts.client": [None, "10 s"],
    "timeouts.send": [None, "10 s"],
    "timeouts.receive": [None, "10 s"],
    "timeouts.tunnel": [None, "10 s"],
    "timeouts.soft": [None, "50 ms"],
    "timeouts.hard": [None, "15 s"],
    "breaker.failures": [None, 1],
    "breaker.first-probe": [None, "50 ms"],
    "breaker.longest-pause": [None, "2 s"],
    "guard": [None, True],
    "eager-refresh": [None, 0.0],
    "failure-throttle": [None, "0 s"],
}

ROUTE = {
    "host": [None, "*.pairs.test"],
    "path": [None, "/in"],
    "preserve-host": [None, True],
    "mode": [None, "online", "preferStored", "offline"],
    "unknown-fields": [None, "drop", "bypass"],
    "tags-from": [None, ["Surrogate-Key"]],
    "upgrades": [None, ["websocket"]],
    "rewrite": [None, False, {"bodies": ["text/html"]}, {"location": False}],
    "compress": [None, True],
    "clients": [None, {"allow": ["0.0.0.0/0", "::/0", "unix"]}],
    "limits": [None, {"requests": {"rate": "100000/s", "by": "prefix"}}],
}

ORIGIN = {
    "ca": [None, "pairs.pem"],
    "certificate": [None, "pairs.pem"],
    "server-name": [None, "origin.pairs.test"],
    "verify": [None, False],
    "addresses": [None, ["{origin}"]],
    "mirrors": [None, ["{mirror}"], ["{mirror}/base"]],
    "balance": [None, "round-robin"],
    "credentials": [None, True],
    "health": [None, {"path": "/healthz", "interval": "100 ms", "timeout": "100 ms"}],
    "timeouts": [None, {"connect": "1 s", "first-byte": "5 s", "idle": "50 ms"}],
}

LISTENER = {
    "mode": [None, "0600"],
    "tls.min": [None, "1.3"],
    "tls.alpn": [None, ["http/1.1", "h2"]],
    "tls.client": [None, {"ca": "pairs.pem", "certificate": "optional"}],
}

# No settings: how clients connect, what the origin does, and what happens to the gateway.
WAYS = ["http", "tls", "http h2", "tls h2", "proxied", "unix"]
WORLD = {
    "honest": WAYS,
    "stranger": WAYS,
    "proxy": ["http", "tls", "http h2", "tls h2"],
    "rules": ["at first", "by reload"],
    "turn": ["nothing", "reload", "expire", "remove", "PURGE", "restart", "kill"],
    "fault": ["nothing", "down", "one URL", "503", "hangs up"],
    "validators": ["etag", "modified", "none"],
    "coding": ["none", "gzip"],
    "match": [None, {"url": "/**"}, {"method": ["GET", "POST", "TRACE", "QUERY"]}],
}

# Without a certificate, no world has these.
TLS = {"origin:ca", "origin:certificate", "origin:server-name", "origin:verify"}

# These are in each world, or in none, with the reason.
FIXED = {
    "top:version": "in each world",
    "top:routes": "each world has one",
    "top:origins": "each world has one, if it has a setting",
    "top:rules": "each world has one, if it has a setting",
    "top:listen": "each world listens without and with TLS, on a Unix socket, and with the PROXY protocol",
    "top:store.path": "each world has its own",
    "top:control.socket": "each world has one, for purges",
    "top:metrics.tls": "no client of a world reads metrics from their port",
    "route:name": "in messages alone",
    "route:error-pages": "only problems have them; ProblemPageGatewayTests",
    "route:match": "conditions of 'respond' alone",
    "route:respond": "no response of an origin has part in it; FixedRouteGatewayTests",
    "route:origin": "each world has one; its path is a level of 'origin:mirrors' for mirrors",
    "origin:key": "is the key of 'origin:certificate'",
    "origin:insecure": "'verify: false' needs it",
    "listener:address": "in each world",
    "listener:unix": "in each world",
    "listener:tls": "in each world; its settings have rows",
    "listener:http2": "the listener of the PROXY protocol has it off",
    "listener:proxy-protocol": "in each world in which 'clients.trusted' names the proxy",
    "listener:tls.certificates": "in each world",
    "rule:name": "in messages alone",
    "rule:ignore.members": "all clients get what the origin made of one client's members; KeyedJSONTests",
} | {
    f"top:forward-proxy.{name}": "no request of a world names its origin; ForwardProxyTests"
    for name in ["addresses", "allow", "hosts", "ports", "prefix"]
} | {
    f"top:fleet.{name}": "make fleet checks histories of nodes that share"
    for name in [
        "acknowledge", "collapse", "cut-off", "largest-body", "lease", "longest", "namespace", "next-secret", "node",
        "password",
        "previous-secret", "quorum", "retention", "secret", "share", "timeout", "tls", "url",
    ]
}

GROUPS = {"rule": RULE, "top": TOP, "route": ROUTE, "origin": ORIGIN, "listener": LISTENER, "world": WORLD}
LEVELS = {f"{group}:{name}": levels for group, rows in GROUPS.items() for name, levels in rows.items()}

MASKS = [
    ("rule:bypass", 1), ("rule:mode", 3), ("top:mode", 3), ("route:mode", 3), ("rule:store.methods", 2),
    ("rule:store.statuses", 2), ("rule:store.largest", 2), ("rule:store.after-uses", 1),
]
VEILS = [
    ("rule:freshness.lifetime", 2), ("rule:eager-refresh", 1), ("top:eager-refresh", 1), ("top:clients.cache-status", 1),
    ("top:clients.request-id", 1), ("top:store.memory", 1), ("top:store.largest-resident-body", 1), ("route:rewrite", 2),
]


def except_default(name):
    return [(name, level) for level in range(1, len(LEVELS[name]))]


def excluded():
    """Pairs that the gateway rejects, or that no client could use."""
    without_control = ("top:control.listen", 0)
    for name in ("top:control.tokens", "top:control.hosts", "top:control.insecure"):
        yield (name, 1), without_control
    for name in ("top:metrics.public", "top:metrics.token"):
        yield (name, 1), ("top:metrics.listen", 0)
    for mirrors in except_default("origin:mirrors"):
        yield ("route:preserve-host", 1), mirrors
    for name in ("origin:credentials", "origin:balance"):
        yield (name, 1), ("origin:mirrors", 0)
    # An origin has TLS if one of these is set; they make each other useless.
    yield ("origin:ca", 1), ("origin:verify", 1)
    for name in ("origin:certificate", "origin:server-name"):
        yield (name, 1), ("origin:ca", 0)
        yield (name, 1), ("origin:verify", 1)
    for client in ("world:honest", "world:stranger"):
        # The PROXY protocol is spoken by trusted proxies alone.
        yield (client, WAYS.index("proxied")), ("top:clients.trusted", 0)
        yield (client, WAYS.index("unix")), ("top:clients.trusted", 2)
    # No body is larger than the memory for bodies.
    yield ("top:store.largest-resident-body", 1), ("top:store.memory", 1)
    # Both would be about one field.
    yield ("rule:store.per", 1), ("rule:ignore.fields", 1)
    for cookies in except_default("rule:cookies"):
        yield cookies, ("rule:ignore.fields", 1)
    # Both would be about 'Accept-Language'.
    yield ("rule:vary", 1), ("rule:ignore.fields", 2)
    yield ("rule:vary", 1), ("rule:bypass", 1)
    for level in (2, 3):
        yield ("rule:cookies", level), ("rule:store.per", 1)
    yield ("top:clients.purgers", 0), ("world:turn", WORLD["turn"].index("PURGE"))
