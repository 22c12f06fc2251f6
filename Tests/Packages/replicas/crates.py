"""A registry of crates: a sparse index on one host, and archives on another, which `dl` in `config.json` names."""

import gzip
import hashlib
import io
import json
import tarfile

from serving import NOT_FOUND, OLD, Response, of

INDEX, ARCHIVES = "crates.example", "static.example"
CRATES = {"holdfast-sample": ("1.4.2", {"holdfast-base": "^1.0"}), "holdfast-base": ("1.2.0", {})}
TOKEN = "Bearer-less-token-of-the-registry-0123456789"


def archive(name, version, needs):
    dependencies = "".join(f'{need} = "{range_}"\n' for need, range_ in needs.items())
    manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n\n[dependencies]\n{dependencies}'
    data = "".join(f"{hashlib.sha256(f'{name} {line}'.encode()).hexdigest()}\n" for line in range(10_000))
    files = {"Cargo.toml": manifest, "src/lib.rs": f'pub const VERSION: &str = "{version}";\n', "data.txt": data}
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-{version}/{path}")
            entry.size = len(text)
            made.addfile(entry, io.BytesIO(text.encode()))
    return gzip.compress(content.getvalue(), mtime=0)


def build(folder):
    """Nothing: the crates are made anew, byte for byte the same, by each process."""


def hosts(_, *options):
    """With the option `private` it asks for a token, and says so in `config.json`."""
    configuration = {"dl": f"https://{ARCHIVES}/crates", "api": f"https://{INDEX}"}
    if "private" in options:
        configuration["auth-required"] = True
    pages, archives = {"/config.json": (json.dumps(configuration, indent=2), "application/json")}, {}
    for name, (version, needs) in CRATES.items():
        content = archive(name, version, needs)
        archives[f"/crates/{name}/{version}/download"] = content
        dependencies = [
            {
                "name": need, "req": range_, "features": [], "optional": False, "default_features": True, "target": None, "kind": "normal",
                "registry": None, "package": None,
            }
            for need, range_ in needs.items()
        ]  # fmt: skip
        line = {"name": name, "vers": version, "deps": dependencies, "cksum": hashlib.sha256(content).hexdigest(), "features": {}, "yanked": False}
        pages[f"/{name[:2]}/{name[2:4]}/{name}"] = json.dumps(line) + "\n", "text/plain"

    def is_allowed(request):
        return "private" not in options or request.fields.get("authorization") == TOKEN

    challenge = Response(401, {"WWW-Authenticate": f'Cargo login_url="https://{INDEX}/me"', "Content-Type": "text/plain"}, b"a token is needed")

    def index(request):
        if not is_allowed(request):
            return challenge
        if request.path not in pages:
            return NOT_FOUND
        text, media_type = pages[request.path]
        return of(text.encode(), media_type, request, Cache_Control="public,max-age=600", Vary="Accept-Encoding", Age=OLD)

    def file(request):
        if not is_allowed(request):
            return challenge
        if request.path not in archives:
            return NOT_FOUND
        return of(archives[request.path], "application/gzip", request, Cache_Control="public,max-age=31536000,immutable", Accept_Ranges="bytes")

    return {INDEX: index, ARCHIVES: file}
