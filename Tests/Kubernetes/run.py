"""Checks rendered manifests: run.py BASE FLEET EXAMPLE."""

import sys

import yaml

sys.dont_write_bytecode = True
import kubernetes_validate  # noqa: E402
from broken import unnoticed  # noqa: E402
from manifests import Manifests  # noqa: E402

# The oldest version with everything that the manifests use, and the newest that the validator knows.
VERSIONS = ["1.30", kubernetes_validate.latest_version()]
# Kinds that Kubernetes does not have itself.
CUSTOM = {"ServiceMonitor"}


def schema_findings(manifests):
    for document in manifests.all:
        if document["kind"] in CUSTOM:
            continue
        for version in VERSIONS:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{document['kind']} '{document['metadata']['name']}', Kubernetes {version}: {error.message}"


def main(paths):
    rendered = {name: open(path, encoding="utf-8").read() for name, path in zip(("base", "fleet", "example"), paths)}
    findings = []
    for name, text in rendered.items():
        manifests = Manifests(text)
        findings += [f"{name}: {finding}" for finding in [*schema_findings(manifests), *manifests.check()]]
    for name in ("base", "fleet"):
        findings += [f"{name}: {missed}" for missed in unnoticed(rendered[name])]
    # A schema must be able to fail too.
    typo = Manifests(rendered["base"])
    typo.named("StatefulSet", "holdfast")["spec"]["template"]["spec"]["terminationGracePeriod"] = 30
    if not list(schema_findings(typo)):
        findings.append("a misspelled member is not found: the validator checks nothing")
    fleet = Manifests(rendered["fleet"]).configuration
    del fleet["fleet"]
    if Manifests(rendered["base"]).configuration != fleet:
        findings.append("base/holdfast.yaml and fleet/holdfast.yaml differ in more than 'fleet'")
    for finding in findings:
        print(f"error: {finding}", file=sys.stderr)
    return 1 if findings else 0


sys.exit(main(sys.argv[1:]))
