"""Fetches paths by GET, one after the other: fetching.py PATH... Writes the contents to the file RESULTS."""

import json
import os
import sys
import urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
bodies = []
for path in sys.argv[1:]:
    with opener.open(os.environ["HOLDFAST_URL"] + path, timeout=120) as response:
        bodies.append(response.read().decode())
with open(os.environ["RESULTS"], "w") as file:
    json.dump(bodies, file)
