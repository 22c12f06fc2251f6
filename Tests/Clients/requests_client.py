"""Python requests: sessions on one connection, streaming, compression, conditions, uploads.

Offline, it repeats the reads.
"""

import io
import json
import os
import sys
import time

import requests

from checks import check, digest, done, equal, settled

LONG = 20
# Stale at once: the gateway validates it each time while the origin is reachable.
STALE = "/respond?field=Cache-Control:max-age%3D0&body=old"
# Below the route that compresses.
WORDS = "ferry" * 400
PACKED = f"/packed/respond?field=Content-Type:text/plain&field=Cache-Control:max-age%3D600&body={WORDS}"


def cache_status(response):
    return response.headers.get("Cache-Status", "")


def stored(ask):
    return settled(ask, cache_status)


def remember(memory, name, body):
    with open(os.path.join(memory, name), "wb") as file:
        file.write(body)


def remembered(memory, name):
    with open(os.path.join(memory, name), "rb") as file:
        return file.read()


def online(gateway, memory):
    with requests.Session() as session:
        feed = f"{gateway}/moments"
        first = session.get(feed, params={"userID": "harbour", "page": 1}, timeout=LONG)
        equal(first.status_code, 200, "the feed")
        check("fwd=uri-miss" in cache_status(first) and "stored" in cache_status(first), cache_status(first))
        second = stored(lambda: session.get(feed, params={"userID": "harbour", "page": 1}, timeout=LONG))
        check(cache_status(second).startswith("holdfast; hit; ttl="), cache_status(second))
        equal(second.content, first.content, "the feed's second copy")
        check(int(second.headers["Age"]) >= 0, second.headers)
        check(second.json()["moments"], "no moments")
        remember(memory, "feed", first.content)
        other = session.get(feed, params={"userID": "lighthouse", "page": 1}, timeout=LONG)
        check("fwd=uri-miss" in cache_status(other) and other.content != first.content, cache_status(other))
        done("Session: a miss, a hit with its age, another query's miss")

        for number in range(50):
            response = session.get(f"{gateway}/bytes/{1000 + number % 3}", timeout=LONG)
            equal(len(response.content), 1000 + number % 3, "bytes")
        # A session opens another connection if the first cannot be used any more.
        pools = session.get_adapter(gateway).poolmanager.pools
        equal([pools.get(key).num_connections for key in pools.keys()], [1], "connections of the session")
        done("Session: fifty requests on one connection")

        not_modified = session.get(feed, params={"userID": "harbour", "page": 1}, headers={"If-None-Match": first.headers["ETag"]}, timeout=LONG)
        equal((not_modified.status_code, not_modified.content), (304, b""), "the response to a current validator")
        head = session.head(feed, params={"userID": "harbour", "page": 1}, timeout=LONG)
        equal((head.status_code, head.content, head.headers["Content-Length"]), (200, b"", str(len(first.content))), "HEAD")
        done("conditional GET and HEAD")

        packed = session.get(f"{gateway}/gzip/100000", timeout=LONG)
        equal((packed.headers["Content-Encoding"], len(packed.content)), ("gzip", 100_000), "gzip")
        again = stored(lambda: session.get(f"{gateway}/gzip/100000", timeout=LONG))
        check(cache_status(again).startswith("holdfast; hit"), cache_status(again))
        equal(again.content, packed.content, "gzip's second copy")
        plain = session.get(f"{gateway}/gzip/100000", headers={"Accept-Encoding": "identity"}, timeout=LONG)
        check("Content-Encoding" not in plain.headers, plain.headers)
        check("fwd=vary-miss" in cache_status(plain), cache_status(plain))
        equal(plain.content, packed.content, "the text, uncoded")
        remember(memory, "gzip", packed.content)
        only = session.get(f"{gateway}/gzip/70000", timeout=LONG)
        equal((only.headers["Content-Encoding"], len(only.content)), ("gzip", 70_000), "gzip")
        remember(memory, "only-gzip", only.content)
        done("gzip: decoded, stored, and not served to clients that cannot decode it")

        for coding in ("gzip", "identity", "gzip;q=0", "deflate, gzip"):
            small = session.get(gateway + PACKED, headers={"Accept-Encoding": coding}, timeout=LONG)
            equal((small.status_code, small.text), (200, WORDS), coding)
            equal("Content-Encoding" in small.headers, coding in ("gzip", "deflate, gzip"), coding)
            check("Accept-Encoding" in small.headers["Vary"], small.headers)
        done("compression: each client gets what it accepts")

        size = 5_000_000
        for chunked in ("false", "true"):
            url = f"{gateway}/bytes/{size}?seed=7&chunked={chunked}"
            bodies = []
            for expected in ("fwd=uri-miss", "hit"):
                with stored(lambda: session.get(url, stream=True, timeout=LONG)) as streamed:
                    check(expected in cache_status(streamed), cache_status(streamed))
                    bodies.append(b"".join(streamed.iter_content(65_536)))
            equal([len(body) for body in bodies], [size, size], "streamed bytes")
            equal(digest(bodies[0]), digest(bodies[1]), "the stored copy of the streamed body")
        remember(memory, "bytes", bodies[0])
        done("streaming 5 MB, with a length and chunked, from the origin and stored")

        with session.get(f"{gateway}/bytes/{size}?seed=8", stream=True, timeout=LONG) as streamed:
            next(streamed.iter_content(1000))
        whole = session.get(f"{gateway}/bytes/{size}?seed=8", timeout=LONG)
        equal(len(whole.content), size, "bytes after another reader stopped")
        done("a reader that stops truncates no other response")

        content = os.urandom(300_000)
        for body, way in ((content, "bytes"), (io.BytesIO(content), "a file"), ((content[i : i + 7000] for i in range(0, len(content), 7000)), "chunks")):
            posted = session.post(f"{gateway}/upload", data=body, timeout=LONG)
            equal((posted.json()["bytes"], posted.json()["sha256"]), (len(content), digest(content)), f"an upload of {way}")
        form = session.post(f"{gateway}/upload/multipart", files={"one": ("one.bin", content)}, data={"two": "2"}, timeout=LONG)
        parts = json.dumps(form.json())
        check(digest(content) in parts and "one.bin" in parts, parts)
        done("POST of bytes, a file, chunks and a form")

        liked = session.post(f"{gateway}/moments/harbour-25/likes", timeout=LONG)
        check(liked.ok, liked.status_code)
        for expected in ("fwd=uri-miss; stored", "fwd=stale"):
            stale = stored(lambda: session.get(gateway + STALE, timeout=LONG))
            check(stale.content == b"old" and expected in cache_status(stale), cache_status(stale))
        missing = session.get(f"{gateway}/status/404?body=none", timeout=LONG)
        equal(missing.status_code, 404, "the origin's own 404")
        moved = session.get(f"{gateway}/redirect?to=/html", timeout=LONG)
        equal((moved.status_code, len(moved.history)), (200, 1), "a redirection that was followed")
        remember(memory, "html", moved.content)
        done("other methods, statuses and a redirection")


