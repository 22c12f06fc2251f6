"""Runs the programs of every measurement of the store in turn, A B A B A B, and prints the results
next to their limits.

Each measurement is a process of its own. A ratio is the median of the ratios of neighboring runs,
so that other load on the machine affects both programs alike. scripts/benchmark-store calls this
program; its head describes the options.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import time

MIB = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, "..", "..", ".."))
SQL = os.path.join(ROOT, "Migrations", "sql")
# The other parts of the results do not change.
sys.path.insert(0, os.path.join(ROOT, "Benchmarks"))
from sections import replace  # noqa: E402

STEPS = sorted(os.path.join(SQL, name) for name in os.listdir(SQL) if name.endswith(".sql"))


class Row:
    """One row: the measurement, both figures, their ratio, and the limit."""

    def __init__(self, section, name, ours="", theirs="", value=None, limit=None, text=None, processor=None):
        self.section, self.name, self.ours, self.theirs = section, name, ours, theirs
        self.value, self.limit, self.text, self.processor = value, limit, text, processor

    @property
    def verdict(self):
        if self.limit is None:
            return ""
        if self.value is None:
            return "MISSING"
        kind, bound = self.limit
        return "ok" if (self.value >= bound if kind == "at least" else self.value <= bound) else "MISSED"

    @property
    def cells(self):
        value = self.text if self.text is not None else "" if self.value is None else f"{self.value:.2f}"
        limit = "" if self.limit is None else f"{self.limit[0]} {self.limit[1]:g}"
        processor = "" if self.processor is None else f"{self.processor:.2f}"
        return [self.name, self.ours, self.theirs, value, processor, limit, self.verdict]


HEADS = ["What", "Holdfast", "other", "ratio or value", "CPU ratio", "limit", ""]


def per_second(rate):
    return f"{rate / 1e6:.2f} M/s" if rate >= 1e6 else f"{rate / 1e3:.1f} k/s"


def bytes_per_second(rate):
    return f"{rate / MIB:,.0f} MiB/s"


def milliseconds(value):
    return f"{value:.1f} ms"


def microseconds(value):
    return f"{value:,.0f} µs"


class Comparison:
    def __init__(self, options):
        self.options = options
        self.rows = []
        self.rounds = 1 if options.quick else options.rounds
        self.shrink = 20 if options.quick else 1
        self.number = 0

    # MARK: Running

    def some(self, count):
        return max(200, count // self.shrink)

    def folder(self):
        """A path that does not exist yet."""
        self.number += 1
        return os.path.join(self.options.folder, f"data-{self.number}")

    def remove(self, *paths):
        for path in paths:
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                for name in (path, path + "-wal", path + "-shm"):
                    if os.path.exists(name):
                        os.remove(name)

    def run(self, command):
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.exit(f"error: {' '.join(command)}\n{result.stderr}")
        return json.loads(result.stdout)

    def ours(self, command, **values):
        return self.run([self.options.swift, command, *(f"{name}={value}" for name, value in values.items())])

    def c(self, *arguments):
        return self.run([self.options.c, *map(str, arguments)])

    def theirs(self, *arguments):
        return self.run([self.options.python, os.path.join(HERE, "theirs.py"), *map(str, arguments)])

    def database(self, folder):
        with open(os.path.join(folder, "CURRENT")) as file:
            return os.path.join(folder, file.read().strip())

    def alternate(self, *sides):
        """The reports of the sides, which run in turn."""
        rounds = [[side() for side in sides] for _ in range(self.rounds)]
        return [list(reports) for reports in zip(*rounds)]

    # MARK: Rows

    def rate(self, section, name, limit, ours, theirs, text=per_second):
        """Adds both rates for each second; the ratio is ours divided by theirs."""
        mine, others = self.alternate(ours, theirs)
        self.add(
            Row(
                section,
                name,
                text(median(mine, "rate")),
                text(median(others, "rate")),
                ratio(mine, others, "rate"),
                limit and ("at least", limit),
                processor=ratio(mine, others, "processorRate"),
            )
        )
        return mine

    def add(self, row):
        self.rows.append(row)
        print("  " + "   ".join(cell for cell in row.cells if cell), flush=True)

    # MARK: Measurements

    def reading(self):
        section = "Reading from disk, values of 2 KiB"
        count, reads = self.some(100_000), self.some(100_000)
        responses, objects = self.folder(), self.folder()
        self.ours("write", folder=responses, kind="response", count=count, tasks=256)
        self.ours("write", folder=objects, kind="object", count=count, tasks=256)
        for name, folder, kind, code in [("response", responses, "response", 0), ("object", objects, "object", 1)]:
            reports = self.rate(
                section,
                f"{name}, one at a time; C: the same lookups",
                0.4,
                lambda: self.ours("read", folder=folder, kind=kind, count=count, reads=reads),
                lambda: self.c("lookup", self.database(folder), code, reads, 0, 1),
            )
            # Reading itself writes nothing; recording the use does.
            written = median(reports, "written") / median(reports, "count")
            self.add(Row(section, f"{name}: bytes written for each that was read", f"{written:,.0f}"))
            self.rate(
                section,
                f"{name}s, 100 at a time; C: the same in transactions",
                0.7,
                lambda: self.ours("read", folder=folder, kind=kind + "s", count=count, reads=reads),
                lambda: self.c("lookup", self.database(folder), code, reads, 100, 1),
            )
        self.remove(responses, objects)

    def memory(self):
        section = "Reading from memory, values of 2 KiB"
        count, reads = 10_000, self.some(1_000_000)
        folder = self.folder()
        self.ours("write", folder=folder, kind="response", count=count, tasks=256)
        for name, kind, aim in [
            ("head and body: 'resident'", "resident", ("at least", 1.0)),
            ("the same through 'lookup' and 'openBody'", "response", None),
        ]:
            options = dict(folder=folder, kind=kind, count=count, reads=reads, memory=256 * MIB)
            (reports,) = self.alternate(lambda: self.ours("read", **options))
            value = median(reports, "processorRate") / 1e6
            self.add(Row(section, f"{name}, of one core", per_second(value * 1e6), "", value, aim, f"{value:.2f} M/s"))
        self.remove(folder)

    def writing(self):
        section = "Writing values of 2 KiB"
        for name, kind in [("responses", "response"), ("objects", "object")]:
            for how, way, together, limit in [
                ("10,000 in a call; C: the same rows in one transaction", dict(batch=10_000), 0, 0.6),
                ("256 callers, one each at a time; C: the same rows in one transaction", dict(tasks=256), 0, None),
                ("one after the other; C: a transaction each", dict(tasks=1), 1, None),
            ]:
                count = self.some(10_000 if together else 50_000)
                folder, copy = self.folder(), self.folder()

                def ours():
                    self.remove(folder)
                    return self.ours("write", folder=folder, kind=kind, count=count, **way)

                def theirs():
                    self.remove(copy)
                    return self.c("insert", self.database(folder), copy, together, *STEPS)

                self.rate(section, f"{name}, {how}", limit, ours, theirs)
                self.remove(folder, copy)

    def diskcache(self):
        section = "Compared with diskcache, bytes of 2 KiB"
        count, reads = 10_000, self.some(200_000)
        folder = self.folder()
        self.ours("write", folder=folder, kind="object", count=count, tasks=256)

        def fresh(work):
            def run():
                path = self.folder()
                try:
                    return work(path)
                finally:
                    self.remove(path)

            return run

        get = fresh(lambda path: self.theirs("get", path, count, reads, 2048))
        read = dict(folder=folder, kind="object", count=count, reads=reads)
        self.rate(section, "reads from memory", 5, lambda: self.ours("read", memory=256 * MIB, **read), get)
        self.rate(section, "reads from disk", 1, lambda: self.ours("read", **read), get)
        self.remove(folder)

        def write(tasks, count):
            return fresh(lambda path: self.ours("write", folder=path, kind="object", count=count, tasks=tasks))

        put = fresh(lambda path: self.theirs("set", path, self.some(10_000), 2048))
        self.rate(section, "writes, each awaited", 2, write(1, self.some(10_000)), put)
        self.rate(section, "writes, many at a time", 5, write(256, self.some(50_000)), put)

        # First find diskcache's faster variant, which is then compared.
        ways = {
            way: fresh(lambda path, way=way: self.theirs("set8", path, self.some(20_000), 2048, way))
            for way in ("processes", "threads")
        }
        mine, *others = self.alternate(write(8, self.some(20_000)), *ways.values())
        best, reports = min(zip(ways, others), key=lambda pair: median(pair[1], "p99"))
        self.add(
            Row(
                section,
                f"eight writers, 99 % of the writes within; theirs: {best}",
                microseconds(median(mine, "p99")),
                microseconds(median(reports, "p99")),
                ratio(mine, reports, "p99"),
                ("at most", 0.25),
            )
        )

    def requests_cache(self):
        count, reads = 500, self.some(40_000)
        folder = self.folder()
        self.ours("write", folder=folder, kind="response", count=count, tasks=64)

        def theirs():
            path = self.folder()
            try:
                return self.theirs("session", path, count, max(100, reads // 10), 2048)
            finally:
                self.remove(path)

        self.rate(
            "Compared with requests-cache, a GET with a body of 2 KiB",
            "hits from disk, request in, response out",
            20,
            lambda: self.ours("engine", folder=folder, count=count, reads=reads),
            theirs,
        )
        self.rate(
            "Compared with requests-cache, a GET with a body of 2 KiB",
            "hits from memory, request in, response out",
            None,
            lambda: self.ours("engine", folder=folder, count=count, reads=reads, memory=256 * MIB),
            theirs,
        )
        self.remove(folder)

    def scale(self):
        total, reads = self.some(self.options.count), self.some(100_000)
        section = f"{total:,} responses of 64 bytes"
        folders = {size: self.folder() for size in (self.some(10_000), total)}
        for size, folder in folders.items():
            start = time.monotonic()
            # In parts, because values are made before they are stored.
            for first in range(0, size, 500_000):
                count = min(500_000, size - first)
                self.ours("write", folder=folder, kind="response", first=first, count=count, length=64, batch=10_000)
            print(f"  {size:,} stored in {time.monotonic() - start:.0f} s, {size_of(folder) / MIB:,.0f} MiB", flush=True)
        few, many = folders

        (opened,) = self.alternate(lambda: self.ours("open", folder=folders[many], count=many, memory="default"))
        value = median(opened, "open")
        aim = ("at most", 100)
        self.add(Row(section, "opening, in a new process", milliseconds(value), "", value, aim, milliseconds(value)))
        value = median(opened, "firstRead")
        self.add(Row(section, "opening, and the first response", milliseconds(value)))
        self.add(Row(section, "opening: bytes read, of the store's", f"{median(opened, 'read') / 1024:,.0f} KiB", f"{size_of(folders[many]) / 1024:,.0f} KiB"))

        ours = {
            size: lambda size=size: self.ours("read", folder=folders[size], kind="response", count=size, reads=reads)
            for size in folders
        }
        theirs = {
            size: lambda size=size: self.c("lookup", self.database(folders[size]), 0, reads, 0, 1) for size in folders
        }
        # Otherwise the first side would read from disk, and the other from the system's cache.
        for folder in folders.values():
            with open(self.database(folder), "rb", buffering=0) as database:
                while database.read(16 * MIB):
                    pass
        a, c, b, d = self.alternate(ours[few], theirs[few], ours[many], theirs[many])
        growths = [
            (x["rate"] / y["rate"]) / (z["rate"] / w["rate"]) for x, y, z, w in zip(a, b, c, d)
        ]
        self.add(
            Row(
                section,
                f"a lookup, compared with {few:,} entries; C: the same",
                f"{median(a, 'rate') / median(b, 'rate'):.2f}",
                f"{median(c, 'rate') / median(d, 'rate'):.2f}",
                statistics.median(growths),
                ("at most", 1.25),
            )
        )
        self.add(
            Row(section, "a lookup; C: the same", per_second(median(b, "rate")), per_second(median(d, "rate")), ratio(b, d, "rate"))
        )
        more = median(b, "resident") - median(a, "resident")
        # The page caches have fixed sizes, 16 MiB for the writer and 4 MiB for each reading
        # connection, and are full only in the large store.
        self.add(
            Row(
                section,
                f"resident memory, more than of {few:,}, MiB",
                f"{median(b, 'resident') / MIB:.0f} MiB",
                f"{median(a, 'resident') / MIB:.0f} MiB",
                more / MIB,
                ("at most", 32),
            )
        )
        self.remove(*folders.values())

    def large_body(self):
        length = 1 << 30 if self.shrink == 1 else 64 * MIB
        section = f"One body of {length // MIB:,} MiB"
        folder, copy = self.folder(), self.folder()

        def write():
            self.remove(folder)
            return self.ours("large-in", folder=folder, length=length)

        def write_chunks():
            self.remove(copy)
            return self.c("chunks", copy, length, *STEPS)

        mine, others = self.alternate(write, write_chunks)
        self.remove(copy)
        self.add(
            Row(
                section,
                "in; C: the same chunks",
                bytes_per_second(median(mine, "rate")),
                bytes_per_second(median(others, "rate")),
                ratio(mine, others, "rate"),
                ("at least", 0.7),
                processor=ratio(mine, others, "processorRate"),
            )
        )
        growth = max(report["growth"] for report in mine) / MIB
        self.add(Row(section, "in: extra resident memory at peak, MiB", f"{growth:.0f} MiB", "", growth, ("at most", 64)))

        def read():
            return self.ours("large-out", folder=folder)

        def cp(target):
            def run():
                self.remove(copy)
                start = time.monotonic()
                subprocess.run(["cp", self.database(folder), target], check=True)
                rate = size_of(folder) / (time.monotonic() - start)
                return {"rate": rate}

            return run

        mine, copied, null, rows = self.alternate(
            read, cp(copy), cp("/dev/null"), lambda: self.c("read", self.database(folder))
        )
        self.remove(copy)
        for name, others, limit in [
            ("out; cp of the store's file", copied, ("at least", 0.3)),
            ("out; cp of it to /dev/null, which only reads", null, None),
            ("out; C: the same chunks", rows, None),
        ]:
            self.add(
                Row(
                    section,
                    name,
                    bytes_per_second(median(mine, "rate")),
                    bytes_per_second(median(others, "rate")),
                    ratio(mine, others, "rate"),
                    limit,
                )
            )
        growth = max(report["growth"] for report in mine) / MIB
        self.add(Row(section, "out: extra resident memory at peak, MiB", f"{growth:.0f} MiB", "", growth, ("at most", 64)))
        self.remove(folder)

    def purge(self):
        count = self.some(100_000)
        section = "Hits from disk during other work, 99 % within"

        def measure():
            path = self.folder()
            try:
                return self.ours("purge", folder=path, count=count)
            finally:
                self.remove(path)

        (reports,) = self.alternate(measure)
        for name, kind in [("soft", "soft"), ("hard", "hard")]:
            self.add(
                Row(
                    section,
                    f"{kind} purge of a tag that {count:,} carry; without",
                    microseconds(median(reports, name + "P99")),
                    microseconds(median(reports, name + "QuietP99")),
                    statistics.median(report[name + "P99"] / report[name + "QuietP99"] for report in reports),
                    ("at most", 3),
                )
            )
            self.add(
                Row(
                    section,
                    f"{kind} purge: until the call returns, and until the sweep ends",
                    milliseconds(median(reports, name + "Call")),
                    milliseconds(median(reports, name + "Sweep")),
                )
            )

    def eviction(self):
        section = "Hits from disk during other work, 99 % within"

        def measure():
            path = self.folder()
            os.makedirs(path)
            try:
                return self.ours("evict", folder=path, budget=(256 if self.shrink == 1 else 64) * MIB)
            finally:
                self.remove(path)

        (reports,) = self.alternate(measure)
        for name, other, limit in [
            ("writes that evict; the same writes without", "roomP99", ("at most", 3)),
            ("writes that evict; hits alone", "fullQuietP99", None),
        ]:
            self.add(
                Row(
                    section,
                    name,
                    microseconds(median(reports, "fullP99")),
                    microseconds(median(reports, other)),
                    statistics.median(report["fullP99"] / report[other] for report in reports),
                    limit,
                )
            )

    SECTIONS = ["memory", "reading", "writing", "diskcache", "requests_cache", "scale", "large_body", "purge", "eviction"]

    def measure(self):
        for name in self.SECTIONS:
            if re.search(self.options.only, name):
                print(f"{name}:", flush=True)
                getattr(self, name)()


def median(reports, name):
    return statistics.median(report[name] for report in reports)


def ratio(mine, others, name):
    return statistics.median(a[name] / b[name] for a, b in zip(mine, others))


def size_of(folder):
    return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))


# MARK: Reporting


def sections(rows):
    names = list(dict.fromkeys(row.section for row in rows))
    return [(name, [row for row in rows if row.section == name]) for name in names]


def print_table(rows):
    for name, some in sections(rows):
        lines = [[name, *HEADS[1:]]] + [row.cells for row in some]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
        print()
        for line in lines:
            print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))).rstrip())


def model():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"^model name[^:]*: (.*)$", file.read(), re.MULTILINE)
            return found.group(1) if found else platform.machine()
    except OSError:
        return platform.machine()


def markdown(comparison, rows):
    options = comparison.options
    versions = comparison.theirs("versions")
    swift = subprocess.run(["swift", "--version"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    lines = [
        "## Store",
        "",
        "Written by `scripts/benchmark-store --write`: release build, all programs in turn, medians of"
        f" {comparison.rounds} runs; a ratio is the median of the ratios of neighboring runs.",
        "",
        f"* Date: {options.write}",
        f"* Machine: {model()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"* Load average, the benchmark itself included: {os.getloadavg()[0]:.2f}",
        f"* Compiler: {swift.splitlines()[0] if swift else 'unknown'}",
        f"* Compared with: {', '.join(f'{name} {version}' for name, version in versions.items())}",
    ]
    for name, some in sections(rows):
        heads = [name, *HEADS[1:]]
        lines += ["", "| " + " | ".join(heads) + " |", "|---|" + "--:|" * (len(heads) - 2) + "---|"]
        lines += ["| " + " | ".join(row.cells) + " |" for row in some]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--swift", required=True)
    parser.add_argument("--c", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=".")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", metavar="DATE")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    comparison = Comparison(options)
    load = os.getloadavg()[0]
    if load > (os.cpu_count() or 1) / 2:
        print(f"The load average is {load:.1f}: times are worth little, but those of the processor.", file=sys.stderr)
    comparison.measure()
    rows = comparison.rows
    print_table(rows)
    if options.json:
        with open(options.json, "w") as file:
            json.dump([dict(zip(["what", "ours", "theirs", "value", "processor", "limit", "ok"], row.cells), section=row.section) for row in rows], file, indent=1)
    if options.write:
        replace("## Store", markdown(comparison, rows))
        print("\nWritten to Benchmarks/RESULTS.md")
    missed = [row for row in rows if row.verdict in ("MISSED", "MISSING")]
    if missed:
        print(f"\n{len(missed)} of {sum(1 for row in rows if row.limit)} limits are not held:", file=sys.stderr)
        for row in missed:
            print(f"  {row.section}: {row.name}: {row.cells[3] or 'nothing'}; {row.cells[5]}", file=sys.stderr)
    sys.exit(1 if options.check and missed else 0)


if __name__ == "__main__":
    main()
