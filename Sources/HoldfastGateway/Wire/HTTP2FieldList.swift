import CNGHTTP2
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import NIOCore

/// The fields of a response's head or trailer section, before they are prepared for nghttp2. RFC
/// 9113 §8.3.2
struct HTTP2FieldList {
    fileprivate var bytes = ByteBuffer()
    fileprivate var lengths: [(name: Int, value: Int)] = []
    /// The positions in ``bytes`` of the values that depend on the time.
    private(set) var places = TimeOffsets()

    /// Creates the head of a final response.
    init(_ head: GatewayResponseHead, _ content: ResponseContent) {
        self.init(head.response.status)
        // HTTP/2 has no 'Upgrade'. RFC 9113 §8.2.2
        append(head.response.headerFields) {
            $0 != "upgrade" && (content.passesLength || $0 != "content-length")
        }
        append("via", head.via)
        let start = bytes.readableBytes + "cache-status".utf8.count
        append("cache-status", head.cacheStatus)
        if let digits = head.timeToLive {
            places.timeToLive = start + digits.lowerBound..<start + digits.upperBound
        }
        if content.isWritten, let length = content.rest { append("content-length", length.description) }
    }

    /// Creates the head of an interim response. It has no content, so it has no length. RFC 9110
    /// §8.6
    init(interim head: HTTPResponse) {
        self.init(head.status)
        append(head.headerFields) { $0 != "content-length" }
    }

    /// Creates the fields of a trailer section. RFC 9113 §8.1
    init(trailers: HTTPFields) { append(trailers) { _ in true } }

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
                let start = bytes.readableBytes + name.utf8.count
                if name == "age" { places.age = start..<start + value.count }
                lengths.append((bytes.writeString(name), bytes.writeBytes(value)))
            }
        }
    }

    private mutating func append(_ name: StaticString, _ value: String) {
        lengths.append((bytes.writeStaticString(name), bytes.writeString(value)))
    }

    /// Whether the fields can be rewritten for another time.
    var isTimed: Bool { places.age != nil && places.timeToLive != nil }

    /// The approximate size of the fields in memory, in bytes.
    var cost: Int { bytes.readableBytes + lengths.count * 48 }

    /// Returns the same fields at another time; `nil` if none of their values depends on the time.
    /// The result cannot be rewritten again.
    func at(age: Int64, timeToLive: Int64) -> HTTP2FieldList? {
        guard let oldAge = places.age, let oldTime = places.timeToLive else { return nil }
        var list = self
        // From the end, so that the other position remains valid.
        let changes = [(oldAge, String(age)), (oldTime, String(timeToLive))]
        for (place, text) in changes.sorted(by: { $0.0.lowerBound > $1.0.lowerBound }) {
            list.replace(place, with: text)
        }
        list.places = TimeOffsets()
        return list
    }

    private mutating func replace(_ place: Range<Int>, with text: String) {
        let start = bytes.readerIndex
        guard let head = bytes.getSlice(at: start, length: place.lowerBound),
            let tail = bytes.getSlice(at: start + place.upperBound, length: bytes.readableBytes - place.upperBound)
        else { return }
        var end = 0
        for index in lengths.indices {
            end += lengths[index].name + lengths[index].value
            guard end >= place.upperBound else { continue }
            lengths[index].value += text.utf8.count - place.count
            break
        }
        bytes = head
        bytes.writeString(text)
        bytes.writeImmutableBuffer(tail)
    }
}

/// Fields in the form that nghttp2 accepts without a copy.
///
/// nghttp2 sends them as never-indexed fields (RFC 7541 §6.2.3). So the client's table stays empty,
/// and one list serves every connection.
final class HTTP2Fields {
    let pointer: UnsafeMutablePointer<nghttp2_nv>
    let count: Int
    private let bytes: UnsafeMutablePointer<UInt8>

    init(_ list: HTTP2FieldList) {
        count = list.lengths.count
        pointer = .allocate(capacity: count)
        bytes = .allocate(capacity: list.bytes.readableBytes)
        list.bytes.withUnsafeReadableBytes {
            UnsafeMutableRawBufferPointer(start: bytes, count: $0.count).copyMemory(from: $0)
        }
        let flags = [NGHTTP2_NV_FLAG_NO_INDEX, NGHTTP2_NV_FLAG_NO_COPY_NAME, NGHTTP2_NV_FLAG_NO_COPY_VALUE]
            .reduce(0) { $0 | $1.rawValue }
        var place = bytes
        for (index, length) in list.lengths.enumerated() {
            let value = place + length.name
            let field = nghttp2_nv(
                name: place,
                value: value,
                namelen: length.name,
                valuelen: length.value,
                flags: UInt8(flags)
            )
            (pointer + index).initialize(to: field)
            place = value + length.value
        }
    }

    deinit {
        pointer.deallocate()
        bytes.deallocate()
    }
}
