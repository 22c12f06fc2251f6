"""Runs every client against the built gateway, first with its origin and then without; run.py --bin FOLDER --python FILE [--only REGEX].

A client is a program with four arguments: 'online' or 'offline', the gateway's URL, the origin's URL,
and a folder for the data that it keeps between the two runs. It checks the responses, and ends with a
status other than 0 if one is wrong.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class Process:
    """A program that prints the address that it listens on, in one line."""

    def __init__(self, command, log):
        self.log = open(log, "ab")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"listening on (http://\S+)", line)
        if not found:
            self.stop()
            with open(log, errors="replace") as file:
                sys.exit(f"error: '{command[0]}' did not start: {line}{file.read()[-2000:]}")
        self.url = found[1]

    def stop(self):
        """Kills the process, like a power failure."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


class Origin:
    """sample-origin."""

    def __init__(self, options, folder):
        self.command = [os.path.join(options.bin, "sample-origin"), "--port", "0", "--quiet"]
        self.log = os.path.join(folder, "origin.log")

    def start(self):
        return Process(self.command, self.log)


class Index:
    """A package index for pip with one package, which is built here."""

    def __init__(self, options, folder):
        self.python, self.folder = options.python, os.path.join(folder, "packages")
        self.log = os.path.join(folder, "index.log")
        os.makedirs(self.folder)
        subprocess.run([options.python, os.path.join(HERE, "wheel.py"), self.folder], check=True)

    def start(self):
        command = [self.python, os.path.join(HERE, "package_index.py"), self.folder]
        return Process(command, self.log)


def clients(python):
    def script(name):
        return os.path.join(HERE, name)

    return {
        "curl": ([script("curl.sh")], Origin),
        "requests": ([python, script("requests_client.py")], Origin),
        "fetch": (["node", script("fetch.mjs")], Origin),
        "pip": ([python, script("pip_client.py")], Index),
    }


def run(name, command, kind, options):
    with tempfile.TemporaryDirectory(prefix=f"holdfast-{name}.") as folder:
        origin = kind(options, folder).start()
        gateway, running = None, [origin]
        gateway_log = os.path.join(folder, "gateway.log")
        configuration = os.path.join(folder, "holdfast.yaml")
        with open(configuration, "w") as file:
            # Below '/packed', responses are compressed.
            file.write(f"version: 1\nroutes:\n  - {{path: /packed, origin: {origin.url}, compress: on}}\n  - origin: {origin.url}\n")
        try:
            gateway = Process(
                [
                    os.path.join(options.bin, "holdfast"), "serve", "--config", configuration, "--listen", "127.0.0.1:0",
                    "--store", os.path.join(folder, "store"), "--threads", "2",
                ],
                gateway_log,
            )  # fmt: skip
            running.append(gateway)
            memory = os.path.join(folder, "memory")
            os.makedirs(memory)
            for phase in ("online", "offline"):
                if phase == "offline":
                    running.remove(origin)
                    origin.stop()
                start = time.monotonic()
                print(f"  {name}, {phase}", flush=True)
                # The clients connect to the gateway directly, whatever proxy the environment names.
                environment = {key: value for key, value in os.environ.items() if not re.match(r"(?i)(https?|all|no)_proxy$|PIP_", key)}
                status = subprocess.run([*command, phase, gateway.url, origin.url, memory], env=environment, timeout=300, check=False).returncode
                if status != 0:
                    with open(gateway_log, errors="replace") as file:
                        print(f"  FAILED: {name}, {phase}. The gateway's log ends with:\n{file.read()[-2000:]}", file=sys.stderr)
                    return False
                print(f"    {time.monotonic() - start:.1f} s", flush=True)
            if gateway.process.poll() is not None:
                print(f"  FAILED: {name}: the gateway ended by itself, with status {gateway.process.returncode}.", file=sys.stderr)
                return False
            return True
        finally:
            for process in running:
                process.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--only", default=".")
    options = parser.parse_args()
    chosen = {name: client for name, client in clients(options.python).items() if re.search(options.only, name)}
    if not chosen:
        sys.exit(f"error: No client is called '{options.only}'. The clients are {', '.join(clients(''))}.")
    failed = [name for name, (command, kind) in chosen.items() if not run(name, command, kind, options)]
    if failed:
        sys.exit(f"error: {', '.join(failed)} failed; see above.")
    print(f"  all of {', '.join(chosen)}")


if __name__ == "__main__":
    main()
