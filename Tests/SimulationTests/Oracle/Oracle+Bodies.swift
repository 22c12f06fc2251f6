import HTTPCache
import HTTPTypes
import NIOCore

extension Oracle {
    /// A complete body equals, byte for byte, the origin's representation.
    func judgeBody(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?) {
        let status = response.head.status.code
        if status == 206, call.fields[.range] == nil { report(call, "a part, though the whole was requested") }
        if let error = call.bodyError { return judgeBroken(call, error, last, brought) }
        if status == 304 { return judgeNotModified(call, response, last, brought) }
        guard call.hasWholeBody, call.method == .get, status != 416 else { return }
        guard let brought, let representation = brought.representation else {
            if call.body.readableBytes > 0 { report(call, "a body that no origin sent") }
            return
        }
        let bytes = world.bytes(of: representation)
        if status != 206 {
            if status != representation.status {
                report(call, "status of another response than its body's (\(representation.status))")
            }
            if call.body == bytes { return }
            if isCutQuietly(response, brought) { return }
            return report(
                call,
                "\(call.body.readableBytes) bytes that are not the \(bytes.readableBytes) of entry \(brought.number) "
                    + "(\(representation.opaqueTag), \(brought.body))"
            )
        }
        guard let range = response.head.headerFields[.contentRange].flatMap(Self.range) else {
            return judgeParts(call, response, bytes)
        }
        guard range.total == bytes.readableBytes, range.bytes.upperBound <= bytes.readableBytes,
            let part = bytes.getSlice(at: range.bytes.lowerBound, length: range.bytes.count)
        else { return report(call, "Content-Range of another representation than entry \(brought.number)") }
        if call.body != part, !isCutQuietly(response, brought) {
            report(call, "bytes that are not those of its Content-Range in entry \(brought.number)")
        }
    }

    /// Whether the transport ended a short body like a whole one. A body that is only relayed
    /// passes as it is.
    private func isCutQuietly(_ response: CacheResponse, _ brought: OriginEntry) -> Bool {
        response.source == .network && brought.body == .cutQuietly
    }

    static func range(_ text: String) -> (bytes: Range<Int>, total: Int)? {
        let parts = text.dropFirst(6).split { $0 == "-" || $0 == "/" }
        guard text.hasPrefix("bytes "), parts.count == 3, let first = Int(parts[0]), let last = Int(parts[1]),
            let total = Int(parts[2]), first <= last
        else { return nil }
        return (first..<(last + 1), total)
    }

    /// `multipart/byteranges`: each part has the bytes of its stated range. RFC 9110 §14.6
    private func judgeParts(_ call: Call, _ response: CacheResponse, _ bytes: ByteBuffer) {
        guard let type = response.head.headerFields[.contentType], let place = type.range(of: "boundary=") else {
            return report(call, "206 without Content-Range or boundary")
        }
        let boundary = type[place.upperBound...].filter { $0 != "\"" }
        var body = call.body
        var count = 0
        while true {
            guard let head = Self.readHead(&body) else { return report(call, "parts that cannot be read") }
            guard head.first(where: { !$0.isEmpty })?.hasPrefix("--\(boundary)") == true else {
                return report(call, "a part without its boundary")
            }
            if head.contains("--\(boundary)--") { break }
            guard
                let range = head.first(where: { $0.lowercased().hasPrefix("content-range:") })
                    .flatMap({ Self.range(String($0.dropFirst(14).drop { $0 == " " })) }),
                range.total == bytes.readableBytes, let part = body.readSlice(length: range.bytes.count),
                part == bytes.getSlice(at: range.bytes.lowerBound, length: range.bytes.count)
            else { return report(call, "a part that does not match its Content-Range") }
            count += 1
        }
        if count < 2 { report(call, "multipart of \(count) parts") }
    }

    /// Lines up to an empty one that is not the first, or to the end.
    private static func readHead(_ body: inout ByteBuffer) -> [String]? {
        var lines: [String] = []
        while true {
            guard let end = body.readableBytesView.firstIndex(of: 0x0A) else {
                guard body.readableBytes > 0 || !lines.isEmpty else { return nil }
                if let rest = body.readString(length: body.readableBytes) { lines.append(rest) }
                return lines
            }
            guard let line = body.readString(length: end - body.readerIndex + 1)?.dropLast(while: { $0.isNewline })
            else { return nil }
            if line.isEmpty, !lines.isEmpty, lines.contains(where: { !$0.isEmpty }) { return lines }
            lines.append(line)
            if line.hasPrefix("--"), line.hasSuffix("--") { return lines }
        }
    }

    private func judgeNotModified(_ call: Call, _ response: CacheResponse, _ last: OriginEntry, _ brought: OriginEntry?)
    {
        if call.body.readableBytes > 0 { report(call, "304 with a body") }
        if response.source == .network, !response.isValidated {
            // Relayed: the origin sent it to this caller.
            if last.call != call.number, last.status == 304 { report(call, "got call \(last.call)'s 304") }
            return
        }
        let hasCondition = call.fields[.ifNoneMatch] != nil || call.fields[.ifModifiedSince] != nil
        if !hasCondition { return report(call, "304 to a request without conditions") }
        guard let condition = call.fields[.ifNoneMatch], condition != "*", let brought,
            let representation = brought.representation
        else { return }
        guard let tag = world.resources[call.resource].entityTag(representation),
            condition.split(separator: ",").contains(where: { weak($0) == weak(tag[...]) })
        else { return report(call, "304, and the caller has another representation") }
    }

    /// A body breaks off only if its origin, its caller or a shutdown interrupted it.
    private func judgeBroken(_ call: Call, _ error: any Error, _ last: OriginEntry, _ brought: OriginEntry?) {
        if call.isCancelled || world.isShutDown { return }
        let entries = [last, brought].compactMap { $0 }
        if entries.contains(where: { $0.body == .broken || $0.body == .cutQuietly }) { return }
        // A body that is removed may fail for slow readers, and each part of a multipart body is
        // opened separately.
        if world.configuration.storeFaults > 0, error is BodyStreamError || error is SimulatedStore.Fault { return }
        if case BodyStreamError.fellBehind = error, world.resources[call.resource].maximumLength > 1_000_000 { return }
        report(call, "its body broke off: \(error)")
    }
}

extension String {
    fileprivate func dropLast(while condition: (Character) -> Bool) -> String {
        var text = self
        while let last = text.last, condition(last) { text.removeLast() }
        return text
    }

    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            start = index(after: start)
        }
        return nil
    }
}
