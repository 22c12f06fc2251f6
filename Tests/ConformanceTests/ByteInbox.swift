import NIOCore
import Synchronization

/// The received bytes of one connection, which its reader takes in pieces.
final class ByteInbox: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isEnded = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func receive(_ bytes: some Sequence<UInt8>) {
        state.withLock { state in
            state.bytes += bytes
            return state.waiter.take()
        }?.resume()
    }

    /// The peer sends no more.
    func end() {
        state.withLock { state in
            state.isEnded = true
            return state.waiter.take()
        }?.resume()
    }

    /// A message's head, without the empty line at its end; `nil` if the connection ended before
    /// the head did.
    func takeHead() async -> [UInt8]? {
        let end: [UInt8] = [13, 10, 13, 10]
        return await take { bytes in bytes.firstRange(of: end)?.upperBound }.map { $0.dropLast(4) }
    }

    /// A line, without its end.
    func takeLine() async -> [UInt8]? {
        await take { bytes in bytes.firstRange(of: [13, 10] as [UInt8])?.upperBound }.map { $0.dropLast(2) }
    }

    /// So many bytes.
    func take(_ count: Int) async -> [UInt8]? {
        await take { bytes in bytes.count >= count ? count : nil }
    }

    /// The next bytes, at least one; `nil` when the peer has ended.
    func takeSome() async -> [UInt8]? {
        await take { bytes in bytes.isEmpty ? nil : bytes.count }
    }

    /// All bytes until the peer ends.
    func takeRest() async -> [UInt8] {
        _ = await take { _ in nil }
        return state.withLock { state in
            defer { state.bytes = [] }
            return state.bytes
        }
    }

    private func take(_ length: (borrowing [UInt8]) -> Int?) async -> [UInt8]? {
        while true {
            let step: (taken: [UInt8]?, isOver: Bool, searched: Int) = state.withLock { state in
                guard let count = length(state.bytes) else { return (nil, state.isEnded, state.bytes.count) }
                let taken = Array(state.bytes.prefix(count))
                state.bytes.removeFirst(count)
                return (taken, true, count)
            }
            if step.isOver { return step.taken }
            await withCheckedContinuation { continuation in
                let hasMore = state.withLock { state in
                    // More may have come since the search: nothing would wake a reader for that.
                    if state.bytes.count != step.searched || state.isEnded { return true }
                    state.waiter = continuation
                    return false
                }
                if hasMore { continuation.resume() }
            }
        }
    }
}

/// Fills an inbox from a channel.
final class InboxHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    let inbox: ByteInbox

    init(_ inbox: ByteInbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        inbox.receive(unwrapInboundIn(data).readableBytesView)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .some(ChannelEvent.inputClosed) = event as? ChannelEvent { inbox.end() }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

/// Bytes as text, one scalar each, so that no byte is lost in any encoding.
extension String {
    init(bytes: some Sequence<UInt8>) {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: bytes.map { Unicode.Scalar($0) })
        self.init(text)
    }

    /// Scalars above 255 do not occur in the table.
    var bytes: [UInt8] { unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
}

/// A message's first line and fields, split at the line ends.
struct MessageHead {
    var start: [Substring]
    var fields = WireFields()

    init(bytes: [UInt8]) {
        let lines = String(bytes: bytes).components("\r\n")
        start = (lines.first ?? "").split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.add(String(line[..<colon]), String(value.reversed().drop { $0 == " " || $0 == "\t" }.reversed()))
        }
    }
}

extension String {
    /// Splits at every occurrence. It compares scalars, because `\r\n` is one character in a
    /// String.
    fileprivate func components(_ separator: String) -> [Substring] {
        var result: [Substring] = []
        var rest = self[...]
        while let range = rest.unicodeScalars.firstRange(of: separator.unicodeScalars) {
            result.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return result + [rest]
    }
}
