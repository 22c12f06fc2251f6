import CacheRules
import HTTPCache
import HTTPCacheSemantics
import HTTPTypes
import HoldfastContent

/// A call that is ready to run: the request for the engine, and the way to read its response.
struct PreparedCall: Sendable {
    var request: CacheRequest
    var reading: ContentReading

    /// The target for messages, with secrets redacted.
    var target: String { reading.target.description }

    /// Data for the request layer's own transports; `nil` if they have nothing to do.
    var context: CallContext? { request.context as? CallContext }
}

extension CachingClient {
    /// Makes a call's request, and lets the plugins change it.
    ///
    /// - Throws: `HoldfastError` with code `urlMissing`, `invalidURL`, `parametersMissing`,
    ///   `encodingFailed` or `invalidRule`, or with the code for a plugin's or encoder's error;
    ///   `CancellationError`.
    func prepare<Value: Sendable>(
        _ call: Call<Value>,
        for purpose: CallInfo.Purpose,
        attempt: Int = 0
    ) async throws -> PreparedCall {
        let plugins = plugins.and(call.options.plugins)
        do {
            return try finish(call, try await applyPlugins(call, for: purpose, attempt, by: plugins), plugins)
        } catch {
            if error is CancellationError { throw error }
            throw HoldfastError(preparing: error, for: call.endpoint)
        }
    }

    /// Prepares a call that no plugin prepares.
    func prepareAtOnce<Value: Sendable>(_ call: Call<Value>, for purpose: CallInfo.Purpose) throws -> PreparedCall {
        try finish(call, try begin(call, for: purpose, 0, secrets: configuration.defaults.secrets), plugins)
    }

    /// Returns the way to read content that replaces a failed call's response.
    func reading(ofFailed call: Call<some Sendable>, _ plugins: PluginList) throws -> ContentReading {
        let secrets = plugins.preparing.reduce(configuration.defaults.secrets) { $0.union($1.secrets) }
        return try finish(call, try begin(call, for: .network, 0, secrets: secrets), plugins).reading
    }

    private typealias Unfinished = (request: CacheRequest, info: CallInfo)

    private func begin(
        _ call: Call<some Sendable>,
        for purpose: CallInfo.Purpose,
        _ attempt: Int,
        secrets: Secrets
    ) throws -> Unfinished {
        // Read the number before anything names the principal.
        let fencingNumber = store.invalidationSequence
        var request = try request(
            for: call.endpoint,
            softTimeout: call.softTimeout,
            offlineReads: call.options.offlineReads
        )
        request.fencingNumber = fencingNumber
        let mode = engine.mode(for: request)
        let info = CallInfo(
            number: call.number ?? nextNumber(),
            endpoint: call.endpoint,
            environment: configuration.environment,
            secrets: secrets.union(call.endpoint.secrets),
            mode: mode,
            // In `offline` mode nothing is sent, so plugins need not prepare for the network.
            purpose: mode == .offline ? .lookup : purpose,
            attempt: attempt
        )
        return (request, info)
    }

    private func applyPlugins(
        _ call: Call<some Sendable>,
        for purpose: CallInfo.Purpose,
        _ attempt: Int,
        by plugins: PluginList
    ) async throws -> Unfinished {
        let secrets = plugins.preparing.reduce(configuration.defaults.secrets) { $0.union($1.secrets) }
        noteStore(of: call.options.plugins)
        var (request, info) = try begin(call, for: purpose, attempt, secrets: secrets)
        if !plugins.preparing.isEmpty { info.preparation = CallInfo.nextPreparation() }
        for plugin in plugins.preparing {
            try await plugin.prepare(&request, for: info)
        }
        if !plugins.preparing.isEmpty, !info.secrets.isEmpty { request.name(info.secrets) }
        return (request, info)
    }

