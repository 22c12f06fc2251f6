"""The parts of RESULTS.md: each begins with its heading, and its own script writes it."""

import os
import re

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md")


def replace(heading, text):
    """Replaces the part with this heading, or adds it at the end; the others do not change."""
    with open(RESULTS) as file:
        parts = [part.rstrip("\n") for part in re.split(r"(?m)^(?=## )", file.read())]
    place = next((i for i, part in enumerate(parts) if part.split("\n", 1)[0] == heading), len(parts))
    parts[place : place + 1] = [text.rstrip("\n")]
    with open(RESULTS, "w") as file:
        file.write("\n\n".join(parts) + "\n")
