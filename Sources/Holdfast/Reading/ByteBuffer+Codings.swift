import HTTPTypes
import NIOCore

extension ByteBuffer {
    /// The content without its content codings. RFC 9110 §8.4
    func decoded(codings fields: HTTPFields, upTo limit: Int) throws -> ByteBuffer {
        self
    }
}
