"""A private package index: pypiserver, on a free port; package_index.py FOLDER.

pypiserver states no lifetimes. Here its files are immutable, like those of the public index. Its pages are stale
at once, so that offline they are like pages of an hour ago.
"""

import socketserver
import sys
import wsgiref.simple_server

import pypiserver


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Handler(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    index = pypiserver.app(roots=[sys.argv[1]], disable_fallback=True)

    def application(environ, start):
        def started(status, fields, *rest):
            is_file = environ["PATH_INFO"].startswith("/packages/")
            fields = [field for field in fields if field[0].lower() != "cache-control"]
            return start(status, [*fields, ("Cache-Control", "max-age=31536000, immutable" if is_file else "max-age=0")], *rest)

        return index(environ, started)

    server = wsgiref.simple_server.make_server("127.0.0.1", 0, application, Server, Handler)
    print(f"package-index listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
