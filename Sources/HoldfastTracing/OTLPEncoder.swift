import NIOCore
import Tracing

/// Encodes spans as an OTLP `ExportTraceServiceRequest` message, in protobuf.
///
/// The field numbers come from `opentelemetry/proto`: `trace/v1/trace.proto`,
/// `resource/v1/resource.proto`, `common/v1/common.proto`.
struct OTLPEncoder: Sendable {
    /// The attributes of this process.
    let resource: [(name: String, value: String)]
    let scope: String
    let version: String

    func encode(_ spans: [FinishedSpan]) -> ByteBuffer {
        var request = ProtobufMessage()
        request.message(1) { resourceSpans in
            resourceSpans.message(1) { message in
                for (name, value) in resource { message.message(1) { $0.keyValue(name, .string(value)) } }
            }
            resourceSpans.message(2) { scopeSpans in
                scopeSpans.message(1) { message in
                    message.text(1, scope)
                    message.text(2, version)
                }
                for span in spans { scopeSpans.message(2) { $0.write(span) } }
            }
        }
        return request.bytes
    }
}

extension ProtobufMessage {
    fileprivate mutating func write(_ span: FinishedSpan) {
        id(1, [span.place.traceID.high, span.place.traceID.low])
        id(2, [span.place.spanID])
        text(3, span.place.state)
        if let parent = span.parent { id(4, [parent.spanID]) }
        text(5, span.name)
        number(6, span.kind.number)
        fixed64(7, span.start)
        fixed64(8, span.end)
        // Sort by name, so that equal spans have equal bytes.
        var attributes: [(String, SpanAttribute)] = []
        span.attributes.forEach { attributes.append(($0, $1)) }
        for (name, value) in attributes.sorted(by: { $0.0 < $1.0 }) { message(9) { $0.keyValue(name, value) } }
        if span.isError { message(15) { $0.number(3, 2) } }
        // The W3C flags, and whether the parent is in another process.
        let remote: UInt32 = span.parent.map { 0x100 | ($0.isRemote ? 0x200 : 0) } ?? 0x100
        fixed32(16, (span.place.isSampled ? 1 : 0) | remote)
    }

    fileprivate mutating func keyValue(_ name: String, _ value: SpanAttribute) {
        text(1, name)
        message(2) { message in
            switch value {
            // Empty and zero values are also written, because a missing value means that there is
            // none.
            case .string(let text): message.bytes(1, Array(text.utf8))
            case .bool(let bool): message.number(2, bool ? 1 : 0)
            case .int32(let number): message.number(3, UInt64(bitPattern: Int64(number)))
            case .int64(let number): message.number(3, UInt64(bitPattern: number))
            case .double(let number): message.fixed64(4, number.bitPattern)
            // Spans have no other types of values.
            default: message.bytes(1, Array("\(value)".utf8))
            }
        }
    }

    private mutating func id(_ field: Int, _ numbers: [UInt64]) {
        bytes(field, numbers.flatMap { number in (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } })
    }
}

extension SpanKind {
    fileprivate var number: UInt64 {
        switch self {
        case .internal: 1
        case .server: 2
        case .client: 3
        case .producer: 4
        case .consumer: 5
        }
    }
}
