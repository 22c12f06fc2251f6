"""Asks for ranges of files, and for some files as a whole, on thirty connections at the same moment. SEED chooses the order. Says what is wrong.

The content of a file is made from its path: see `content`.
"""

import hashlib
import http.client
import os
import random
import sys
import threading
import urllib.parse

PATIENCE = int(os.environ.get("PATIENCE", "120"))
CONNECTIONS = 30
LENGTH = 60_000


def content(path):
    return hashlib.shake_128(path.encode()).hexdigest(LENGTH // 2).encode()


def requests(path):
    """Ranges that touch each other, or do not, and everything for one of the files."""
    step = 2_000 if path.startswith("/gaps/") else 1_000
    ranges = [(place * step, place * step + 999) for place in range(CONNECTIONS)]
    return [None, *ranges[1:]] if path.startswith("/whole/") else ranges


def main(paths):
    generator, wrong = random.Random(int(os.environ["SEED"])), []
    address = urllib.parse.urlsplit(os.environ["HOLDFAST_URL"]).netloc
    for path in paths:
        asked, start = requests(path), threading.Barrier(CONNECTIONS)
        generator.shuffle(asked)

        def ask(part, path=path, start=start):
            connection = http.client.HTTPConnection(address, timeout=PATIENCE)
            start.wait(PATIENCE)
            connection.request("GET", path, headers={"Range": f"bytes={part[0]}-{part[1]}"} if part else {})
            response = connection.getresponse()
            found = response.status, response.read()
            connection.close()
            if found != ((206, content(path)[part[0] : part[1] + 1]) if part else (200, content(path))):
                wrong.append(f"{path} {part}: {found[0]}")

        threads = [threading.Thread(target=ask, args=(part,)) for part in asked]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return "\n".join(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or 0)
