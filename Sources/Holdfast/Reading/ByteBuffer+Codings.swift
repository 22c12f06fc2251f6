import HTTPTypes
import NIOCore

extension ByteBuffer {
    /// The content without its content codings. RFC 9110 §8.4
    ///
    /// - Parameters:
    ///   - fields: the response's. Without `Content-Encoding` nothing is copied.
    ///   - limit: bytes that are made at most, by each of the codings.
    ///   - target: what was asked for, for messages.
    /// - Throws: ``HoldfastError`` with code `bodyTooLarge`, or `decodingFailed`: a coding that is
    ///   not known, content that ends too early or is damaged.
    func decoded(codings fields: HTTPFields, upTo limit: Int, of target: MessageTarget) throws -> ByteBuffer {
        guard fields.contains(.contentEncoding), readableBytes > 0 else { return self }
        var content = self
        for coding in try ContentCoding.list(fields, of: target).reversed() {
            do {
                content = try Inflating.decoded(content, coding, upTo: limit)
            } catch let failure as Inflating.Failure {
                throw HoldfastError(failure, coding: "\(coding)", limit: limit, target: target)
            }
        }
        return content
    }
}

extension HoldfastError {
    fileprivate init(_ failure: Inflating.Failure, coding: String, limit: Int, target: MessageTarget) {
        switch failure {
        case .tooLarge:
            self.init(
                code: .bodyTooLarge,
                message: "The content of '\(target)' has more than \(limit) bytes without its coding '\(coding)', "
                    + "the limit for decoding. Raise 'maximumBodyBytes', or stream the response.",
                cause: failure
            )
        case .truncated:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' ends before its coding '\(coding)' does.",
                cause: failure
            )
        case .damaged:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' is no '\(coding)', or was damaged.",
                cause: failure
            )
        }
    }
}
