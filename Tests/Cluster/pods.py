"""A pod of a StatefulSet, as its manifest says: identity, volumes, variables, probes, and how it ends."""

import asyncio
import base64
import os
import re
import signal
import sys
import time

from network import NODE
from volumes import Projection, give, memory

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "Fleet"))
from wire import FAILURES, once  # noqa: E402

LAUNCHER = os.path.join(os.path.dirname(os.path.realpath(__file__)), "container.sh")
DEFAULTS = {"periodSeconds": 10, "timeoutSeconds": 1, "failureThreshold": 3, "successThreshold": 1}


class Failed(Exception):
    """The cluster, or a program in it, does not do what it must."""


def check(holds, words):
    if not holds:
        raise Failed(words)


async def output(*words, **options):
    """The status and the output of a command."""
    process = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT, **options
    )
    text, _ = await process.communicate()
    return process.returncode, text.decode(errors="replace")


def child_of(process):
    """The process that 'unshare' or 'nsenter' started in another namespace of processes."""
    try:
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            return next(map(int, file.read().split()), None)
    except FileNotFoundError:
        return None


def content(manifests, kind, name):
    """The files of a ConfigMap or Secret."""
    document = manifests.named(kind, name)
    plain = {key: text.encode() for key, text in {**document.get("stringData", {}), **(document.get("data", {}) if kind == "ConfigMap" else {})}.items()}
    coded = document.get("data", {}) if kind == "Secret" else {}
    return {**{key: base64.b64decode(text) for key, text in coded.items()}, **plain}


