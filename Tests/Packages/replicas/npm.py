"""A registry of npm packages: documents on one host, archives on another, by the absolute URL `dist.tarball`."""

import base64
import gzip
import hashlib
import io
import json
import tarfile
import urllib.parse

from serving import NOT_FOUND, OLD, Response, of

REGISTRY, ARCHIVES = "registry.example", "archives.example"
PACKAGES = {"@holdfast/sample": ("1.4.2", {"holdfast-base": "^1.0.0"}), "holdfast-base": ("1.2.0", {})}
TOKEN = "npm_reader0123456789abcdefghijklmnop"
SHORT = "application/vnd.npm.install-v1+json"


def archive(name, version, needs):
    data = "".join(f"{hashlib.sha256(f'{name} {line}'.encode()).hexdigest()}\n" for line in range(10_000)).encode()
    manifest = json.dumps({"name": name, "version": version, "main": "index.js", "dependencies": needs}).encode()
    files = {"package.json": manifest, "index.js": f"exports.version = '{version}'\n".encode(), "data.txt": data}
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for path, bytes_ in files.items():
            entry = tarfile.TarInfo(f"package/{path}")
            entry.size = len(bytes_)
            made.addfile(entry, io.BytesIO(bytes_))
    return gzip.compress(content.getvalue(), mtime=0)


def build(folder):
    """Nothing: the packages are made anew, byte for byte the same, by each process."""


def hosts(_, *options):
    """With the option `private` it asks for a token, on both hosts."""
    documents, archives = {}, {}
    for name, (version, needs) in PACKAGES.items():
        content = archive(name, version, needs)
        path = f"/{name}/-/{name.split('/')[-1]}-{version}.tgz"
        archives[path] = content
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
        distribution = {
            "integrity": integrity, "shasum": hashlib.sha1(content).hexdigest(), "tarball": f"https://{ARCHIVES}{path}", "fileCount": 3,
            "unpackedSize": 650_000,
        }  # fmt: skip
        release = {"name": name, "version": version, "dependencies": needs, "dist": distribution}
        short = {"name": name, "modified": "2026-01-05T10:00:00.000Z", "dist-tags": {"latest": version}, "versions": {version: release}}
        full = short | {"_id": name, "readme": "# A sample", "time": {"modified": "2026-01-05T10:00:00.000Z", version: "2026-01-05T10:00:00.000Z"}}
        documents[f"/{name}"] = short, full

    def is_allowed(request):
        return "private" not in options or request.fields.get("authorization") == f"Bearer {TOKEN}"

    challenge = Response(401, {"WWW-Authenticate": "Bearer", "Content-Type": "application/json"}, b'{"error":"a token is needed"}')

    def registry(request):
        if not is_allowed(request):
            return challenge
        if request.path.startswith("/-/npm/v1/security/"):
            return Response(200, {"Content-Type": "application/json"}, b"{}")
        # The client writes the slash of a scoped name as %2f.
        document = documents.get(urllib.parse.unquote(request.path))
        if document is None:
            return Response(404, {"Content-Type": "application/json"}, b'{"error":"Not found"}')
        is_short = SHORT in request.fields.get("accept", "")
        body = json.dumps(document[0 if is_short else 1]).encode()
        fields = {"Cache_Control": "public, max-age=300", "Vary": "accept-encoding, accept", "Age": OLD}
        return of(body, SHORT if is_short else "application/json", request, **fields)

    def file(request):
        if not is_allowed(request):
            return challenge
        if request.path not in archives:
            return NOT_FOUND
        return of(archives[request.path], "application/octet-stream", request, Cache_Control="public, immutable, max-age=31557600", Accept_Ranges="bytes")

    return {REGISTRY: registry, ARCHIVES: file}
