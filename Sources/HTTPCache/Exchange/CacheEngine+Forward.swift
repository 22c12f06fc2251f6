package import HTTPCacheSemantics
import HTTPTypes
import Logging

extension CacheEngine {
    /// Takes a request to the origin past the store: a method or a request that no stored response
    /// may answer.
    ///
    /// A success of an unsafe method invalidates what is stored for its target, before the caller
    /// sees the answer. RFC 9111 §4.4
    func forward(_ prepared: PreparedRequest) async throws -> CacheResponse {
        let (request, target) = (prepared.request, prepared.target)
        if let refusal = prepared.refusalToForward(mode: prepared.mode) { throw refusal }
        let response: TransportResponse
        do {
            let origin = Origin(target)
            let sending = try await prepared.sending().withContentBegun(for: request.client)
            try await enter(origin, request.client, within: prepared.hardTimeout(options))
            defer { origins.leave(origin, request.client) }
            response = try await send(sending, to: origin, for: prepared, isProbed: false)
        } catch let overload as OriginRegistry.Overload {
            throw ExchangeError.overloaded(request, overload, options)
        } catch {
            try Task.checkCancellation()
            // It waited for its turn when the cache was shut down.
            if error is CancellationError { throw ExchangeError.shutDown(request) }
            throw prepared.refusal(after: error, at: clock.now()) ?? error
        }
        if !request.isContentKeyed {
            await invalidate(after: response.head, to: prepared)
        }
        return CacheResponse(
            head: response.head,
            body: response.body,
            source: .network,
            age: 0,
            isStale: false,
            isValidated: false,
            stored: nil,
            outcome: CacheOutcome(forward: request.forwardReason, notStored: request.isKeyed ? .bypass : .method)
        )
    }

    /// Invalidates what a success of an unsafe method may have changed, before its caller sees the
    /// answer: the target, what `Location` and `Content-Location` name, and the groups it names
    /// itself. RFC 9111 §4.4, RFC 9875 §3
    ///
    /// What a DELETE deleted is removed: its own target, and nothing that it names.
    private func invalidate(after response: HTTPResponse, to prepared: PreparedRequest) async {
        let (request, target) = (prepared.request.head, prepared.target)
        let targets = policy.invalidatedTargets(by: response, to: request, target: target)
        var changes: [(scope: InvalidationScope, effect: InvalidationEffect)] = []
        if targets.contains(target), prepared.request.invalidatesTarget {
            let isDeleted = request.method == .delete && response.status.kind == .successful
            changes += scopes(of: [target], for: prepared, isOwn: true).map { scope in
                // A tag is others' too.
                if case .target = scope, isDeleted { (scope, .remove) } else { (scope, .mark(.unsafeMethod)) }
            }
        }
        var others = scopes(of: targets.filter { $0 != target }, for: prepared, isOwn: false)
        if options.usesCacheGroups {
            others += target.tags(ofGroups: policy.invalidatedGroups(by: response, to: request)).map(
                InvalidationScope.tag
            )
        }
        changes += others.map { ($0, .mark(.unsafeMethod)) }
        let now = clock.now()
        var done: Set<InvalidationScope> = []
        for (scope, effect) in changes where done.insert(scope).inserted {
            await recovering("invalidate") { try await self.store.invalidate(scope, effect, at: now) }
        }
    }

    /// What is invalidated with targets: each as it came, as it was sent, and as it is keyed, in
    /// all partitions.
    ///
    /// - Parameters:
    ///   - prepared: the request that names them, or whose answer does.
    ///   - isOwn: they are the request's own.
    func scopes(of named: [TargetURI], for prepared: PreparedRequest, isOwn: Bool) -> [InvalidationScope] {
        var targets = named
        if let secrets = prepared.request.secrets {
            // Those of other requests are keyed without them, too, and a record of what was
            // invalidated is stored.
            targets = targets.map { secrets.withheld(from: $0).target }
        }
        if prepared.rules != nil, !targets.isEmpty {
            // Both as it came and as it was sent, and each as it is keyed.
            if isOwn { targets.append(prepared.shownTarget) }
            let override = prepared.presented.overrides
            var keyed: [TargetURI] = []
            for target in targets.flatMap({ keyedTargets(of: $0, like: prepared.request.head, overriding: override) })
            where !keyed.contains(target) {
                keyed.append(target)
            }
            targets = keyed
        }
        var scopes = targets.map(InvalidationScope.target)
        if options.usesNoVarySearch {
            // By their tag, because rules are known per partition, and the responses of all
            // partitions are concerned.
            scopes += targets.compactMap(\.searchTag).map(InvalidationScope.tag)
        }
        return scopes
    }

    /// The same, where an exchange may wait for a disk.
    func recovering<Value: Sendable>(
        _ operation: StaticString,
        at place: ExchangePlace,
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        guard case .own(let executor) = place else { return await recovering(operation, body) }
        await executor.readyToBlock()
        return await recovering(operation, inPlace: true, body)
    }

    /// Does something with the store; when that fails, the fact is counted and logged, and the
    /// exchange goes on without it.
    ///
    /// - Parameter isInPlace: the executor that the calling task prefers may be kept by it.
    @discardableResult
    func recovering<Value: Sendable>(
        _ operation: StaticString,
        inPlace isInPlace: Bool = false,
        _ body: @escaping @Sendable () async throws -> Value
    ) async -> Value? {
        do {
            return try await isInPlace ? body() : awayFromLoops(body)
        } catch {
            metrics.recordStoreFailure()
            logger.warning("Store failed", metadata: ["store.operation": "\(operation)", "error": "\(error)"])
            return nil
        }
    }
}

extension PreparedRequest {
    /// Whether no origin may be asked.
    func mayOnlyUseStored(mode: OfflineMode) -> Bool {
        mode == .offline || request.preference == .storedOnly || policy.isOnlyIfCached(request.head)
    }

    /// Why a request that only the origin may answer is not sent to it in a mode; `nil` where it
    /// is.
    package func refusalToForward(mode: OfflineMode) -> ExchangeError? {
        guard mayOnlyUseStored(mode: mode) else { return nil }
        return ExchangeError(
            code: .offlineMiss,
            message: "'\(request.head.method) \(request.redactedTarget)' needs the origin, and "
                + (mode == .offline ? "the mode is 'offline'." : "only the store was asked."),
            status: 504,
            outcome: CacheOutcome(forward: request.forwardReason, detail: mode == .offline ? .offline : nil)
        )
    }

    /// What it ends with where only the origin may answer, and gave no answer.
    package func refusal(after error: any Error, at now: Timestamp) -> ExchangeError? {
        let machine = ExchangeMachine(self, now: now)
        guard case .refuse(var refusal) = machine.originFailed(error) else { return nil }
        refusal.outcome.forward = request.forwardReason
        return refusal
    }
}

extension CacheRequest {
    /// Why it is forwarded, where no stored response may answer.
    package var forwardReason: CacheOutcome.ForwardReason { isKeyed ? .bypass : .method }

    /// What is sent for this request, under another head (with the cache's validators, say).
    func sending(_ head: HTTPRequest) -> TransportRequest {
        TransportRequest(head: head, body: body?.stream, onInformational: onInformational, context: context)
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
