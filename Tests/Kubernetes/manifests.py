"""Checks manifests of Kubernetes beyond their schemas: what they refer to exists, and agrees with the configuration."""

import re

import yaml

# The members of a ServiceMonitor that the manifests use. There is no schema to check them with.
SERVICE_MONITOR = {
    "selector": {"matchLabels": None},
    "endpoints": {
        "port": None,
        "path": None,
        "authorization": {"type": None, "credentials": {"name": None, "key": None}},
        "relabelings": {"sourceLabels": None, "targetLabel": None},
    },
}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "Mi": 1 << 20, "Gi": 1 << 30}


def amount(text):
    """A duration in seconds, or a size in bytes."""
    number, unit = re.fullmatch(r"(\d+) ?([A-Za-z]+)", str(text)).groups()
    return int(number) * UNITS[unit]


def selects(selector, labels):
    return bool(selector) and all(labels.get(name) == value for name, value in selector.items())


def unknown(value, shape, path):
    """The paths of members that a shape does not have."""
    if shape is None:
        return []
    if isinstance(value, list):
        return [found for item in value for found in unknown(item, shape, path)]
    return [
        found
        for name, member in value.items()
        for found in (unknown(member, shape[name], f"{path}.{name}") if name in shape else [f"{path}.{name}"])
    ]


