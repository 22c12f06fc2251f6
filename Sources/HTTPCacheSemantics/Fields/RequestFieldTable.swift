/// Request fields that say more than what the client wants, and why: the one table of what is known
/// of them.
///
/// A gateway drops those that origins read as another target, method or identity, because nothing
/// of them is in the key: what an origin made of one would be stored for everybody. A cache keys
/// credentials, and counts proofs as credentials that are not keyed.
package enum RequestFieldTable {
    /// Why a field is in the table.
    package enum Meaning: String, Sendable, CaseIterable {
        /// Frameworks read it as (a part of) the target: its host, path, scheme, prefix, or what
        /// handles it.
        case target
        /// It says who asks, or from where, in the name of something in front of the origin.
        case identity
        /// Frameworks read it as the method.
        case method
        /// It says on whose behalf the request is made, and is the same for many requests: it is
        /// keyed.
        case credential
        /// It goes with a credential and is another for each request: keyed, nothing would be found
        /// again.
        case proof
        /// It is about the connection.
        case connection
        /// Any origin may read it: it says what the client wants, can or is.
        case ordinary
    }

    /// What is known of a field.
    package struct Entry: Sendable {
        /// In lower case; of a family what the names begin with.
        package let name: String
        package let isFamily: Bool
        package let meaning: Meaning
        /// A gateway's own word takes its place, or nothing does: no client is trusted with it.
        package let isGateways: Bool
    }

    /// Those that origins read as another target, method or identity, or that are about the
    /// connection.
    package static let claims = RequestFieldLookup([.target, .method, .identity, .connection])
    /// Those that say on whose behalf a request is made.
    package static let credentials = RequestFieldLookup([.credential, .proof])
    /// All.
    package static let known = RequestFieldLookup(Set(Meaning.allCases))

    /// All of them, those of one meaning together.
    package static let all: [Entry] =
        entries(.target, gateways: true, gatewaysTarget) + entries(.target, target)
        + entries(.method, gateways: true, gatewaysMethod) + entries(.method, ["x-original-method"])
        + entries(.identity, gateways: true, ["forwarded", "x-forwarded-for", "x-real-ip"])
        + entries(.identity, addresses + people)
        + entries(.connection, gateways: true, ["http2-settings"]) + entries(.credential, keyed)
        + entries(.proof, proofs) + entries(.ordinary, ordinary)

    private static func entries(_ meaning: Meaning, gateways: Bool = false, _ names: [String]) -> [Entry] {
        names.map { name in
            let isFamily = name.hasSuffix("*")
            return Entry(
                name: isFamily ? String(name.dropLast()) : name,
                isFamily: isFamily,
                meaning: meaning,
                isGateways: gateways
            )
        }
    }
}

