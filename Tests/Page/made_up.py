"""Data that the stub makes up: for development of the page, and for states that are hard to reach."""

import datetime
import math
import re

ORIGINS = ["https://api.example.com", "https://images.example.com", "https://packages.example.org:8443"]
RTL, BEL, ZERO_WIDTH = "\u202e", "\u0007", "\u200b"
CANARY = "window.canary"

# Text of strangers. Each would set the canary if it ran, or move what stands beside it.
HOSTILE = [
    f"<script>{CANARY}=1</script>",
    f"<img src=x onerror={CANARY}=2>",
    f"<svg onload={CANARY}=3><script>{CANARY}=4</script></svg>",
    f"\"'><iframe srcdoc='<script>{CANARY}=5</script>'>",
    f"javascript:{CANARY}=6",
    f"{RTL}gpj.exe{BEL}{ZERO_WIDTH}\u2066x\u2069",
    "<style>*{display:none}</style><base href=//evil.example>",
]


def instant(seconds=0):
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def traffic(seconds_per_request, hit_ratio, length=60, **more):
    requests = int(length / seconds_per_request)
    figures = {
        "seconds": length, "requests": requests, "requestsPerSecond": requests / length, "hitRatio": hit_ratio,
        "p50Seconds": 0.00021, "p99Seconds": 0.0041, "staleServed": 0, "refused": 0,
        "originRequests": int(requests * (1 - hit_ratio)),
    }
    return figures | more


def origins(unreachable):
    result = []
    for index, origin in enumerate(ORIGINS):
        if index < unreachable:
            result.append({
                "origin": origin, "state": "unreachable", "since": instant(-720 + 60 * index),
                "reason": "unknown-authority",
                "message": f"The certificate of '{origin}' is not signed by a trusted authority. Set 'ca' to a file with the "
                "authority's certificate, and check whether the server sends its intermediate certificates.",
                "nextProbe": instant(3 + index), "failedProbes": 71 - index, "inFlight": 0, "waiting": 0,
            })
        else:
            result.append({"origin": origin, "state": "reachable", "failedProbes": 0, "inFlight": 4 * index, "waiting": 0})
    result[-1]["servers"] = [
        {
            "server": "10.0.0.7:8443", "aside": True, "responses": 810, "failures": 3, "reason": "refused",
            "message": "'10.0.0.7:8443' refused the connection. Check whether it is running and listens on this port.",
        },
        {"server": "https://mirror.example.net/packages", "aside": False, "responses": 1064, "failures": 0},
        {
            "server": "https://mirror.example.com/packages", "aside": False, "responses": 7, "failures": 0,
            "drained": {
                "origin": ORIGINS[-1], "server": "https://mirror.example.com/packages", "until": instant(1800),
                "since": instant(-60), "reason": "kernel update", "by": "uid 1000",
            },
        },
    ]
    return result


FLEET = {
    "node": "gw-1", "state": "following", "position": "1848436207583311872-41", "contactSeconds": 0.4, "waiting": 0,
    "nodes": [
        {"name": "gw-2", "version": "1.0", "seenSeconds": 1, "behind": 0, "waiting": 0},
        {"name": "gw-5", "version": "1.0", "seenSeconds": 41, "behind": 3, "waiting": 2},
    ],
}


