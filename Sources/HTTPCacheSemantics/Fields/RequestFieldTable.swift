/// The table of all request fields with a special meaning.
///
/// A gateway drops the fields that origins interpret as a different target, method or identity.
/// These fields are not part of the key, so a response that depends on such a field would be stored
/// for every client. A cache puts credentials into the key. It treats proofs as credentials, but
/// does not put them into the key.
package enum RequestFieldTable {
    /// The reason that a field is in the table.
    package enum Meaning: String, Sendable, CaseIterable {
        /// Frameworks read it as the target or a part of it: host, path, scheme, prefix or handler.
        case target
        /// It states the user or the client's address on behalf of a component in front of the
        /// origin.
        case identity
        /// Frameworks read it as the method.
        case method
        /// It identifies the principal of the request and is the same for many requests. It is part
        /// of the key.
        case credential
        /// It accompanies a credential and is different in each request. It is not part of the key,
        /// because otherwise no stored response would ever match.
        case proof
        /// It concerns the connection.
        case connection
        /// Any origin may read it: it describes the client and the formats that it accepts.
        case ordinary
    }

    /// A field's entry in the table.
    package struct Entry: Sendable {
        /// The lower-case name. For a family, the prefix of its names.
        package let name: String
        package let isFamily: Bool
        package let meaning: Meaning
        /// Whether a gateway sets or removes the field itself and never trusts a client's value.
        package let isSetByGateway: Bool
    }

    /// The fields that origins interpret as a different target, method or identity, or that concern
    /// the connection.
    package static let claims = RequestFieldLookup([.target, .method, .identity, .connection])
    /// The fields that identify the principal of a request.
    package static let credentials = RequestFieldLookup([.credential, .proof])
    /// The lookup for all fields in the table.
    package static let known = RequestFieldLookup(Set(Meaning.allCases))

    /// All entries, grouped by meaning.
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
                isSetByGateway: gateways
            )
        }
    }
}

/// Finds fields with certain meanings in the ``RequestFieldTable``.
package final class RequestFieldLookup: Sendable {
    private let names: [String: RequestFieldTable.Entry]
    private let families: [RequestFieldTable.Entry]
    /// For each first letter, a bit set of the lengths of names that begin with it. The highest bit
    /// marks a family.
    private let lengths: [UInt64]
    private static let family: UInt64 = 1 << 63

    /// - Parameter secrets: the names of further fields, which count as credentials.
    init(_ meanings: Set<RequestFieldTable.Meaning>, and secrets: Set<String> = []) {
        var entries = RequestFieldTable.all.filter { meanings.contains($0.meaning) }
        entries += secrets.map {
            RequestFieldTable.Entry(name: $0, isFamily: false, meaning: .credential, isSetByGateway: false)
        }
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

    /// The names in lower case, except those of families.
    package var plainNames: [String] { names.keys.sorted() }

    private static func length(_ name: String) -> UInt64 { 1 << UInt64(min(name.utf8.count, 62)) }

    /// Returns the entry for a field, or `nil` if it has none of these meanings.
    ///
    /// - Parameter name: the field's lower-case name.
    package func entry(of name: String) -> RequestFieldTable.Entry? {
        // This runs for every field of every request. The first letter and length rule out most
        // fields.
        guard let first = name.utf8.first else { return nil }
        let lengths = lengths[Int(first)]
        if lengths & Self.length(name) != 0, let entry = names[name] { return entry }
        return lengths & Self.family == 0 ? nil : families.first { name.hasPrefix($0.name) }
    }
}

/// Each of these names is known to be read by a framework, server or product.
extension RequestFieldTable {
    private static let gatewaysTarget = [
        "x-forwarded", "x-forwarded-proto", "x-forwarded-host", "x-forwarded-scheme", "x-forwarded-port",
        "x-forwarded-server", "x-forwarded-ssl", "x-forwarded-prefix", "x-original-url", "x-original-host",
        "x-rewrite-url", "x-host",
    ]

    private static let gatewaysMethod = ["x-http-method-override", "x-http-method", "x-method-override"]

    private static let target = [
        // All variants of the well-known field: -uri, -path, -protocol, -by, and so on.
        "x-forwarded-*",
        // CGI's HTTP_PROXY ("httpoxy").
        "proxy",
        "x-http-host-override", "x-original-uri",
        "x-rewrite-uri", "x-override-url", "x-script-name", "base-url",
        // The client's scheme, as sent by Microsoft, WebLogic, Cloudflare, CloudFront, nginx and
        // IIS.
        "front-end-https", "x-url-scheme", "x-scheme", "wl-proxy-ssl", "cf-visitor",
        "cloudfront-forwarded-proto", "x-arr-ssl",
        // Next.js and Vercel: messages between middleware and router.
        "x-middleware-*", "x-matched-path", "x-invoke-*", "x-now-route-matches",
        "x-envoy-original-path", "x-envoy-original-host",
        // Rack::Sendfile and nginx: the file to send.
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

    /// The user or certificate that a component in front of the origin has authenticated.
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
