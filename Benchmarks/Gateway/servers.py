"""The gateway, its peers and the origin, each configured as its users would.

Each has one worker, no access log, and keeps connections.
"""

import os
import subprocess
from dataclasses import dataclass

from processes import Server, free_port

SERVER_CORE, LOAD_CORE = 0, 1
CONNECTIONS = 15_000
# Some servers limit the requests of one connection, and a run would reach such a limit.
ENDLESS = 1_000_000_000
PEERS = ["nginx", "haproxy", "varnish", "trafficserver"]


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    return path


def made(*parts):
    path = os.path.join(*parts)
    os.makedirs(path, exist_ok=True)
    return path


@dataclass
class Secure:
    """The files of a server's certificate."""

    chain: str
    key: str
    # Both in one file, as HAProxy wants them.
    both: str


def secure(folder):
    """A certificate for ECDSA (P-256), which every server uses."""
    folder = made(folder, "tls")
    chain, key = os.path.join(folder, "chain.pem"), os.path.join(folder, "key.pem")
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = ["openssl", "req", "-x509", "-nodes", *curve, *names, "-days", "2", "-keyout", key, "-out", chain]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(chain) as first, open(key) as second:
        return Secure(chain, key, written(folder, "both.pem", first.read() + second.read()))


def add_ports(server, tls_port, h2c_port):
    """The ports for TLS, and for HTTP/2 without it."""
    server.tls_port, server.h2c_port = tls_port, h2c_port
    return server


# MARK: The origin

PAD = "holdfast" * 500  # 4,000 bytes: nginx accepts no longer word.


def origin(folder):
    """The same cheap origin for all: nginx, whose responses begin with the request's target."""
    folder, port = made(folder, "origin"), free_port()
    fresh = 'add_header Cache-Control "max-age=86400"; add_header ETag "\\"1\\"";'
    text = f"""
daemon off; user root; worker_processes 1; pid {folder}/pid; error_log {folder}/errors crit;
worker_rlimit_nofile 16000;
events {{ worker_connections 8000; }}
http {{
    access_log off; default_type text/plain; keepalive_requests {ENDLESS}; keepalive_timeout 300s;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    map $host $pad {{ default "{PAD}"; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location /1k/ {{ {fresh} return 200 "$request_uri {PAD[:1016]}"; }}
        location /8k/ {{ {fresh} return 200 "$request_uri ${{pad}}${{pad}}{PAD[:184]}"; }}
        location /100k/ {{ {fresh} return 200 "$request_uri {'${pad}' * 25}{PAD[:2380]}"; }}
        location /pass/ {{ add_header Cache-Control "no-store"; return 200 "$request_uri {PAD[:1016]}"; }}
        location = /count {{ stub_status; }}
    }}
}}
"""
    command = ["nginx", "-c", written(folder, "nginx.conf", text), "-p", folder]
    server = Server("origin", command, port, LOAD_CORE, os.path.join(folder, "log"))
    # The number of requests for the count itself: see load.count_at.
    server.counted = 0
    return server


def slow_origin(folder, port=None):
    """An origin that counts its requests, and delays each response as the request says."""
    here = os.path.dirname(os.path.abspath(__file__))
    port = port or free_port()
    command = ["python3", os.path.join(here, "slow_origin.py"), str(port)]
    return Server("slow origin", command, port, LOAD_CORE, os.path.join(folder, "slow-origin.log"))


# MARK: The gateway


