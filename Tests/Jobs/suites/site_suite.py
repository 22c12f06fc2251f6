"""Opens the page of a site in Chromium with a new profile. Writes the digest of each response, by its path, and the title to the file RESULTS."""

import hashlib
import json
import os
import pathlib
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "Packages"))

from browsers import launch  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

# A guard against hanging, for machines under load; it passes unused if all is well.
PATIENCE = int(os.environ.get("PATIENCE", "120")) * 1000
base = os.environ["HOLDFAST_URL"]
problems, responses, content = [], [], {}
with sync_playwright() as playwright:
    page = launch(playwright).new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("requestfailed", lambda request: problems.append(f"{request.url}: {request.failure}"))
    page.on("response", lambda response: responses.append(response))  # noqa: PLW0108
    page.goto(base + "/", wait_until="load")
    # Without one of its parts, the site says so in its title.
    page.wait_for_function("document.title !== 'loading'")
    page.wait_for_load_state("networkidle")
    for response in responses:
        if response.status != 200 or not response.url.startswith(base + "/"):
            problems.append(f"{response.url}: {response.status}")
            continue
        content[urllib.parse.urlsplit(response.url).path] = hashlib.sha256(response.body()).hexdigest()
    title = page.title()
if title != "all parts" or problems:
    sys.exit("\n".join([title, *problems]))
with open(os.environ["RESULTS"], "w") as file:
    json.dump({"title": title, "content": content}, file)
