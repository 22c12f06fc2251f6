import HTTP2Client
import HoldfastConfiguration
import HoldfastGateway
import Testing

/// A request of HTTP/2 reaches the origin, which gets HTTP/1.1, as the same bytes as one of
/// HTTP/1.1. docs/attacks.md
///
/// They differ in these places, and in no other:
///
/// * the protocol in the gateway's member of `Via`: `1.1` or `2` (RFC 9110 §7.6.3);
/// * where one chunk of content without a length ends and the next begins. RFC 9112 §7.1 gives that
///   no meaning, and it depends on the moment at which the bytes come.
///
/// Names are in lower case in both: HTTP/2 has no others (RFC 9113 §8.2.1).
///
/// Mutants: crumbs of cookies joined with a comma; a field whose name begins with 'x-' left out by
/// `HTTP2FieldSection`.
@Suite(.timeLimit(.minutes(20)))
struct HTTP2DowngradeTests {
    /// The gateways that pass on different fields.
    enum Kind: String, CaseIterable {
        case plain, trusting, preservingHost

        func configure(_ configuration: inout GatewayConfiguration) {
            switch self {
            case .plain: break
            case .trusting: configuration.trustedClients = [AddressRange("127.0.0.0/8")].compactMap(\.self)
            case .preservingHost:
                let origin = configuration.routes.routes[0].origin
                configuration.routes = GatewayRoutes(origin: origin, preservesHost: true)
            }
        }
    }

    /// Bytes that the origin got.
    private struct Received: Equatable, CustomTestStringConvertible {
        var head: String
        var content: String

        /// - Parameter version: of the client's protocol, which `Via` names.
        init(_ request: RawOrigin.Request, _ version: String) {
            head = String(scalarBytes: request.head)
            #expect(head.components(of: Self.via(version)).count == 2, "one 'Via' with \(version): \(head)")
            head = head.components(of: Self.via(version)).joined(separator: Self.via("any"))
            content = String(scalarBytes: request.content)
            if request.values("transfer-encoding").last == "chunked" { content = Self.withoutChunks(content) }
        }

        private static func via(_ version: String) -> String { "\(version) holdfast-" }

        /// The content, and its end with the trailers.
        private static func withoutChunks(_ framed: String) -> String {
            var content = ""
            var rest = framed.unicodeScalars[...]
            while let line = rest.firstRange(of: "\r\n".unicodeScalars),
                let size = Int(String(rest[..<line.lowerBound]), radix: 16), size > 0
            {
                let chunk = rest[line.upperBound...].prefix(size)
                content.unicodeScalars.append(contentsOf: chunk)
                rest = rest[chunk.endIndex...].dropFirst(2)
            }
            return content + "|" + String(rest)
        }

        var testDescription: String { String((head + content).prefix(2_000)) }
    }

    private static func respond(to request: RawOrigin.Request) -> RawOrigin.Step {
        let head = "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\n"
        return .response(request.line.hasPrefix("HEAD ") ? head : head + "x")
    }

    @Test(arguments: Kind.allCases) func originGetsTheSameBytesOverBothProtocols(_ kind: Kind) async throws {
        try await RawOrigin.with(respond: Self.respond) { origin in
            try await RunningGateway.with(origin: origin.url, configure: kind.configure) { gateway in
                for request in DowngradedRequest.all {
                    let before = origin.requests.count
                    // Twice, because a connection keeps what it knows of its last request.
                    try await RawClient.with(port: gateway.port) { client in
                        for _ in 1...2 {
                            let response = try await client.exchange(request)
                            #expect(response.status == 200, "\(request.name)")
                        }
                    }
                    try await RawClient.with(port: gateway.port) { client in
                        let session = try #require(HTTP2ClientSession())
                        for _ in 1...2 {
                            let response = try await client.exchange(request, session)
                            #expect(response.status == 200, "\(request.name)")
                            #expect(response.failure == nil, "\(request.name)")
                            #expect(response.content.count == (request.method == "HEAD" ? 0 : 1))
                        }
                    }
                    let requests = origin.requests.dropFirst(before)
                    try #require(requests.count == 4, "\(request.name)")
                    let first = requests.prefix(2).map { Received($0, "1.1") }
                    let second = requests.suffix(2).map { Received($0, "2") }
                    #expect(first == second, "\(request.name)")
                    #expect(first[0] == first[1], "\(request.name)")
                }
            }
        }
    }

    /// A malformed request of HTTP/2 gets 400 as well, or the error of its stream. RFC 9113 §8.1.1
    @Test(arguments: DowngradedRequest.refused) func bothProtocolsRefuseTheSameRequests(_ request: DowngradedRequest)
        async throws
    {
        try await RawOrigin.with(respond: Self.respond) { origin in
            try await RunningGateway.with(origin: origin.url) { gateway in
                try await RawClient.with(port: gateway.port) { client in
                    let response = try await client.exchange(request)
                    #expect(response.status == 400)
                }
                try await RawClient.with(port: gateway.port) { client in
                    let session = try #require(HTTP2ClientSession())
                    let response = try await client.exchange(request, session)
                    let protocolError: UInt32 = 1
                    #expect(response.status == 400 || response.status == 0 && response.code == protocolError)
                }
                #expect(origin.requests.isEmpty)
            }
        }
    }
}

extension String {
    /// The parts between the occurrences of a text. It compares scalars: `\r\n` is one character in
    /// a String.
    fileprivate func components(of separator: String) -> [String] {
        var parts: [String] = []
        var rest = unicodeScalars[...]
        while let range = rest.firstRange(of: separator.unicodeScalars) {
            parts.append(String(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        return parts + [String(rest)]
    }
}