def overview(scenario):
    unreachable = {"mixed": 1, "store": 3, "hostile": 3}.get(scenario, 0)
    down = origins(unreachable)
    value = {
        "at": instant(), "responsesFrom": "origin", "phase": "serving", "version": "1.0.0",
        "summary": "Serving. Every origin can be reached.", "startedAt": instant(-152169), "uptimeSeconds": 152169,
        "listening": "0.0.0.0:8080", "mode": {"mode": "automatic", "configured": "automatic"},
        "staleness": {"staleness": "configured"}, "origins": down, "originCount": 3, "unreachableCount": unreachable,
        "recent": traffic(0.00123, 0.967), "hour": traffic(0.00125, 0.941, 3600),
        "offlineAnswerable": {
            "seconds": 3600, "requests": 292000, "now": 0.991, "hour": 0.974, "day": 0.938,
            "missing": [{"reason": "not-stored", "share": 0.006}, {"reason": "must-revalidate", "share": 0.003}],
        },
        "store": {
            "condition": "usable", "bytes": 690112000, "budget": 1073741824, "responses": 412004, "pinned": 12,
            "damaged": 0, "evicted": 0, "stale": 3120, "countedAt": instant(-21),
        },
        "memory": {"bytes": 40112000, "budget": 134217728, "processBytes": 191000000},
        "connections": 120, "activeRequests": 3,
        "configuration": {"file": "/etc/holdfast.yaml", "loadedAt": instant(-152169)},
        "control": {"socket": "/run/holdfast/control.sock", "listen": None}, "recordedSince": instant(-3600),
    }
    if scenario == "mixed":
        value |= {
            "responsesFrom": "mixed", "recent": traffic(0.00123, 0.982, staleServed=280, refused=1),
            "summary": "Serving. https://api.example.com has been unreachable for 12 min; 3,410 responses came from the "
            "store, 6 requests were rejected; the oldest response was 4 h 0 min old.",
            "outage": {"since": instant(-720), "fromStore": 3410, "refused": 6, "oldestSeconds": 14400},
        }
    if scenario in ("store", "hostile"):
        value |= {
            "responsesFrom": "store", "recent": traffic(0.00123, 0.998, staleServed=48000, refused=96),
            "mode": {
                "mode": "offline", "configured": "automatic", "until": instant(2640), "since": instant(-960),
                "by": "uid 1000", "reason": "INC 7: the database of the origin is being mended",
            },
            "staleness": {"staleness": "2d", "seconds": 172800, "until": instant(2640)},
            "summary": "Serving. 3 origins are unreachable, https://api.example.com for 12 min; 48,210 responses came from "
            "the store, 96 requests were rejected; the oldest response was 4 h 0 min old. The last reload was rejected; the previous configuration "
            "is in force.",
        }
        value["configuration"]["lastReload"] = {"outcome": "rejected", "at": instant(-300), "by": "SIGHUP", "findings": 2, "kept": []}
        value["store"] |= {"condition": "readOnly", "bytes": 1063741824, "damaged": 2, "evicted": 4101}
    if scenario == "hostile":
        value["mode"]["reason"] = HOSTILE[5] + HOSTILE[0]
        value["summary"] += HOSTILE[1]
        value["mode"]["by"] = value["configuration"]["lastReload"]["by"] = HOSTILE[5]
        value["origins"][0]["origin"] = "https://" + HOSTILE[5] + ".example/"
    if scenario == "new":
        value |= {
            "origins": [], "originCount": 0, "recent": {"seconds": 2, "requests": 0, "requestsPerSecond": 0},
            "hour": {"seconds": 2, "requests": 0, "requestsPerSecond": 0}, "uptimeSeconds": 2, "recordedSince": instant(-2),
        }
        del value["offlineAnswerable"]
        value["store"] |= {"bytes": 40960, "responses": 0, "stale": 0, "pinned": 0}
    return value


def history(scenario, window):
    step, count = (10, 360) if window == "hour" else (300, 288)
    if scenario == "new":
        count = 1
    places = range(count)
    down = [scenario in ("mixed", "store", "hostile") and step * (count - at) < 720 for at in places]
    gap = [scenario == "mixed" and 90 < at < 100 for at in places]
    wave = [math.sin(at / 31) + 0.35 * math.sin(at / 7.3) + 0.15 * math.sin(at * 1.7) for at in places]
    value = {
        "requestsPerSecond": [round(720 + 130 * each, 1) for each in wave],
        "hitRatio": [round(0.985 if away else 0.952 + 0.012 * each, 4) for each, away in zip(wave, down)],
        "p50Seconds": [round(0.0002 + 0.00003 * each, 6) for each in wave],
        "p99Seconds": [round(0.002 if away else 0.0045 + 0.0012 * each, 5) for each, away in zip(wave, down)],
        "stalePerSecond": [round(40 + 6 * each, 1) if away else 0 for each, away in zip(wave, down)],
        "refusedPerSecond": [round(2 + each, 2) if away else 0 for each, away in zip(wave, down)],
        "originRequestsPerSecond": [round(4 if away else 34 + 9 * each, 1) for each, away in zip(wave, down)],
        "storeBytes": [690112000 - (count - at) * 90000 for at in places],
        "offlineAnswerable": [round(0.975 + 0.008 * each, 4) for each in wave],
    }
    series = {name: [None if away else each for each, away in zip(values, gap)] for name, values in value.items()}
    return {"window": window, "stepSeconds": step, "start": instant(-step * count), "end": instant(), "series": series}


