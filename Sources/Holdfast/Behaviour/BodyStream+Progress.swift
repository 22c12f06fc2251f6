import HTTPCache
import NIOCore

extension BodyStream {
    /// The largest piece that is sent at once while somebody hears of the progress.
    private static let reportedSize = 64 << 10

    /// The same content in pieces of at most 64 KiB, each told of when it is taken.
    func sending(_ handler: @escaping TransferProgress.Handler) -> BodyStream {
        let body = self
        return BodyStream(length: length) {
            var iterator = body.makeAsyncIterator()
            var rest = ByteBuffer()
            var completed: Int64 = 0
            return {
                while rest.readableBytes == 0 {
                    guard let chunk = try await iterator.next() else { return nil }
                    rest = chunk
                }
                guard let piece = rest.readSlice(length: Swift.min(rest.readableBytes, Self.reportedSize)) else {
                    return nil
                }
                completed += Int64(piece.readableBytes)
                handler(TransferProgress(direction: .upload, completed: completed, total: body.length))
                return piece
            }
        }
    }

    /// The same content, each piece told of when it is read.
    ///
    /// - Parameter offset: bytes that were there before.
    func arriving(after offset: Int64 = 0, total: Int64?, _ handler: @escaping TransferProgress.Handler) -> BodyStream {
        let body = self
        return BodyStream(length: length) {
            var iterator = body.makeAsyncIterator()
            var completed = offset
            return {
                guard let chunk = try await iterator.next() else { return nil }
                completed += Int64(chunk.readableBytes)
                handler(TransferProgress(direction: .download, completed: completed, total: total))
                return chunk
            }
        }
    }
}

extension CacheResponse {
    /// Its body, told of where it comes over the wire.
    func arriving(_ handler: TransferProgress.Handler?) -> BodyStream {
        guard let handler, source == .network, !isValidated else { return body }
        return body.arriving(total: body.length, handler)
    }
}
