import CNGHTTP2
import HTTPTypes
import NIOCore

/// The fields of a response, as nghttp2 takes them. RFC 9113 §8.3.2
///
/// They are never indexed (RFC 7541 §6.2.3): the client's table stays empty, so a list is the same
/// on each connection.
struct HTTP2FieldList {
    private var bytes = ByteBuffer()
    private var lengths: [(name: Int, value: Int)] = []

    /// The head of a final response.
    init(_ head: GatewayResponseHead, _ content: ResponseContent) {
        self.init(head.response.status)
        append(head.response.headerFields) { content.passesLength || $0 != "content-length" }
        append("via", head.via)
        append("cache-status", head.cacheStatus)
        if content.isWritten, let length = content.rest { append("content-length", String(length)) }
    }

    /// The head of an interim response. RFC 9110 §8.6: a response without content has no length.
    init(interim head: HTTPResponse) {
        self.init(head.status)
        append(head.headerFields) { $0 != "content-length" }
    }

    private init(_ status: HTTPResponse.Status) {
        bytes.reserveCapacity(1024)
        lengths.reserveCapacity(16)
        append(":status", String(status.code))
    }

    private mutating func append(_ fields: HTTPFields, where isWritten: (String) -> Bool) {
        // By index, because a loop over the fields would copy each one.
        for index in fields.indices {
            let name = fields[index].name.canonicalName
            guard isWritten(name) else { continue }
            fields[index].withUnsafeBytesOfValue { value in
                guard value.allSatisfy(\.isFieldValueByte) else { return }
                lengths.append((bytes.writeString(name), bytes.writeBytes(value)))
            }
        }
    }

    private mutating func append(_ name: StaticString, _ value: String) {
        lengths.append((bytes.writeStaticString(name), bytes.writeString(value)))
    }

    func withFields<Result>(_ body: (UnsafeMutablePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        var bytes = bytes
        return bytes.withUnsafeMutableReadableBytes { bytes in
            withUnsafeTemporaryAllocation(of: nghttp2_nv.self, capacity: lengths.count) { fields in
                var place = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                for (index, length) in lengths.enumerated() {
                    let value = place?.advanced(by: length.name)
                    let field = nghttp2_nv(
                        name: place,
                        value: value,
                        namelen: length.name,
                        valuelen: length.value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
                    )
                    fields.initializeElement(at: index, to: field)
                    place = value?.advanced(by: length.value)
                }
                return body(fields.baseAddress, lengths.count)
            }
        }
    }
}