def response(number, state=None):
    states = ["fresh", "fresh", "fresh", "stale", "expired", "invalidated", "damaged"]
    url = f"https://api.example.com/v1/catalogue/{number}?page={number % 7}"
    tags = ["news", "catalogue"]
    fields = [["content-type", "application/json"], ["cache-control", "max-age=300"], ["etag", f'"{number:x}"'], ["date", "Thu, 26 Nov 2026 12:00:00 GMT"]]
    if number < len(HOSTILE):
        url = f"https://api.example.com/{HOSTILE[number]}"
        tags = [HOSTILE[number], "news"]
        fields += [[f"x-hostile-{number}", HOSTILE[number]], ["x-long", HOSTILE[number] * (65536 // len(HOSTILE[number]))]]
    elif number == 8:
        url = "https://api.example.com/\u05d0\u05d1\u05d2/v1/\u0645\u0631\u062d\u0628\u0627/x?q=\u05d3"
    elif number == 9:
        url = "https://api.example.com/" + "segment/" * 400
    name = state or states[number % 7]
    expires = {"fresh": 240, "stale": -600}.get(name, -6000)
    return {
        "id": f"{number + 1:016x}", "entry": 68719476737 + number, "state": name, "method": "GET", "url": url,
        "partition": "common", "status": 200, "contentType": "application/json" if number >= len(HOSTILE) else HOSTILE[number],
        "bodyLength": 1234 * (number % 90 + 1) ** 2, "storedAt": instant(-60 - 37 * number), "expiresAt": instant(expires + number),
        "lastUsedAt": instant(-number), "usableStale": number % 5 != 4, "pinned": number % 11 == 3, "vary": [], "tags": tags, "fields": fields, "selectingFields": [],
    }


def listed(number):
    return {name: value for name, value in response(number).items() if name not in ("tags", "fields", "selectingFields")}


TOTAL = 1000


def responses(query):
    after, limit = int(query.get("after", 0)), int(query.get("limit", 100))
    rows = [listed(number) for number in range(TOTAL)]
    if query.get("state"):
        rows = [row for row in rows if row["state"] == query["state"]]
    if query.get("prefix"):
        rows = [row for row in rows if row["url"].startswith(query["prefix"])]
    if query.get("tag") == "none":
        rows = []
    elif query.get("tag"):
        rows = rows[10:422]
    key = {"size": "bodyLength", "used": "lastUsedAt", "expires": "expiresAt", "stored": "storedAt"}[query.get("order", "stored").lstrip("-")]
    rows.sort(key=lambda row: row[key], reverse=query.get("order", "").startswith("-"))
    page = rows[after:after + limit]
    value = {"responses": page, "examined": len(page)}
    return value | ({"next": str(after + limit)} if after + limit < len(rows) else {})


def variants(identifier):
    number = int(identifier, 16) - 1 if re.fullmatch("[0-9a-f]{16}", identifier) else -1
    if not 0 <= number < TOTAL:
        return None
    found = []
    for index in range(3 if number == 7 else 1):
        one = response(number)
        one["entry"] += 1_000_000 * index
        if number == 7:
            one["selectingFields"] = [["accept-language", ["en", "de", HOSTILE[0]][index]]]
        found.append(one)
    return {"variants": found}


def comparison():
    rows = [
        {"name": "etag", "stored": '"7"', "origin": '"8"'}, {"name": "x-hostile", "origin": HOSTILE[0]},
    ]
    return {"status": {"stored": 200, "origin": 200}, "fields": rows, "body": {"isSame": False, "stored": 79000, "origin": 81000}}


def milliseconds(seconds):
    return {"milliseconds": int((datetime.datetime.now().timestamp() + seconds) * 1000)}


def explanation(url):
    """Of the first variant. What is usable offline depends on the number of the response."""
    def verdict(answer, summary, **more):
        return {"answer": answer, "summary": summary, "isHit": answer == "stored"} | more

    one = next((each for each in map(response, range(TOTAL)) if each["url"] == url), response(0))
    number = one["entry"] - response(0)["entry"]
    fresh = verdict("stored", "Would be served from the store: fresh for another 4 min (max-age=300).")
    stale = verdict("stored", "Would be served from the store: just stale, because the origin cannot be reached.")
    refused = verdict("refused", "504, because 'must-revalidate' forbids stale use.", forbiddenBy="must-revalidate")
    first = {
        "at": milliseconds(240), "ending": "freshness", "now": verdict("validated", "Would be validated with the origin: the stored response has just become stale."),
        "failing": verdict("forwarded", "Would return the origin's 503: no 'stale-if-error' permits a response this stale."),
    }
    first |= {"unreachable": refused, "offline": refused} if number % 5 == 4 else {"unreachable": stale, "offline": stale}
    last = {"at": milliseconds(86400), "ending": "stale.offline", "unreachable": refused, "offline": refused}
    changes = [first] + ([last] if number % 5 not in (1, 4) else [])
    selected = {"id": one["entry"], "isSelected": True}
    return {
        "notes": [f"a client's URL, for {url[:60]}"],
        "explanation": {"now": fresh, "unreachable": fresh, "failing": fresh, "offline": fresh, "changes": changes, "freshness": {"freshUntil": milliseconds(240)}, "variants": [selected]},
    }


def not_stored(scenario):
    words = {
        "response-no-store": "The response has 'no-store'.", "method": "The method is not GET or HEAD.",
        "response-private": "The response is 'private', and this cache is shared.", "too-large": "The body is larger than its limit.",
    }
    example = [{"url": f"https://api.example.com/{each}", "at": instant(-60), "status": 200, "route": "api"} for each in ["cart?REDACTED", *HOSTILE[:3]]]
    rows = [{"reason": name, "words": text, "count": 41210 // (7 ** index), "examples": example} for index, (name, text) in enumerate(words.items())]
    return {"since": instant(-152169), "reasons": [] if scenario == "new" else rows}


def outages(scenario):
    rows = [{"origin": ORIGINS[0], "since": instant(-720), "until": None, "seconds": 720, "fromStore": 3410, "refused": 6, "oldestSeconds": 14400}]
    rows += [{"origin": ORIGINS[at % 3], "since": instant(-90000 * at), "until": instant(-90000 * at + 340), "seconds": 340, "fromStore": 120 * at, "refused": 0, "oldestSeconds": 610} for at in range(1, 6)]
    return {"since": instant(-900000), "outages": [] if scenario == "new" else rows}


def rules(scenario):
    rows = [
        {"name": "catalogue", "line": 12, "match": ["match.url: https://api.example.com/v1/catalogue/**"], "settings": ["freshness.lifetime: 5 m", "stale.offline: 7 d", "stale.ignore: [must-revalidate]"], "matched": 812044},
        {"name": "old-images", "line": 19, "match": ["match.host: images.example.com", "match.path: /old/**"], "settings": ["store.pin: true"], "matched": 0},
    ]
    routes = [{"name": "api", "line": 4, "requests": 41200}, {"name": "images", "line": 6, "requests": 0}]
    return {"since": instant(-152169), "rules": [] if scenario == "new" else rows, "routes": routes}


def purges(scenario):
    rows = [
        {"sequence": 8120 + at, "at": int(datetime.datetime.now().timestamp() * 1000) - 3_600_000 * (6 - at), "by": "uid 1000", "action": "expire", "reason": HOSTILE[5 * at] if at < 2 else f"deploy {412 + at}",
         "select": {"urls": [], "prefixes": [], "tags": ["news"], "hosts": [], "all": False}, "matched": {"responses": 412 * at, "bytes": 90112000, "onlyOfflineCopies": 37, "exact": at != 2}}
        for at in range(6)
    ]
    failed = [dict(rows[0], sequence=8125, problem="store-failed", reason="deploy 413") | {"matched": None}]
    return {"since": 8000, "purges": [] if scenario == "new" else rows, "more": False, "failed": [] if scenario == "new" else failed}


def refreshes(scenario):
    rows = [
        {"sequence": 8125, "pace": {"perSecond": 20, "atMost": 5000}, "client": "uid 1000", "state": "running", "requested": 120, "refreshed": 117, "failed": 1, "unreachable": 0, "skipped": 4},
        {"sequence": 8121, "pace": {"perSecond": 5, "atMost": 50}, "client": "uid 1000", "state": "completed", "requested": 50, "refreshed": 50, "failed": 0, "unreachable": 0, "skipped": 0},
    ]
    return {"refreshes": [] if scenario == "new" else rows}


def configuration():
    def setting(name, value=None, line=None):
        return {"name": name, "isDefault": line is None} | ({} if value is None else {"value": value}) | ({} if line is None else {"line": line})

    return {
        "file": "/etc/holdfast.yaml", "version": 1,
        "precedence": "The first matching rule that has a setting decides it. If no rule decides a setting, a route's mode and tags apply, then the settings above, then the response itself.",
        "settings": [setting("listen", "0.0.0.0:8080", 2), setting("mode", "automatic"), setting("store.path", "/var/lib/holdfast/store", 3), setting("store.budget", "1 GiB", 3), setting("fleet.url"), setting("timeouts.client", "1 m")],
        "routes": [{"name": "api", "line": 7, "conditions": [setting("host", "api.local", 7)], "settings": [setting("origin", ORIGINS[0], 7), setting("preserve-host", "false")]}],
        "rules": [{"name": "catalogue", "line": 12, "conditions": [setting("match.url", "[https://api.example.com/v1/catalogue/**]", 13)], "settings": [setting("freshness.lifetime", "5 m", 14)]}],
    }
