import Foundation
import NIOCore
import TestSupport
import Testing
import Tracing

@testable import HoldfastTracing

/// Spans are written as OTLP.
@Suite struct EncoderTests {
    private let encoder = OTLPEncoder(
        resource: [("service.name", "shop"), ("service.version", "1.2")],
        scope: "holdfast",
        version: "1.2"
    )

    /// The spans of the recorded bytes.
    private func spans() throws -> [FinishedSpan] {
        let trace = try #require(TraceID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c_0d0e_0f10))
        var parent = TraceContext(traceID: trace, spanID: 0xa1a2_a3a4_a5a6_a7a8, isSampled: true, state: "v=1")
        parent.isRemote = true
        let server = TraceContext(traceID: trace, spanID: 0xb1b2_b3b4_b5b6_b7b8, isSampled: true, state: "v=1")
        let client = TraceContext(traceID: trace, spanID: 1, isSampled: true)
        var attributes: SpanAttributes = [:]
        attributes.set("http.response.status_code", value: .int(200))
        attributes.set("url.path", value: .string("/käse"))
        attributes.set("empty", value: .string(""))
        attributes.set("negative", value: .int(-1))
        attributes.set("flag", value: .bool(false))
        attributes.set("share", value: .double(0.5))
        let start: UInt64 = 1_700_000_000_000_000_000
        return [
            FinishedSpan(
                place: server,
                parent: parent,
                name: "GET /",
                kind: .server,
                start: start,
                end: start + 5,
                attributes: attributes
            ),
            FinishedSpan(
                place: client,
                parent: server,
                name: "GET",
                kind: .client,
                start: start + 1,
                end: start + 4,
                attributes: [:],
                isError: true
            ),
            FinishedSpan(
                place: client,
                parent: nil,
                name: "alone",
                kind: .internal,
                start: 1,
                end: 1,
                attributes: [:]
            ),
        ]
    }

    @Test func aReaderFindsWhatWasWritten() throws {
        let bytes = Array(encoder.encode(try spans()).readableBytesView)
        let decoded = try #require(DecodedSpan.decode(bytes))
        #expect(decoded.count == 3)
        #expect(decoded[0].resource == ["service.name": "shop", "service.version": "1.2"])
        #expect(decoded.map(\.traceID) == Array(repeating: "0102030405060708090a0b0c0d0e0f10", count: 3))
        #expect(decoded.map(\.spanID) == ["b1b2b3b4b5b6b7b8", "0000000000000001", "0000000000000001"])
        #expect(decoded.map(\.parentID) == ["a1a2a3a4a5a6a7a8", "b1b2b3b4b5b6b7b8", ""])
        #expect(decoded.map(\.name) == ["GET /", "GET", "alone"] && decoded.map(\.kind) == [2, 3, 1])
        #expect(decoded.map(\.state) == ["v=1", "", ""] && decoded.map(\.statusCode) == [0, 2, 0])
        #expect(decoded.map(\.flags) == [0x301, 0x101, 0x101])
        #expect(decoded[0].end - decoded[0].start == 5 && decoded[0].start == 1_700_000_000_000_000_000)
        #expect(decoded[0].attributes["url.path"] == "/käse" && decoded[0].attributes["empty"] == "")
        #expect(decoded[0].attributes["negative"] == "\(UInt64.max)")
    }

    /// The file holds bytes that the published parser reads as these spans: 'Tests/Tracing/decode'.
    @Test func theBytesAreThoseThatAnotherParserReads() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Tracing/spans.otlp")
        let written = Data(encoder.encode(try spans()).readableBytesView)
        if let place = ProcessInfo.processInfo.environment["HOLDFAST_SPANS_FILE"] {
            try written.write(to: URL(fileURLWithPath: place))
        }
        let recorded = try Data(contentsOf: file)
        #expect(written == recorded, "\(written.base64EncodedString())")
    }

    /// They are cut before they wait in the queue.
    @Test func longTextsAreCut() throws {
        let long = String(repeating: "ä", count: 5000)
        let place = try spans()[0].place
        let span = RecordedSpan(long, place, below: nil, .server, start: 0, in: .topLevel, to: nil)
        #expect(span.operationName.utf8.count == RecordedSpan.textLimit)
        span.operationName = long + "b"
        #expect(span.operationName.utf8.count == RecordedSpan.textLimit)
        func length(_ name: String) -> Int? {
            if case .string(let text)? = span.attributes.get(name) { text.utf8.count } else { nil }
        }
        span.set("url.path", .string(long))
        #expect(length("url.path") == RecordedSpan.textLimit)
        span.attributes.set("others", value: .stringArray(Array(repeating: "a", count: 5000)))
        span.attributes.set("count", value: .int(5))
        #expect(length("url.path") == RecordedSpan.textLimit && length("others") == RecordedSpan.textLimit)
        #expect(span.attributes.get("count") == .int(5))
        span.fail(long)
        #expect(length("error.type") == RecordedSpan.textLimit)
    }
}