    private func finish(_ call: Call<some Sendable>, _ unfinished: Unfinished, _ plugins: PluginList) throws
        -> PreparedCall
    {
        let (endpoint, options) = (call.endpoint, call.options)
        var (request, info) = unfinished
        let target = request.target
        if options.acceptsCompression ?? configuration.acceptsCompression { request.acceptCompression() }
        // Requesting compression changes only fields, so the target stays the same.
        request.target = target
        // A mutation is neither served from the store nor collapsed with another request.
        if !call.usesStore || endpoint.isMutation { request.storage = .never }
        // By default, the method determines this.
        if endpoint.isIdempotent != request.head.method.isIdempotent { request.isIdempotent = endpoint.isIdempotent }
        request.reuseWithin = options.reuseWithin
        if let executor = call.executor { request.executionContext = .own(executor) }
        let retry = retryPolicy(of: call, sending: request.body)
        let context = CallContext(
            info: info,
            observers: plugins.observing,
            retry: retry,
            retries: retry.limit > 0 ? RetryCount() : nil,
            isIdempotent: endpoint.isIdempotent,
            onProgress: options.onProgress,
            body: request.body
        )
        if !context.isEmpty { request.context = context }
        let reading = reading(
            of: endpoint,
            options,
            plugins.processing,
            info,
            head: request.head
        )
        return PreparedCall(request: request, reading: reading)
    }

    /// Returns the policy for retrying a call's request: `never` if its content cannot be sent
    /// twice.
    func retryPolicy(of call: Call<some Sendable>, sending body: RequestBody?) -> RetryPlan {
        guard call.mayRepeat(body) else { return .never }
        return call.options.retry ?? call.endpoint.retry.asOptional ?? configuration.retry
    }

    private func reading(
        of endpoint: any Endpoint,
        _ options: CallOptions,
        _ processors: [any ProcessingPlugin],
        _ info: CallInfo,
        head: HTTPRequest
    ) -> ContentReading {
        let envelope: Envelope? =
            switch options.envelope ?? endpoint.envelope {
            case .inherited: configuration.envelope
            case .none: nil
            case .custom(let envelope): envelope
            }
        let decoding = ContentDecoding(
            decoder: options.decoder ?? configuration.decoder,
            envelope: envelope,
            path: options.valuePath ?? endpoint.valuePath,
            emptyContent: options.emptyContent ?? endpoint.emptyContent
        )
        return ContentReading(
            decoding: decoding,
            acceptedStatuses: options.acceptedStatuses ?? endpoint.acceptedStatuses,
            maximumBodyBytes: options.maximumBodyBytes ?? endpoint.maximumBodyBytes.asOptional
                ?? configuration.maximumBodyBytes,
            checks: endpoint.isGraphQL ? [GraphQLErrors.check] + options.checks : options.checks,
            processors: processors,
            info: info,
            // A call's own decoder cannot be recognized later, and plugins may act differently each
            // time.
            identity: options.decoder == nil && processors.isEmpty ? identities.identity(of: decoding) : nil,
            target: MessageTarget(head, hiding: info.secrets),
            onProgress: options.onProgress
        )
    }
}

extension CacheRequest {
    /// Requests compressed content, unless the request is a HEAD, has a `Range`, or has its own
    /// `Accept-Encoding`. A range of compressed content cannot be decoded on its own.
    fileprivate mutating func acceptCompression() {
        guard head.method != .head, !head.headerFields.contains(.acceptEncoding), !head.headerFields.contains(.range)
        else { return }
        head.headerFields.append(Self.acceptedCodings)
    }

    private static let acceptedCodings = HTTPField(name: .acceptEncoding, value: ContentCoding.accepted)
}

extension Endpoint {
    fileprivate var isGraphQL: Bool {
        if case .graphQL = task { true } else { false }
    }
}

extension HTTPTask {
    /// Whether content that is read while it is being sent can be read again, as files can.
    var isReadAgain: Bool {
        switch self {
        case .file, .multipart: true
        case .plain, .parameters, .urlEncoded, .encodable, .data, .download, .graphQL: false
        }
    }
}

extension RequestBody {
    /// Whether the content is in memory, so that it can be sent again.
    var isInMemory: Bool {
        if case .buffer = self { true } else { false }
    }
}

extension GraphQLErrors {
    @Sendable fileprivate static func check(_ content: ResponseContent) throws {
        do {
            try check(content.data)
        } catch var error as HoldfastError {
            error.status = content.head.status
            throw error
        }
    }
}
