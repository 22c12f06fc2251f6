import HTTPCacheSemantics
import HTTPTypes
import Logging

extension CacheEngine {
    /// Takes a request to the origin past the store: a method or a request that no stored response may answer.
    ///
    /// A success of an unsafe method invalidates what is stored for its target, before the caller sees the answer. RFC 9111 §4.4
    func forward(_ request: CacheRequest, to target: TargetURI) async throws -> CacheResponse {
        let reason = request.forwardReason
        if let refusal = refusalToForward(request, to: target, mode: mode) { throw refusal }
        let response: TransportResponse
        do {
            let origin = Origin(target)
            try await enter(origin)
            defer { origins.leave(origin) }
            response = try await send(request.sending(request.head), to: origin, probe: nil)
        } catch let overload as OriginRegistry.Overload {
            throw ExchangeError.overloaded(request.head, overload, options)
        } catch {
            try Task.checkCancellation()
            // It waited for its turn when the cache was shut down.
            if error is CancellationError { throw ExchangeError.shutDown(request.head) }
            let machine = ExchangeMachine(
                request: request,
                selecting: request.head,
                mode: mode,
                policy: policy,
                now: clock.now()
            )
            guard case .refuse(var refusal) = machine.originFailed(error) else { throw error }
            refusal.outcome.forward = reason
            throw refusal
        }
        if !request.isContentKeyed {
            await invalidate(after: response.head, to: request.head, target)
        }
        return CacheResponse(
            head: response.head,
            body: response.body,
            source: .network,
            age: 0,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: CacheOutcome(forward: reason)
        )
    }

    /// Why a request that only the origin may answer is not sent to it; `nil` where it is.
    func refusalToForward(_ request: CacheRequest, to target: TargetURI, mode: OfflineMode) -> ExchangeError? {
        guard mode == .offline || request.preference == .storedOnly || policy.isOnlyIfCached(request.head) else {
            return nil
        }
        return ExchangeError(
            code: .offlineMiss,
            message: "'\(request.head.method) \(target.redacted)' needs the origin, and "
                + (mode == .offline ? "the mode is 'offline'." : "only the store was asked."),
            status: 504,
            outcome: CacheOutcome(forward: request.forwardReason, detail: mode == .offline ? .offline : nil)
        )
    }

    /// Invalidates what a success of an unsafe method may have changed, before its caller sees the answer: the target, what `Location` and
    /// `Content-Location` name, and the groups it names itself. RFC 9111 §4.4, RFC 9875 §3
    private func invalidate(after response: HTTPResponse, to request: HTTPRequest, _ target: TargetURI) async {
        let targets = policy.invalidatedTargets(by: response, to: request, target: target)
        var scopes = targets.map(InvalidationScope.target)
        if options.usesNoVarySearch {
            // By their tag, because rules are known per partition, and the responses of all partitions are concerned.
            scopes += targets.compactMap(\.searchTag).map(InvalidationScope.tag)
        }
        if options.usesCacheGroups {
            scopes += target.tags(ofGroups: policy.invalidatedGroups(by: response, to: request)).map(
                InvalidationScope.tag
            )
        }
        let now = clock.now()
        for scope in scopes {
            await recovering("invalidate") { try await store.invalidate(scope, keepingForOffline: true, at: now) }
        }
    }

    /// Does something with the store; when that fails, the fact is counted and logged, and the exchange goes on without it.
    @discardableResult
    func recovering<Value>(_ operation: StaticString, _ body: () async throws -> Value) async -> Value? {
        do {
            return try await body()
        } catch {
            metrics.recordStoreFailure()
            logger.warning("Store failed", metadata: ["store.operation": "\(operation)", "error": "\(error)"])
            return nil
        }
    }
}

extension CacheRequest {
    /// Why it is forwarded, where no stored response may answer.
    var forwardReason: CacheOutcome.ForwardReason { isKeyed ? .bypass : .method }

    /// What is sent for this request, under another head (with the cache's validators, say).
    func sending(_ head: HTTPRequest) -> TransportRequest {
        TransportRequest(head: head, body: body?.stream, onInformational: onInformational)
    }
}

extension HTTPRequest.Method {
    /// RFC 9110 §9.2.1; QUERY by RFC 10008
    var isSafe: Bool {
        switch rawValue {
        case "GET", "HEAD", "OPTIONS", "TRACE", "QUERY": true
        default: false
        }
    }
}
