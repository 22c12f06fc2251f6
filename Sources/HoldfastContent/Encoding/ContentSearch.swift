import LibC
import NIOCore

/// Searches for bytes in content that arrives in chunks, including matches that span chunks. It
/// buffers fewer bytes than the length of the text that it searches for.
struct ContentSearch {
    private let wanted: [UInt8]
    /// The end of the content so far, which may be the start of a match.
    private var tail: [UInt8] = []

    /// - Parameter wanted: the bytes to find. An empty sequence is never found.
    init(for wanted: [UInt8]) {
        self.wanted = wanted
    }

    /// Returns whether the chunk contains or completes the bytes.
    mutating func finds(in chunk: ByteBuffer) -> Bool {
        guard !wanted.isEmpty else { return false }
        let kept = wanted.count - 1
        let edge = tail + chunk.readableBytesView.prefix(kept)
        if edge.withUnsafeBytes({ holds(wanted, in: $0) }) { return true }
        if chunk.withUnsafeReadableBytes({ holds(wanted, in: $0) }) { return true }
        tail = Array((tail + chunk.readableBytesView.suffix(kept)).suffix(kept))
        return false
    }
}

/// Returns whether the bytes contain the wanted bytes.
private func holds(_ wanted: [UInt8], in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let first = wanted.first, let base = bytes.baseAddress, bytes.count >= wanted.count else { return false }
    var offset = 0
    let last = bytes.count - wanted.count
    while offset <= last, let found = memchr(base + offset, Int32(first), last - offset + 1) {
        if memcmp(found, wanted, wanted.count) == 0 { return true }
        offset = UnsafeRawPointer(found) - base + 1
    }
    return false
}
