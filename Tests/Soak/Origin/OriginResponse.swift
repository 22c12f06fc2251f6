import Foundation

/// A response that an origin is about to write.
struct OriginResponse {
    enum Framing { case length, chunked, close }

    var status: Int
    var fields: [(name: String, value: String)] = []
    var content: [UInt8] = []
    var framing = Framing.length
    /// Interim responses in the same segment.
    var before: [UInt8] = []
    /// Interim responses that were written already.
    var written: [UInt8] = []
    /// By how much the length is less than the content.
    var missing = 0
    private let isHead: Bool

    /// Makes the response to a request for a representation: 200, 206, 304, 404 …
    init(_ representation: Representation, to request: OriginRequest) {
        let resource = representation.resource
        isHead = request.method == "HEAD"
        status = representation.status
        fields = [
            ("Date", Self.date()), ("Content-Type", "text/plain"), ("X-Soak-Target", resource.target),
            ("X-Soak-Version", "\(representation.version)"), ("X-Soak-Selector", representation.selector),
        ]
        if resource.isUnique || request.isUnsafe {
            fields.append(("X-Soak-Number", request.number))
            fields.append(("X-Soak-Took", "\(request.content.count) \(request.content.digest)"))
        }
        guard !request.isUnsafe else {
            content = Array("done\n".utf8)
            return
        }
        if let control = resource.cacheControl(status: status) { fields.append(("Cache-Control", control)) }
        if resource.kind == .tongue { fields.append(("Vary", "Accept-Language")) }
        if resource.kind == .mine { fields.append(("Vary", "Authorization, Cookie")) }
        guard status == 200 else {
            content = representation.bytes
            if resource.hasValidators { fields.append(("ETag", representation.entityTag)) }
            return
        }
        if resource.hasValidators { fields.append(("ETag", representation.entityTag)) }
        if resource.hasValidators, request.head["if-none-match"] == representation.entityTag {
            status = 304
        } else if let range = Self.range(request, representation) {
            status = 206
            let stated = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(representation.count)"
            fields.append(("Content-Range", stated))
            content = representation.bytes(range)
        } else {
            content = representation.bytes
        }
    }

    private static func range(_ request: OriginRequest, _ representation: Representation) -> Range<Int>? {
        guard request.method == "GET", request.resource.isHonest,
            let value = request.head["range"], value.hasPrefix("bytes=")
        else { return nil }
        if let condition = request.head["if-range"], condition != representation.entityTag { return nil }
        let parts = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int(parts[0]), first < representation.count else { return nil }
        let last = min(Int(parts[1]) ?? .max, representation.count - 1)
        return first <= last ? first..<(last + 1) : nil
    }

    var head: [UInt8] {
        var text = "HTTP/1.1 \(status) \(status == 200 ? "OK" : "Other")\r\n"
        for field in fields { text += "\(field.name): \(field.value)\r\n" }
        if status != 304 {
            switch framing {
            case .length: text += "Content-Length: \(content.count - missing)\r\n"
            case .chunked: text += "Transfer-Encoding: chunked\r\n"
            case .close: break
            }
        }
        return before + Array((text + "\r\n").utf8)
    }

    /// The content as it is on the wire.
    var framed: [UInt8] {
        guard !isHead, status != 304 else { return [] }
        guard framing == .chunked else { return content }
        return content.chunked(at: content.count / 2)
    }

    var bytes: [UInt8] { head + framed }

    /// A whole response without a request.
    static func smuggled(_ number: Int) -> [UInt8] {
        let text =
            "HTTP/1.1 200 OK\r\nDate: \(date())\r\nContent-Length: 9\r\nCache-Control: max-age=60\r\n"
            + "X-Soak-Target: /smuggled/\(number)\r\nX-Soak-Smuggled: \(number)\r\n\r\nsmuggled\n"
        return Array(text.utf8)
    }

    static func date() -> String {
        var now = time(nil)
        var parts = tm()
        gmtime_r(&now, &parts)
        var text = [CChar](repeating: 0, count: 64)
        let count = strftime(&text, 64, "%a, %d %b %Y %H:%M:%S GMT", &parts)
        return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
