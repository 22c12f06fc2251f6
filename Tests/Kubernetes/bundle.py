"""Prints the configuration of an OCI container: bundle.py IMAGE ROOT VOLUME USER [NAME=VALUE | FOLDER:PATH]...

IMAGE is the output of 'buildah inspect'. USER is 'ID:GROUP', or empty for the image's. A FOLDER is
mounted read-only. The container has a read-only root, its own processes and mounts, no capabilities,
and the network of the host.
"""

import json
import sys


def bundle(image, root, volume, user, variables, folders):
    config = image["OCIv1"]["config"]
    uid, gid = (int(number) for number in (user or config["User"]).split(":"))
    # A later variable replaces an earlier one.
    environment = dict(variable.split("=", 1) for variable in config["Env"] + variables)

    def memory(path, mode):
        return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", f"mode={mode}"]}

    def bind(source, path, access):
        return {"destination": path, "type": "bind", "source": source, "options": ["bind", access, "nosuid", "nodev"]}

    (store,) = config["Volumes"]
    return {
        "ociVersion": "1.0.2",
        "process": {
            "user": {"uid": uid, "gid": gid},
            "args": config["Entrypoint"] + config["Cmd"],
            "env": [f"{name}={value}" for name, value in environment.items()],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {},
        },
        "root": {"path": root, "readonly": True},
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            # With device files, which crun makes.
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
            memory(environment["RUNTIME_DIRECTORY"], "777"),
            bind(volume, store, "rw"),
            *(bind(*folder.split(":"), "ro") for folder in folders),
        ],
        "linux": {"namespaces": [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")]},
    }


file, root, volume, user, *rest = sys.argv[1:]
variables, folders = ([item for item in rest if ("=" in item) == is_variable] for is_variable in (True, False))
with open(file, encoding="utf-8") as opened:
    print(json.dumps(bundle(json.load(opened), root, volume, user, variables, folders), indent=1))
