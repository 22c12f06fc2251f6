"""Fetches paths by GET with the credential KEY: identified.py PATH... Writes the contents to the file RESULTS; the status of an error."""

import json
import os
import sys
import urllib.error
import urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
bodies = []
for path in sys.argv[1:]:
    fields = {"Accept-Language": "de"} | ({} if os.environ["KEY"] == "none" else {"Authorization": os.environ["KEY"]})
    try:
        with opener.open(urllib.request.Request(os.environ["HOLDFAST_URL"] + path, headers=fields), timeout=120) as response:
            bodies.append(response.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            bodies.append(error.code)
with open(os.environ["RESULTS"], "w") as file:
    json.dump(bodies, file)
