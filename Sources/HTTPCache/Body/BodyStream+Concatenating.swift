package import HTTPCacheSemantics
import NIOCore

extension BodyStream {
    /// A part of a concatenated body.
    package enum Part: Sendable {
        case buffer([UInt8])
        case stream(BodyStream)
    }

    /// Returns a body with the content of the parts, in order. Each part is opened when the
    /// previous part has been read.
    ///
    /// - Parameter length: the total length of all parts, in bytes.
    package static func concatenating(_ parts: [Part], length: StatedLength?) -> BodyStream {
        BodyStream(length: length) {
            var rest = parts[...]
            var current: AsyncIterator?
            return {
                while true {
                    if let chunk = try await current?.next() { return chunk }
                    current = nil
                    switch rest.popFirst() {
                    case .buffer(let bytes):
                        if !bytes.isEmpty { return ByteBuffer(bytes: bytes) }
                    case .stream(let body): current = body.makeAsyncIterator()
                    case nil: return nil
                    }
                }
            }
        }
    }

    /// Returns this body without its first bytes.
    func dropping(_ count: StatedLength) -> BodyStream {
        guard count > 0 else { return self }
        let body = self
        return BodyStream(length: length.map { $0.subtracting(count) ?? 0 }) {
            var iterator = body.makeAsyncIterator()
            var rest = count
            return {
                while var chunk = try await iterator.next() {
                    let skipped = rest.capped(at: chunk.readableBytes)
                    chunk.moveReaderIndex(forwardBy: skipped)
                    rest = rest.subtracting(skipped) ?? 0
                    if chunk.readableBytes > 0 { return chunk }
                }
                return nil
            }
        }
    }
}
