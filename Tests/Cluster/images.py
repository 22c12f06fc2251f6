"""Images of containers: what their files say, over the programs of this system."""

import dataclasses
import os
import re
import shutil
import subprocess


@dataclasses.dataclass
class Image:
    folder: str
    entry: list
    variables: dict = dataclasses.field(default_factory=dict)


def gateway(bin, folder, containerfile):
    """The image of the Containerfile, with these programs: its variables and its entry point."""
    programs = os.path.join(folder, "usr", "bin")
    os.makedirs(programs)
    for name in ("holdfast", "cache-dump"):
        # Without symbols, it is a fifth of the size.
        if subprocess.run(["strip", "-S", "-o", os.path.join(programs, name), os.path.join(bin, name)], capture_output=True).returncode:
            shutil.copy(os.path.join(bin, name), programs)
    with open(containerfile) as file:
        text = re.sub(r"\\\n", " ", file.read().split(" AS runtime\n")[1])
    variables = dict(pair.split("=", 1) for line in re.findall(r"^ENV (.*)$", text, re.M) for pair in line.split())
    return Image(folder, re.findall(r'"([^"]+)"', re.search(r"^ENTRYPOINT (.*)$", text, re.M)[1]), variables)


def redis(program, folder):
    """The image of Redis: its entry point passes options to the server, in the folder of its volume."""
    os.makedirs(os.path.join(folder, "usr"))
    return Image(folder, [program, "--dir", "/data"])


def libraries(bin):
    """The folders of the programs' libraries that are not in /usr, such as those of a toolchain."""
    found = subprocess.run(["ldd", os.path.join(bin, "holdfast")], capture_output=True, text=True).stdout
    folders = {os.path.dirname(os.path.realpath(path)) for path in re.findall(r"=> (/\S+)", found)}
    return sorted(folder for folder in folders if not folder.startswith("/usr/"))
