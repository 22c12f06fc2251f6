import HTTPCache
import HTTPCacheSemantics
import NIOCore

extension BodyStream {
    /// The maximum number of bytes in a piece while progress is reported.
    private static let reportedSize = 64 << 10

    /// Returns the same content in pieces of at most 64 KiB. Reports each piece when the transport
    /// takes it.
    func reportingUpload(_ handler: @escaping TransferProgress.Handler) -> BodyStream {
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
                handler(
                    TransferProgress(
                        direction: .upload,
                        completed: completed,
                        total: body.length?.bytes(upTo: TransferProgress.largestTotal)
                    )
                )
                return piece
            }
        }
    }

    /// Returns the same content. Reports each piece when it is read.
    ///
    /// - Parameter offset: the number of bytes that were received before this content.
    func reportingDownload(after offset: Int64 = 0, total: StatedLength?, _ handler: @escaping TransferProgress.Handler)
        -> BodyStream
    {
        let body = self
        let total = total?.bytes(upTo: TransferProgress.largestTotal)
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
    /// Returns the body. If it comes from the network, reports its progress.
    func reportingDownload(_ handler: TransferProgress.Handler?) -> BodyStream {
        guard let handler, source == .network, !isValidated else { return body }
        return body.reportingDownload(total: body.length, handler)
    }
}
