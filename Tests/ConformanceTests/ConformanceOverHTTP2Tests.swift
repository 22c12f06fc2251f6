import Testing

/// The same table for clients of HTTP/2, through the gateway over sockets.
@Suite(.timeLimit(.minutes(20))) struct ConformanceOverHTTP2Tests {
    /// The cases that clients of HTTP/2 cannot play, each with its reason.
    ///
    /// There is none: no request of the table has a field that is about HTTP/1 alone, and responses
    /// with such fields come from an origin that speaks HTTP/1.
    static let leftOut: [String: String] = [:]

    static let cases = ConformanceTests.cases.filter { leftOut[$0.id] == nil }

    @Test func noCaseIsLeftOut() throws {
        let all = try ConformanceTable.load()
        #expect(Self.leftOut.count == 0)
        #expect(Self.cases.count == all.count - Self.leftOut.count)
        #expect(Set(Self.leftOut.keys).isSubset(of: all.map(\.id)))
    }

    /// Required and optimal cases hold, and every response says what HTTP/1 says, to the origin as
    /// well.
    @Test(arguments: cases)
    func caseHoldsOverHTTP2(_ entry: ConformanceCase) async throws {
        let path = "/conformance/\(entry.id)"
        let (wireOrigin, origin) = (CaseOrigin(entry, path: path), CaseOrigin(entry, path: path))
        let wireDoor = try await WireDoor(origin: wireOrigin, path: path)
        var wire = CaseRun(entry, origin: wireOrigin, door: wireDoor)
        let wireFindings = await wire.findings()
        await wireDoor.close()
        let door = try await HTTP2Door(origin: origin, path: path)
        var run = CaseRun(entry, origin: origin, door: door)
        let findings = await run.findings()
        await door.close()
        if entry.strength != .check { ConformanceTests.judge(entry, findings) }
        let addresses = wireDoor.addresses + door.addresses
        #expect(findings.map { $0.text(without: addresses) } == wireFindings.map { $0.text(without: addresses) })
        #expect(run.responses.count == wire.responses.count)
        for (response, expected) in zip(run.responses, wire.responses) {
            #expect(
                response.lines(without: addresses, lowercases: true)
                    == expected.lines(without: addresses, lowercases: true),
                "\(entry.claim)"
            )
        }
        let requests = origin.requests.map { $0.lines(of: .http2, without: addresses) }
        #expect(requests == wireOrigin.requests.map { $0.lines(of: .http1, without: addresses) })
    }
}

/// A client's protocol. Everything in which they may differ is here.
enum ClientProtocol {
    case http1, http2

    /// The fields of a response that belong to HTTP/1 and its connection.
    static let framing: Set<String> = ["connection", "transfer-encoding"]

    /// The protocol in the gateway's `Via` at the origin. RFC 9110 §7.6.3
    var via: String { self == .http1 ? "1.1 holdfast-" : "2 holdfast-" }
}

extension CaseOrigin.ReceivedRequest {
    /// The request line's method and the fields in their order.
    fileprivate func lines(of client: ClientProtocol, without addresses: [String]) -> [String] {
        ["\(step): \(method)"]
            + fields.lines.map { name, value in
                var value = value
                if name.lowercased() == "via" {
                    // The gateway's is the last member, and ends with a number of its own.
                    let members = value.split(separator: ", ")
                    #expect(members.last?.hasPrefix(client.via) == true, "\(value)")
                    value = members.dropLast().joined(separator: ", ")
                }
                return "\(name.lowercased()): \(value)".removing(addresses)
            }
    }
}
