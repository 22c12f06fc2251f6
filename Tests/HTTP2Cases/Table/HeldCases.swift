// RFC 9113 §6.9.1: the server's own windows. They show only while an origin reads nothing.

extension HTTP2Cases {
    /// Cases for a server whose origin never reads the content of a request for '/held', and never
    /// responds. They are not in ``all``.
    package static let held: [HTTP2Case] = {
        var table = CaseTable("9113 §6.9.1 at a held origin")
        table.add(
            "content that fills the window of a stream is accepted",
            [.respond { request(1, window($0)) }],
            expect: .usable
        )
        table.add(
            "content beyond the window of a stream is an error",
            [.respond { request(1, window($0) + 1) }],
            expect: .streamError(1, .flowControlError)
        )
        return table.cases
    }()

    /// The window of a stream.
    private static func window(_ seen: Observation) -> Int { Int(seen.settings?[Setting.initialWindowSize] ?? 65_535) }

    /// A POST with so many bytes that does not end.
    private static func request(_ stream: UInt32, _ count: Int) -> [UInt8] {
        let head = Frame.headers(stream, .block(.post, .http, .path("/held"), .authority()), ends: false)
        let frames = stride(from: 0, to: count, by: 16_384).map { place in
            Frame.data(stream, [UInt8](repeating: 0x61, count: min(16_384, count - place)))
        }
        return head + frames.flatMap { $0 }
    }
}
