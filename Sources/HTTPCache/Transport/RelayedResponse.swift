package import HTTPTypes
package import NIOCore

/// A complete response whose head its transport has not parsed. No cache may store it; its caller
/// passes it on.
package protocol RelayedResponse: AnyObject, Sendable {
    /// The final response's status code.
    var status: Int { get }
    /// The complete content.
    var content: ByteBuffer { get }
    /// Parses the head. The result equals the ``TransportResponse/head`` of a request without
    /// ``TransportRequest/mayBeRelayed``.
    func parsedHead() -> HTTPResponse
}
