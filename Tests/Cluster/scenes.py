"""What happens to the cluster, and what must be true."""

import asyncio
import os
import re
import secrets
import signal
import sys
import time

from backup import backups
from clients import Load
from cluster import Cluster
from manual import Manual
from pods import check, content
from prometheus import Prometheus
from wire import once

ORIGIN = ("origin.shop.internal", 8000)
HERE = os.path.dirname(os.path.realpath(__file__))


class World:
    def __init__(self, options, programs):
        self.options, self.folder = options, options.folder
        self.cluster = Cluster(options, self.folder, programs)
        self.socket = os.path.join(self.folder, "kubectl.sock")
        self.manual = Manual(self.folder, self.socket)
        self.is_deployed, self.prometheus = False, None
        self.origin_process = None
        self.origin_address = self.cluster.network.attach("origin")
        self.cluster.network.attach("clients")
        self.cluster.name(ORIGIN[0], self.origin_address)

    async def start_origin(self):
        self.origin_process = await self.spawn("origin", "origin.py", self.origin_address, ORIGIN[1])
        await self.origin_process.stdout.readline()

    async def stop_origin(self):
        self.origin_process.kill()
        await self.origin_process.wait()

    @property
    def token(self):
        return content(self.cluster.manifests, "Secret", "holdfast")["metrics.token"].decode()

    async def metrics_status(self, pod, token):
        """The status that a scrape by the pod's address gets."""
        return (await once((pod.address, pod.ports["metrics"]), "GET", "/metrics", [f"Authorization: Bearer {token}"])).status

    async def spawn(self, namespace, program, *words):
        return await asyncio.create_subprocess_exec(
            "ip", "netns", "exec", namespace, sys.executable, os.path.join(HERE, program), *map(str, words),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=1 << 20,
        )  # fmt: skip


async def deploy(world):
    """The page's commands, and what each container sees."""
    await world.start_origin()
    await world.cluster.listen(world.socket)
    text = await world.manual.deploy(f"http://{ORIGIN[0]}:{ORIGIN[1]}")
    world.is_deployed = True
    check("statefulset/holdfast: rolling update complete" in text, f"the pods are not ready: {text}")
    for pod in world.cluster.gateways.values():
        _, text = await pod.exec(["sh", "-c", "id -u; id -G; stat -L -c '%u:%g %a' /run/secrets/holdfast/metrics.token; readlink /run/secrets/holdfast/metrics.token"])
        expected = f"{pod.user}\n{pod.fs_group}\n0:{pod.fs_group} 440\n..data/metrics.token\n"
        check(text == expected, f"a container of '{pod.name}' should see\n{expected}and sees\n{text}")
        status, _ = await pod.exec(["touch", "/written", "/etc/holdfast/written", "/run/secrets/holdfast/written"])
        check(status == 1, "the root, the configuration and the secrets must be read-only")
        status, text = await pod.exec(["holdfast", "fleet", "status"])
        check(status == 0 and pod.name in text, f"'{pod.name}' is not in the fleet: {text}")
    return f"{len(world.cluster.gateways)} gateways and Redis, each as its own user"


async def update(world):
    """A rolling update under load, with the page's command."""
    del world.cluster.replaced[:]
    async with Load(world) as load:
        await world.manual.run("kubectl -n holdfast rollout restart statefulset/holdfast")
        await world.manual.run("kubectl -n holdfast rollout status statefulset/holdfast")
    names = [name for name, *_ in world.cluster.replaced]
    check(names == ["holdfast-2", "holdfast-1", "holdfast-0"], f"the pods are replaced in this order: {names}")
    return f"{load}; {times(world)}"


async def replace(world):
    """One pod of the rolling update."""
    del world.cluster.replaced[:]
    async with Load(world) as load:
        await world.manual.shell("kubectl -n holdfast delete pod holdfast-2", world.manual.shop)
    return f"{load}; {times(world)}"


def times(world):
    """How long it took to replace each pod."""
    return ", ".join(f"{name}: {ending:.1f} s to stop and {starting:.1f} s to become ready" for name, _, ending, starting in world.cluster.replaced)


async def metrics(world):
    """Prometheus scrapes every pod by its address, and no alert fires."""
    world.cluster.prometheus = world.prometheus = Prometheus(world.cluster)
    await world.prometheus.start()
    firing = await world.prometheus.alerts()
    check(not firing, f"an alert fires although all is well: {firing}")
    return f"{len(world.prometheus.targets)} targets are up, and no alert fires"


