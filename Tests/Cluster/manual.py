"""The operator, who has only docs/kubernetes.md: runs its commands, in a folder next to the manifests."""

import os
import re
import sys

from pods import Failed, output

PAGE = "docs/kubernetes.md"


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)


class Manual:
    def __init__(self, folder, socket):
        with open(PAGE) as file:
            self.text = file.read()
        self.folder, self.shop = folder, os.path.join(folder, "shop")
        os.makedirs(self.shop)
        os.makedirs(os.path.join(folder, "holdfast"))
        # The clone of the repository, as its user sees it.
        os.symlink(os.path.realpath("Packaging"), os.path.join(folder, "holdfast", "Packaging"))
        tools = os.path.join(folder, "tools")
        os.makedirs(tools)
        kubectl = os.path.join(tools, "kubectl")
        with open(kubectl, "w") as file:
            file.write(f'#!/bin/sh\nexec {sys.executable} {os.path.realpath("Tests/Cluster/kubectl.py")} {socket} "$@"\n')
        os.chmod(kubectl, 0o755)
        self.environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}

    async def shell(self, script, folder):
        status, text = await output("sh", "-eu", "-c", script, cwd=folder, env=self.environment)
        if status:
            raise Failed(f"a command of {PAGE} fails with status {status}: {text}\n{script}")
        return text

    def example(self):
        """Writes the example's file, and returns its commands."""
        (kustomization,) = [text for text in blocks(self.text, "yaml") if "kind: Kustomization" in text]
        with open(os.path.join(self.shop, "kustomization.yaml"), "w") as file:
            file.write(kustomization)
        (commands,) = [text for text in blocks(self.text, "sh") if text.startswith("cp ")]
        return commands

    async def deploy(self, origin):
        """The commands of the page, and after the first of them its comment: the origin in 'routes'."""
        copy, commands = self.example().split("\n", 1)
        await self.shell(copy, self.folder)
        self.edit("holdfast.yaml", r"^    origin: .*$", f"    origin: {origin}")
        return await self.shell(commands, self.folder)

    def edit(self, name, pattern, replacement):
        path = os.path.join(self.shop, name)
        with open(path) as file:
            text, count = re.subn(pattern, replacement, file.read(), flags=re.M)
        if count != 1:
            raise Failed(f"'{path}' has {count} lines that match '{pattern}'")
        with open(path, "w") as file:
            file.write(text)

    async def run(self, command):
        """A command that the page has, in the example's folder."""
        if command not in re.sub(r"\s+", " ", self.text):
            raise Failed(f"{PAGE} does not have the command '{command}'")
        return await self.shell(command, self.shop)
