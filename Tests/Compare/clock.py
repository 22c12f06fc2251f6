"""The wall clocks of the programs that are compared: files that they read, see clock.c."""

import mmap
import os
import struct
import subprocess

# 2026-01-01: any instant will do, except one in the future, which stores distrust.
START = 1_767_225_600


class Clocks:
    """Two clocks that are moved together."""

    def __init__(self, folder):
        library = os.path.join(folder, "clock.so")
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, os.path.join(here, "clock.c"), "-ldl"], check=True)
        self.both = [Clock(library, os.path.join(folder, f"clock-{name}")) for name in ("old", "new")]

    @property
    def now(self):
        return self.both[0].now

    def set(self, seconds):
        for clock in self.both:
            clock.set(seconds)


class Clock:
    """One program's clock; its origin may move it while it responds."""

    def __init__(self, library, path):
        self.library, self.path = library, path
        with open(self.path, "wb") as file:
            file.write(bytes(8))
        with open(self.path, "r+b") as file:
            self.mapped = mmap.mmap(file.fileno(), 8)
        self.set(START)

    @property
    def now(self):
        """Seconds since 1970."""
        return struct.unpack("<q", self.mapped[:8])[0] / 1000

    def set(self, seconds):
        self.mapped[:8] = struct.pack("<q", round(seconds * 1000))

    @property
    def environment(self):
        return {**os.environ, "LD_PRELOAD": self.library, "COMPARE_CLOCK": self.path}