async def alerts(world):
    """Without its origin and without Redis, and with a wrong file, the alerts fire for these pods; then they resolve."""
    if not world.prometheus:
        await metrics(world)
    redis, instances = world.cluster.pods["holdfast-redis-0"], world.prometheus.targets
    first = next(instance for instance, pod in instances.items() if pod.name == "holdfast-0")
    expected = {("HoldfastOriginDown", instance) for instance in instances} | {("HoldfastFleetCutOff", instance) for instance in instances}
    expected |= {("HoldfastReloadFailed", first), ("HoldfastOfflineRefused", first)}
    await world.stop_origin()
    os.kill(redis.pid, signal.SIGSTOP)
    await break_file(world)

    async def request():
        """Requests, as an outage is noticed with them. Their responses were never stored."""
        for pod in instances.values():
            await once((pod.address, pod.ports["http"]), "GET", f"/private/{time.monotonic_ns()}")

    async def fire():
        await request()
        firing = {(alert["labels"]["alertname"], alert["labels"]["instance"]) for alert in await world.prometheus.alerts()}
        return firing >= expected, f"all but {sorted(expected - firing)}"

    began = time.monotonic()
    await world.prometheus.until(fire, f"these alerts fire: {sorted(expected)}", 100)
    fired = time.monotonic() - began
    # Both wait for a minute, as shipped.
    check(fired >= 60, f"alerts that wait for a minute fire after {fired:.1f} s")
    os.kill(redis.pid, signal.SIGCONT)
    await world.start_origin()
    await mend_file(world)

    async def resolve():
        names = {alert["labels"]["alertname"] for state in ("firing", "pending") for alert in await world.prometheus.alerts(state)}
        # The last one counts the last five minutes.
        return not names & {"HoldfastOriginDown", "HoldfastFleetCutOff", "HoldfastReloadFailed"}, names

    await world.prometheus.until(resolve, "the alerts resolve", 60)
    kinds = sorted({name for name, _ in expected})
    return f"{', '.join(kinds)} fire after {fired:.0f} s, with the shipped rules, and resolve {time.monotonic() - began - fired:.0f} s after the repair"


async def break_file(world):
    world.manual.edit("holdfast.yaml", "^version: 1$", "version: 1\nno-such-setting: 1")
    await world.manual.run("kubectl apply -k .")
    # By its socket: while the file is wrong, it names no store by which a command finds the gateway.
    status, text = await world.cluster.pods["holdfast-0"].exec(["holdfast", "reload", "--socket", "/run/holdfast/control.sock"])
    check(status == 1 and "no-such-setting" in text, f"a wrong file should be rejected: {text}")


async def mend_file(world):
    world.manual.edit("holdfast.yaml", "^no-such-setting: 1\n", "")
    await reload(world)


async def reload(world):
    """A new ConfigMap is in force without a restart."""
    with open(os.path.join(world.manual.shop, "holdfast.yaml")) as file:
        seconds = int(re.search(r"^  drain: (\d+) s$", file.read(), re.M)[1])
    world.manual.edit("holdfast.yaml", r"^  drain: \d+ s$", f"  drain: {seconds - 1} s")
    await world.manual.run("kubectl apply -k .")
    text = await world.manual.run("kubectl -n holdfast exec holdfast-0 -- holdfast reload")
    check("timeouts.drain" in text, f"the reload should name the changed setting: {text}")
    return "the changed file is in force without a restart"


async def rotate(world):
    """A new token in the Secret is in force within a minute, without a restart and without a lost request."""
    old, before = world.token, {name: pod.pid for name, pod in world.cluster.gateways.items()}
    async with Load(world) as load:
        with open(os.path.join(world.manual.shop, "metrics.token"), "w") as file:
            file.write(secrets.token_hex(32))
        await world.manual.run("kubectl apply -k .")
        check(world.token != old, "the token should have changed")
        began = time.monotonic()
        for pod in world.cluster.gateways.values():
            while await world.metrics_status(pod, world.token) != 200:
                check(time.monotonic() - began < 90, f"'{pod.name}' does not accept the new token")
                await asyncio.sleep(1)
            status = await world.metrics_status(pod, old)
            # After several wrong tokens from one address, 429.
            check(status in (401, 429), f"'{pod.name}' responds to the old token with {status}")
        taken = time.monotonic() - began
    check(before == {name: pod.pid for name, pod in world.cluster.gateways.items()}, "a gateway was restarted")
    if world.prometheus:
        world.prometheus.write_token()
        await world.prometheus.until(world.prometheus.all_up, "every target is up with the new token", 20)
    return f"{load}; all have the new token after {taken:.0f} s, without a restart"


async def liveness(world):
    """A gateway that hangs gets no new connections, and is restarted."""
    pod = world.cluster.pods["holdfast-1"]
    os.kill(pod.pid, signal.SIGSTOP)
    began = time.monotonic()
    while (await world.cluster.balancer.states())[pod.name] == "UP":
        await asyncio.sleep(0.1)
    noticed = time.monotonic() - began
    async with Load(world) as load:
        while not pod.restarts:
            check(time.monotonic() - began < 180, "a gateway that hangs is not restarted")
            await asyncio.sleep(0.2)
        await world.cluster.balancer.until_ready(pod)
    return f"{load}; out of the Service after {noticed:.0f} s, and back after {time.monotonic() - began:.0f} s"


ALL = {
    "deploy": deploy, "update": update, "replace": replace, "metrics": metrics, "alerts": alerts,
    "reload": reload, "rotate": rotate, "liveness": liveness, "backup": backups,
}  # fmt: skip
# 'replace' is a part of 'update'.
FULL = [name for name in ALL if name != "replace"]
QUICK = ["replace"]