def offline(gateway, memory):
    with requests.Session() as session:
        feed = session.get(f"{gateway}/moments", params={"userID": "harbour", "page": 1}, timeout=LONG)
        equal((feed.status_code, feed.content), (200, remembered(memory, "feed")), "the feed")
        check(cache_status(feed).startswith("holdfast; hit"), cache_status(feed))
        packed = session.get(f"{gateway}/gzip/100000", timeout=LONG)
        equal((packed.status_code, packed.content), (200, remembered(memory, "gzip")), "gzip")
        plain = session.get(f"{gateway}/gzip/70000", headers={"Accept-Encoding": "identity"}, timeout=LONG)
        equal((plain.status_code, plain.content), (200, remembered(memory, "only-gzip")), "gzip, decoded by the gateway")
        check(cache_status(plain).endswith("detail=decoded") and "Content-Encoding" not in plain.headers, plain.headers)
        with session.get(f"{gateway}/bytes/5000000?seed=7&chunked=true", stream=True, timeout=LONG) as streamed:
            equal(b"".join(streamed.iter_content(8192)), remembered(memory, "bytes"), "5 MB")
        moved = session.get(f"{gateway}/html", timeout=LONG)
        equal(moved.content, remembered(memory, "html"), "a page")
        stale = session.get(gateway + STALE, timeout=LONG)
        equal((stale.status_code, stale.content), (200, b"old"), "the stale response")
        check(cache_status(stale).startswith("holdfast; hit; ttl=") and cache_status(stale).endswith("detail=unreachable"), cache_status(stale))
        done("all earlier responses are served, and stale ones are marked")

        start = time.monotonic()
        missing = session.get(f"{gateway}/moments", params={"userID": "tides", "page": 1}, timeout=LONG)
        equal(missing.status_code, 504, "a response that is not stored")
        equal(missing.headers["Content-Type"], "application/problem+json", "its type")
        equal(missing.json()["status"], 504, "its problem")
        posted = session.post(f"{gateway}/upload", data=b"0123456789", timeout=LONG)
        equal(posted.status_code, 504, "an upload without an origin")
        posted = session.post(f"{gateway}/upload", data=(bytes(1000) for _ in range(100)), timeout=LONG)
        equal(posted.status_code, 504, "an upload without an origin")
        check(time.monotonic() - start < 2, "it took", time.monotonic() - start)
        again = session.get(f"{gateway}/html", timeout=LONG)
        equal(again.content, remembered(memory, "html"), "a page, on the same connection")
        done("requests that need the origin fail at once, with a readable problem")


if __name__ == "__main__":
    phase, gateway, _, memory = sys.argv[1:]
    {"online": online, "offline": offline}[phase](gateway, memory)
