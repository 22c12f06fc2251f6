"""Measured processes: starts them on one core, waits for them, stops them.

Reads their processor time and resident memory from /proc.
"""

import os
import signal
import socket
import subprocess
import time

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def free_port():
    """A port that was free a moment ago, because no server reports the port that it chose."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def statistics_of(pid):
    """The fields of /proc/PID/stat behind the command's name, or None if the process has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return None


class Server:
    """A process with its children, pinned to one core."""

    def __init__(self, name, command, port, core, log, environment=None):
        self.name, self.port, self.core = name, port, core
        self.command, self.log, self.environment = command, log, environment
        self.process = None
        # Seconds until it has to listen.
        self.patience = 30

    def start(self):
        if accepts(self.port):
            raise SystemExit(f"error: Port {self.port} is in use, but '{self.name}' needs it. Run this again.")
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(self.core), *self.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **(self.environment or {})},
                start_new_session=True,
            )
        deadline = time.monotonic() + self.patience
        while not accepts(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                with open(self.log, errors="replace") as log:
                    tail = "".join(log.readlines()[-20:])
                self.stop()
                raise SystemExit(f"error: '{self.name}' does not listen on port {self.port}. Its output ends:\n{tail}")
            time.sleep(0.02)
        return self

    def pids(self):
        """The process and all its descendants."""
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and (fields := statistics_of(name)):
                parents.setdefault(int(fields[1]), []).append(int(name))
        found, new = [], [self.process.pid]
        while new:
            pid = new.pop()
            found.append(pid)
            new += parents.get(pid, [])
        return found

    def processor_time(self):
        """User and system time in seconds, ended children included."""
        total = 0
        for pid in self.pids():
            if fields := statistics_of(pid):
                total += sum(int(field) for field in fields[11:15])
        return total / TICKS

    def resident(self):
        """Resident bytes of all its processes; shared memory is counted for each process."""
        return sum(int(fields[21]) * PAGE for pid in self.pids() if (fields := statistics_of(pid)))

    def stop(self, with_signal=signal.SIGTERM):
        """Stops it and everything that it has started."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                pass
        # The process has its own session, so no other process is in this group.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None


def accepts(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0
