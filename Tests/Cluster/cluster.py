"""What Kubernetes does with the manifests: StatefulSets, mounted files, the Service, and commands of kubectl."""

import asyncio
import json
import os
import random
import sys
import time

import images
from balancer import Balancer
from network import Network
from pods import Failed, Pod, output

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "Kubernetes"))
from manifests import Manifests  # noqa: E402

GATEWAY = "holdfast"
# For so many seconds at most, connections still go to a pod that is asked to stop.
PROPAGATION = 3


class Cluster:
    def __init__(self, options, folder, programs):
        self.folder, self.programs, self.random = folder, programs, random.Random(options.seed)
        self.network = Network()
        self.libraries = images.libraries(options.bin)
        self.images = {
            "holdfast": images.gateway(options.bin, os.path.join(folder, "image"), "Containerfile"),
            "redis": images.redis(programs["redis-server"], os.path.join(folder, "redis-image")),
        }
        self.manifests = self.balancer = self.prometheus = None
        self.pods, self.rollouts, self.findings, self.replaced = {}, {}, [], []
        self.incarnations = 0
        # Stands for the cluster's DNS: a file that all pods see.
        self.hosts, self.names = os.path.join(folder, "hosts"), {"localhost": "127.0.0.1"}
        open(self.hosts, "w").close()

    def name(self, name, address):
        """Each name keeps its place in the file. A gateway that resolves its origin meanwhile must not see an empty file.

        The file is written in place, because pods mount it, and a mount does not follow a rename.
        """
        self.names[name] = address
        with open(self.hosts, "r+") as file:
            file.writelines(f"{address:<15} {name}\n" for name, address in self.names.items())

    @property
    def gateways(self):
        return {name: pod for name, pod in self.pods.items() if pod.workload["metadata"]["name"] == GATEWAY}

    async def apply(self, folder):
        """Renders a folder, and makes the cluster what it says."""
        status, text = await output(self.programs["kubectl"], "kustomize", folder)
        if status:
            raise Failed(f"'{folder}' cannot be rendered: {text}")
        before, self.manifests = self.manifests, Manifests(text)
        if self.balancer is None:
            await self.make_service()
        for workload in self.manifests.of("StatefulSet"):
            name = workload["metadata"]["name"]
            old = before.named("StatefulSet", name) if before else None
            if old is None:
                self.rollouts[name] = asyncio.create_task(self.create(workload))
            elif old["spec"]["template"] != workload["spec"]["template"]:
                self.rollouts[name] = asyncio.create_task(self.update(name))
        return sum(pod.project() for pod in self.pods.values())

    async def make_service(self):
        service, workload = self.manifests.named("Service", GATEWAY), self.manifests.named("StatefulSet", GATEWAY)
        names = [f"{GATEWAY}-{ordinal}" for ordinal in range(workload["spec"]["replicas"])]
        container = workload["spec"]["template"]["spec"]["containers"][0]
        self.balancer = Balancer(self.programs["haproxy"], self.folder, self.network, service, names, container)
        await self.balancer.start()

    async def create(self, workload):
        """All pods at once, as 'podManagementPolicy' says."""
        pods = [self.attach(workload, ordinal) for ordinal in range(workload["spec"]["replicas"])]
        await asyncio.gather(*[self.start(pod) for pod in pods])

    def attach(self, workload, ordinal):
        pod = Pod(self, workload, ordinal)
        self.pods[pod.name] = pod
        service = workload["spec"]["serviceName"]
        if self.prometheus:
            self.prometheus.write_targets()
        # The name of a headless Service is that of its pods.
        for name in (service, f"{pod.name}.{service}.{workload['metadata']['namespace']}.svc"):
            self.name(name, pod.address)
        return pod

    async def start(self, pod):
        """Until it is ready."""
        await pod.start()
        if pod.workload["metadata"]["name"] == GATEWAY:
            await self.balancer.add(pod, pod.ports[self.target_port])
            await self.balancer.until_ready(pod)

    @property
    def target_port(self):
        (port,) = self.manifests.named("Service", GATEWAY)["spec"]["ports"]
        return port["targetPort"]

    async def update(self, name):
        """Replaces one pod after another, the last first."""
        workload = self.manifests.named("StatefulSet", name)
        for ordinal in reversed(range(workload["spec"]["replicas"])):
            await self.replace(f"{name}-{ordinal}")

    async def replace(self, name):
        """Ends a pod, while the Service still sends it connections for a moment, and starts its successor."""
        pod, began = self.pods[name], time.monotonic()
        delay = self.random.uniform(0, PROPAGATION)

        async def leave():
            await asyncio.sleep(delay)
            await self.balancer.remove(pod)

        is_clean, _ = await asyncio.gather(pod.end(), leave())
        ended = time.monotonic()
        if not is_clean:
            self.findings.append(f"pod '{name}' was killed after {pod.grace} s, or ended with an error\n{pod.last_lines()}")
        await self.start(self.attach(self.manifests.named("StatefulSet", pod.workload["metadata"]["name"]), int(name.rsplit("-", 1)[1])))
        self.replaced.append((name, delay, ended - began, time.monotonic() - ended))

    # Commands of kubectl.

    async def listen(self, path):
        await asyncio.start_unix_server(self.serve, path)

    async def serve(self, reader, writer):
        request = json.loads(await reader.readline())
        try:
            status, text = await self.perform(request["words"], request["folder"])
            reply = {"status": status, "output": text, "error": ""}
        except Failed as failure:
            reply = {"status": 1, "output": "", "error": f"error: {failure}\n"}
        writer.write(json.dumps(reply).encode() + b"\n")
        writer.close()

    async def perform(self, words, folder):
        match words:
            case ["apply", "-k", path]:
                changed = await self.apply(os.path.join(folder, path))
                return 0, f"applied; the files of {changed} running pods changed\n"
            case ["-n", _, "rollout", "restart", workload]:
                name = self.workload(workload)
                self.rollouts[name] = asyncio.create_task(self.update(name))
                return 0, f"{workload} restarted\n"
            case ["-n", _, "rollout", "status", workload]:
                # Redis has to be there too, as the gateways are ready without it.
                await asyncio.gather(*self.rollouts.values())
                return 0, f"{workload}: rolling update complete\n"
            case ["-n", _, "delete", "pod", name] if name in self.gateways:
                await self.replace(name)
                return 0, f"pod '{name}' replaced\n"
            case ["-n", _, "exec", name, "--", *command] if name in self.pods:
                return await self.pods[name].exec(command)
        raise Failed(f"this cluster does not know 'kubectl {' '.join(words)}'")

    def workload(self, text):
        kind, name = text.split("/")
        if kind != "statefulset" or not self.manifests.named("StatefulSet", name):
            raise Failed(f"this cluster has no '{text}'")
        return name
