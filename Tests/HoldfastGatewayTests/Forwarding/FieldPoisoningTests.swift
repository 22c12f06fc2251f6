import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastConfiguration
import Testing

@testable import HoldfastGateway

/// docs/attacks.md, 59. An origin that writes every field of a request into its page, and lets the
/// page be stored.
@Suite(.timeLimit(.minutes(20)))
struct FieldPoisoningTests {
    /// Fields that some framework, server or product reads as target, method or identity; and
    /// credentials, which are in the key. They are listed here, so that none can leave the table
    /// unnoticed.
    private static let names = """
        Forwarded X-Forwarded X-Forwarded-For X-Forwarded-Proto X-Forwarded-Host X-Forwarded-Scheme X-Forwarded-Port
        X-Forwarded-Server X-Forwarded-Ssl X-Forwarded-Prefix X-Forwarded-Uri X-Forwarded-Path X-Forwarded-Method
        X-Forwarded-Protocol X-Forwarded-By X-Forwarded-User X-Forwarded-Email X-Forwarded-Client-Cert X-Forwarded-Anything
        X-Real-IP X-Original-URL X-Original-URI X-Original-Host X-Original-Method X-Original-Forwarded-For X-Rewrite-URL
        X-Rewrite-URI X-Override-URL X-Host X-HTTP-Host-Override X-Script-Name Proxy Base-Url X-Url-Scheme X-Scheme
        Front-End-Https WL-Proxy-SSL CF-Visitor CloudFront-Forwarded-Proto X-Arr-Ssl X-Middleware-Subrequest
        X-Middleware-Rewrite X-Middleware-Prefetch X-Matched-Path X-Invoke-Path X-Invoke-Query X-Invoke-Status
        X-Now-Route-Matches X-Envoy-Original-Path X-Sendfile-Type X-Accel-Mapping X-HTTP-Method-Override X-HTTP-Method
        X-Method-Override True-Client-IP Client-IP X-Client-IP X-Cluster-Client-IP X-Originating-IP X-Remote-IP
        X-Remote-Addr X-ProxyUser-Ip X-Custom-IP-Authorization Proxy-Client-IP WL-Proxy-Client-IP CF-Connecting-IP
        CF-Connecting-IPv6 CF-IPCountry Fastly-Client-IP Fly-Client-IP DO-Connecting-IP Incap-Client-IP
        X-Vercel-Forwarded-For X-Vercel-IP-Country X-Azure-ClientIP X-AppEngine-User-IP X-AppEngine-Country
        X-Envoy-External-Address CloudFront-Viewer-Country Remote-User X-Remote-User X-Remote-Group
        X-Remote-Extra-Scopes Remote-Email X-Authenticated-User X-Authenticated-Userid X-Auth-Request-User
        X-Auth-Request-Email X-WebAuth-User X-Consumer-Username X-Goog-Authenticated-User-Email X-MS-Client-Principal
        X-MS-Client-Principal-Name X-Amzn-Oidc-Identity CF-Access-Authenticated-User-Email Tailscale-User-Login
        X-Authentik-Username SM-User IV-User Client-Cert SSL-Client-Cert X-SSL-Client-Cert X-SSL-Client-S-Dn
        X-Client-Cert X-Client-DN X-Client-Verify X-Arr-ClientCert HTTP2-Settings Authorization Cookie X-Api-Key Api-Key
        ApiKey X-Auth-Token X-Access-Token Private-Token Job-Token X-Amz-Security-Token X-Goog-IAP-JWT-Assertion
        Ocp-Apim-Subscription-Key X-Functions-Key X-Vault-Token DPoP X-CSRF-Token X-XSRF-Token X-CSRFToken
        RequestVerificationToken
        """.split(whereSeparator: \.isWhitespace).map(String.init)

    /// Each name in another case, and as CGI, WSGI, Rack and PHP read it.
    private static var spellings: [String] {
        names.flatMap { name in
            let mixed = String(
                name.enumerated().map { $0 % 2 == 0 ? Character($1.lowercased()) : Character($1.uppercased()) }
            )
            return name.contains("-")
                ? [name, mixed, name.replacing("-", with: "_"), mixed.replacing("-", with: "_", maxReplacements: 1)]
                : [name, mixed]
        } + ["X_Unknown", "a_", "_", "X-Unknown_Field"]
    }

    /// An origin that writes the request into its response, and allows storing it.
    private static func reflecting(_ fields: String = "Cache-Control: max-age=60\r\n") -> RawOrigin.Step {
        .reflect { request in
            let page = request.text.split(separator: "\r\n").dropFirst().joined(separator: "\n")
            return Array("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(page.utf8.count)\r\n\r\n\(page)".utf8)
        }
    }

