package import HTTPTypes
package import NIOCore

/// A complete response that no cache may store. Its head is not parsed, because the caller only
/// forwards the response.
package protocol RelayedResponse: AnyObject, Sendable {
    /// The final response's status code.
    var status: Int { get }
    /// The complete content.
    var content: ByteBuffer { get }
    /// Parses the head. The result equals the ``TransportResponse/head`` of a request without
    /// ``TransportRequest/mayBeRelayed``.
    func parsedHead() -> HTTPResponse
}