def holdfast(folder, binary, origin_port, slow_port=None, memory="256 MiB", budget="2 GiB", extra="", limits="", port=None, tls=None, threads=1):
    """The release build, on one loop by default. A second loop gets the core of the load."""
    folder, port, tls_port = made(folder, f"holdfast-{threads}"), port or free_port(), free_port()
    # Programs from before there were lists know this form alone.
    listen = f"127.0.0.1:{port}"
    if tls:
        certificate = f"{{name: main, chain: '{tls.chain}', key: '{tls.key}'}}"
        listen = f"['{listen}', {{address: '127.0.0.1:{tls_port}', tls: {{certificates: [{certificate}]}}}}]"
    slow = f"  - {{name: slow, path: /slow, origin: 'http://127.0.0.1:{slow_port}'}}\n" if slow_port else ""
    text = f"""version: 1
listen: {listen}
store: {{path: '{folder}/store', memory: {memory}, budget: {budget}}}
limits: {{connections: {CONNECTIONS}{limits}}}
{extra}
routes:
{slow}  - {{name: origin, origin: 'http://127.0.0.1:{origin_port}'}}
"""
    command = [binary, "serve", "--config", written(folder, "holdfast.yaml", text), "--threads", str(threads)]
    core = SERVER_CORE if threads == 1 else f"{SERVER_CORE},{LOAD_CORE}"
    server = Server("holdfast", command, port, core, os.path.join(folder, "log"))
    server.store = os.path.join(folder, "store")
    # It tells HTTP/2 by its first bytes.
    return add_ports(server, tls_port, port)


# MARK: The peers


def nginx(folder, origin_port, tls=None):
    """nginx with its cache in files, the only kind that it has; /pass/ bypasses the cache.

    Without 'tcp_nopush': on the loopback, with its large segments, that option makes each 100 KiB
    wait 40 ms for an acknowledgement. With HTTP/2 'sendfile' would make it slower: it sends small
    pieces.
    """
    folder, port, tls_port, h2c_port = made(folder, "nginx"), free_port(), free_port(), free_port()
    more = f"""
        listen 127.0.0.1:{tls_port} ssl http2 backlog=4096; ssl_certificate {tls.chain}; ssl_certificate_key {tls.key};
        ssl_protocols TLSv1.2 TLSv1.3;
        listen 127.0.0.1:{h2c_port} http2 backlog=4096;""" if tls else ""
    proxy = 'proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";'
    text = f"""
daemon off; user root; worker_processes 1; pid {folder}/pid; error_log {folder}/errors crit;
worker_rlimit_nofile {CONNECTIONS + 3000};
events {{ worker_connections {CONNECTIONS}; }}
http {{
    access_log off; sendfile {"off" if tls else "on"}; tcp_nodelay on;
    keepalive_requests {ENDLESS}; keepalive_timeout 300s;
    open_file_cache max=20000 inactive=300s; open_file_cache_valid 300s;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    proxy_cache_path {folder}/cache levels=1:2 keys_zone=hot:64m max_size=2g inactive=60m use_temp_path=off;
    upstream origin {{ server 127.0.0.1:{origin_port}; keepalive 64; keepalive_requests {ENDLESS}; keepalive_timeout 300s; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;{more}
        location / {{ {proxy} proxy_cache hot; proxy_cache_lock on; }}
        location /pass/ {{ {proxy} }}
    }}
}}
"""
    command = ["nginx", "-c", written(folder, "nginx.conf", text), "-p", folder]
    return add_ports(Server("nginx", command, port, SERVER_CORE, os.path.join(folder, "log")), tls_port, h2c_port)


def haproxy(folder, origin_port, tls=None):
    """HAProxy, whose cache is in memory, and accepts only small objects by default."""
    folder, port, tls_port, h2c_port = made(folder, "haproxy"), free_port(), free_port(), free_port()
    more = f"""
    bind 127.0.0.1:{tls_port} backlog 4096 ssl crt {tls.both} alpn h2,http/1.1
    bind 127.0.0.1:{h2c_port} backlog 4096 proto h2""" if tls else ""
    text = f"""
global
    nbthread 1
    maxconn {CONNECTIONS // 2}
    tune.bufsize 131072
cache hot
    total-max-size 256
    max-object-size 1048576
    max-age 86400
defaults
    mode http
    option http-keep-alive
    http-reuse always
    timeout client 300s
    timeout server 60s
    timeout connect 10s
frontend in
    bind 127.0.0.1:{port} backlog 4096{more}
    http-request cache-use hot if !{{ path_beg /pass/ }}
    http-response cache-store hot
    default_backend origin
backend origin
    server origin 127.0.0.1:{origin_port}
"""
    command = ["haproxy", "-db", "-f", written(folder, "haproxy.cfg", text)]
    return add_ports(Server("haproxy", command, port, SERVER_CORE, os.path.join(folder, "log")), tls_port, h2c_port)