    /// The same holds for fields that are read as credentials.
    /// Mutants: names removed from the table; `_` passes; proofs are ignored.
    @Test func noTargetMethodOrIdentityFieldPoisonsAnotherClientsPage() async throws {
        let spellings = Self.spellings
        #expect(spellings.count > 400)
        try await RawOrigin.with(Array(repeating: Self.reflecting(), count: 2 * spellings.count)) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { attacker in
                    try await RawClient.with(port: gateway.port) { clean in
                        for (number, name) in spellings.enumerated() {
                            let line = "GET /\(number) HTTP/1.1\r\nHost: g\r\n"
                            try await attacker.send("\(line)\(name): evil\r\n\r\n")
                            _ = try await attacker.response()
                            try await clean.send("\(line)\r\n")
                            let page = try await clean.response()
                            #expect(page.status == 200 && !page.text.contains("evil"), "\(name): \(page.text)")
                        }
                    }
                }
                #expect(origin.unscripted == 0)
            }
        }
    }

    @Test(arguments: [false, true]) func noClaimOfClientAboutItselfReachesTheOrigin(isTrusted: Bool) async throws {
        let claims = Self.names.filter { name in
            RequestFieldTable.claims.entry(of: name.lowercased()) != nil
        }
        #expect(claims.count > 90)
        try await RawOrigin.with([Self.reflecting(), Self.reflecting()]) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { if isTrusted { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) } }
            ) { gateway in
                let lines = claims.map { "\($0): evil\r\n" }
                for half in [lines.prefix(60), lines.dropFirst(60)] {
                    _ = try await gateway.get("/", fields: half.joined() + "Cache-Control: no-cache\r\nX_Y: evil\r\n")
                }
                let arrived = origin.requests.map(\.text).joined()
                let expected = ["True-Client-IP", "X-Original-URI", "Remote-User", "X-Forwarded-Uri"]
                for name in expected { #expect(arrived.contains("\(name): evil\r\n") == isTrusted, "\(name)") }
                #expect(!arrived.contains("X_Y"))
                // The gateway's own value, for every client.
                for name in ["X-Original-URL", "X-HTTP-Method-Override", "X-Forwarded-Host", "X-Real-IP"] {
                    #expect(!arrived.contains("\(name): evil\r\n"), "\(name)")
                }
                #expect(isTrusted || !arrived.contains("evil"))
            }
        }
    }

    /// Other caches do the same.
    @Test func unknownFieldsPassAndTheirResponsesAreStored() async throws {
        try await RawOrigin.with([Self.reflecting()]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/", fields: "X-Unknown: 1\r\n")
                let second = try await gateway.get("/")
                #expect(second.text.contains("X-Unknown: 1") && second["Cache-Status"] == "holdfast; hit; ttl=60")
            }
        }
    }

    @Test(arguments: ["drop", "bypass"])
    func strictRouteDropsUnknownFieldsOrBypassesTheStore(handling: String) async throws {
        let fields = "X-Unknown: evil\r\n"
        let known =
            "User-Agent: a\r\nAccept-Language: de\r\nSec-Fetch-Mode: cors\r\nPrefer: x\r\nX-Request-ID: 1\r\nDNT: 1\r\n"
        try await RawOrigin.with(Array(repeating: Self.reflecting(), count: 6)) { origin in
            let file = try Configuration(
                yaml: "version: 1\nroutes: [{origin: \"\(origin.url)\", unknown-fields: \(handling)}]"
            )
            let routes = try GatewayRoutes(file.routes)
            try await RunningGateway.with(origin: origin.url, configure: { $0.routes = routes }) { gateway in
                _ = try await gateway.get("/", fields: known)
                let hit = try await gateway.get("/", fields: known)
                #expect(hit["Cache-Status"] == "holdfast; hit; ttl=60" && hit.text.contains("Prefer: x"))
                let first = try await gateway.get("/b", fields: fields)
                let second = try await gateway.get("/b")
                #expect(first.text.contains("evil") == (handling == "bypass") && !second.text.contains("evil"))
                // The stored response serves neither.
                let third = try await gateway.get("/b", fields: fields)
                #expect(third.text.contains("evil") == (handling == "bypass"))
                #expect(origin.requests.count == (handling == "bypass" ? 4 : 2))
            }
        }
    }

    @Test func requestsWhoseUnderscoreNamesPassBypassTheStore() async throws {
        try await RawOrigin.with(Array(repeating: Self.reflecting(), count: 3)) { origin in
            let file = try Configuration(
                yaml: "version: 1\nclients: {underscored-fields: pass}\nroutes: [{origin: \"\(origin.url)\"}]"
            )
            let underscored = try GatewayConfiguration(file).underscoredFields
            try await RunningGateway.with(origin: origin.url, configure: { $0.underscoredFields = underscored }) {
                gateway in
                let first = try await gateway.get("/", fields: "X_Custom: evil\r\n")
                let second = try await gateway.get("/")
                let third = try await gateway.get("/", fields: "X_Custom: evil\r\n")
                #expect(first.text.contains("X_Custom: evil") && third.text.contains("X_Custom: evil"))
                #expect(!second.text.contains("evil") && origin.requests.count == 3)
            }
        }
    }

    @Test func storesPublicResponsesForRequestsWithProof() async throws {
        try await RawOrigin.with([Self.reflecting("Cache-Control: s-maxage=60\r\n")]) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                _ = try await gateway.get("/", fields: "DPoP: a\r\n")
                let other = try await gateway.get("/", fields: "X-CSRF-Token: b\r\n")
                #expect(other["Cache-Status"] == "holdfast; hit; ttl=60")
            }
        }
    }
}