class Pod:
    def __init__(self, cluster, workload, ordinal, hosts=None):
        self.cluster, self.workload, self.hosts = cluster, workload, hosts or cluster.hosts
        self.name = f"{workload['metadata']['name']}-{ordinal}"
        template = workload["spec"]["template"]
        self.labels, self.spec = template["metadata"]["labels"], template["spec"]
        self.container = self.spec["containers"][0]
        self.image = cluster.images[self.container["name"]]
        security = self.spec["securityContext"]
        self.user, self.group, self.fs_group = security["runAsUser"], security["runAsGroup"], security["fsGroup"]
        self.ports = {port["name"]: port["containerPort"] for port in self.container["ports"]}
        self.grace = self.spec.get("terminationGracePeriodSeconds", 30)
        self.log = os.path.join(cluster.folder, f"{self.name}.log")
        self.process = self.watch = None
        self.restarts = 0
        self.projections = []
        cluster.incarnations += 1
        self.namespace = f"{self.name}.{cluster.incarnations}"
        self.folder = os.path.join(cluster.folder, "pods", self.namespace)
        os.makedirs(os.path.join(self.folder, "root"))
        self.address = cluster.network.attach(self.namespace)
        self.mounts = list(self.mount_all())

    def mount_all(self):
        """The mounts of the container: SOURCE:DESTINATION:ACCESS."""
        sources = {}
        for claim in self.workload["spec"].get("volumeClaimTemplates", []):
            name = claim["metadata"]["name"]
            sources[name] = give(os.path.join(self.cluster.folder, "volumes", f"{name}-{self.name}"), self.fs_group)
        for volume in self.spec.get("volumes", []):
            folder = os.path.join(self.folder, volume["name"])
            if "emptyDir" in volume:
                sources[volume["name"]] = memory(folder, volume["emptyDir"]["sizeLimit"].removesuffix("i"))
                os.chown(folder, 0, self.fs_group)
                continue
            source = volume.get("configMap") or volume["secret"]
            kind, name = ("ConfigMap", source["name"]) if "configMap" in volume else ("Secret", source["secretName"])
            projection = Projection(folder, self.fs_group, source.get("defaultMode", 0o644))
            self.projections.append((projection, kind, name))
            sources[volume["name"]] = folder
        self.project()
        for mount in self.container["volumeMounts"]:
            yield f"{sources[mount['name']]}:{mount['mountPath']}:{'ro' if mount.get('readOnly') else 'rw'}"
        yield f"{self.hosts}:/etc/hosts:ro"
        for folder in self.cluster.libraries:
            yield f"{folder}:{folder}:ro"

    def project(self):
        """Whether a file of a ConfigMap or Secret changed."""
        return any([projection.write(content(self.cluster.manifests, kind, name)) for projection, kind, name in self.projections])

    @property
    def environment(self):
        """The image's variables, and the manifest's over them."""
        values = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": self.name, **self.image.variables}
        for variable in self.container.get("env", []):
            if "value" in variable:
                values[variable["name"]] = variable["value"]
            else:
                reference = variable["valueFrom"]["secretKeyRef"]
                values[variable["name"]] = content(self.cluster.manifests, "Secret", reference["name"])[reference["key"]].decode()
        return values

    @property
    def command(self):
        values = self.environment
        words = [*self.image.entry, *self.container.get("args", [])]
        return [re.sub(r"\$\((\w+)\)", lambda found: values.get(found[1], found[0]), word) for word in words]

    async def start(self):
        await self.run_container()
        self.watch = asyncio.create_task(self.watch_life())

    async def run_container(self):
        """Raises if its startup probe fails."""
        access = "ro" if self.container["securityContext"].get("readOnlyRootFilesystem") else "rw"
        words = [os.path.join(self.folder, "root"), self.image.folder, self.name, str(self.user), str(self.group), str(self.fs_group), access]
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *["ip", "netns", "exec", self.namespace, "unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child"],
                *[LAUNCHER, *words, *self.mounts, "--", *pairs, *self.command],
                stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
            )  # fmt: skip
        await self.probe_until("startupProbe", succeeds=True)

    @property
    def pid(self):
        """The first process of the container."""
        if (pid := child_of(self.process)) is None:
            raise Failed(f"pod '{self.name}' has ended by itself\n{self.last_lines()}")
        return pid

    def last_lines(self):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-15:])

    async def probe(self, probe):
        """Whether one probe succeeds."""
        try:
            async with asyncio.timeout(probe["timeoutSeconds"]):
                if "tcpSocket" in probe:
                    _, writer = await asyncio.open_connection(self.address, self.ports[probe["tcpSocket"]["port"]], local_addr=(NODE, 0))
                    writer.close()
                    return True
                response = await once((self.address, self.ports[probe["httpGet"]["port"]]), "GET", probe["httpGet"]["path"])
                return 200 <= response.status < 400
        except (*FAILURES, TimeoutError):
            return False

    async def probe_until(self, kind, succeeds):
        """Probes until a result was seen as often as the manifest says. For success, the other one as often raises."""
        probe = {**DEFAULTS, **self.container[kind]}
        needed = {True: probe["successThreshold"], False: probe["failureThreshold"]}
        counts = {True: 0, False: 0}
        while True:
            began = time.monotonic()
            result = await self.probe(probe)
            counts[result] += 1
            counts[not result] = 0
            if counts[result] >= needed[result]:
                if result == succeeds:
                    return
                if succeeds:
                    raise Failed(f"the {kind} of pod '{self.name}' fails\n{self.last_lines()}")
            if self.process.returncode is not None:
                raise Failed(f"pod '{self.name}' has ended by itself with status {self.process.returncode}\n{self.last_lines()}")
            await asyncio.sleep(max(0, probe["periodSeconds"] - (time.monotonic() - began)))

    async def watch_life(self):
        """Restarts the container whenever the liveness probe fails."""
        try:
            while True:
                await self.probe_until("livenessProbe", succeeds=False)
                await self.end_container()
                self.restarts += 1
                await self.run_container()
        except Failed as failure:
            self.cluster.findings.append(str(failure))

    async def end_container(self):
        """'preStop', SIGTERM, and after the grace period SIGKILL. Whether it ended in time, by itself and with status 0."""
        hook = self.container.get("lifecycle", {}).get("preStop", {})
        if hook.keys() - {"sleep"}:
            raise Failed(f"this cluster does not know the 'preStop' hook of '{self.name}'")
        pid, is_in_time = self.pid, True
        try:
            async with asyncio.timeout(self.grace):
                await asyncio.sleep(hook.get("sleep", {}).get("seconds", 0))
                os.kill(pid, signal.SIGTERM)
                await self.process.wait()
        except TimeoutError:
            is_in_time = False
            os.kill(pid, signal.SIGKILL)
            await self.process.wait()
        return is_in_time and self.process.returncode == 0

    async def end(self):
        """Ends the pod, with its address. Its volumes of claims stay."""
        if self.watch:
            self.watch.cancel()
        is_clean = await self.end_container()
        self.cluster.network.detach(self.namespace)
        return is_clean

    def entering(self, words):
        """A command in the container, as its user."""
        pairs = [f"{name}={value}" for name, value in self.environment.items()]
        return [
            *["nsenter", "--target", str(self.pid), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"],
            *["/usr/bin/setpriv", "--reuid", str(self.user), "--regid", str(self.group), "--groups", str(self.fs_group)],
            *["--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", "/usr/bin/env", "-i", *pairs, *words],
        ]

    async def exec(self, words):
        """The status and the output."""
        return await output(*self.entering(words))
