import GatewayRouting
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HTTPWire
import OriginConnections

/// Everything that changes one route's responses on their way out, in order.
///
/// A class, because each exchange refers to its route's instance.
final class ResponseTransforms: Sendable {
    /// How fields are rewritten; `nil` if they are not.
    private let rewriting: ResponseRewriting?
    private let transforms: [any ContentTransform]

    /// How the gateway sends a response's content.
    enum Plan {
        case unchanged
        /// Through the stages of a chain.
        case chain(ContentChain)
        /// See ``ContentUse/partial``.
        case partial
        /// See ``ContentUse/maybePartial``.
        case maybePartial
    }

    init(rewriting: ResponseRewriting?, compression: ResponseCompression?) {
        self.rewriting = rewriting
        var transforms: [any ContentTransform] = []
        if let rewriting, rewriting.concernsContent { transforms.append(rewriting) }
        // Last, because compressed content cannot be rewritten.
        if let compression { transforms.append(compression) }
        self.transforms = transforms
    }

    /// Changes the fields of any response, also of an interim one, for example the links of a 103
    /// (RFC 8297).
    ///
    /// - Returns: whether no other client may get these fields.
    func changeFields(_ fields: inout HTTPFields, for client: GatewayClient, of request: GatewayRequest) -> Bool {
        guard let rewriting else { return false }
        return rewriting.rewriteFields(&fields, for: rewriting.client(client, of: request))
    }

    /// Changes the head of a response, and decides how its content is sent.
    func plan(
        _ head: inout GatewayResponseHead,
        of response: CacheResponse,
        for admission: ClientAdmission,
        _ request: GatewayRequest
    ) -> Plan {
        if changeFields(&head.response.headerFields, for: admission.client, of: request) { head.isForOneClient = true }
        guard !transforms.isEmpty || response.isToBeDecoded else { return .unchanged }
        let subject = TransformedResponse(
            request: request,
            admission: admission,
            stored: response.stored,
            length: response.isToBeDecoded
                ? nil
                : (request.method == .head ? nil : response.body.length)
                    ?? ContentLength(head.response.headerFields).bytes
        )
        var transforms = transforms
        if response.isToBeDecoded { transforms.insert(ResponseDecoding(), at: 0) }
        var stages: [any ContentStage] = []
        for transform in transforms {
            switch transform.handle(&head, of: subject) {
            case .unchanged: break
            case .transformed(let stage): stages.append(stage)
            case .partial: return .partial
            case .maybePartial: return .maybePartial
            }
        }
        return stages.isEmpty ? .unchanged : .chain(ContentChain(stages))
    }

    /// Whether no part of a complete response with this head may be sent.
    func needsWhole(_ whole: HTTPResponse) -> Bool { transforms.contains { $0.needsWhole(whole) } }

    /// Whether a response must not be relayed unchanged.
    func concerns(_ response: any RelayedResponse) -> Bool {
        guard let message = response as? RelayedMessage else { return true }
        if rewriting != nil, message.hasReferences { return true }
        guard !transforms.isEmpty, let type = message.contentType else { return false }
        return transforms.contains { $0.concerns(contentType: type) }
    }

    /// Changes a request so that its response can be transformed.
    func adaptRequest(_ fields: inout HTTPFields, _ method: HTTPRequest.Method) {
        for transform in transforms { transform.adaptRequest(&fields, method) }
    }
}
