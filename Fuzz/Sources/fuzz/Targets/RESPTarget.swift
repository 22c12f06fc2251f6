import NIOCore

@testable import RedisTier

/// Replies of a server. They give the same result however they are cut, and within the limits.
func resp(_ input: UnsafeBufferPointer<UInt8>) {
    let bytes = Array(input)
    let wide = replies(bytes, RESPLimits())
    let narrow = replies(bytes, .narrow)
    // Narrow limits end it sooner, and change nothing before.
    if case .limit = narrow.error?.code {
        require(wide.messages.starts(with: narrow.messages), "\(narrow) is no beginning of \(wide)")
    } else {
        require(narrow == wide, "\(narrow) within the limits, \(wide)")
    }
}

/// The messages of a parser as texts, with values that equal nothing, such as no number.
private struct Replies: Equatable {
    var messages: [String] = []
    var error: RedisTierError?
}

/// Parses bytes as a whole, one by one, and in pieces. All results must agree.
private func replies(_ bytes: [UInt8], _ limits: RESPLimits) -> Replies {
    let whole = replies([bytes[...]], limits)
    let single = replies(bytes.indices.map { bytes[$0...$0] }, limits)
    require(single == whole, "byte by byte \(single), whole \(whole)")
    let cut = replies(bytes.cut(), limits)
    require(cut == whole, "in pieces \(cut), whole \(whole)")
    return whole
}

private func replies(_ pieces: [ArraySlice<UInt8>], _ limits: RESPLimits) -> Replies {
    var parser = RESPParser(limits: limits)
    var result = Replies()
    // An incomplete line or string is all that waits.
    let most = max(limits.lineLength, limits.bulkLength) + 3
    do throws(RedisTierError) {
        for piece in pieces {
            parser.append(ByteBuffer(bytes: piece))
            while let message = try parser.next() { result.messages.append(checked(message, limits)) }
            require(parser.undecodedCount <= most, "\(parser.undecodedCount) bytes wait for more")
        }
    } catch {
        result.error = error
        parser.append(ByteBuffer(string: "+OK\r\n"))
        do throws(RedisTierError) {
            let message = try parser.next()
            require(false, "\(String(describing: message)) follows an error")
        } catch let again {
            require(again == error && parser.undecodedCount == 0, "\(error) becomes \(again)")
        }
    }
    return result
}

private func checked(_ message: RESPMessage, _ limits: RESPLimits) -> String {
    var count = 0
    let text: String
    let depth: Int
    switch message {
    case .reply(let value): (text, depth) = checked(value, limits, &count)
    case .push(let elements):
        require(!elements.isEmpty, "a push has no kind")
        let inner = checked(elements, limits, &count)
        (text, depth) = ("push \(inner.text)", inner.depth + 1)
    }
    require(depth <= limits.depth, "a reply has depth \(depth)")
    // The value itself is not in an aggregate.
    require(count <= limits.valueCount + 1, "a reply has \(count) values")
    return text
}

private func checked(_ value: RESPValue, _ limits: RESPLimits, _ count: inout Int) -> (text: String, depth: Int) {
    count += 1
    switch value {
    case .simpleString(let bytes), .bigNumber(let bytes):
        require(bytes.readableBytes <= limits.lineLength, "a line has \(bytes.readableBytes) bytes")
        require(!bytes.readableBytesView.contains { $0 == 0x0D || $0 == 0x0A }, "a line has a line end")
        return ("line \(Array(bytes.readableBytesView))", 0)
    case .bulkString(let bytes), .verbatimString(_, let bytes):
        require(bytes.readableBytes <= limits.bulkLength, "a string has \(bytes.readableBytes) bytes")
        return ("string \(Array(bytes.readableBytesView))", 0)
    case .error(let error): return ("error \(error.text)", 0)
    case .integer, .double, .boolean, .null: return ("\(value)", 0)
    case .array(let elements):
        let inner = checked(elements, limits, &count)
        return ("array \(inner.text)", inner.depth + (elements.isEmpty ? 0 : 1))
    case .set(let elements):
        let inner = checked(elements, limits, &count)
        return ("set \(inner.text)", inner.depth + (elements.isEmpty ? 0 : 1))
    case .map(let entries):
        let inner = checked(entries.flatMap { [$0.key, $0.value] }, limits, &count)
        return ("map \(inner.text)", inner.depth + (entries.isEmpty ? 0 : 1))
    }
}

private func checked(_ elements: [RESPValue], _ limits: RESPLimits, _ count: inout Int) -> (text: String, depth: Int) {
    require(elements.count <= limits.aggregateCount, "an aggregate has \(elements.count) values")
    var depth = 0
    let texts = elements.map { element in
        let inner = checked(element, limits, &count)
        depth = max(depth, inner.depth)
        return inner.text
    }
    return ("\(texts)", depth)
}

extension RESPLimits {
    /// Limits that short inputs reach.
    fileprivate static var narrow: RESPLimits {
        var limits = RESPLimits()
        limits.bulkLength = 20
        limits.lineLength = 16
        limits.depth = 3
        limits.aggregateCount = 6
        limits.valueCount = 10
        limits.replyLength = 100
        limits.attributeCount = 2
        return limits
    }
}