/// Finds fields of some meanings in the ``RequestFieldTable``.
package final class RequestFieldLookup: Sendable {
    private let names: [String: RequestFieldTable.Entry]
    private let families: [RequestFieldTable.Entry]
    /// For each first letter the lengths of names that begin with it, as bits; the highest is for a
    /// family.
    private let lengths: [UInt64]
    private static let family: UInt64 = 1 << 63

    init(_ meanings: Set<RequestFieldTable.Meaning>) {
        let entries = RequestFieldTable.all.filter { meanings.contains($0.meaning) }
        names = Dictionary(
            entries.filter { !$0.isFamily }.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        families = entries.filter(\.isFamily)
        lengths = entries.reduce(into: Array(repeating: 0, count: 256)) { lengths, entry in
            guard let first = entry.name.utf8.first else { return }
            lengths[Int(first)] |= entry.isFamily ? Self.family : Self.length(entry.name)
        }
    }

    private static func length(_ name: String) -> UInt64 { 1 << UInt64(min(name.utf8.count, 62)) }

    /// What is known of a field; `nil` where it is none of these.
    ///
    /// - Parameter name: in lower case.
    package func entry(of name: String) -> RequestFieldTable.Entry? {
        // Asked of every field of every request; most are told by their first letter and their
        // length.
        guard let first = name.utf8.first else { return nil }
        let lengths = lengths[Int(first)]
        if lengths & Self.length(name) != 0, let entry = names[name] { return entry }
        return lengths & Self.family == 0 ? nil : families.first { name.hasPrefix($0.name) }
    }
}

/// Each name is one that a framework, a server or a product is known to read.
extension RequestFieldTable {
    private static let gatewaysTarget = [
        "x-forwarded", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-scheme", "x-forwarded-port",
        "x-forwarded-server", "x-forwarded-ssl", "x-forwarded-prefix", "x-original-url", "x-original-host",
        "x-rewrite-url", "x-host",
    ]

    private static let gatewaysMethod = ["x-http-method-override", "x-http-method", "x-method-override"]

    private static let target = [
        // Whatever else is derived from the one that every framework knows: -uri, -path, -protocol,
        // -by, ….
        "x-forwarded-*",
        // CGI's HTTP_PROXY ("httpoxy").
        "proxy",
        "x-http-host-override", "x-original-uri",
        "x-rewrite-uri", "x-override-url", "x-script-name", "base-url",
        // How the client is said to have connected: Microsoft, WebLogic, Cloudflare, CloudFront,
        // nginx, IIS.
        "front-end-https", "x-url-scheme", "x-scheme", "wl-proxy-ssl", "cf-visitor",
        "cloudfront-forwarded-proto", "x-arr-ssl",
        // Next.js and Vercel: what its own middleware and router tell each other.
        "x-middleware-*", "x-matched-path", "x-invoke-*", "x-now-route-matches",
        "x-envoy-original-path", "x-envoy-original-host",
        // Rack::Sendfile and nginx: which file is meant.
        "x-sendfile-type", "x-accel-mapping",
    ]

    /// The client's address or country.
    private static let addresses = [
        "true-client-ip", "client-ip", "x-client-ip", "x-clientip", "x-cluster-client-ip", "x-originating-ip",
        "x-remote-ip", "x-remote-addr", "x-original-forwarded-for", "x-original-remote-addr", "x-proxyuser-ip",
        "x-custom-ip-authorization", "proxy-client-ip", "cf-connecting-ip", "cf-connecting-ipv6",
        "cf-pseudo-ipv4", "cf-ipcountry", "fastly-client-ip", "fly-client-ip", "do-connecting-ip", "incap-client-ip",
        "x-sucuri-clientip", "x-sucuri-country", "x-nf-client-connection-ip", "x-vercel-forwarded-for",
        "x-vercel-ip-*", "x-vercel-proxied-for", "x-azure-clientip", "x-azure-socketip", "x-appengine-*",
        "x-envoy-external-address", "x-envoy-internal", "cloudfront-viewer-*", "x-akamai-edgescape", "x-arr-clientip",
    ]

    /// The user, or the certificate, that something in front of the origin has checked.
    private static let people = [
        "remote-user", "x-remote-user", "x-remote-group", "x-remote-extra-*", "remote-groups", "remote-email",
        "remote-name", "x-authenticated-*", "x-auth-request-*", "x-webauth-*", "x-consumer-*",
        "x-anonymous-consumer", "x-credential-identifier", "x-goog-authenticated-user-*", "x-ms-client-principal*",
        "x-ms-token-*", "x-amzn-oidc-*", "x-amzn-mtls-*", "cf-access-authenticated-user-email",
        "tailscale-user-*", "x-authentik-*", "x-vouch-user", "sm-user", "smuser",
        "iv-user", "iv-groups", "iv-creds", "oam-remote-user", "x-iisnode-auth-user",
        "client-cert", "client-cert-chain", "ssl-client-*", "x-ssl-client-*", "x-ssl-cert", "x-client-cert",
        "x-client-certificate", "x-client-dn", "x-client-verify", "x-arr-clientcert", "wl-proxy-client-*",
    ]

    private static let keyed = [
        "authorization", "cookie", "api-key", "x-api-key", "x-access-token", "x-auth", "x-auth-key", "x-auth-token",
        "x-authorization", "x-id-token", "x-session", "x-session-id", "x-session-token", "x-token",
        // GitLab, AWS, Google, Azure, Cloudflare, Vault, Consul, Kong, RapidAPI, Shopify, Parse,
        // Keystone, Rails.
        "private-token", "job-token", "x-amz-security-token", "x-goog-iap-jwt-assertion", "x-goog-api-key",
        "ocp-apim-subscription-key", "x-functions-key", "cf-access-jwt-assertion", "cf-access-token", "x-vault-token",
        "x-consul-token", "apikey", "x-rapidapi-key", "x-shopify-access-token", "x-parse-session-token",
        "x-subject-token", "access-token", "auth-token", "x-user-token", "x-jwt-assertion", "x-auth-email",
    ]

    private static let proofs = [
        "dpop", "x-csrf-token", "x-xsrf-token", "x-csrftoken", "csrf-token", "xsrf-token", "x-csrf",
        "requestverificationtoken", "x-requestverificationtoken", "x-csrf-protection",
    ]

    private static let ordinary = [
        "accept", "accept-*", "access-control-request-*", "baggage", "cache-control", "cdn-loop", "connection",
        "content-*", "date", "depth", "destination", "device-memory", "dnt", "downlink", "dpr", "early-data", "ect",
        "expect", "from", "host", "if", "if-*", "last-event-id", "link", "lock-token", "max-forwards", "origin",
        "overwrite", "pragma", "prefer", "priority", "range", "referer", "rtt", "save-data", "sec-*", "te", "timeout",
        "traceparent", "tracestate", "trailer", "transfer-encoding", "upgrade", "upgrade-insecure-requests",
        "user-agent", "via", "viewport-width", "want-content-digest", "want-digest", "want-repr-digest", "width",
        "x-correlation-id", "x-request-id", "x-requested-with",
    ]
}
