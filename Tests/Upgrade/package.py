"""Upgrades an installed package under load: package.py --start COMMAND --invoke FILE -- COMMAND...

COMMAND... installs the next version while the thirty clients of run.py send requests. --start is the
command of the service; it gets a socket that stays open, as from holdfast.socket. FILE becomes a
program in place of Debian's deb-systemd-invoke, which the package calls to restart the service. No
request may be refused, and every response must have the content 'entry PATH', which the origin of
scripts/lib.sh has.
"""

import argparse
import asyncio
import os
import shlex
import signal
import socket
import sys

from run import CLIENTS, ITEMS, PATIENCE, Failed, Gateway, Load, check


def entry(path):
    return f"entry {path}\n".encode()


class Service(Gateway):
    def __init__(self, words):
        super().__init__(None, None, None)
        self.words = words

    def command(self):
        return self.words


def stand_in(file):
    """Writes the program that the package calls. It only tells this process to restart the service."""
    with open(file, "w") as script:
        script.write(f'#!/bin/sh\n[ "$*" = "restart holdfast.service" ] && kill -USR1 {os.getpid()}\n')
        os.fchmod(script.fileno(), 0o755)


async def restart(asked, service, words, listener):
    """Restarts the service once the package asks for it. Returns the new process."""
    await asked.wait()
    await service.stop()
    return await Service(words).start(listener=listener)


async def upgrade(options):
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, asked.set)
    stand_in(options.invoke)
    words = shlex.split(options.start)
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        service = await Service(words).start(listener=listener)
        async with Load(listener.getsockname()[1], options.seed, entry) as load:
            await load.progress(ITEMS * 10)
            restarting = asyncio.create_task(restart(asked, service, words, listener))
            before = load.counts["responses"]
            installing = await asyncio.create_subprocess_exec(*options.command)
            check(await asyncio.wait_for(installing.wait(), 10 * PATIENCE) == 0, "the installation failed")
            check(asked.is_set(), "the package did not restart the service")
            service = await restarting
            during = load.counts["responses"] - before
            await load.progress(ITEMS * 10)
        await service.stop()
    return f"{CLIENTS} clients, {during} responses during the upgrade, {load.counts['retries']} requests repeated on a new connection, none refused"


async def run(options):
    try:
        print(await upgrade(options))
    except Failed as error:
        print(f"FAILED: {error}", file=sys.stderr)
        return 1
    finally:
        for process in Gateway.running:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--start", required=True)
    parser.add_argument("--invoke", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+")
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
