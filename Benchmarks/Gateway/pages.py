"""The tables of README.md and docs/comparison.md that repeat figures of the part 'Gateway' of
Benchmarks/RESULTS.md.

  pages.py            rewrites them, as 'Benchmarks/gateway.sh --write' does
  pages.py --check    prints each row that differs, and fails if there is one

Tests/Scripts/hygiene runs the check, and tests it.
"""

import fnmatch
import os
import re
import sys
from itertools import zip_longest

from results import HEADING, LIMITS

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RESULTS = "Benchmarks/RESULTS.md"
PEERS = {"nginx": "nginx", "haproxy": "HAProxy", "varnish": "Varnish", "trafficserver": "Traffic Server"}
SMALL, LARGE, DISK = "Hit, 1 KiB, from memory", "Hit, 100 KiB, from memory", "Hit, 8 KiB, from disk"
PASSING, STORED = "Miss passing through, 1 KiB", "Miss that is stored, 1 KiB"
# The label of each row, and the section of the benchmark whose ratios it shows.
SPEED = {"hit, 1 KiB from memory": SMALL, "hit, 8 KiB from disk": DISK, "miss, not stored": PASSING}
PROCESSOR = {
    "hit, 1 KiB from memory": SMALL,
    "hit, 100 KiB from memory": LARGE,
    "hit, 8 KiB from disk": DISK,
    "miss, not stored, 1 KiB": PASSING,
    "miss, stored, 1 KiB": STORED,
}
# The label of each row, the name of its figures (see 'Figures'), their unit, and which is best.
OTHERS = [
    ("hit, 1 KiB from memory: p99", SMALL + ": p99, ms of {}", "ms", min),
    ("hit, 100 KiB from memory: p99", LARGE + ": p99, ms of {}", "ms", min),
    ("hit, 8 KiB from disk: p99", DISK + ": p99, ms of {}", "ms", min),
    ("hit, 8 KiB from disk: thousand a second", DISK + ": thousand a second of {}", "", max),
    ("miss, not stored: p99", PASSING + ": p99, ms of {}", "ms", min),
    ("miss, stored: thousand a second", STORED + ": thousand a second of {}", "", max),
    ("p99 of hits next to slow misses, divided by p99 without them", "p99 of hits while * times that without, {}", "", min),
    ("memory of 10,000 idle connections", "10,000 idle connections: resident memory, {}", "", min),
    ("memory of each idle connection", "10,000 idle connections: resident memory, {}, extra for each", "", min),
]


class Figures:
    """The figures of a run by name: a row of the last table, or 'section: column of server'."""

    def __init__(self, text):
        start, end = section(text, RESULTS, HEADING)
        self.head = text[start:end]
        self.values = {}
        for table in tables(text, start, end):
            heads, _, *rows = [line[2:-2].split(" | ") for line in table.group().splitlines()]
            for name, *values in rows:
                if heads[0] == LIMITS[0]:
                    self.values[name] = values[0]
                else:
                    self.values.update((f"{heads[0]}: {column} of {name}", value) for column, value in zip(heads[1:], values))

    def fact(self, pattern):
        found = re.search(rf"(?m)^\* {pattern}", self.head)
        if not found:
            raise ValueError(f"{RESULTS}: no line of '{HEADING}' matches '* {pattern}'.")
        return found.group(1)

    def peers(self, names, numbers):
        """The peers with so many numbers of their versions."""
        return [f"{PEERS[name]} " + ".".join(self.fact(rf"Compared with:.* {name} ([\d.]+)").split(".")[:numbers]) for name in names]

    def row(self, name, servers, unit=""):
        """The figures of these servers; those that were not measured are empty."""
        found = [fnmatch.filter(self.values, name.format(server)) for server in servers]
        if not any(found):
            raise ValueError(f"{RESULTS}: '{HEADING}' has no '{name}'.")
        return [f"{self.values[names[0]]} {unit}".strip() if names else "" for names in found]

    def ratios(self, labels, peers):
        return [[label, *self.row(f"{part}: CPU compared with {{}}", peers)] for label, part in labels.items()]


def section(text, page, heading):
    """Where the section with this heading begins and ends."""
    start = text.find(f"\n{heading}\n")
    if start < 0:
        raise ValueError(f"{page}: there is no section '{heading}'.")
    end = text.find("\n## ", start + 1)
    return start, end if end >= 0 else len(text)


def tables(text, start, end):
    return list(re.compile(r"(?:^\|.*\n)+", re.M).finditer(text, start, end))


def bold(cells, is_bold):
    return [f"**{cell}**" if cell and is_bold(number(cell)) else cell for cell in cells]


def number(cell):
    return float(cell.split()[0].replace(",", ""))


def table(heads, rows):
    first, *others = [re.sub(" {2,}", " ", f"| {' | '.join(line)} |") for line in [heads, *rows]]
    return [first, "|---|" + "--:|" * (len(heads) - 1), *others]


def pages(figures):
    """For each page, the section that has only these tables."""
    names, first = list(PEERS), list(PEERS)[:3]
    speed = figures.ratios(SPEED, first)
    processor = [[label, *bold(cells, lambda ratio: ratio > 1)] for label, *cells in figures.ratios(PROCESSOR, names)]
    others = []
    for label, name, unit, best in OTHERS:
        cells = figures.row(name, ["holdfast", *names], unit)
        top = best(number(cell) for cell in cells if cell)
        others.append([label, *bold(cells, lambda value, top=top: value == top)])
    return [
        ("README.md", "## Speed", [table([f"[CPU time]({RESULTS}#gateway) ÷ peer's", *figures.peers(first, 2)], speed)]),
        ("docs/comparison.md", "## Figures", [
            table([f"Run of {figures.fact('Date: (.*)')}", *figures.peers(names, 3)], processor),
            table(["", "Holdfast", *PEERS.values()], others),
        ]),
    ]  # fmt: skip


def compared(root):
    """Each page with its text, its tables in the text, and as they should be."""
    def read(name):
        with open(os.path.join(root, name), encoding="utf-8") as file:
            return file.read()

    for page, heading, wanted in pages(Figures(read(RESULTS))):
        text = read(page)
        found = tables(text, *section(text, page, heading))
        if len(found) != len(wanted):
            raise ValueError(f"{page}: '{heading}' has {len(found)} tables instead of {len(wanted)}.")
        yield page, text, list(zip(found, wanted))


def differences(root):
    """The rows that differ."""
    found = []
    try:
        for page, _, both in compared(root):
            for present, wanted in both:
                for old, new in zip_longest(present.group().splitlines(), wanted, fillvalue=""):
                    if old != new:
                        found.append(f"{page}: '{old}' should be '{new}': see {RESULTS}.")
    except (OSError, ValueError) as error:
        found.append(str(error))
    return found


def write(root=ROOT):
    # All pages or none.
    for page, text, both in list(compared(root)):
        for present, wanted in reversed(both):
            text = text[: present.start()] + "\n".join(wanted) + "\n" + text[present.end() :]
        with open(os.path.join(root, page), "w", encoding="utf-8") as file:
            file.write(text)


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("error: Usage: pages.py [--check]")
    if not arguments:
        try:
            return write()
        except ValueError as error:
            sys.exit(f"error: {error}")
    found = differences(ROOT)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
