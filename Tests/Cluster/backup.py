"""Backups of a gateway's store under load, killed at random, and restored in a gateway without an origin."""

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

from clients import Load
from network import NODE
from origin import is_sent
from pods import Pod, check, child_of
from wire import Connection

# In a container.
STORE, BACKUP = "/var/lib/holdfast/store", "/var/lib/holdfast/backup"
# No pod of the StatefulSet has this ordinal.
RESTORED = 9


async def backups(world):
    """Kills backups while clients store responses. Each restored store opens, and has only the origin's responses."""
    chance = random.Random(f"backups {world.options.seed}")
    killed, compared, longest = 0, 0, 0.5
    async with Load(world) as load:
        # The clients fill the stores.
        await asyncio.sleep(1)
        for number in range(world.options.backups):
            pod = world.cluster.pods[f"holdfast-{number % len(world.cluster.gateways)}"]
            took = await back_up(pod, chance.uniform(0, longest))
            killed += took is None
            if not os.path.exists(volume(world, pod.name, BACKUP)):
                # The next one removes what the killed one left.
                took = await back_up(pod, None)
            # So that the kills hit all of a backup, on any machine.
            longest = took or longest
            compared += await restore(world, pod)
    check(killed > 0 or world.options.backups < 3, "no backup was killed")
    check(compared > 10 * world.options.backups, f"the restored stores have only {compared} responses")
    return f"{world.options.backups} backups under load, {killed} killed, {compared} restored responses are the origin's; {load}"


def volume(world, name, path):
    return os.path.join(world.folder, "volumes", f"store-{name}", os.path.basename(path))


async def back_up(pod, delay):
    """How long the backup took, or nothing if it was killed after this delay."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(
        *pod.entering(["cache-dump", "backup", STORE, BACKUP]), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), delay)
    if process.returncode is None:
        if child := child_of(process):
            os.kill(child, signal.SIGKILL)
        await process.wait()
        return None
    text = (await process.stdout.read()).decode()
    check(process.returncode == 0, f"a backup of '{pod.name}' fails: {text}")
    return time.monotonic() - began


async def restore(world, pod):
    """Puts the backup into the volume of a gateway that reaches neither the origin nor Redis: the number of its responses."""
    hosts = os.path.join(world.folder, "unreachable")
    with open(hosts, "w") as file:
        # Nothing listens there.
        file.writelines(f"{NODE} {name}\n" for name in world.cluster.names)
    restored = Pod(world.cluster, pod.workload, RESTORED, hosts)
    subprocess.run(["mv", volume(world, pod.name, BACKUP), volume(world, restored.name, STORE)], check=True)
    await restored.start()
    status, text = await restored.exec(["cache-dump", "verify", STORE, "--full"])
    check(status == 0, f"the restored store is damaged: {text}")
    status, text = await restored.exec(["cache-dump", "list", STORE, "--format", "json"])
    check(status == 0, f"the restored store does not open: {text}")
    targets = [json.loads(line)["url"] for line in text.splitlines() if line.startswith("{")]
    connection = Connection((restored.address, restored.ports["http"]))
    for url in targets:
        target = "/" + url.split("/", 3)[3]
        response = await connection.request("GET", target)
        fields = response.fields.get("cache-status", "")
        check(response.status == 200 and "hit" in fields, f"{target} is in the backup, and the response is {response.status}, {fields}")
        check(is_sent(target, response.body), f"the origin never sent this response for {target}: {response.body[:200]}")
    connection.close()
    check(await restored.end(), f"the gateway of the restored store ends with an error\n{restored.last_lines()}")
    shutil.rmtree(os.path.dirname(volume(world, restored.name, STORE)))
    return len(targets)
