import HTTPCacheSemantics
import HTTPTypes
import Testing

@testable import CacheRules
@testable import HoldfastConfiguration

@Suite(.timeLimit(.minutes(20))) struct FindingTests {
    @Test(arguments: [
        ("", "f:1: version: It is missing. Write 'version: 1' on the first line."),
        ("rules: []", "f:1: version: It is missing. Write 'version: 1' on the first line."),
        ("version: 2", "f:1: version: '2' is not supported. This program supports version 1."),
        ("[]", "f:1: Expected 'version: 1' and settings, not a list."),
        ("version: 1\r\nstore:\r\n\tpath: x", "f:3: There is a tab at column 1. Indent YAML with spaces."),
        (
            "\u{FEFF}version: 1\nmode: sometimes",
            "f:2: mode: Expected online, automatic, preferStored or offline, not 'sometimes'."
        ),
        (
            "version: 1\nrules:\n  - match: {method: get}\n    bypass: true",
            "f:3: rule 1: match.method: 'get' is not 'GET': methods are case-sensitive. Write 'GET'."
        ),
        (
            "version: 1\nguard: {smallest-json-share: 2}",
            "f:2: guard: 'smallest-json-share': Expected a number from 0 to 1, not '2'."
        ),
        (
            "version: 1\nguard: {html: maybe}",
            "f:2: guard: 'html': Expected true or false, not 'maybe'."
        ),
        (
            "version: 1\nlisten:\n- address: 127.0.0.1:1\n  tls:\n    certificates: [{name: a, chain: b, key: c}]\n    min: 1.1",
            "f:6: listen: 'min': Expected 1.2 or 1.3, not '1.1'."
        ),
        (
            "version: 1\nlisten: 127.0.0.1:99999",
            "f:2: listen: '127.0.0.1:99999' has an invalid port. Ports are 0 to 65535."
        ),
        (
            "version: 1\nroutes: [{origin: \"https://u:p@a\"}]",
            "f:2: route 1: origin: 'https://REDACTED@a' contains user information, which RFC 9110 §4.2.4 forbids. Send an 'Authorization' field. Write '{Authorization: {env: NAME}}' in 'to-origin.set' of a rule."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\"}\n  host: b",
            "f:4: The file is not valid YAML at column 3: while parsing a block collection did not find expected '-' indicator. Check the indentation."
        ),
        (
            "version: 1\nroutes:\n  - host: *.example.com",
            "f:3: The file is not valid YAML at column 12: while scanning an alias did not find expected alphabetic or numeric character. Quote values that begin with '*'."
        ),
        (
            "version: 1\nroutes:\n  - a\n  - {origin: \"ftp://a\"}",
            "f:3: route 1: Expected a mapping with an 'origin', not 'a'.\nf:4: route 2: origin: 'ftp://a' is not an http or https URI. Give an absolute URI such as 'https://a.example/x'."
        ),
        (
            "version: 1\nroutes:\n  - {name: a, host: a, origin: \"https://a/x\"}\n  - {name: b, host: b, origin: \"https://a\", mode: offline}",
            "f:3: route 'a': mode: route 'b' (line 4) leads to the same origin. Both routes share stored responses, so that route's 'offline' also applies here. Set the same value here. Another mode has an effect only if this route comes first and leads to a longer path."
        ),
        (
            "version: 1\nroutes:\n  - {name: a, host: a, origin: \"https://a/x\", tags-from: [xkey]}\n  - {name: b, host: b, origin: \"https://a\", tags-from: [Surrogate-Key, xkey]}\n  - {host: c, origin: \"https://a/y\", tags-from: [xkey, Surrogate-Key]}\n  - {host: d, origin: \"https://a/z\"}",
            "f:6: route 4: tags-from: route 'b' (line 4) leads to the same origin. Both routes share stored responses, so that route's '[Surrogate-Key, xkey]' also applies here. Set the same value here. Another list has an effect only if this route comes first and leads to a longer path."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", tags-from: [xkey, Surrogate-Keys]}",
            "f:3: route 1: tags-from: 'Surrogate-Keys' is not a field with tags. Use Surrogate-Key, Cache-Tag or xkey."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", tags-from: []}",
            "f:3: route 1: tags-from: The list is empty. Add fields with tags (Surrogate-Key, Cache-Tag or xkey), or remove the setting."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: [websocket, H2C]}",
            "f:3: route 1: upgrades: 'H2C' would carry requests past the gateway. Use a protocol such as 'websocket'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: TLS/1.3}",
            "f:3: route 1: upgrades: 'TLS/1.3' would carry requests past the gateway. Use a protocol such as 'websocket'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: [web socket]}",
            "f:3: route 1: upgrades: 'web socket' is not a protocol name. A name has 1 to 64 ASCII letters, digits, and characters such as '-', '.' and '/'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: [websockets]}",
            "f:3: route 1: upgrades: 'websockets' is not a known protocol, so no client could use it. Known are 'websocket', 'tcp', 'spdy/3.1'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: []}",
            "f:3: route 1: upgrades: The list is empty. Add protocols such as 'websocket', or remove the setting."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", upgrades: [a, b, c, d, e, f, g, h, i]}",
            "f:3: route 1: upgrades: There are 9 protocols. The limit is 8."
        ),
        (
            "version: 1\nlimits: {tunnels: 0}",
            "f:2: limits.tunnels: Expected a whole number from 1 to 1000000, not '0'."
        ),
        (
            "version: 1\nclients: {deny: [10.0.0.1/8]}",
            "f:2: clients.deny: '10.0.0.1/8' has bits after its prefix. Write '10.0.0.0/8' for the network, or '10.0.0.1' for the address."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", clients: {allow: [\"fd00::1/8\"]}}",
            "f:3: route 1: clients: 'fd00::1/8' has bits after its prefix. Write 'fd00::/8' for the network, or 'fd00::1' for the address."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", clients: {alow: unix}}",
            "f:3: route 1: clients: 'alow' is unknown. Did you mean 'allow'? Known names: 'allow', 'deny'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\", limits: {tunnels: 5}}",
            "f:3: route 1: limits: 'tunnels' is unknown. Known names: 'requests'."
        ),
        (
            "version: 1\nlimits: {requests: {burst: 5}}",
            "f:2: limits.requests: 'rate' is missing. Write the requests for each client, as in '50/s'."
        ),
        (
            "version: 1\nlimits: {requests: {rate: 50}}",
            "f:2: limits.requests: '50' is not a rate such as '50/s', '600/m' or '10/h'."
        ),
        (
            "version: 1\nlimits: {requests: {rate: 0/s}}",
            "f:2: limits.requests: '0/s' is out of range. Write 1 to 1000000 requests."
        ),
        (
            "version: 1\nlimits: {requests: {rate: 1/d}}",
            "f:2: limits.requests: '1/d' is not a rate such as '50/s', '600/m' or '10/h'."
        ),
        (
            "version: 1\nlimits: {requests: {rate: 1/s, burst: 0}}",
            "f:2: limits.requests: 'burst': Expected a whole number from 1 to 1000000, not '0'."
        ),
        (
            "version: 1\nlimits: {requests: {rate: 1/s, by: network}}",
            "f:2: limits.requests: 'by': Expected address or prefix, not 'network'."
        ),
        (
            "version: 1\nlisten: [{address: 127.0.0.1:1, proxy-protocol: true}]",
            "f:2: listen: 'proxy-protocol' accepts only the proxies in 'clients.trusted', which is empty, so no client could connect. Add the addresses of the proxies there."
        ),
        (
            "version: 1\nhealth: {path: healthz}",
            "f:2: health.path: 'healthz' is not a path such as '/healthz'. A path begins with a slash, has only visible ASCII characters, and has no query or fragment."
        ),
        (
            "version: 1\nhealth: {path: \"/healthz?verbose\"}",
            "f:2: health.path: '/healthz?verbose' is not a path such as '/healthz'. A path begins with a slash, has only visible ASCII characters, and has no query or fragment."
        ),
        (
            "version: 1\nhealth: {path: \"/ä\"}",
            "f:2: health.path: '/ä' is not a path such as '/healthz'. A path begins with a slash, has only visible ASCII characters, and has no query or fragment."
        ),
        (
            "version: 1\nhealth: {path: /a/../b}",
            "f:2: health.path: '/a/../b' contains a dot segment, which no client sends. Write the resolved path."
        ),
        (
            "version: 1\nhealth: {path: /\(String(repeating: "x", count: 128))}",
            "f:2: health.path: '/\(String(repeating: "x", count: 99))…' has 129 bytes; the limit is 128. Choose a shorter path."
        ),
        (
            "version: 1\nhealth: {path: /a, ready: /b, live: /a}",
            "f:2: health.live: It is the same path as 'health.path'. Each health check needs a path of its own."
        ),
        (
            "version: 1\nhealth: {live: /}",
            "f:2: health.live: It hides the start page of every route. Choose a path such as '/healthz'."
        ),
        (
            "version: 1\nhealth: {ready: /v1}\nroutes:\n  - {name: api, path: /v1, origin: \"http://a\"}",
            "f:2: health.ready: It is the path of route 'api' (line 4), whose requests it hides. Choose another path."
        ),
        (
            "version: 1\nhealth: {path: /up}\nroutes:\n  - {path: /up, respond: {status: 204}}",
            "f:2: health.path: It is the path of route 1 (line 4), whose requests it hides. Choose another path."
        ),
        (
            "version: 1\nmetrics: {listen: '0.0.0.0:9464'}",
            "f:2: metrics.listen: '0.0.0.0:9464' is reachable from other machines. Listen on '127.0.0.1', or set 'metrics.public: true' to serve the metrics to other machines; 'metrics.token' and 'metrics.tls' restrict who can read them."
        ),
        (
            "version: 1\nmetrics: {listen: '[fd00::7]:9464', token: t}",
            "f:2: metrics.listen: '[fd00::7]:9464' is reachable from other machines. Listen on '127.0.0.1', or set 'metrics.public: true' to serve the metrics to other machines; 'metrics.token' and 'metrics.tls' restrict who can read them."
        ),
        (
            "version: 1\nmetrics: {public: true}",
            "f:2: metrics.public: It has no effect without 'metrics.listen'. Set 'metrics.listen', or remove this setting."
        ),
        (
            "version: 1\nmetrics:\n  listen: 127.0.0.1:1\n  tls:\n    certificates: [{name: m, chain: c, key: k}]\n    alpn: [http/1.1]",
            "f:6: metrics.tls: 'alpn' has no effect: metrics are served over HTTP/1.1 only. Remove it."
        ),
        (
            "version: 1\nhealth: {pfad: /a}",
            "f:2: health: 'pfad' is unknown. Known names: 'path', 'live', 'ready'."
        ),
        (
            "version: 1\nversion: 1",
            "f:2: Duplicate key: 'version' is also on line 1. Each key may occur only once in a mapping."
        ),
        (
            "version: 1\nstore:\n  path: x\n# store:\r\nthreads: 1\nstore:\n  budget: 1 GiB",
            "f:6: Duplicate key: 'store' is also on line 2. Each key may occur only once in a mapping."
        ),
        (
            "version: 1\nroutes:\n  - {host: a, host: b}",
            "f:3: Duplicate keys: 'host'. Each key may occur only once in a mapping."
        ),
        (
            "version: 1\nruels: []",
            "f:2: 'ruels' is unknown. Did you mean 'rules'? Known names: 'breaker', 'clients', 'control', 'drain', 'eager-refresh', 'failure-throttle', 'fleet', 'forward-proxy', 'guard', 'health', 'include', 'limits', 'listen', 'log', 'metrics', 'mode', 'origins', 'routes', 'rules', 'store', 'threads', 'timeouts', 'version'."
        ),
        (
            "version: 1\nstore: {bugdet: 1 B}",
            "f:2: store: 'bugdet' is unknown. Did you mean 'budget'? Known names: 'path', 'budget', 'memory', 'largest-resident-body', 'variants-per-key', 'secure-delete', 'keep-offline-copies', 'quotas'."
        ),
        (
            "version: 1\nstore:\n  budget: 5",
            "f:3: store.budget: '5' has no unit. Add one (B, KiB, MiB, GiB, TiB, kB, MB or GB), as in '5 MiB'."
        ),
        (
            "version: 1\nfailure-throttle: 5",
            "f:2: failure-throttle: '5' has no unit. Add one (ms, s, m, h, d or w), as in '5 s'."
        ),
        (
            "version: 1\nlimits: {request-head: 10 B}",
            "f:2: limits.request-head: '10 B' is too small; the minimum is 1 KiB."
        ),
        (
            "version: 1\nlimits: {request-head: 1 GB}",
            "f:2: limits.request-head: '1 GB' is too large; the maximum is 1 MiB."
        ),
        (
            "version: 1\nstore: {budget: 1 GiB 5}",
            "f:2: store.budget: '1 GiB 5' is not one number and one unit, such as '512 MiB' or '1.5 GiB'."
        ),
        (
            "version: 1\nroutes: {api: {origin: \"http://a\"}}",
            "f:2: routes: Expected a list of routes, not a mapping. Write each of them as '- {name: api, host: api.local, origin: \"https://api.example.com\"}'."
        ),
        (
            "version: 1\nrules: {api: {bypass: true}}",
            "f:2: rules: Expected a list of rules, not a mapping. Write each of them as '- {name: api, match: {url: /api/**}, freshness: {lifetime: 5 m}}'."
        ),
        (
            "version: 1\norigins: [{url: \"http://a\"}]",
            "f:2: origins: Expected origins and their settings, not a list. Write each of them as '\"https://api.example.com\": {ca: ca.pem}'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", path: \"/v1/**\"}]",
            "f:2: route 1: path: '/v1/**' contains a star, but a route's path is a prefix. Write '/v1'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", path: \"/v1/a*/b\"}, {origin: \"http://b\", path: \"/*\"}]",
            "f:2: route 1: path: '/v1/a*/b' contains a star, but a route's path is a prefix. Write '/v1'.\nf:2: route 2: path: '/*' contains a star, but a route's path is a prefix. Write '/'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", path: \"/a b\"}]",
            "f:2: route 1: path: '/a b' contains a space, a control character or a non-ASCII byte. Percent-encode it."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", path: \"/search?q=a\"}]",
            "f:2: route 1: path: '/search?q=a' has a query or a fragment, but a route's path is a prefix of paths. Remove it."
        ),
        (
            "version: 1\nroutes: [{origin: [\"http://a\", \"http://b\"]}]",
            "f:2: route 1: origin: Expected one URL, not a list. Write other servers of this origin in 'addresses' or 'mirrors' of 'origins'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", host: [a.example, b.example]}]",
            "f:2: route 1: host: Expected one host, not a list. Write a route for each host."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", host: \"*.Bücher.example:8080\"}]",
            "f:2: route 1: host: '*.Bücher.example:8080' contains non-ASCII characters, which no request sends. Write the name in its 'xn--' form."
        ),
        (
            "version: 1\nlisten: \"http://127.0.0.1:18080/\"",
            "f:2: listen: 'http://127.0.0.1:18080/' is a URL. Write the host and the port without 'http://': '127.0.0.1:18080'."
        ),
        (
            "version: 1\nrules:\n  - &r {name: a, bypass: true}\n  - <<: *r\n    name: b",
            "f:4: Merge keys ('<<') are not supported. Repeat the settings, or use an alias for a whole value, such as 'freshness: *name'."
        ),
        (
            "version: 1\nrules:\n  - {tags: news, sport}",
            "f:3: 'sport' has no value. If it belongs to 'tags', a list needs brackets, such as '[a, b]'."
        ),
        (
            "version: 1\nrules:\n  - {to-client: {set: {X-Note: a: b}}}",
            "f:3: The file is not valid YAML at column 33: while parsing a flow mapping did not find expected ',' or '}'. Check the brackets, and quote values that contain ': ' or '{', such as \"${NAME}/x\"."
        ),
        (
            "version: 1\nstore: {path: ${NOPE}/x}",
            "f:2: The file is not valid YAML at column 16: while parsing a flow mapping did not find expected ',' or '}'. Check the brackets, and quote values that contain ': ' or '{', such as \"${NAME}/x\"."
        ),
        (
            "version: 1\nrules:\n  - to-client:\n      set:\n        X-Note: a: b",
            "f:5: The file is not valid YAML at column 18: mapping values are not allowed in this context. Check the indentation, and quote values that contain ': '."
        ),
        (
            "version: 1\nroutes:\n\u{A0} - name: api\n",
            "f:3: There is a no-break space (U+00A0) at column 1. Indent YAML with spaces."
        ),
        (
            "version: 1\nroutes:\n  - name: api\n  \u{A0} origin: \"http://a\"\n",
            "f:4: There is a no-break space (U+00A0) at column 3. Indent YAML with spaces."
        ),
        (
            "version: 1\nfailure-throttle: 5 sec",
            "f:2: failure-throttle: '5 sec' has an unknown unit. Use ms, s, m, h, d or w."
        ),
        (
            "version: 1\nfailure-throttle: -5 s",
            "f:2: failure-throttle: '-5 s' is not a number with a unit (ms, s, m, h, d or w) that is not negative, as in '5 s'."
        ),
        (
            "version: 1\nfailure-throttle: 99999999999999999999 s",
            "f:2: failure-throttle: '99999999999999999999 s' is too large."
        ),
        (
            "version: 1\ndrain: {delay: 601 s}",
            "f:2: drain.delay: '601 s' is too long. The limit is 10 m. Set a shorter time, or 'off'."
        ),
        (
            "version: 1\ndrain: {delay: 5}",
            "f:2: drain.delay: '5' has no unit. Add one (ms, s, m, h, d or w), as in '5 s'."
        ),
        (
            "version: 1\ndrain: {delay: -5 s}",
            "f:2: drain.delay: '-5 s' is not a number with a unit (ms, s, m, h, d or w) that is not negative, as in '5 s'."
        ),
        (
            "version: 1\ndrain: {dealy: 5 s}",
            "f:2: drain: 'dealy' is unknown. Did you mean 'delay'? Known names: 'delay'."
        ),
        (
            "version: 1\nmode: sometimes",
            "f:2: mode: Expected online, automatic, preferStored or offline, not 'sometimes'."
        ),
        ("version: 1\nmode:", "f:2: mode: Expected online, automatic, preferStored or offline, not nothing."),
        (
            "version: 1\nlisten: 8080",
            "f:2: listen: '8080' has no host. Write '127.0.0.1:8080' for this machine alone, or '0.0.0.0:8080' for all addresses."
        ),
        (
            "version: 1\nlisten: \"*:8080\"",
            "f:2: listen: '*:8080' is not a host and port such as '127.0.0.1:8080' or '[::1]:8080'. For every address, write '0.0.0.0:8080' or '[::]:8080'."
        ),
        (
            "version: 1\nlisten: /run/h.sock",
            "f:2: listen: '/run/h.sock' is the path of a Unix socket. Write '[{unix: /run/h.sock}]'."
        ),
        (
            "version: 1\nlisten:\n  - 127.0.0.1:1\n  - unix:/run/h.sock",
            "f:4: listen: 'unix:/run/h.sock' is the path of a Unix socket. Write '[{unix: /run/h.sock}]'."
        ),
        (
            "version: 1\nlisten:\n  - 127.0.0.1:1\n  - 8080",
            "f:4: listen: '8080' has no host. Write '127.0.0.1:8080' for this machine alone, or '0.0.0.0:8080' for all addresses."
        ),
        (
            "version: 1\nlisten: []",
            "f:2: listen: Expected 'HOST:PORT', or a list of 'HOST:PORT', '{address: HOST:PORT}' or '{unix: PATH, mode: 0660}', not a list."
        ),
        (
            "version: 1\nlisten: {unix: a.sock}",
            "f:2: listen: A listener with settings must be in a list: write '[{…}]', with 'HOST:PORT', '{address: HOST:PORT}' or '{unix: PATH, mode: 0660}' in it."
        ),
        (
            "version: 1\nroutes: [{redirect: \"https://b.example\"}]",
            "f:2: route 1: 'redirect' is unknown. Write 'respond: {status: 301, location: URL}'."
        ),
        (
            "version: 1\nrules: [{match: {path: /a}, bypass: true}]",
            "f:2: rule 1: match: 'path' is unknown. Write the path in 'url', such as 'url: \"/news/**\"'."
        ),
        (
            "version: 1\nlisten: [{address: 127.0.0.1:1, port: 2}]",
            "f:2: listen: 'port' is unknown. Known names: 'address', 'unix', 'mode', 'tls', 'http2', 'proxy-protocol'."
        ),
        (
            "version: 1\nlisten: [{address: 127.0.0.1:1, unix: a}]",
            "f:2: listen: A listener needs either 'address' or 'unix'. Write 'HOST:PORT', '{address: HOST:PORT}' or '{unix: PATH, mode: 0660}'."
        ),
        (
            "version: 1\nlisten: [{address: 127.0.0.1:1, mode: 0600}]",
            "f:2: listen: 'mode' applies only to Unix sockets. Remove it."
        ),
        (
            "version: 1\nlisten: [{unix: a, mode: 0999}]",
            "f:2: listen: '0999' is not an octal file mode such as '0660' or '0666'."
        ),
        (
            "version: 1\nlisten: [{unix: a, mode: 4755}]",
            "f:2: listen: '4755' is not an octal file mode such as '0660' or '0666'."
        ),
        (
            "version: 1\nlisten:\n  - 127.0.0.1:1\n  - {unix: a}\n  - {unix: a, mode: 0600}",
            "f:5: listen: '{unix: a, mode: 0600}' is listed twice. Remove one of them."
        ),
        (
            "version: 1\nlisten: [\(Array(repeating: "127.0.0.1:0", count: 17).joined(separator: ", "))]",
            "f:2: listen: There are 17 listeners. The limit is 16."
        ),
        (
            "version: 1\nlimits: {connections: many}",
            "f:2: limits.connections: Expected a whole number from 1 to 1000000, not 'many'."
        ),
        (
            "version: 1\ntimeouts: {soft: 5 s, hard: 5 s}",
            "f:2: timeouts.soft: It is not less than 'timeouts.hard' (line 2), so it has no effect. Lower it."
        ),
        (
            "version: 1\nlimits: 5",
            "f:2: limits: Expected settings (connections, connections-per-client, request-body, upload-rate, in-flight-per-origin, waiting-per-origin, keyed-content, request-head, tunnels, response-memory, requests), not '5'."
        ),
        ("version: 1\n---\nversion: 1", "f:2: A second document begins here. A file may contain only one."),
        (
            "version: 1\nstore: {",
            "f:3: The file is not valid YAML at column 1: while parsing a flow node did not find expected node content."
        ),
        (
            "version: 1\nroutes:\n  - {path: v1}",
            "f:3: route 1: origin: It is missing. Set a URL such as 'https://api.example.com'.\nf:3: route 1: path: 'v1' does not begin with a slash. Write '/v1'."
        ),
        (
            "version: 1\nroutes:\n  - {path: x/, origin: \"127.0.0.1:8080\"}",
            "f:3: route 1: origin: '127.0.0.1:8080' has no scheme. Write 'http://127.0.0.1:8080', or 'https://127.0.0.1:8080' if it uses TLS.\nf:3: route 1: path: 'x/' does not begin with a slash. Write '/x'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"ftp://a\"}",
            "f:3: route 1: origin: 'ftp://a' is not an http or https URI. Give an absolute URI such as 'https://a.example/x'."
        ),
        (
            "version: 1\nroutes:\n  - {origin: \"https://a\"}\n  - {path: /x, origin: \"https://b\"}",
            "f:4: route 2: No request can reach it: route 1 (line 3) comes first and matches all of its requests. Move it up, or remove it."
        ),
        (
            "version: 1\nroutes:\n  - {name: a, host: a, origin: \"https://a\"}\n  - {name: a, host: b, origin: \"https://b\"}",
            "f:4: route 'a': name: Another route on line 3 has this name. Rename one of them."
        ),
        (
            "version: 1\nstore: {path: x, budget: 1 GiB}\nstore.budget: 2 GiB",
            "f:3: store.budget: It is already set on line 2. Remove one of them."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:28150}\nlisten: [{unix: a}, 127.0.0.1:28150]",
            "f:2: control.listen: '127.0.0.1:28150' is also in 'listen' (line 3). Choose another port."
        ),
        (
            "version: 1\nlisten: 0.0.0.0:1\nmetrics: {listen: 127.0.0.1:1}",
            "f:3: metrics.listen: '127.0.0.1:1' is also used by '0.0.0.0:1' in 'listen' (line 2). Choose another port."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:1}\nmetrics: {listen: 127.0.0.1:1}",
            "f:3: metrics.listen: '127.0.0.1:1' is also in 'control.listen' (line 2). Choose another port."
        ),
        (
            "version: 1\nlisten:\n  - 127.0.0.1:1\n  - 127.0.0.2:1\n  - \"[::]:1\"",
            "f:5: listen: '[::]:1' cannot be opened in addition to '127.0.0.1:1'. Remove one of them."
        ),
        (
            "version: 1\nstore:\n  budget: 100 MiB\n  quotas: {tags: {t: 100 MiB}, origins: {\"https://a\": 200 MiB}, each-origin: 101 MiB}",
            "f:4: store.quotas: The quota of 'https://a' (200 MiB) exceeds 'store.budget' (100 MiB), so it has no effect. Lower it.\nf:4: store.quotas: 'each-origin' (101 MiB) exceeds 'store.budget' (100 MiB), so it has no effect. Lower it."
        ),
        (
            "version: 1\nroutes: [{host: c, origin: \"http://b\", preserve-host: true}, {origin: \"https://a\"}]\nstore: {quotas: {origins: {\"https://a\": 1 MiB, \"http://c\": 1 MiB, \"http://b\": 1 MiB}}}",
            "f:3: store.quotas: The quota of 'http://b' has no effect, because no route leads to it. Correct or remove it."
        ),
        (
            "version: 1\ncontrol: {listen: \"0.0.0.0:1\"}",
            "f:2: control.listen: '0.0.0.0:1' is reachable from other machines, so tokens would cross the network without TLS. Listen on '127.0.0.1' behind a proxy or a tunnel with TLS, or set 'control.insecure: true'."
        ),
        (
            "version: 1\ncontrol:\n  socket: off\n  listen: 127.0.0.1:1",
            "f:4: control.listen: 'control.socket: off' disables the whole control plane. Remove one of the two settings."
        ),
        (
            "version: 1\nclients: {purgers: [10.0.0.0/8]}\ncontrol: {socket: off}",
            "f:2: clients.purgers: 'control.socket: off' disables the whole control plane. Remove one of the two settings."
        ),
        (
            "version: 1\ncontrol:\n  tokens: [{name: a, file: b, scope: read}]",
            "f:3: control.tokens: It has no effect without 'control.listen' or 'clients.purgers'. Set one of them, or remove this setting."
        ),
        (
            "version: 1\nclients: {purgers: a}",
            "f:2: clients.purgers: 'a' is not an address such as '10.0.0.7', a range such as '10.0.0.0/8' or 'fd00::/8', or 'unix' (all clients of Unix sockets)."
        ),
        (
            "version: 1\ncontrol: {hosts: [a.test], insecure: true}",
            "f:2: control.hosts: It has no effect without 'control.listen'. Set 'control.listen', or remove this setting.\nf:2: control.insecure: It has no effect without 'control.listen'. Set 'control.listen', or remove this setting."
        ),
        (
            "version: 1\ncontrol:\n  listen: 127.0.0.1:1\n  tokens:\n    - {name: a, file: b, scope: all}",
            "f:5: control.tokens: 'scope': Expected read, purge or operate, not 'all'."
        ),
        (
            "version: 1\ncontrol:\n  listen: 127.0.0.1:1\n  tokens:\n    - {name: a, file: b, scope: read}\n    - {name: a, file: c, scope: purge}",
            "f:6: control.tokens: Two tokens have the name 'a'. Rename one of them."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:1, tokens: [{name: a b, file: c, scope: read}]}",
            "f:2: control.tokens: 'a b' is not a valid name. A name has 1 to 64 ASCII letters, digits and '-._'."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:1, tokens: [{name: a, scope: read}]}",
            "f:2: control.tokens: The token 'a' has no 'file'. It needs 'name', 'file' and 'scope'."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:1, tokens: [{name: a, token: s3cret, file: b, scope: read}]}",
            "f:2: control.tokens: 'token' is unknown. Known names: 'name', 'file', 'scope'."
        ),
        (
            "version: 1\ncontrol: {listen: 127.0.0.1:1, hosts: [\"*.a.test\"]}",
            "f:2: control.hosts: '*.a.test' is not a host such as 'holdfast.internal', 'holdfast.internal:9800' or '[fd00::7]'."
        ),
        (
            "version: 1\nlimits: {connections: 100}\nlimits.connections-per-client: 101",
            "f:3: limits.connections-per-client: It is more than 'limits.connections' (line 2), so it has no effect. Lower it."
        ),
        (
            "version: 1\nlimits: {connections-per-client: 10001}",
            "f:2: limits.connections-per-client: It is more than 'limits.connections' (10000 by default), so it has no effect. Lower it."
        ),
        (
            "version: 1\nlimits: {connections: many, connections-per-client: 10001}",
            "f:2: limits.connections: Expected a whole number from 1 to 1000000, not 'many'."
        ),
        (
            "version: 1\nstore:\n  memory: 1 MiB\n  largest-resident-body: 100 MiB",
            "f:4: store.largest-resident-body: It is more than 'store.memory' (line 3), so memory cannot hold such a body. Lower it."
        ),
        (
            "version: 1\nstore: {largest-resident-body: 65 MiB}",
            "f:2: store.largest-resident-body: It is more than 'store.memory' (64 MiB by default), so memory cannot hold such a body. Lower it."
        ),
        (
            "version: 1\ntags: [a]",
            "f:2: 'tags' is not a setting of the top level. Write it in a rule."
        ),
        (
            "version: 1\norigin: \"http://a\"",
            "f:2: 'origin' is not a setting of the top level. Write it in a route."
        ),
        (
            "version: 1\nbudget: 1 GiB",
            "f:2: 'budget' belongs in 'store'. Write 'store: {budget: …}'."
        ),
        (
            "version: 1\nlifetime: 5 m",
            "f:2: 'lifetime' is not a setting of the top level. Write it in 'freshness' of a rule."
        ),
        (
            "version: 1\nstore: {pin: true}",
            "f:2: store: 'pin' is not a setting of 'store' at the top level. Write it in 'store' of a rule."
        ),
        (
            "version: 1\nstore: {threads: 2}",
            "f:2: store: 'threads' is not a setting of 'store'. Write it at the top level."
        ),
        (
            "version: 1\ntimeouts: {read: 30 s}",
            "f:2: timeouts: 'read' is unknown. Write 'first-byte' or 'receive'. Known names: 'drain', 'connect', 'first-byte', 'idle', 'client', 'send', 'receive', 'tunnel', 'soft', 'hard'."
        ),
        (
            "version: 1\norigins: {\"http://a\": {timeouts: {write: 30 s}}}",
            "f:2: origin 'http://a': timeouts: 'write' is unknown. Write 'send'. Known names: 'connect', 'first-byte', 'send', 'receive', 'idle'."
        ),
        (
            "version: 1\nlog:\n  to: %h/access.log",
            "f:3: The file is not valid YAML at column 7: while scanning for the next token found character that cannot start any token. Quote values that begin with '@', '%' or a backquote."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: {env: A}, share: responses, longest: 30 d}",
            "f:2: fleet.longest: It must be at least an hour shorter than 'time' in 'fleet.retention' (25 h), because a response is checked against all purges since it was fetched."
        ),
        (
            "version: 1\nlimits: {budget: 1 GiB}",
            "f:2: limits: 'budget' is not a setting of 'limits'. Write it in 'store'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", timeouts: {hard: 5 s}}]",
            "f:2: route 1: 'timeouts' is not a setting of routes. Write it at the top level, in 'origins' or in a rule."
        ),
        (
            "version: 1\nroutes: [{respond: {status: 204}, lifetime: 5 m}]",
            "f:2: route 1: 'lifetime' is not a setting of routes. Write it in 'freshness' of a rule."
        ),
        (
            "version: 1\norigins: {\"http://a\": {host: b}}",
            "f:2: origin 'http://a': 'host' is not a setting of origins. Write it in a route."
        ),
        (
            "version: 1\norigins: {\"http://a\": {timeout: 5 s}}",
            "f:2: origin 'http://a': 'timeout' is unknown. Did you mean 'timeouts'? Known names: 'ca', 'certificate', 'key', 'server-name', 'verify', 'insecure', 'addresses', 'mirrors', 'balance', 'credentials', 'health', 'timeouts'."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: hidden}",
            "f:2: fleet.secret: A secret must not be in this file. Write '{env: NAME}' or '{file: PATH}'."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: a b, secret: {env: A}}",
            "f:2: fleet.namespace: 'a b' is not a valid name. A name has 1 to 64 ASCII letters, digits and '-._'."
        ),
        (
            "version: 1\nmetrics: {listen: 8080, token: t}",
            "f:2: metrics.listen: '8080' has no host. Write '127.0.0.1:8080' for this machine alone, or '0.0.0.0:8080' for all addresses."
        ),
        (
            "version: 1\nclients: {trusted: a}\nlisten: [{address: 127.0.0.1:1, proxy-protocol: true}]",
            "f:2: clients.trusted: 'a' is not an address such as '10.0.0.7', a range such as '10.0.0.0/8' or 'fd00::/8', or 'unix' (all clients of Unix sockets)."
        ),
        (
            "version: 1\nroutes:\n  - {host: a, origin: \"http://a\"}\n  - {host: b, origin: \"http://b\", mode: on}\norigins: {\"http://b\": {health: {path: /}}}\nstore: {quotas: {origins: {\"http://b\": 1 MiB}}}",
            "f:4: route 2: mode: Expected online, automatic, preferStored or offline, not 'on'."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\"}]\norigins:\n  \"http://a\": {mirrors: [\"http://b\"], verify: maybe}\n  \"http://b\": {credentials: true}",
            "f:4: origin 'http://a': verify: Expected true or false, not 'maybe'."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: {env: A}, acknowledge: replicated}",
            "f:2: fleet.acknowledge: 'replicated' has no effect with 'fleet.quorum: 0', because no replica needs to confirm a purge. Set 'fleet.quorum' to 1 or more, or write 'published'."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: {env: A}, acknowledge: replicated, quorum: many}",
            "f:2: fleet.quorum: Expected a whole number from 0 to 16, not 'many'."
        ),
        (
            "version: 1\nfleet:\n  {url: \"redis://a\", namespace: n, secret: {env: A},\n  share: invalidations, largest-body: 1 MiB}",
            "f:4: fleet.largest-body: It has no effect without 'fleet.share: responses', because no responses are shared. Set that, or remove this setting."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: {env: A}, longest: 1 h}",
            "f:2: fleet.longest: It has no effect without 'fleet.share: responses', because no responses are shared. Set that, or remove this setting."
        ),
        (
            "version: 1\nfleet: {url: \"redis://a\", namespace: n, secret: {env: A}, collapse: off}",
            "f:2: fleet.collapse: It has no effect without 'fleet.share: responses', because no responses are shared. Set that, or remove this setting."
        ),
        (
            "version: 1\nroutes:\n  - name: \"api\n    origin: http://a\n",
            "f:3: The quote at column 11 is never closed. Close it."
        ),
        (
            "version: 1\nlog:\n  to: 'a.log\nmode: offline\n",
            "f:3: The quote at column 7 is never closed. Close it."
        ),
        (
            "version: 1\nroutes: [{origin: \"http://a\", clients.allow: [10.0.0.0/8]}]",
            "f:2: route 1: 'clients.allow' is unknown. Write 'clients: {allow: …}'."
        ),
        (
            "version: 1\nrules: [{match.url: /a, bypass: true}]",
            "f:2: rule 1: 'match.url' is unknown. Write 'match: {url: …}'."
        ),
    ]) func topLevelFaultsAreReported(_ yaml: String, _ expected: String) {
        #expect(findings(yaml, file: "f").joined(separator: "\n") == expected)
    }

    @Test(arguments: [
        ("{}", "1: It has no settings, so it has no effect. Add one, or remove the rule."),
        (
            "{name: x, match: {url: \"/a\"}}",
            "1: It has no settings, so it has no effect. Add one, or remove the rule."
        ),
        ("{bypass: maybe}", "1: bypass: Expected true or false, not 'maybe'."),
        (
            "{frehsness: {}, bypass: true}",
            "1: 'frehsness' is unknown. Did you mean 'freshness'? Known names: 'breaker', 'bypass', 'cookies', 'credentials', 'eager-refresh', 'fleet', 'freshness', 'from-origin', 'guard', 'ignore', 'match', 'mode', 'name', 'normalize', 'stale', 'store', 'tags', 'tags-from', 'timeouts', 'to-client', 'to-origin', 'vary'."
        ),
        (
            "{freshness: {lifetime: 1500 ms}}",
            "1: freshness.lifetime: '1500 ms' is not a whole number of seconds, which RFC 9111 requires."
        ),
        ("{freshness: {lifetime: 200000 d}}", "1: freshness.lifetime: '200000 d' is too long. The limit is 36525 d."),
        (
            "{match: {url: []}, bypass: true}",
            "1: match.url: The list is empty. Add a pattern, or remove the setting."
        ),
        (
            "{match: {method: []}, bypass: true}",
            "1: match.method: The list is empty. Add methods, or remove the setting."
        ),
        (
            "{match: {url: x}, bypass: true}",
            "1: match.url: 'x' is not a pattern. Begin with a slash, or with a scheme and a host, such as 'https://a.example/**'."
        ),
        (
            "{match: {url: \"/x?token=abc def\"}, bypass: true}",
            "1: match.url: '/x?token=REDACTED' contains a space, a control character or a non-ASCII byte. Percent-encode it, as requests do."
        ),
        (
            "{store: {smallest: 2 B, largest: 1 B}}",
            "1: store.smallest: It is more than 'store.largest' (line 3), so nothing is stored. Lower it."
        ),
        ("{store: {statuses: [200, 700]}}", "1: store.statuses: Expected a whole number from 200 to 599, not '700'."),
        (
            "{store: {statuses: [200, 206, 401]}}",
            "1: store.statuses: 401 is about the request and is never stored. Remove it."
        ),
        (
            "{store: {methods: [GET, DELETE]}}",
            "1: store.methods: 'DELETE' is never stored. Use GET, HEAD, QUERY or POST."
        ),
        ("{store: {methods: PUT}}", "1: store.methods: 'PUT' is never stored. Use GET, HEAD, QUERY or POST."),
        ("{url: /x/**, bypass: true}", "1: 'url' belongs in 'match'. Write 'match: {url: …}'."),
        ("{lifetime: 5 m}", "1: 'lifetime' belongs in 'freshness'. Write 'freshness: {lifetime: …}'."),
        (
            "{remove: [X-A]}",
            "1: 'remove' belongs in 'to-client', 'to-origin' or 'from-origin'. Write 'to-client: {remove: …}'."
        ),
        (
            "{freshness: {lifetime: 1h30m}}",
            "1: freshness.lifetime: '1h30m' is not one number and one unit, such as '90 m' or '1.5 h'."
        ),
        (
            "{freshness: {lifetime: \"1,5 h\"}}",
            "1: freshness.lifetime: '1,5 h' is not one number and one unit, such as '90 m' or '1.5 h'."
        ),
        (
            "{store: {content: any, methods: GET}}",
            "1: store.content: It applies to POST, which is not in 'store.methods' (line 3)."
        ),
        (
            "{ignore: {members: [user]}}",
            "1: ignore.members: It has no effect without 'store.content: json' in the same rule. Add it."
        ),
        (
            "{store: {content: json}, ignore: {members: [\"a[0]\"]}}",
            "1: ignore.members: 'a[0]' is not a member. Write names separated by dots, and '[*]' for each item of a list, such as 'messages[*].id'."
        ),
        (
            "{store: {events: {largest: 1 MiB}}}",
            "1: store.events: 'ends-with' is missing. Write a text that only the last event of a whole stream holds."
        ),
        (
            "{store: {events: {ends-with: \"a\\nb\"}}}",
            "1: store.events: 'ends-with' must have 1 to 256 bytes and no control characters."
        ),
        (
            "{store: {events: {ends-with: a, largest: 0 B}}}",
            "1: store.events: 'largest' must be 1 B or more."
        ),
        (
            "{from-origin: {remove: [Cache-Control]}}",
            "1: from-origin.remove: 'Cache-Control' cannot be removed: it says how the response is framed, read, stored or shared. Use 'freshness', 'stale' or 'ignore.directives'."
        ),
        (
            "{from-origin: {remove: [Set-Cookie]}, store: {without-cookies: [a]}}",
            "1: from-origin.remove: It removes every cookie, so 'store.without-cookies' (line 3) has no effect. Remove one of them."
        ),
        (
            "{from-origin: {vary: [Cookie]}}",
            "1: from-origin.vary: 'Cookie' is a credential, and requests with credentials are not affected. Use 'store.per'."
        ),
        (
            "{from-origin: {vary: [Accept]}, ignore: {fields: [accept]}}",
            "1: from-origin.vary: 'Accept' is also in 'ignore.fields' (line 3), so its values select nothing. Remove it from one of them."
        ),
        ("{credentials: some}", "1: credentials: Expected none, not 'some'."),
        (
            "{store: {per: {cookie: sid}}, ignore: {fields: [cookie]}}",
            "1: store.per: It uses 'Cookie', which 'ignore.fields' (line 3) ignores. Remove it from that list."
        ),
        (
            "{cookies: {keep: [a.b]}}",
            "1: cookies: 'a.b' is not a cookie name. A name has letters, digits, '-' and '_'. A star is allowed only at the end."
        ),
        (
            "{cookies: {forward: all}}",
            "1: cookies: 'keep' is missing. Write the cookies to keep, or '[]' for none."
        ),
        ("{cookies: {keep: [a], forward: some}}", "1: cookies: Expected all, not 'some'."),
        ("{cookies: [a]}", "1: cookies: Expected '{keep: [NAMES]}', not a list."),
        (
            "{cookies: {keeps: [a]}}",
            "1: cookies: 'keeps' is unknown. Did you mean 'keep'? Known names: 'keep', 'forward'."
        ),
        (
            "{cookies: {keep: [a]}, ignore: {fields: [cookie]}}",
            "1: cookies: 'ignore.fields' (line 3) ignores 'Cookie'. Remove 'Cookie' there: a kept cookie always counts."
        ),
        (
            "{cookies: {keep: [a]}, to-origin: {remove: [Cookie]}}",
            "1: cookies: It has no effect, because 'to-origin.remove' (line 3) removes 'Cookie' first. Remove one of them."
        ),
        (
            "{cookies: {keep: [a]}, store: {per: {cookie: sid}}}",
            "1: store.per: 'sid' is not in 'keep' of 'cookies' (line 3), so it is not sent. Add it to that list."
        ),
        (
            "{cookies: {keep: [\"a*\"]}, store: {without-cookies: [b, ab]}}",
            "1: store.without-cookies: 'ab' is kept by 'cookies' (line 3). A cookie that affects responses cannot be left out of them. Remove it from one of the lists."
        ),
        (
            "{store: {without-cookies: [\"a b\"]}}",
            "1: store.without-cookies: 'a b' is not a cookie name. A name has letters, digits, '-' and '_'. A star is allowed only at the end."
        ),
        (
            "{match: {cookie: [a]}, freshness: {lifetime: 1 s}}",
            "1: freshness.lifetime: It cannot depend on 'match.cookie' (line 3): only 'bypass' and 'mode' can. Stored responses depend on the URL and the method alone. Move it to a rule without that condition."
        ),
        (
            "{match: {cookie: [a]}, respond: {status: 403}}",
            "1: respond: It is not a setting of rules. Write a route with 'respond', and with the conditions in its 'match'."
        ),
        (
            "{match: {cookie: [a]}, limits: {requests: {rate: 1/s}}}",
            "1: limits: It is not a setting of rules. Write 'limits.requests' in a route, or at the top level."
        ),
        (
            "{match: {query: {a: [x]}}, bypass: false}",
            "1: bypass: A rule with 'match.query' (line 3) can only restrict. Write 'true', or remove the setting."
        ),
        (
            "{match: {field: {Authorization: [x]}}, bypass: true}",
            "1: match.field: 'Authorization' holds a secret, so its value must not be in this file. Write its name alone."
        ),
        (
            "{match: {cookie: [a.b]}, bypass: true}",
            "1: match.cookie: 'a.b' is not a cookie name, or the beginning of one followed by a star."
        ),
        ("{match: {field: [\"a b\"]}, bypass: true}", "1: match.field: 'a b' is not a field name."),
        ("{vary: {}}", "1: vary: It lists no values. Add some, or remove the setting."),
        (
            "{vary: {cookie: {}}}",
            "1: vary: 'cookie' is unknown. Did you mean 'cookies'? Known names: 'cookies', 'fields'."
        ),
        (
            "{vary: {cookies: {\"l*\": [de]}}}",
            "1: vary: 'l*' is not a cookie name. A name has letters, digits, '-' and '_'."
        ),
        (
            "{cookies: {keep: [lang]}, vary: {cookies: {lang: [de]}}}",
            "1: vary: 'lang' is also in 'keep' of 'cookies' (line 3), which makes it a credential. Remove it from one of the lists."
        ),
        (
            "{vary: {fields: {Authorization: [a]}}}",
            "1: vary: 'Authorization' is a credential, so its values cannot select shared responses. Use 'store.per'."
        ),
        (
            "{vary: {fields: {X-CSRF-Token: [a]}}}",
            "1: vary: 'X-CSRF-Token' is a credential, so its values cannot select shared responses. Use 'store.per'."
        ),
        (
            "{vary: {fields: {Range: [a]}}}",
            "1: vary: 'Range' cannot be listed: it belongs to the cache or the connection."
        ),
        (
            "{vary: {fields: {X_Device: [a]}}}",
            "1: vary: 'X_Device' cannot be listed: servers read names with other characters than letters, digits and '-' in different ways."
        ),
        (
            "{vary: {fields: {X-Device: [a]}}, ignore: {fields: [x-device]}}",
            "1: vary: 'X-Device' is also in 'ignore.fields' (line 3), so its values select nothing. Remove it from one of them."
        ),
        (
            "{vary: {cookies: {lang: [\"d;e\"]}}}",
            "1: vary: 'd;e' of 'lang' is not a value. A value has 1 to 64 visible ASCII characters, but no quotes, commas, semicolons and backslashes."
        ),
        (
            "{bypass: true, tags: [a]}",
            "1: tags: It has no effect with 'bypass' (line 3), because nothing is stored. Remove one of them."
        ),
        (
            "{ignore: {parameters: [utm_source]}, normalize: {drop-parameters: [tracking]}}",
            "1: ignore.parameters: 'utm_source' has no effect, because 'utm_*' in 'normalize.drop-parameters' (line 3) removes the parameter first."
        ),
        (
            "{match: {content-type: image/*}, bypass: true}",
            "1: bypass: It takes effect before the response arrives, so it cannot depend on 'match.content-type' (line 3). Move it to a rule without that condition."
        ),
        (
            "{match: {content-type: image}, tags: [a]}",
            "1: match.content-type: 'image' is not a media type such as 'image/png' or 'image/*'."
        ),
        (
            "{breaker: {failures: 2}}",
            "1: breaker: In a rule, it must be on or off. Configure breakers at the top level of the file."
        ),
        (
            "{to-origin: {set: {Authorization: Bearer abc}}}",
            "1: to-origin.set: 'Authorization' holds a secret, which must not be in this file. Write '{env: NAME}' or '{file: PATH}'."
        ),
        (
            "{to-origin: {set: {Host: a}}}",
            "1: to-origin.set: 'Host' cannot be set: it belongs to the cache or the connection."
        ),
        (
            "{to-client: {set: {Cache-Status: a}}}",
            "1: to-client.set: 'Cache-Status' cannot be set: it belongs to the cache or the connection."
        ),
        (
            "{to-origin: {remove: [Content-Length]}}",
            "1: to-origin.remove: 'Content-Length' cannot be removed: it frames the message or identifies its target."
        ),
        (
            "{to-origin: {set: {X-Key: {env: NONE}}}}",
            "1: to-origin.set: 'X-Key': The environment has no variable 'NONE'. Set it, or write '{file: PATH}'."
        ),
        (
            "{to-origin: {set: {X-Key: {env: ghp_hunter2hunter2}}}}",
            "1: to-origin.set: 'X-Key': The environment has no such variable. Its name is not shown, because it looks like the secret itself. Write the name of a variable that contains the secret."
        ),
        (
            "{to-origin: {set: {X-Key: {env: AWS_S3_KEY_2}}}}",
            "1: to-origin.set: 'X-Key': The environment has no variable 'AWS_S3_KEY_2'. Set it, or write '{file: PATH}'."
        ),
        (
            "{to-origin: {set: {Authorization: '${ghp_hunter2hunter2}'}}}",
            "1: to-origin.set: A secret must not be expanded into the configuration. Write '{env: NAME}', with the whole value in the variable."
        ),
        (
            "{tags: '${ghp_hunter2hunter2}'}",
            "1: tags: The environment has no such variable. Its name is not shown, because it looks like the secret itself. Write the name of a variable that contains the secret."
        ),
        (
            "{to-origin: {set: {X-Key: {env: BAD}}}}",
            "1: to-origin.set: 'X-Key': The value of the variable 'BAD' cannot be sent in a field, because it contains a control character, or begins or ends with a space."
        ),
        (
            "{to-origin: {set: {X-Key: {file: no/such}}}}",
            "1: to-origin.set: 'X-Key': The file 'no/such' cannot be opened: No such file or directory."
        ),
        (
            "{to-origin: {set: {X-Key: {enw: hunter2}}}}",
            "1: to-origin.set: The value of 'X-Key' is not supported. Write text, '{env: NAME}' or '{file: PATH}'."
        ),
        (
            "{timeouts: {soft: 2 s, hard: 1 s}}",
            "1: timeouts.soft: It is not less than 'timeouts.hard' (line 3), so it has no effect. Lower it."
        ),
        (
            "{stale: {ignore: [private]}}",
            "1: stale.ignore: Expected no-store, no-cache, must-revalidate, proxy-revalidate, s-maxage or invalidated, not 'private'."
        ),
        ("{tags: {a: b}}", "1: tags: Expected tags, or a list of them, not a mapping."),
        (
            "{tags: [\"\", x]}", "1: tags: '' is not a tag. A tag has 1 to 256 bytes and no control characters."
        ),
        (
            "{stale: {unreachable: unlimted}}",
            "1: stale.unreachable: 'unlimted' is not a number with a unit (ms, s, m, h, d or w), as in '5 s', or 'unlimited'."
        ),
        ("{eager-refresh: 2}", "1: eager-refresh: Expected a number from 0 to 1, not '2'."),
        (
            "{ignore: {fields: [X-A]}, ignore.fields: [Cookie]}",
            "1: ignore.fields: It is already set on line 3. Remove one of them."
        ),
        (
            "{store: {pin: true, largest: 1 MiB}, store.largest: 2 MiB}",
            "1: store.largest: It is already set on line 3. Remove one of them."
        ),
        (
            "{match: {query: \"debug=1\"}, bypass: true}",
            "1: match.query: 'debug=1' is not a parameter name. For a name with a value, write '{debug: [\"1\"]}'."
        ),
        (
            "{match: {cookie: \"preview=1\"}, bypass: true}",
            "1: match.cookie: 'preview=1' is not a cookie name, or the beginning of one followed by a star. For a name with a value, write '{preview: [\"1\"]}'."
        ),
        (
            "{match: {field: {X-A: [a], x-a: [b]}}, bypass: true}",
            "1: match.field: 'x-a' is listed twice. Field names are not case-sensitive."
        ),
        (
            "{match: {field: \"Authorization: Bearer hunter2\"}, bypass: true}",
            "1: match.field: Expected names of fields. For a name with values, write '{Authorization: [VALUES]}'."
        ),
        (
            "{ignore: {query: [utm_source]}}",
            "1: ignore: 'query' is unknown. Write 'parameters'. Known names: 'parameters', 'fields', 'members', 'directives'."
        ),
        (
            "{timeouts: {request: 5 s}}",
            "1: timeouts: 'request' is unknown. Write 'hard'. Known names: 'soft', 'hard'."
        ),
        (
            "{cookies: {keep: \"sid, lang\"}}",
            "1: cookies: 'sid, lang' is not a cookie name. A name has letters, digits, '-' and '_'. A star is allowed only at the end. For several cookies, write '[sid, lang]'."
        ),
        (
            "{vary: {fields: [User-Agent]}}",
            "1: vary: 'fields': Expected names and their values, such as '{NAME: [VALUES]}', not a list."
        ),
        (
            "{to-client: {set: [\"X-Key: hunter2\"]}}",
            "1: to-client.set: Expected names and values of fields, such as '{X-Frame-Options: DENY}', not a list."
        ),
        (
            "{to-origin: {set: {Authorization: \"Bearer {env: TOKEN}\"}}}",
            "1: to-origin.set: 'Authorization' holds a secret, which must not be in this file. Write '{env: NAME}' or '{file: PATH}'. The variable or file contains the whole value, such as 'Bearer TOKEN'."
        ),
        (
            "{to-origin: {set: {X-Key: {file: ~/no/such}}}}",
            "1: to-origin.set: 'X-Key': The file '~/no/such' cannot be opened: No such file or directory. '~' is not expanded. Write the whole path."
        ),
        (
            "{store: {lifetime: 5 m}}",
            "1: store: 'lifetime' is not a setting of 'store'. Write it in 'freshness'."
        ),
        (
            "{store: {memory: 1 MiB}}",
            "1: store: 'memory' is not a setting of 'store' in a rule. Write it in 'store' at the top level."
        ),
        (
            "{freshness: {bypass: true}}",
            "1: freshness: 'bypass' is not a setting of 'freshness'. Write it next to 'freshness'."
        ),
        (
            "{error-pages: {offline: a.html}}",
            "1: 'error-pages' is not a setting of rules. Write it in a route."
        ),
        (
            "{to-origin: {set: {X-Key: {env: LINES}}}}",
            "1: to-origin.set: 'X-Key': The value of the variable 'LINES' has a line break, so it cannot be sent in a field. Write the value on one line, and nothing else."
        ),
    ]) func ruleFaultsAreReported(_ rule: String, _ expected: String) {
        let environment = ["BAD": "hunter2\u{1}", "LINES": "hunter2\nhunter2"]
        let found = findings("version: 1\nrules:\n- \(rule)", file: "f", environment: environment)
        let name = rule.contains("name: x") ? "rule 'x'" : "rule 1"
        #expect(found == ["f:3: \(name)\(expected.dropFirst())"])
        #expect(!found.joined().contains("hunter2"))
    }

    /// Mutant: `setting-twice-in-a-rule-passes`.
    @Test func bothPlacesOfASettingAreNamed() {
        let rule = "- stale: {unreachable: 1 h}\n  tags: [a]\n  stale.unreachable: 2 h\n"
        let expected = ["line 5: rule 1: stale.unreachable: It is already set on line 3. Remove one of them."]
        #expect(findings("version: 1\nrules:\n\(rule)") == expected)
        // The same in the other order, and each rule has its own settings.
        let others = "- {store.largest: 1 MiB, match: {url: /a}}\n- {store: {largest: 2 MiB}, store.pin: true}\n"
        #expect(findings("version: 1\nrules:\n\(others)").isEmpty)
    }

    @Test func staleIgnoreNamesEachReasonThatARuleMayLift() {
        let liftable = StaleProhibition.allCases.filter { $0.liftedBy != nil }.map(\.rawValue)
        #expect(Set(Readers.liftable.map(\.0)) == Set(liftable))
    }

    /// A file with a token or a key, and secrets where names and files are expected.
    @Test(arguments: [
        "hunter2hunter2", "version: 1\ncontrol: {tokens: hunter2}", "version: 1\ncontrol: {tokens: [hunter2]}",
        "version: 1\nrules: [{to-origin: {set: 'Authorization: Bearer hunter2'}}]",
        "version: 1\nrules: [{to-origin: {set: {Authorization: {env: Bearer hunter2}}}}]",
        "version: 1\nfleet: {url: 'redis://127.0.0.1', secret: {env: 'hunter2+'}}",
        "version: 1\nrules: [{to-origin: {set: {Authorization: Bearer hunter2, x}}}]",
    ]) func textThatMayBeASecretIsNotShown(_ yaml: String) {
        let found = findings(yaml)
        #expect(!found.isEmpty && !found.joined().contains("hunter2"), "\(found)")
    }

    @Test func findingsComeInTheOrderOfTheirLines() {
        let found = findings(
            """
            version: 1
            rules:
              - name: a
                bypass: 5
                match: {url: nothing}
              - name: a
                freshness: {lifetime: 5}
              - tag: [x]
            mode: 5
            """
        )
        #expect(found.map { String($0.prefix(7)) } == ["line 4:", "line 6:", "line 7:", "line 8:", "line 9:"])
    }

    @Test func deadRulesAreReported() {
        let found = findings(
            """
            version: 1
            rules:
              - {name: all, match: {url: "https://a.example/**"}, tags: [a], bypass: false}
              - {name: dead, match: {url: ["https://a.example/x/**", "https://a.example/y?*"], method: GET}, tags: [b]}
              - {name: alive, match: {url: "https://a.example/x/**"}, tags: [b], mode: offline}
              - {name: other port, match: {url: "https://a.example:1/**"}, tags: [b]}
              - {name: dead by two, match: {url: "https://a.example/x/*"}, tags: [b], mode: online}
            """
        )
        #expect(
            found == [
                "line 4: rule 'dead': It can never take effect: rule 'all' (line 3) comes first, matches all of its requests, and decides all of its settings. Move it up, or remove it.",
                "line 7: rule 'dead by two': It can never take effect: rule 'all' (line 3) and rule 'alive' (line 5) come first, match all of its requests, and decide all of its settings. Move it up, or remove it.",
            ]
        )
    }
}

