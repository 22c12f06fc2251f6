#!/usr/bin/env python3
"""Validates configuration files by the schema that 'holdfast schema' prints.

Every file in the cookbook, every file that a package installs, and every whole configuration on a page must be valid.
Files with mistakes must not be: 'holdfast check' rejects each of them, too.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema
import yaml

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGES = ["docs/*.md", "Sources/HoldfastConfiguration/HoldfastConfiguration.docc/*.md", "README.md"]
FILES = ["Examples/Cookbook/*.yaml", "Packaging/debian/holdfast.yaml", "Packaging/kubernetes/*/holdfast.yaml"]


def loader(booleans):
    """A loader whose plain scalars are booleans if they match, and otherwise numbers or text."""

    class Loader(yaml.SafeLoader):
        pass

    Loader.yaml_implicit_resolvers = {}
    Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(f"^(?:{booleans})$"), None)
    Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), None)
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+\.[0-9]+$"), None)
    return Loader


# Editors differ: YAML 1.2 has two booleans, and YAML 1.1 also reads 'on' and 'off' as booleans.
LOADERS = {
    "1.2": loader("true|True|TRUE|false|False|FALSE"),
    "1.1": loader("true|True|TRUE|false|False|FALSE|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"),
}

# Right files that use what the examples do not.
RIGHT = [
    "{}", "include: conf.d/*.yaml", "include: [a.yaml, conf.d/*.yaml]", "threads: ${THREADS}", "mode: ${MODE}",
    "store: {budget: '${SIZE}', secure-delete: '${FLAG}'}", "store.budget: 1 GiB", "timeouts: {hard: off, soft: 1.5 s}",
    "control: {socket: off}", "guard: true", "guard: off", "guard: {html: yes}", "eager-refresh: 0.8", "eager-refresh: off",
    "limits: {connections-per-client: off}", "limits: {upload-rate: 2 KiB}", "listen: 127.0.0.1:0",
    "listen: [127.0.0.1:0, {unix: h.sock, mode: 0660, http2: off}]",
    "listen: [{address: '127.0.0.1:1', tls: {min: 1.3, alpn: [http/1.1], certificates: [{name: a, chain: b, key: c}]}}]",
    "fleet: {url: 'redis://a', namespace: n, secret: {env: S}, password: {file: '${DIR}/p'}}",
    "rules: [{freshness: {lifetime: '${TIME}'}, breaker: off, timeouts: {soft: off}}]", "rules: [{freshness.lifetime: 5 m}]",
    "rules: [{match: {query: {a: ['1']}}, bypass: true}]", "rules: [{cookies: {keep: []}}]",
    "rules: [{store: {statuses: [200, '${STATUS}'], per: {cookie: sid}}}]", "rules: [{to-origin: {set: {A: text, B: {env: C}}}}]",
    "origins: {'https://a.example': {health: {path: /h, expect: 204}, timeouts: {connect: 1 s}, verify: on}}",
    "routes: [{origin: 'https://a.example', rewrite: off, compress: on, error-pages: {offline: a.html}}]",
    "routes: [{host: a, match: {scheme: http, query: [b]}, respond: {status: 301, location: 'https://a{path}{query}'}}]",
    "routes: [{path: /a, respond: {status: '${STATUS}', body: a, content-type: text/html}}]",
    "routes: [{origin: 'https://a.example', clients: {allow: '${NET}'}, limits: {requests: {rate: 10/m, by: prefix}}}]",
    "clients: {allow: [10.0.0.0/8], deny: 10.0.0.7}", "limits: {requests: off}", "limits: {requests: {rate: '${R}', burst: 5}}",
    "health: {path: off, live: /livez, ready: '/${READY}'}", "metrics: {listen: 127.0.0.1:0, public: on, token: a/token}",
    "metrics: {listen: 127.0.0.1:0, tls: {min: 1.3, certificates: [{name: a, chain: b, key: c}]}}", "log: {access: off, format: json}",
    "forward-proxy: {hosts: [a.example, {host: '*.b.example', upgrade: https}], prefix: off, ports: 8080, addresses: [10.0.0.0/8]}",
    "forward-proxy: {hosts: a.example, prefix: /via, ports: [8080, '${PORT}'], allow: '${NET}'}",
]

# A mistake, and the place that the error names.
WRONG = [
    ("forward-proxy: {hosts: [{host: a, upgrade: http}]}", "forward-proxy/hosts"), ("forward-proxy: {hosts: [{upgrade: https}]}", "forward-proxy/hosts"),
    ("forward-proxy: {hosts: a, ports: [0]}", "forward-proxy/ports"), ("forward-proxy: {host: a}", "forward-proxy"),
    ("thread: 2", ""), ("threads: many", "threads"), ("threads: 0", "threads"), ("threads: 1.5", "threads"),
    ("mode: of-fline", "mode"), ("store: {budget: 10}", "store/budget"), ("store: {budget: 10 Gib}", "store/budget"),
    ("store: {size: 1 GiB}", "store"), ("store: [1]", "store"), ("store: {secure-delete: maybe}", "store/secure-delete"),
    ("timeouts: {hard: 5 minutes}", "timeouts/hard"), ("timeouts: {hard: 5}", "timeouts/hard"),
    ("eager-refresh: 1.5", "eager-refresh"), ("guard: {htlm: true}", "guard"), ("listen: [{adress: 'a:1'}]", "listen"),
    ("listen: [{address: 'a:1', tls: {min: 1.1, certificates: [{name: a, chain: b, key: c}]}}]", "listen"),
    ("listen: [{address: 'a:1', tls: {certificates: [{name: a, chain: b}]}}]", "listen"),
    ("fleet: {secret: text}", "fleet/secret"), ("fleet: {secret: '${SECRET}'}", "fleet/secret"),
    ("fleet: {secret: {env: A, file: b}}", "fleet/secret"), ("fleet: {share: all}", "fleet/share"),
    ("fleet: {quorum: 17}", "fleet/quorum"), ("control: {tokens: [{name: a, file: b, scope: all}]}", "control/tokens"),
    ("routes: [{path: /x}]", "routes"), ("routes: [{origin: 'https://a', unknown-fields: keep}]", "routes"),
    ("routes: [{path: /x, respond: {body: a}}]", "routes"), ("routes: [{path: /x, respond: {status: 99}}]", "routes"),
    ("routes: [{origin: 'https://a', match: {scheme: http}}]", "routes"), ("metrics: {public: maybe}", "metrics/public"),
    ("routes: [{path: /x, match: {scheme: ftp}, respond: {status: 404}}]", "routes"), ("health: {lives: /a}", "health"),
    ("metrics: {tls: {alpn: h2, certificates: [{name: a, chain: b, key: c}]}}", "metrics/tls"),
    ("routes: [{origin: 'https://a', error-pages: {offlin: a}}]", "routes"),
    ("routes: [{origin: 'https://a', limits: {requests: {burst: 5}}}]", "routes"), ("limits: {requests: 5}", "limits/requests"),
    ("limits: {requests: {rate: 5/s, by: city}}", "limits/requests"), ("clients: {allow: []}", "clients/allow"),
    ("routes: {origin: 'https://a'}", "routes"), ("rules: [{freshness: {lifetime: 5}}]", "rules"),
    ("rules: [{freshness: {life: 5 m}}]", "rules"), ("rules: [{match: {uri: /x}, tags: [a]}]", "rules"),
    ("rules: [{stale: {ignore: [no-fun]}}]", "rules"), ("rules: [{store: {statuses: [100]}}]", "rules"),
    ("rules: [{cookies: {forward: all}}]", "rules"), ("rules: [{to-origin: {set: {A: [b]}}}]", "rules"),
    ("origins: {'https://a.example': {verified: true}}", "origins"),
    ("origins: {'https://a.example': {health: {interval: 5 s}}}", "origins"), ("include: {a: b}", "include"),
    ("include: []", "include"), ("log: {access: some}", "log/access"),
]


def pages():
    """Whole configurations in the code blocks of pages."""
    for pattern in PAGES:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            with open(path) as file:
                text = file.read()
            for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.S), 1):
                if re.search(r"^version: 1$", block, re.M):
                    yield f"{os.path.relpath(path, ROOT)}, block {number}", block


def files():
    for pattern in FILES:
        for path in sorted(glob.glob(os.path.join(ROOT, pattern))):
            with open(path) as file:
                yield os.path.relpath(path, ROOT), file.read()


def places(validator, text, version):
    """The places of the errors; nothing if the text is valid."""
    document = yaml.load(text, Loader=LOADERS[version])
    return ["/".join(str(part) for part in error.absolute_path) for error in validator.iter_errors(document)]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True, help="folder with 'holdfast'")
    holdfast = os.path.join(arguments.parse_args().bin, "holdfast")
    printed = subprocess.run([holdfast, "schema"], check=True, capture_output=True, text=True)
    schema = json.loads(printed.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    failures = []
    examples = [*files(), *pages()]
    if len(examples) < 25:
        failures.append(f"only {len(examples)} examples were found")
    right = examples + [(text, "version: 1\n" + ("" if text == "{}" else text)) for text in RIGHT]
    for version in LOADERS:
        for name, text in right:
            for place in places(validator, text, version):
                failures.append(f"{name}: invalid at '{place}' (YAML {version})")
        for text, place in WRONG:
            found = places(validator, "version: 1\n" + text, version)
            if not any(other == place or other.startswith(place + "/") for other in found):
                failures.append(f"{text}: the errors are at {found}, not at '{place}' (YAML {version})")
        for text in ("threads: 2", "version: 2", "version: 1.0.0", "- version: 1"):
            if not places(validator, text, version):
                failures.append(f"{text}: valid (YAML {version})")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "holdfast.yaml")
        for text, _ in WRONG:
            with open(path, "w") as file:
                file.write("version: 1\n" + text + "\n")
            checked = subprocess.run([holdfast, "check", "--config", path], capture_output=True, text=True)
            if checked.returncode != 1:
                failures.append(f"{text}: 'holdfast check' accepts it")
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    print(f"{len(right)} right files and {len(WRONG)} wrong ones, each as YAML 1.1 and 1.2")
    return 1 if failures else 0


sys.exit(main())
