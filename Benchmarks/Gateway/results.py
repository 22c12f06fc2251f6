"""Figures and limits, as a table for people and as the part 'Gateway' of Benchmarks/RESULTS.md."""

import os
import platform
import re
import statistics
import subprocess

HEADING = "## Gateway"


class Results:
    """The results in the order of measuring."""

    def __init__(self):
        self.tables = {}
        self.limits = []

    def measured(self, section, server, reports):
        """Adds a table row: the medians of a server's runs."""
        self.tables.setdefault(section, []).append(
            [
                server,
                f"{median(reports, 'processor') * 1e6:.1f}",
                f"{median(reports, 'rate') / 1e3:.1f}",
                # h2load reports none.
                *(f"{median(reports, name) * 1e3:.2f}" if name in reports[0] else "" for name in ("p50", "p99")),
            ]
        )

    def limit(self, name, value, bound=None, unit="", digits=2):
        """Adds a row that may have a limit: `("at most", 1.5)`."""
        verdict = ""
        if bound:
            held = value <= bound[1] if bound[0] == "at most" else value >= bound[1]
            verdict = "ok" if held else "MISSED"
        figure = f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.{digits}f}"
        self.limits.append([name, f"{figure} {unit}".strip(), f"{bound[0]} {bound[1]:g}" if bound else "", verdict])

    def held(self, name, fact, is_so):
        """Adds a row for a claim that holds or does not."""
        self.limits.append([name, fact, "must be", "ok" if is_so else "MISSED"])

    @property
    def missed(self):
        return [row for row in self.limits if row[3] == "MISSED"]


def median(reports, name):
    return statistics.median(report[name] for report in reports)


def ratio(mine, others, name):
    """The median of the ratios of neighboring runs: other load affects both alike."""
    return statistics.median(a[name] / b[name] for a, b in zip(mine, others))


TABLE = ["CPU, µs a request", "thousand a second", "p50, ms", "p99, ms"]
LIMITS = ["What", "measured", "limit", ""]


def tables(results):
    for section, rows in results.tables.items():
        yield [section, *TABLE], rows
    if results.limits:
        yield LIMITS, results.limits


def print_tables(results):
    for heads, rows in tables(results):
        lines = [heads, *rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
        print()
        for line in lines:
            print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def model():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name[^:]*: (.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def markdown(results, options, versions, loads):
    swift = subprocess.run(["swift", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
    lines = [
        HEADING,
        "",
        f"Written by `Benchmarks/gateway.sh --write`: release build, one core for each server (Varnish with one pool of at least 100 threads, the others with one worker), wrk and the origin on the other, loopback, {options.connections} connections,"
        f" medians of {options.rounds} rounds of {options.seconds} s in which all servers run in turn; a ratio is the median of the ratios of one round."
        " CPU is the server's user and system time over the requests served. The origin counts its requests, which proves that hits are hits.",
        "",
        f"* Date: {options.write}",
        f"* Machine: {model()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"* Load average, the benchmark itself included: {min(loads):.2f} to {max(loads):.2f}",
        f"* Compiler: {swift.splitlines()[0] if swift else 'unknown'}",
        f"* Compared with: {', '.join(f'{name} {version}' for name, version in versions.items())}",
    ]
    for heads, rows in tables(results):
        lines += ["", "| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 2) + ("---|" if heads is LIMITS else "--:|")]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
