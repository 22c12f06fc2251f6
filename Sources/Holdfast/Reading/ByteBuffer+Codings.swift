import HTTPTypes
import HoldfastContent
import NIOCore

extension ByteBuffer {
    /// Returns the content with its content codings removed. RFC 9110 §8.4
    ///
    /// - Parameters:
    ///   - fields: the response's fields. If there is no `Content-Encoding`, no bytes are copied.
    ///   - limit: the maximum number of bytes that each coding may produce.
    ///   - target: the name of the request, for messages.
    /// - Throws: `HoldfastError` with code `bodyTooLarge` if the limit is exceeded, or
    ///   `decodingFailed` if a coding is unknown, if there are more than two codings, or if the
    ///   content is damaged or truncated.
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
                message: "After decoding '\(coding)', the content of '\(target)' exceeds \(limit) bytes, "
                    + "the limit for decoding. Raise 'maximumBodyBytes', or stream the response.",
                cause: failure
            )
        case .truncated:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' ends in the middle of its coding '\(coding)'.",
                cause: failure
            )
        case .damaged:
            self.init(
                code: .decodingFailed,
                message: "The content of '\(target)' is not '\(coding)', or is damaged.",
                cause: failure
            )
        }
    }
}
