"""Clients that ask the same at once, each on a connection of its own: crowd.py PATH CONTENT.

Each waits for its first event, and only when all of them have one, RELEASE is requested: so all of them got it as it came. Writes
what each got to the file RESULTS.
"""

import json
import os
import sys
import threading
import urllib.request

# A guard against hanging, for machines under load.
PATIENCE = int(os.environ.get("PATIENCE", "300"))
keys, count, release = os.environ["KEYS"].split(), int(os.environ["CLIENTS"]), os.environ["RELEASE"]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
more = json.loads(os.environ.get("FIELDS", "{}"))
results, failures = [None] * count, []


def let_go():
    if release:
        opener.open(release, timeout=PATIENCE).close()


together, all_have_one = threading.Barrier(count), threading.Barrier(count, action=let_go)


def ask(number):
    fields = {"Content-Type": "application/json", "Authorization": f"Bearer {keys[number % len(keys)]}"} | more
    request = urllib.request.Request(os.environ["HOLDFAST_URL"] + sys.argv[1], sys.argv[2].encode(), fields)
    try:
        together.wait(PATIENCE)
        with opener.open(request, timeout=PATIENCE) as response:
            first = response.readline()
            assert first.startswith(b"data: "), first
            all_have_one.wait(PATIENCE)
            results[number] = {"body": (first + response.read()).decode()}
    except Exception as error:  # noqa: BLE001
        all_have_one.abort()
        failures.append(f"client {number}: {error!r}")


threads = [threading.Thread(target=ask, args=[number]) for number in range(count)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
with open(os.environ["RESULTS"], "w") as file:
    json.dump(results, file)
sys.exit("\n".join(failures) if failures else 0)
