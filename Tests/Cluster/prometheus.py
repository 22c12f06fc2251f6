"""Prometheus, which scrapes what the ServiceMonitor selects, by the addresses of pods, with its token."""

import asyncio
import contextlib
import json
import os
import time

from manifests import selects
from pods import Failed, content, output
from wire import FAILURES, once

RULES = os.path.realpath("Packaging/prometheus/holdfast.rules.yml")
PORT = 9090
# The rules' own times are as shipped. Only the scrapes are faster.
INTERVAL = "1s"


class Prometheus:
    def __init__(self, cluster):
        self.cluster = cluster
        self.namespace, self.address = "prometheus", cluster.network.attach("prometheus")
        self.folder = os.path.join(cluster.folder, "prometheus")
        os.makedirs(self.folder)
        (monitor,) = cluster.manifests.of("ServiceMonitor")
        (self.endpoint,) = monitor["spec"]["endpoints"]
        services = cluster.manifests.of("Service")
        (self.service,) = [service for service in services if selects(monitor["spec"]["selector"]["matchLabels"], service["metadata"]["labels"])]

    def file(self, name):
        return os.path.join(self.folder, name)

    def write_token(self):
        """As the operator of Prometheus does when the Secret changes."""
        credentials = self.endpoint["authorization"]["credentials"]
        with open(self.file("token"), "wb") as file:
            file.write(content(self.cluster.manifests, "Secret", credentials["name"])[credentials["key"]])

    def write_targets(self):
        """Every pod of the Service, also those that are not ready."""
        (port,) = [port["targetPort"] for port in self.service["spec"]["ports"] if port["name"] == self.endpoint["port"]]
        pods = [pod for pod in self.cluster.pods.values() if selects(self.service["spec"]["selector"], pod.labels)]
        self.targets = {f"{pod.address}:{pod.ports[port]}": pod for pod in pods}
        with open(self.file("new.json"), "w") as file:
            json.dump([{"targets": list(self.targets)}], file)
        os.replace(self.file("new.json"), self.file("targets.json"))

    async def start(self):
        promtool, program = self.cluster.programs["promtool"], self.cluster.programs["prometheus"]
        status, text = await output(promtool, "check", "rules", RULES)
        if status:
            raise Failed(f"promtool rejects the rules: {text}")
        self.write_token()
        self.write_targets()
        scrape = {
            "job_name": self.service["metadata"]["name"], "metrics_path": self.endpoint["path"],
            "authorization": {"type": self.endpoint["authorization"]["type"], "credentials_file": self.file("token")},
            "file_sd_configs": [{"files": [self.file("targets.json")], "refresh_interval": INTERVAL}],
        }  # fmt: skip
        general = {"scrape_interval": INTERVAL, "scrape_timeout": INTERVAL, "evaluation_interval": INTERVAL}
        # JSON is YAML.
        with open(self.file("prometheus.yml"), "w") as file:
            json.dump({"global": general, "rule_files": [RULES], "scrape_configs": [scrape]}, file)
        with open(self.file("log"), "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *["ip", "netns", "exec", self.namespace, program, f"--config.file={self.file('prometheus.yml')}"],
                *[f"--storage.tsdb.path={self.file('data')}", f"--web.listen-address={self.address}:{PORT}"],
                stdout=log, stderr=log,
            )  # fmt: skip
        await self.until(self.all_up, "every target is up", 30)

    async def get(self, path):
        with contextlib.suppress(*FAILURES):
            response = await once((self.address, PORT), "GET", path)
            if response.status == 200:
                return json.loads(response.body)["data"]
        if self.process.returncode is not None:
            raise Failed(f"Prometheus has ended; see '{self.file('log')}'")
        return None

    async def all_up(self):
        found = await self.get("/api/v1/targets?state=active")
        states = {target["labels"]["instance"]: target["health"] for target in found["activeTargets"]} if found else {}
        return states == dict.fromkeys(self.targets, "up"), states

    async def alerts(self, state="firing"):
        found = await self.get("/api/v1/alerts")
        return [alert for alert in found["alerts"] if alert["state"] == state] if found else []

    async def until(self, condition, words, seconds):
        """Waits for a condition: whether it holds, and what is seen."""
        end = time.monotonic() + seconds
        while True:
            holds, seen = await condition()
            if holds:
                return
            if time.monotonic() > end:
                raise Failed(f"after {seconds} s it is not so that {words}; seen: {seen}")
            await asyncio.sleep(0.2)