def varnish(folder, origin_port):
    """Varnish in memory, with one thread pool, and its log in memory as its manual asks."""
    folder, port = made(folder, "varnish"), free_port()
    text = f"""vcl 4.1;
backend origin {{ .host = "127.0.0.1"; .port = "{origin_port}"; }}
sub vcl_recv {{ if (req.url ~ "^/pass/") {{ return (pass); }} }}
"""
    command = [
        "varnishd", "-F", "-j", "none", "-n", folder, "-a", f"127.0.0.1:{port}", "-T", "none",
        "-f", written(folder, "holdfast.vcl", text), "-s", "malloc,256m",
        "-p", "thread_pools=1", "-p", "thread_pool_min=100", "-p", "timeout_idle=300",
    ]  # fmt: skip
    return Server("varnish", command, port, SERVER_CORE, os.path.join(folder, "log"))


def trafficserver(folder, origin_port):
    """Traffic Server with one network thread, a store on disk and a tier in memory."""
    folder, port = made(folder, "trafficserver"), free_port()
    configuration, storage = made(folder, "etc"), made(folder, "storage")
    # The paths of its files; programs and modules are where the package installed them.
    folders = {"sysconfdir": configuration, "cachedir": storage}
    for name in ("datadir", "localstatedir", "runtimedir", "logdir"):
        folders[name] = made(folder, name)
    layout = {
        "prefix": "/usr", "exec_prefix": "/usr", "bindir": "/usr/bin", "sbindir": "/usr/sbin", "includedir": "/usr/include",
        "libdir": "/usr/lib/trafficserver", "libexecdir": "/usr/lib/trafficserver/modules", **folders,
    }  # fmt: skip
    written(folder, "runroot.yaml", "".join(f"{name}: {path}\n" for name, path in layout.items()))
    written(configuration, "storage.config", f"{storage} 512M\n")
    written(configuration, "ip_allow.yaml", "ip_allow:\n  - {apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}\n")
    written(configuration, "plugin.config", "")
    written(configuration, "remap.config", f"map / http://127.0.0.1:{origin_port}/\n")
    written(configuration, "records.config", f"""
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.cache.threads_per_disk INT 4
CONFIG proxy.config.cache.ram_cache.size INT 268435456
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.http.cache.http INT 1
CONFIG proxy.config.reverse_proxy.enabled INT 1
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.url_remap.pristine_host_hdr INT 0
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 300
CONFIG proxy.config.net.connections_throttle INT {CONNECTIONS}
CONFIG proxy.config.diags.output.diag STRING L
CONFIG proxy.config.diags.output.error STRING L
CONFIG proxy.config.http.wait_for_cache INT 1
""")  # fmt: skip
    command = ["traffic_server", f"--run-root={folder}/runroot.yaml"]
    return Server("trafficserver", command, port, SERVER_CORE, os.path.join(folder, "log"))


MAKERS = {"nginx": nginx, "haproxy": haproxy, "varnish": varnish, "trafficserver": trafficserver}


def version(name):
    """The version that a peer reports."""
    command = {
        "nginx": ["nginx", "-v"],
        "haproxy": ["haproxy", "-v"],
        "varnish": ["varnishd", "-V"],
        "trafficserver": ["traffic_server", "--version"],
        "wrk": ["wrk", "-v"],
        "h2load": ["h2load", "--version"],
    }[name]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    numbers = [word.strip("(),").rpartition("/")[2].removeprefix("varnish-") for word in done.stdout.split()]
    return next((word for word in numbers if word[:1].isdigit() and "." in word), "unknown")
