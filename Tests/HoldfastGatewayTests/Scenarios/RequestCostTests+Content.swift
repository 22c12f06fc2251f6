import HoldfastTesting
import TestSupport
import Testing

@testable import HoldfastGateway

/// Content in many pieces, and field sections of HTTP/2.
extension RequestCostTests {
    /// Content in chunks as short as they may be, with and without extensions. RFC 9112 §7.1
    @Test func contentInManyChunks() async throws {
        let extended = "1;" + String(repeating: "e", count: 200) + "\r\na\r\n"
        let parts = [
            ("1\r\na\r\n", 20_000), ("00000001\r\na\r\n", 10_000), (extended, 70), ("1;a=\"\\\"\"\r\na\r\n", 1000),
        ]
        try await withGate { gate in
            for (part, count) in parts {
                let content = String(repeating: part, count: count) + "0\r\n\r\n"
                let head = "POST /-/ HTTP/1.1\r\nHost: gateway.example\r\nTransfer-Encoding: chunked\r\n\r\n"
                _ = try await gate.meter.longest()
                let response = try await gate.gateway.send(head + content)
                gate.steps.add("chunks '\(part.prefix(20))'", try await gate.meter.longest())
                #expect(response.status > 0)
            }
        }
    }

    /// Field sections that are as long as they may be, or longer when they are decoded. RFC 9113
    /// §6.10, RFC 7541
    @Test func fieldSectionsOfHTTP2() async throws {
        let start = FrameClient.get("/-/", on: 1).payload
        let many = (0..<120).flatMap { FrameClient.literal("x-field-\($0)", String(repeating: "a,", count: 200)) }
        // A field of 3,900 bytes in the table, then references of one byte to it.
        let entry = [0x40] + FrameClient.text("x-bomb") + FrameClient.text(String(repeating: "b", count: 3_900))
        let sections: [(String, [UInt8])] = [
            ("one field", FrameClient.literal("accept-language", CostlyList.weighted.value())), ("many fields", many),
            ("bomb", entry + Array(repeating: 0xBE, count: 15_000)),
            ("updates of the table", Array(repeating: 0x20, count: 15_000)),
            (
                "cookies",
                (0..<120).flatMap { FrameClient.literal("cookie", "c\($0)=" + String(repeating: "c", count: 400)) }
            ),
        ]
        try await withGate { gate in
            for (name, section) in sections {
                let payload = name == "updates of the table" ? section + start : start + section
                try await RawClient.with(port: gate.gateway.port) { raw in
                    let client = FrameClient(raw)
                    _ = try await gate.meter.longest()
                    try await client.send(FrameClient.beginning() + frames(payload))
                    _ = await client.frame { [0, 1, 3, 7].contains($0.type) }
                    gate.steps.add(name, try await gate.meter.longest())
                }
            }
        }
    }

    /// HEADERS and CONTINUATION frames of a request without content.
    private func frames(_ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = payload[...]
        while !rest.isEmpty {
            let part = rest.prefix(16_000)
            rest = rest.dropFirst(part.count)
            let (isFirst, isLast) = (bytes.isEmpty, rest.isEmpty)
            bytes +=
                FrameClient.Frame(
                    type: isFirst ? FrameClient.Frame.headers : FrameClient.Frame.continuation,
                    flags: (isFirst ? 1 : 0) | (isLast ? 4 : 0),
                    stream: 1,
                    payload: Array(part)
                ).bytes
        }
        return bytes
    }
}
