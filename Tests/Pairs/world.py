"""A world: the configuration of one row of the array, and what is around the gateway."""

import copy
import os
import subprocess

from settings import LEVELS, MASKS

# The file with a certificate that is a CA too, and its key.
PEM = "pairs.pem"


class Row:
    """The levels of one row. What is not named has its default."""

    def __init__(self, levels):
        self.levels = {name: level for name, level in levels.items() if level}

    def value(self, name):
        return LEVELS[name][self.levels.get(name, 0)]

    def set(self, group):
        """The settings of a group that are in the file: {name: value}."""
        names = (name for name in self.levels if name.startswith(group + ":"))
        return {name.partition(":")[2]: copy.deepcopy(self.value(name)) for name in names}

    def masks(self):
        return {name for name, level in self.levels.items() if (name, level) in MASKS}

    def without(self, names):
        return Row({name: level for name, level in self.levels.items() if name not in names})

    def pairs(self):
        """The pairs of levels that are in it, defaults included."""
        items = sorted((name, self.levels.get(name, 0)) for name in LEVELS)
        return {(one, other) for number, one in enumerate(items) for other in items[number + 1:]}

    def __str__(self):
        return ", ".join(f"{name}={self.value(name)}" for name in sorted(self.levels)) or "nothing but defaults"


def put(target, name, value):
    """Sets 'store.per' as {store: {per: value}}."""
    group, dot, rest = name.partition(".")
    if dot:
        target.setdefault(group, {})[rest] = value
    else:
        target[group] = value


class Configuration:
    """The file of a row, before and after its late rules."""

    def __init__(self, row, origin_port, mirror_port, has_tls):
        self.row, self.has_tls = row, has_tls
        self.is_secure = is_secure(row)
        scheme = "https" if self.is_secure else "http"
        self.origin, self.mirror = (f"{scheme}://127.0.0.1:{port}" for port in (origin_port, mirror_port))
        self.address = f"127.0.0.1:{origin_port}"
        self.trusts_proxy = row.value("top:clients.trusted") is not None

    @property
    def kinds(self):
        """Those of the listeners, in their order."""
        return ["http"] + ["tls"] * self.has_tls + ["unix"] + ["proxied"] * self.trusts_proxy

    def listeners(self):
        mode = self.row.value("listener:mode")
        tls = {"certificates": [{"name": "pairs", "chain": PEM, "key": PEM}]}
        for name, value in self.row.set("listener").items():
            if name.startswith("tls."):
                tls[name[4:]] = value
        members = {
            "http": "127.0.0.1:0",
            "tls": {"address": "127.0.0.1:0", "tls": tls},
            "unix": {"unix": "http.sock", **({"mode": mode} if mode else {})},
            "proxied": {"address": "127.0.0.1:0", "proxy-protocol": True, "http2": False},
        }
        return [members[kind] for kind in self.kinds]

    def rules(self, row):
        """One rule for all settings, and before it one for a level that masks."""
        first, rule = {}, {"name": "pairs"}
        masks = row.masks()
        for name, value in row.set("rule").items():
            put(first if f"rule:{name}" in masks else rule, name, value)
        rules = [{"name": "mask", **first}] if first else []
        if len(rule) > 1:
            if match := row.value("world:match"):
                rule["match"] = match
            rules.append(rule)
        return rules

    def file(self, is_late):
        """The document. Late rules, and what masks, are in it from the reload on."""
        row = self.row if is_late else self.row.without(self.row.masks())
        file = {"version": 1, "listen": self.listeners(), "store": {"path": "store"}, "control": {"socket": "c.sock"}}
        for name, value in row.set("top").items():
            put(file, name, value)
        file["routes"] = [{"name": "pairs", **row.set("route"), "origin": self.origin}]
        if origins := self.origins(row):
            file["origins"] = origins
        if (is_late or not self.has_late_rules) and (rules := self.rules(row)):
            file["rules"] = rules
        return file

    def origins(self, row):
        settings = row.set("origin")
        if not settings:
            return None
        if "certificate" in settings:
            settings["key"] = PEM
        if "verify" in settings:
            settings["insecure"] = True
        if "ca" in settings and "addresses" in settings:
            # A certificate is not checked against the address.
            settings.setdefault("server-name", "origin.pairs.test")
        for name in ("addresses", "mirrors"):
            if name in settings:
                settings[name] = [text.format(origin=self.address, mirror=self.mirror) for text in settings[name]]
        mirror = {"credentials": True} if settings.pop("credentials", False) else {}
        if self.is_secure and "mirrors" in settings:
            mirror["ca"] = PEM
        return {self.origin: settings} | ({self.mirror: mirror} if mirror else {})

    def changes_late(self):
        return self.file(True) != self.file(False)

    @property
    def has_late_rules(self):
        return self.row.value("world:rules") == "by reload"

    def rule(self, is_late):
        """The settings of the rule: those of a level that masks, too, from the reload on."""
        if is_late:
            return self.row.set("rule")
        return {} if self.has_late_rules else self.row.without(self.row.masks()).set("rule")


def is_secure(row):
    """Whether the origin and its mirror speak TLS."""
    return row.value("origin:ca") is not None or row.value("origin:verify") is not None


def make_certificate(folder):
    """One certificate for everything: a CA, of all names. Whether openssl could make it."""
    names = "subjectAltName=DNS:localhost,DNS:pairs.test,DNS:*.pairs.test,IP:127.0.0.1"
    path = os.path.join(folder, PEM)
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=pairs.test", "-addext", names, "-keyout", path + ".key", "-out", path + ".crt"]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    with open(path, "w") as file:
        for part in (".crt", ".key"):
            with open(path + part) as other:
                file.write(other.read())
    os.chmod(path, 0o600)
    return path