class Manifests:
    """Rendered manifests, with the findings about them."""

    def __init__(self, text):
        self.all = [document for document in yaml.safe_load_all(text) if document]
        self.findings = []

    def of(self, kind):
        return [document for document in self.all if document["kind"] == kind]

    def named(self, kind, name):
        return next((document for document in self.of(kind) if document["metadata"]["name"] == name), None)

    def keys(self, kind, name):
        document = self.named(kind, name)
        return None if document is None else {**document.get("data", {}), **document.get("stringData", {})}

    @property
    def configuration(self):
        return yaml.safe_load(self.keys("ConfigMap", "holdfast")["holdfast.yaml"])

    def expect(self, holds, finding):
        if not holds:
            self.findings.append(finding)

    def check(self):
        """The findings; empty if there are none."""
        self.findings = []
        namespaces = {document["metadata"]["name"] for document in self.of("Namespace")}
        for document in self.all:
            if document["kind"] != "Namespace":
                name = f"{document['kind']} '{document['metadata']['name']}'"
                self.expect(document["metadata"].get("namespace") in namespaces, f"{name} is in no namespace of the manifests")
        for workload in self.of("StatefulSet"):
            self.check_workload(workload)
        templates = [workload["spec"]["template"] for workload in self.of("StatefulSet")]
        for service in self.of("Service"):
            self.check_service(service, templates)
        for budget in self.of("PodDisruptionBudget"):
            selector = budget["spec"]["selector"]["matchLabels"]
            selected = [template for template in templates if selects(selector, template["metadata"]["labels"])]
            self.expect(len(selected) == 1, f"PodDisruptionBudget '{budget['metadata']['name']}' must select the pods of one StatefulSet")
            self.expect(budget["spec"].get("maxUnavailable") == 1, "the PodDisruptionBudget must let one pod go at a time")
        for monitor in self.of("ServiceMonitor"):
            self.check_monitor(monitor)
        self.check_gateway()
        return self.findings

    def check_workload(self, workload):
        name, spec = workload["metadata"]["name"], workload["spec"]
        template = spec["template"]
        pod, labels = template["spec"], template["metadata"]["labels"]
        self.expect(selects(spec["selector"]["matchLabels"], labels), f"'{name}' does not select its own pods")
        service = self.named("Service", spec["serviceName"])
        self.expect(
            service is not None and service["spec"].get("clusterIP") == "None" and selects(service["spec"]["selector"], labels),
            f"'{name}' needs the headless Service '{spec['serviceName']}' for its pods",
        )
        for constraint in pod.get("topologySpreadConstraints", []):
            self.expect(selects(constraint["labelSelector"]["matchLabels"], labels), f"a topology constraint of '{name}' selects other pods")
        self.expect(pod.get("automountServiceAccountToken") is False, f"'{name}' gets a token of the API server, which it does not use")
        security = pod.get("securityContext", {})
        self.expect(security.get("runAsNonRoot") is True and security.get("runAsUser", 0) > 0, f"'{name}' must not run as root")
        self.expect(security.get("fsGroup", 0) > 0 and security.get("fsGroup") == security.get("runAsGroup"), f"'{name}' must own its volume as its own group")
        self.expect(security.get("fsGroupChangePolicy") == "OnRootMismatch", f"'{name}' must not change the modes of its files at each start")
        self.expect(security.get("seccompProfile") == {"type": "RuntimeDefault"}, f"'{name}' must use the seccomp profile RuntimeDefault")
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        claims = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
        self.expect(claims, f"'{name}' has no volume of its own")
        mounted = {mount["name"] for container in pod["containers"] for mount in container["volumeMounts"]}
        self.expect(mounted == set(volumes) | claims, f"'{name}' mounts {sorted(mounted)}, and has the volumes {sorted(set(volumes) | claims)}")
        for volume in volumes.values():
            if "configMap" in volume:
                self.expect(self.keys("ConfigMap", volume["configMap"]["name"]), f"the ConfigMap of volume '{volume['name']}' is missing or empty")
            if "secret" in volume:
                self.expect(self.keys("Secret", volume["secret"]["secretName"]), f"the Secret of volume '{volume['name']}' is missing or empty")
                self.expect(volume["secret"].get("defaultMode") == 0o440, f"the Secret of volume '{volume['name']}' must have mode 0440")
        for container in pod["containers"]:
            self.check_container(name, container, volumes)

    def check_container(self, workload, container, volumes):
        security = container.get("securityContext", {})
        self.expect(security.get("allowPrivilegeEscalation") is False, f"'{workload}' may gain privileges")
        self.expect(security.get("readOnlyRootFilesystem") is True, f"the root file system of '{workload}' must be read-only")
        self.expect(security.get("capabilities") == {"drop": ["ALL"]}, f"'{workload}' must drop all capabilities")
        resources = container.get("resources", {})
        self.expect({"cpu", "memory"} <= set(resources.get("requests", {})), f"'{workload}' must request processor time and memory")
        self.expect("memory" in resources.get("limits", {}), f"the memory of '{workload}' must be limited")
        for mount in container["volumeMounts"]:
            volume = volumes.get(mount["name"], {})
            if "secret" in volume or "configMap" in volume:
                self.expect(mount.get("readOnly") is True and "subPath" not in mount, f"'{mount['mountPath']}' must be read-only and a whole folder")
        ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = container.get(kind, {})
            for action in ("httpGet", "tcpSocket"):
                if action in probe:
                    self.expect(probe[action]["port"] in ports, f"the {kind} of '{workload}' names the port '{probe[action]['port']}'")
        self.expect("livenessProbe" in container and "startupProbe" in container, f"'{workload}' needs a startup and a liveness probe")
        for variable in container.get("env", []):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference:
                keys = self.keys("Secret", reference["name"]) or {}
                self.expect(reference["key"] in keys, f"the variable '{variable['name']}' names a key that no Secret has")

    def check_service(self, service, templates):
        name = service["metadata"]["name"]
        selected = [template for template in templates if selects(service["spec"]["selector"], template["metadata"]["labels"])]
        self.expect(len(selected) == 1, f"Service '{name}' must select the pods of one StatefulSet")
        ports = {port["name"] for template in selected for container in template["spec"]["containers"] for port in container.get("ports", [])}
        for port in service["spec"]["ports"]:
            self.expect(port["targetPort"] in ports, f"Service '{name}' names the port '{port['targetPort']}', which its pods do not have")

    def check_monitor(self, monitor):
        spec = monitor["spec"]
        self.expect(monitor["apiVersion"] == "monitoring.coreos.com/v1", "a ServiceMonitor has the version monitoring.coreos.com/v1")
        for path in unknown(spec, SERVICE_MONITOR, "spec"):
            self.expect(False, f"the ServiceMonitor has '{path}', which this test does not know")
        services = [service for service in self.of("Service") if selects(spec["selector"]["matchLabels"], service["metadata"]["labels"])]
        self.expect(len(services) == 1, f"the ServiceMonitor must select one Service, or each pod is scraped several times; it selects {len(services)}")
        for service in services:
            ports = {port["name"]: port["port"] for port in service["spec"]["ports"]}
            for endpoint in spec["endpoints"]:
                self.expect(endpoint["port"] in ports, f"the ServiceMonitor names the port '{endpoint['port']}'")
                names = [rule for rule in endpoint.get("relabelings", []) if rule["targetLabel"] == "instance"]
                self.expect([rule["sourceLabels"] for rule in names] == [["__meta_kubernetes_pod_name"]], "the ServiceMonitor must name an instance by its pod, because the alerts compare it with the day before")
                credentials = endpoint["authorization"]["credentials"]
                keys = self.keys("Secret", credentials["name"]) or {}
                self.expect(credentials["key"] in keys, "the ServiceMonitor names a key that its Secret does not have")

    def check_gateway(self):
        """The gateway's pods agree with its configuration."""
        workload = self.named("StatefulSet", "holdfast")
        pod = workload["spec"]["template"]["spec"]
        container = pod["containers"][0]
        configuration = self.configuration
        ports = {port["name"]: str(port["containerPort"]) for port in container["ports"]}
        self.expect(configuration["listen"].rsplit(":", 1)[1] == ports["http"], "'listen' and the port 'http' differ")
        self.expect(configuration["metrics"]["listen"].rsplit(":", 1)[1] == ports["metrics"], "'metrics.listen' and the port 'metrics' differ")
        for kind, setting in (("startupProbe", "live"), ("livenessProbe", "live"), ("readinessProbe", "ready")):
            probe = container.get(kind, {}).get("httpGet", {})
            self.expect(probe.get("path") == configuration["health"][setting] and probe.get("port") == "http", f"the {kind} must request 'health.{setting}'")
        self.expect({"name": "HOLDFAST_LISTEN", "value": ""} in container["env"], "the image's HOLDFAST_LISTEN would override 'listen'")
        self.expect({"name": "HOLDFAST_STORE", "value": ""} in container["env"], "the image's HOLDFAST_STORE would override 'store.path'")
        hook = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)
        ending = hook + amount(configuration["drain"]["delay"]) + amount(configuration["timeouts"]["drain"])
        self.expect(pod["terminationGracePeriodSeconds"] >= ending + 10, f"the gateway needs {ending} s to stop and some for its store, and gets {pod['terminationGracePeriodSeconds']} s")

        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        mounts = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
        claims = {claim["metadata"]["name"]: claim["spec"] for claim in workload["spec"]["volumeClaimTemplates"]}
        store = configuration["store"]
        claim = claims.get(mounts.get(store["path"].rsplit("/", 1)[0]))
        self.expect(claim is not None, "'store.path' must be a folder in the volume, which the gateway can create with mode 0700")
        if claim is not None:
            self.expect(claim["accessModes"] in (["ReadWriteOnce"], ["ReadWriteOncePod"]), "only one machine may mount the store")
            self.expect(2 * amount(store["budget"]) <= amount(claim["resources"]["requests"]["storage"]), "the volume must have twice the room of 'store.budget'")
        for option, value in zip(container["args"], container["args"][1:]):
            if option == "--config":
                folder, file = value.rsplit("/", 1)
                keys = self.keys("ConfigMap", volumes.get(mounts.get(folder), {}).get("configMap", {}).get("name")) or {}
                self.expect(file in keys, f"no ConfigMap is mounted as '{value}'")
        for path in self.secret_files():
            folder, file = path.rsplit("/", 1)
            keys = self.keys("Secret", volumes.get(mounts.get(folder), {}).get("secret", {}).get("secretName")) or {}
            self.expect(file in keys, f"the configuration names '{path}', which no Secret has")

    def secret_files(self):
        """The files that the configuration names."""

        def files(value):
            if isinstance(value, list):
                return [path for item in value for path in files(item)]
            if isinstance(value, dict):
                return [path for name, item in value.items() for path in ([item] if name == "file" else files(item))]
            return []

        return [*files(self.configuration), self.configuration["metrics"]["token"]]
