"""Sends contents by POST, one after the other: asking.py PATH CONTENT... Writes each response to the file RESULTS."""

import http.client
import json
import os
import sys
import urllib.error
import urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
fields = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('OPENAI_API_KEY', 'none')}"}
fields |= json.loads(os.environ.get("FIELDS", "{}"))
results = []
for content in sys.argv[2:]:
    request = urllib.request.Request(os.environ["HOLDFAST_URL"] + sys.argv[1], content.encode(), fields)
    try:
        with opener.open(request, timeout=120) as response:
            try:
                status, body, cut = response.status, response.read(), False
            except http.client.IncompleteRead as error:
                status, body, cut = response.status, error.partial, True
    except urllib.error.HTTPError as error:
        with error:
            status, body, cut = error.code, error.read(), False
    results.append({"status": status, "body": body.decode(), "cut": cut})
with open(os.environ["RESULTS"], "w") as file:
    json.dump(results, file)
