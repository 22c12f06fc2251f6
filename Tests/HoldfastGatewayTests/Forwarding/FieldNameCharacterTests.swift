import HTTPCache
import HTTPTypes
import HoldfastConfiguration
import HoldfastGateway
import HoldfastTesting
import Testing

/// docs/attacks.md, 80: fields whose names have a character other than letters, digits and hyphens,
/// in heads and trailers, over HTTP/1.1 and HTTP/2.
///
/// Mutants: only `_` counts; a trusted client may send such names; trailers with `.` pass.
@Suite(.timeLimit(.minutes(20)))
struct FieldNameCharacterTests {
    enum Door: String, CaseIterable {
        case head, trailers, http2Head, http2Trailers

        var isHTTP2: Bool { self == .http2Head || self == .http2Trailers }
    }

    /// Names that become another one if each of these characters is read as a hyphen, or is left
    /// out; and one of a family of the table.
    private static let names: [String] = "!#$%&'*+.^_`|~".flatMap { sign -> [String] in
        let (name, sign) = ("X-Forwarded-Host", String(sign))
        let places = name.indices.map { place -> String in
            let rest = name[place] == "-" ? name.index(after: place) : place
            return String(name[..<place]) + sign + String(name[rest...])
        }
        let others = [
            name + sign, name.replacing("-", with: sign), "X-Ms-Client-Principal" + sign + "Name",
            "X-Forwarded-For" + sign + "x", sign,
        ]
        return places + others
    }

    private static func send(_ names: [String], _ door: Door, to gateway: RunningGateway) async throws -> String {
        let lines = names.map { "\($0): evil\r\n" }.joined()
        let fields = names.map { ($0.lowercased(), "evil") }
        guard door.isHTTP2 else {
            let isHead = door == .head
            let head = "POST /p HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nX-9-Plain: ok\r\n"
            let trailers = isHead ? "" : lines + "X-9-End: ok\r\n"
            let text = head + (isHead ? lines : "") + "\r\n1\r\na\r\n0\r\n\(trailers)\r\n"
            return try await gateway.send(text).text
        }
        return try await RawClient.with(port: gateway.port) { raw in
            let client = FrameClient(raw)
            try await client.send(FrameClient.beginning())
            let plain = [("x-9-plain", "ok")]
            let head = plain + (door == .http2Head ? fields : [])
            try await client.send(FrameClient.request("POST", "/p", on: 1, fields: head, endsStream: false))
            let isHead = door == .http2Head
            try await client.send(
                .init(type: FrameClient.Frame.data, flags: isHead ? 1 : 0, stream: 1, payload: [0x61])
            )
            if !isHead {
                let payload = (fields + [("x-9-end", "ok")]).flatMap { FrameClient.literal($0.0, $0.1) }
                try await client.send(
                    FrameClient.Frame(type: FrameClient.Frame.headers, flags: 5, stream: 1, payload: payload)
                )
            }
            return try await client.responses([1])[1]?.text ?? ""
        }
    }

    @Test(arguments: Door.allCases, [false, true])
    func dropsAmbiguousNamesEvenFromTrustedClients(_ door: Door, isTrusted: Bool) async throws {
        let echo: @Sendable (RawOrigin.Request) -> RawOrigin.Step = { .ok($0.text + $0.contentText) }
        #expect(Set(Self.names).count > 250)
        try await RawOrigin.with(respond: echo) { origin in
            try await RunningGateway.with(
                origin: origin.url,
                configure: { if isTrusted { $0.trustedClients = [AddressRange("127.0.0.1")].compactMap(\.self) } }
            ) { gateway in
                // A message has at most 128 fields.
                for start in stride(from: 0, to: Self.names.count, by: 100) {
                    let some = Array(Self.names[start..<min(start + 100, Self.names.count)])
                    let seen = try await Self.send(some, door, to: gateway).lowercased()
                    #expect(seen.contains("x-9-plain: ok"))
                    #expect(seen.contains("x-9-end: ok") == (door == .trailers || door == .http2Trailers))
                    let passed = seen.split(separator: "\r\n").filter { $0.hasSuffix(": evil") }
                    #expect(passed.isEmpty)
                }
            }
        }
    }

    @Test func requestsWhoseAmbiguousNamesPassBypassTheStore() async throws {
        try await RawOrigin.with(respond: { _ in .ok("x", fields: "Cache-Control: max-age=60\r\n") }) { origin in
            try await RunningGateway.with(origin: origin.url, configure: { $0.underscoredFields = .pass }) { gateway in
                for (number, name) in ["X.Custom", "X~Custom", "!", "X-Custom_1"].enumerated() {
                    let first = try await gateway.get("/", fields: "\(name): 1\r\n")
                    #expect(first["Cache-Status"] == "holdfast; fwd=bypass", "\(name)")
                    #expect(origin.requests.count == number + 1 && gateway.store.all.isEmpty)
                    #expect(origin.requests.last?.values(name) == ["1"])
                }
                // A claim that no client may make does not pass either.
                _ = try await gateway.get("/", fields: "X-Forwarded-For.x: 1\r\n")
                #expect(origin.requests.last?.text.contains("X-Forwarded-For.x") == false)
            }
        }
    }
}
