"""The cases of TLS and HTTP/2."""

import asyncio
import ssl

import load
import servers
from cases import KIB, Cases, stay
from results import ratio

# Listener, target, length, connections, streams, protocol, and the most CPU by that of nginx. HAProxy's
# is the limit for all of them.
HITS = {
    "Hit, 1 KiB, HTTP/1.1 over TLS, 64 connections": ("tls_port", "/1k/a", 1024, 64, 1, "http/1.1", 1.0),
    "Hit, 1 KiB, HTTP/2, 64 connections": ("h2c_port", "/1k/a", 1024, 64, 1, "h2", 0.75),
    "Hit, 1 KiB, HTTP/2, 8 connections with 32 streams": ("h2c_port", "/1k/a", 1024, 8, 32, "h2", 0.3),
    "Hit, 1 KiB, HTTP/2 over TLS, 64 connections": ("tls_port", "/1k/a", 1024, 64, 1, "h2", 1.0),
    "Hit, 1 KiB, HTTP/2 over TLS, 8 connections with 32 streams": ("tls_port", "/1k/a", 1024, 8, 32, "h2", 0.35),
    "Hit, 100 KiB, HTTP/2 over TLS, 64 connections": ("tls_port", "/100k/a", 100 * 1024, 64, 1, "h2", 0.75),
}


class Protocols(Cases):
    """All cases: those of Cases, and those of TLS and HTTP/2."""

    NAMES = [*Cases.NAMES, "h1_tls", "h2c", "h2_tls", "handshake", "idle_tls"]

    def encrypted(self):
        """Origin and servers, each with the same certificate."""
        origin, tls = self.start(servers.origin(self.folder)), servers.secure(self.folder)
        return origin, [self.ours(origin, tls=tls), *self.peers(origin, ["nginx", "haproxy"], tls=tls)]

    def h1_tls(self):
        self.hits("http/1.1", "tls_port")

    def h2c(self):
        self.hits("h2", "h2c_port")

    def h2_tls(self):
        self.hits("h2", "tls_port")

    def hits(self, protocol, listener):
        origin, all_servers = self.encrypted()
        for server in all_servers:
            self.check_hit(server, "/1k/a", 1024)
            self.check_hit(server, "/100k/a", 100 * 1024)
        for section, (port, target, length, connections, streams, wanted, limit) in HITS.items():
            if (wanted, port) != (protocol, listener):
                continue

            def options_of(seconds):
                return {"listener": port, "target": target, "seconds": seconds, "connections": connections, "streams": streams, "protocol": protocol}

            reports = self.in_turn(section, all_servers, options_of, origin, length, hits=True, tool=load.h2load)
            self.compare(section, reports, limit)

    def compare(self, section, reports, limit):
        for name, others in reports.items():
            if name != "holdfast":
                bound = ("at most", limit if name == "nginx" else 1)
                self.results.limit(f"{section}: CPU compared with {name}", ratio(reports["holdfast"], others, "processor"), bound)

    def handshake(self):
        """A handshake for each request: TLS 1.3 with ECDSA, no session resumed."""
        origin, all_servers = self.encrypted()
        for server in all_servers:
            self.check_hit(server, "/1k/a", 1024)

        def options_of(seconds):
            return self.load_options(seconds, listener="tls_port", scheme="https", target="/1k/a", fields=["Connection: close"])

        section = "Handshake and hit, 1 KiB, ECDSA"
        self.compare(section, self.in_turn(section, all_servers, options_of, origin, 1024, hits=True), 0.85)

    def idle_tls(self):
        """Clients that stay connected by TLS after one response each."""
        _, all_servers = self.encrypted()
        count = 2000 if not self.options.quick else 200
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        held = {}
        for server in all_servers:
            # The first handshakes need some that later ones share.
            asyncio.run(stay(server.tls_port, "/1k/a", 50, server.resident, ssl=context))
            alone = server.resident()
            held[server.name] = (asyncio.run(stay(server.tls_port, "/1k/a", count, server.resident, ssl=context)) - alone) / count
            self.results.limit(f"{count:,} idle connections with TLS: resident memory for each, {server.name}", held[server.name] / KIB, unit="KiB")
        if "nginx" in held:
            self.results.limit("Idle connections with TLS: memory compared with nginx", held["holdfast"] / held["nginx"], ("at most", 1.5))
