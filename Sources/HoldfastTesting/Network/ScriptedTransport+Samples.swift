import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
public import Holdfast
import NIOCore

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// An error for an endpoint that cannot be scripted.
public struct ScriptError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The endpoint and the missing part.
    public var message: String
    /// The message.
    public var description: String { message }
}

// Without this, `localizedDescription` would state only the type and a number.
extension ScriptError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}

extension ScriptedTransport.Reply {
    /// Creates a reply from an endpoint's sample.
    public init(_ sample: SampleResponse) {
        self.init(
            head: HTTPResponse(status: sample.status, headerFields: sample.fields),
            chunks: sample.content.isEmpty ? [] : [ByteBuffer(bytes: sample.content)]
        )
    }
}

extension ScriptedTransport {
    /// Makes the transport answer an endpoint's requests with its `Endpoint.sampleResponse` from
    /// now on.
    ///
    /// Requests are matched by method and target, so fields that plugins add make no difference.
    ///
    /// - Parameters:
    ///   - environment: the client's environment, for endpoints without their own base URL.
    ///   - defaults: the client's default parameters, which are part of the target.
    /// - Throws: ``ScriptError``, which names the endpoint, if the endpoint has no sample, or
    ///   `HoldfastError` if no request can be built for the endpoint.
    public func script(
        samplesOf endpoint: some Endpoint,
        environment: ServerEnvironment? = nil,
        defaults: RequestDefaults = RequestDefaults()
    ) throws {
        guard let sample = endpoint.sampleResponse.asOptional else {
            let type: any Endpoint.Type =
                (endpoint as? AnyEndpoint).map { Swift.type(of: $0.base) } ?? Swift.type(of: endpoint)
            throw ScriptError(
                message:
                    "The endpoint '\(type)' with the path '\(endpoint.path)' has no sample. Define its 'sampleResponse'."
            )
        }
        let head = try endpoint.request(environment: environment, defaults: defaults).head
        guard let target = TargetURI(request: head) else {
            throw ScriptError(message: "The request of the endpoint '\(Swift.type(of: endpoint))' has no target.")
        }
        script(target.uri, method: head.method, repeating: Reply(sample))
    }
}
