"""A network of this process alone: names of replicas, each with an address that is not loopback, and no way to anything else."""

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile

REPLICAS = ["crates", "debian", "git", "npm", "pypi", "site"]
ENTERED = "REPLICAS_HAVE_ADDRESSES"


def names():
    """The hosts of all replicas."""
    modules = [importlib.import_module(f"replicas.{name}") for name in REPLICAS]
    return sorted({value for module in modules for name, value in vars(module).items() if name.isupper() and str(value).endswith(".example")})


def enter():
    """Starts this program again in namespaces of its own. There, it returns."""
    if os.environ.get(ENTERED):
        return
    with tempfile.TemporaryDirectory(prefix="holdfast-record.") as folder:
        hosts, resolver = pathlib.Path(folder) / "hosts", pathlib.Path(folder) / "resolv.conf"
        addresses = {name: f"10.99.0.{number}" for number, name in enumerate(names(), 1)}
        hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in addresses.items()))
        # No name server, so that an unknown name fails at once.
        resolver.write_text("")
        for file in hosts, resolver:
            file.chmod(0o644)
        pathlib.Path(folder).chmod(0o755)
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        steps = ["set -e", "ip link set lo up", f"mount --bind {hosts} /etc/hosts", f"mount --bind {resolver} /etc/resolv.conf"]
        # The addresses are the machine's own and private, so the proxy needs '--allow-private'.
        steps += [f"ip address add {address}/32 dev lo" for address in addresses.values()]
        command = ["unshare", *user, "--net", "--mount", "--", "sh", "-c", "\n".join([*steps, 'exec "$@"']), "sh", sys.executable, *sys.argv]
        done = subprocess.run(command, env=os.environ | {ENTERED: "1"}, check=False)
    sys.exit(done.returncode)
