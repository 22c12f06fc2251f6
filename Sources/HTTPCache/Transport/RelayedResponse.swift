package import HTTPTypes
package import NIOCore

/// A whole response whose head its transport has not parsed. No cache may store it; its caller
/// passes it on.
package protocol RelayedResponse: AnyObject, Sendable {
    /// The final response's status code.
    var status: Int { get }
    /// All of the content.
    var content: ByteBuffer { get }
    /// Parses the head. The result equals the ``TransportResponse/head`` that a request without
    /// ``TransportRequest/mayBeRelayed`` gets.
    func parsedHead() -> HTTPResponse
}
