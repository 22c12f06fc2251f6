"""Clients that read, and operators who purge, each from a seed of its own."""

import asyncio
import time

from origin import GROUPS, KEYS, NAMES, tag_of
from wire import FAILURES, Connection

ALL = "everything"
EVERYWHERE = "everywhere"


async def read(history, gateway, key, connection=None):
    """One request; the response, or None."""
    own = connection or Connection(gateway.place)
    request = history.begin(gateway.name, key)
    try:
        response = await own.request("GET", key)
    except FAILURES as error:
        history.fail(request, error)
        return None
    finally:
        if connection is None:
            own.close()
    history.end(request, response)
    return response


async def client(randomness, history, gateway):
    """Reads keys, some of them often, until it is cancelled."""
    connection = Connection(gateway.place)
    try:
        while True:
            await gateway.up.wait()
            if connection.place != gateway.place:
                connection.close()
                connection = Connection(gateway.place)
            key = randomness.choice(KEYS[:8] if randomness.random() < 0.5 else KEYS)
            if await read(history, gateway, key, connection) is None:
                # It may have been killed.
                await asyncio.sleep(0.05)
            await asyncio.sleep(randomness.expovariate(100))
    finally:
        connection.close()


def selection(randomness, origin):
    """What to purge: in words, as the control plane's 'select', and the keys that it covers."""
    key = randomness.choice(KEYS)
    match randomness.choices(["url", "urls", "tag", "prefix", ALL], [62, 12, 13, 12, 1])[0]:
        case "url":
            return key, {"urls": [origin.url + key]}, [key]
        case "urls":
            keys = randomness.sample(KEYS, 4)
            return "four URLs", {"urls": [origin.url + key for key in keys]}, keys
        case "tag":
            tag = randomness.choice(NAMES)
            return tag, {"tags": [tag]}, [key for key in KEYS if tag_of(key) == tag]
        case "prefix":
            prefix = f"/g{randomness.randrange(GROUPS)}/"
            return f"{prefix}*", {"prefixes": [origin.url + prefix]}, [key for key in KEYS if key.startswith(prefix)]
    return ALL, {"all": True}, list(origin.versions)


async def purge(history, gateway, words, select, keys, action="expire", level=None):
    """One purge; whether it was acknowledged."""
    wait = {"wait": level} if level else {}
    purge = history.begin_purge(gateway.name, f"{words} ({action})", keys)
    try:
        is_acknowledged, response = await gateway.purge(select, action, **wait)
    except FAILURES as error:
        history.end_purge(gateway.name, purge, False, repr(error))
        return False
    is_everywhere = level == EVERYWHERE and response.status == 200
    history.end_purge(gateway.name, purge, is_acknowledged, f"{response.status} {response.body!r}", is_everywhere)
    return is_acknowledged


async def operator(randomness, history, gateway, ends, levels):
    """Purges until it has to end. Where purges are few, a later one does not hide that one was lost."""
    longest = randomness.choice([0.2, 0.5, 1.5])
    while not ends.is_set():
        await asyncio.sleep(randomness.uniform(0.02, longest))
        if gateway.up.is_set() and not ends.is_set():
            words, select, keys = selection(randomness, history.origin)
            removes = randomness.random() < 0.25 and time.monotonic() < history.removes_until
            action = "remove" if removes else "expire"
            await purge(history, gateway, words, select, keys, action, randomness.choice(levels))
