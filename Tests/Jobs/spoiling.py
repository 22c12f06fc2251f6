"""Serves a replica of `Tests/Packages`, like `serving.py`, and changes one of its responses: spoiling.py NAME FOLDER.

The file `spoil.json` in FOLDER names a request (`host`, `method`, `target` and the SHA-256 of its content, if it has one), and the
fields of its response. Without the file, every response is that of the replica.
"""

import dataclasses
import hashlib
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Packages"))

import serving  # noqa: E402


class Server(serving.Server):
    def __init__(self, name, answer, folder):
        def spoiled(request):
            response = answer(request)
            file = folder / "spoil.json"
            if not file.exists():
                return response
            spoil = json.loads(file.read_text())
            content = hashlib.sha256(request.body).hexdigest() if request.body else None
            if (spoil["host"], spoil["method"], spoil["target"], spoil["content"]) != (name, request.method, request.target, content):
                return response
            kept = {key: value for key, value in response.fields.items() if key.lower() not in ("cache-control", "expires", "age")}
            return dataclasses.replace(response, fields=kept | spoil["fields"])

        super().__init__(name, spoiled, folder)


serving.Server = Server

if __name__ == "__main__":
    serving.main()