@Suite(.timeLimit(.minutes(20))) struct HostileFileTests {
    @Test func expandedAliasesAreLimited() {
        var yaml = "version: 1\nx0: &x0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n"
        for level in 1...9 {
            let list = Array(repeating: "*x\(level - 1)", count: 9).joined(separator: ", ")
            yaml += "x\(level): &x\(level) [\(list)]\n"
        }
        #expect(findings(yaml).first?.contains("more than 1000000 values") == true)
    }

    /// The parser compares keys, and would walk through each doubling to do so.
    @Test(arguments: [
        "? *x60\n: 1\n", "? [*x60]\n: 1\n", "*x60 : 1\n", "y: {[*x60]: 1}\n", "y: {{a: *x60} : 1}\n",
        "y: {? *x60 : 1}\n", "y: {*x60 : 1}\n", "y: [*x60 : 1]\n", "y: {? [*x60] : 1}\n", "y: {?*x60 : 1}\n",
    ])
    func aliasBombInKeyIsRejectedBeforeParsing(_ key: String) {
        var yaml = "version: 1\nx0: &x0 [lol]\n"
        for level in 1...60 { yaml += "x\(level): &x\(level) [*x\(level - 1), *x\(level - 1)]\n" }
        #expect(findings(yaml + key).first?.contains("In a file with aliases, a key must be plain text") == true)
    }

    @Test(arguments: ["[", "{a: ", "- ", "? ", "{? ", "[{"]) func depthIsBounded(_ opening: String) {
        let yaml = "version: 1\nx:\n  " + String(repeating: opening, count: 20_000)
        let found = findings(yaml)
        // The words of the parser are for the author of a program.
        #expect(!found.isEmpty && !found.joined().contains("yaml_set"), "\(found)")
    }

    @Test func nestingDeeperThan32IsRejected() {
        let yaml = "version: 1\ntags: " + String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(findings(yaml) == ["line 2: Lists and mappings are nested more than 32 levels deep."])
    }

    @Test func damagedFilesAreRejectedWithPlainMessages() {
        var numbers = Numbers(seed: 3)
        let parts = LoadingTests.whole.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        for _ in 0..<300 {
            var damaged = parts
            for _ in 0..<3 {
                let place = Int(numbers.next() >> 33) % damaged.count
                damaged[place] = numbers.pick([
                    "", "{", "]", ":", "\n", "&a", "*a", "\u{0}", "'", "\"", "- ", "9", parts[place] + parts[place],
                ])
            }
            let found = findings(damaged.joined(separator: " "), environment: ["API_KEY": "hunter2"])
            let text = found.joined(separator: "\n")
            #expect(text.utf8.allSatisfy { ($0 >= 0x20 || $0 == 0x0A) && $0 != 0x7F }, "a control character")
            for finding in found { #expect(!finding.contains("hunter2") && !finding.hasPrefix("another error")) }
        }
    }
}
