"""Breaks correct manifests in one place at a time: each change must be found, so no check is blind."""

import yaml

from manifests import Manifests


def pod(manifests, name="holdfast"):
    return manifests.named("StatefulSet", name)["spec"]["template"]["spec"]


def container(manifests):
    return pod(manifests)["containers"][0]


def configure(change):
    def apply(manifests):
        configuration = manifests.configuration
        change(configuration)
        manifests.named("ConfigMap", "holdfast")["data"]["holdfast.yaml"] = yaml.safe_dump(configuration)

    return apply


def put(path, value):
    """Sets a member: 'kind/name:member.member', of the gateway's container if there is no kind."""

    def apply(manifests):
        target, members = container(manifests), path
        if ":" in path:
            named, members = path.split(":")
            target = manifests.named(*named.split("/"))
        *inner, last = members.split(".")
        for member in inner:
            target = target[int(member)] if isinstance(target, list) else target[member]
        last = int(last) if isinstance(target, list) else last
        if value is None:
            del target[last]
        else:
            target[last] = value

    return apply


POD = "StatefulSet/holdfast:spec.template.spec."
MONITOR = "ServiceMonitor/holdfast:spec."

# Each change, and words of the finding that it must cause.
BROKEN = [
    (put("StatefulSet/holdfast:spec.serviceName", "holdfast"), "needs the headless Service"),
    (put("StatefulSet/holdfast:spec.template.metadata.labels", {"a": "b"}), "does not select its own pods"),
    (put("StatefulSet/holdfast:spec.volumeClaimTemplates.0.spec.accessModes", ["ReadWriteMany"]), "only one machine"),
    (put("StatefulSet/holdfast:spec.volumeClaimTemplates.0.spec.resources.requests.storage", "5Gi"), "twice the room"),
    (put(POD + "automountServiceAccountToken", True), "token of the API server"),
    (put(POD + "securityContext.runAsUser", 0), "as root"),
    (put(POD + "securityContext.fsGroup", None), "its own group"),
    (put(POD + "securityContext.fsGroupChangePolicy", None), "the modes of its files"),
    (put(POD + "securityContext.seccompProfile", None), "seccomp"),
    (put(POD + "terminationGracePeriodSeconds", 20), "to stop"),
    (put(POD + "topologySpreadConstraints.0.labelSelector.matchLabels", {"a": "b"}), "selects other pods"),
    (put("lifecycle", {"preStop": {"sleep": {"seconds": 10}}}), "to stop"),
    (put("securityContext.readOnlyRootFilesystem", False), "must be read-only"),
    (put("securityContext.allowPrivilegeEscalation", None), "gain privileges"),
    (put("securityContext.capabilities", {"drop": ["NET_RAW"]}), "drop all capabilities"),
    (put("resources.limits", None), "must be limited"),
    (put("resources.requests", {"cpu": "1"}), "must request"),
    (put("readinessProbe.httpGet.path", "/-/live"), "'health.ready'"),
    (put("livenessProbe.httpGet.path", "/-/ready"), "'health.live'"),
    (put("readinessProbe.httpGet.port", "web"), "names the port 'web'"),
    (put("livenessProbe", None), "liveness probe"),
    (put("env", []), "HOLDFAST_LISTEN"),
    (put("args.2", "/etc/holdfast.yaml"), "no ConfigMap is mounted"),
    (put("volumeMounts.0.mountPath", "/srv"), "'store.path' must be"),
    (put("volumeMounts.1", None), "mounts"),
    (lambda manifests: container(manifests)["volumeMounts"][2].pop("readOnly"), "read-only and a whole folder"),
    (lambda manifests: container(manifests)["volumeMounts"][2].update(subPath="holdfast.yaml"), "read-only and a whole folder"),
    (lambda manifests: pod(manifests)["volumes"][2]["secret"].update(defaultMode=0o444), "mode 0440"),
    (lambda manifests: pod(manifests)["volumes"][2]["secret"].update(secretName="other"), "is missing or empty"),
    (lambda manifests: pod(manifests)["volumes"][1]["configMap"].update(name="other"), "is missing or empty"),
    (lambda manifests: manifests.named("Secret", "holdfast")["data"].pop("metrics.token"), "no Secret has"),
    (put("Service/holdfast:spec.selector", {"app.kubernetes.io/name": "other"}), "must select the pods"),
    (put("Service/holdfast:spec.ports.0.targetPort", "web"), "names the port 'web'"),
    (put("Service/holdfast:metadata.labels", {"app.kubernetes.io/name": "holdfast", "app.kubernetes.io/component": "nodes"}), "it selects 2"),
    (put("Service/holdfast:metadata.namespace", "other"), "no namespace of the manifests"),
    (put("PodDisruptionBudget/holdfast:spec.selector.matchLabels", {"a": "b"}), "must select the pods"),
    (put("PodDisruptionBudget/holdfast:spec.maxUnavailable", None), "one pod go at a time"),
    (put(MONITOR + "endpoints.0.port", "control"), "names the port 'control'"),
    (put(MONITOR + "endpoints.0.authorization.credentials.key", "token"), "a key that its Secret"),
    (put(MONITOR + "endpoints.0.bearerTokenFile", "/token"), "does not know"),
    (put(MONITOR + "endpoints.0.relabelings", []), "name an instance by its pod"),
    (put(MONITOR + "endpoints.0.relabelings.0.sourceLabels", ["__address__"]), "name an instance by its pod"),
    (configure(lambda file: file.update(listen="0.0.0.0:80")), "port 'http' differ"),
    (configure(lambda file: file["metrics"].update(listen="0.0.0.0:94")), "port 'metrics' differ"),
    (configure(lambda file: file["health"].update(live="/up")), "'health.live'"),
    (configure(lambda file: file["drain"].update(delay="30 s")), "to stop"),
    (configure(lambda file: file["store"].update(path="/var/lib/holdfast")), "'store.path' must be"),
    (configure(lambda file: file["store"].update(budget="8 GiB")), "twice the room"),
    (configure(lambda file: file["metrics"].update(token="/run/secrets/holdfast/other")), "no Secret has"),
]


def unnoticed(text):
    """The numbers and expected words of changes that no check finds."""
    missed = []
    for number, (breaks, words) in enumerate(BROKEN, start=1):
        manifests = Manifests(text)
        breaks(manifests)
        findings = manifests.check()
        if not any(words in finding for finding in findings):
            missed.append(f"change {number} should be found ('{words}'); found: {findings}")
    return missed
