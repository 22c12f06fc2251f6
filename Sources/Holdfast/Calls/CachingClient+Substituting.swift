import HTTPCache
import HTTPCacheSemantics
import HoldfastContent
import NIOCore

extension CachingClient {
    /// Returns the value that a plugin supplies for a missing response.
    ///
    /// - Parameters:
    ///   - error: the reason that the call failed.
    ///   - maySubstitute: with `false`, plugins may replace the error but may not supply a value.
    /// - Throws: `error`, the error with which a plugin replaced it, or the reason that a plugin's
    ///   content cannot be read.
    @concurrent
    func substitute<Value: Sendable>(
        for error: any Error,
        in call: Call<Value>,
        maySubstitute: Bool = true
    ) async throws -> Delivery<Value> {
        let plugins = plugins.and(call.options.plugins)
        guard !plugins.substituting.isEmpty, call.options.takesSubstitutes, !(error is CancellationError),
            !Task.isCancelled
        else { throw error }
        var failure = HoldfastError(error, target: "\(Swift.type(of: call.endpoint))")
        guard failure.isWithoutResponse, let reading = try? reading(ofFailed: call, plugins) else { throw error }
        for plugin in plugins.substituting {
            do {
                guard let content = try await plugin.substitute(for: failure, of: reading.info), maySubstitute else {
                    continue
                }
                return try reading.read(substitute: content, for: failure, call.interpret)
            } catch let error as SubstituteUnreadable {
                throw error.reason
            } catch {
                if error is CancellationError { throw error }
                failure = failure.replaced(by: error)
            }
        }
        throw failure
    }
}

/// Ends the search for a substitute, because a plugin supplied unreadable content.
private struct SubstituteUnreadable: Error {
    var reason: HoldfastError
}

extension ContentReading {
    /// Reads a plugin's content as if it were a response, and marks the emission as a substitute.
    fileprivate func read<Value: Sendable>(
        substitute content: ResponseContent,
        for failure: HoldfastError,
        _ interpret: Call<Value>.Interpret
    ) throws -> Delivery<Value> {
        let bytes = ByteBuffer(bytes: content.data)
        let reader = ContentReader(head: content.head, bytes: bytes, kept: nil, reading: self)
        let value: Value
        do {
            try reader.runChecks()
            value = try reader.interpreted(interpret)
        } catch {
            var reason = HoldfastError(error, target: target.description)
            reason.cause = failure
            throw SubstituteUnreadable(reason: reason)
        }
        let emission = Emission(
            value: value,
            source: .substitute,
            isStale: true,
            status: content.head.status,
            fields: content.head.headerFields,
            outcome: CacheOutcome(detail: .substitute)
        )
        return Delivery(emission: emission, bytes: bytes, limit: maximumBodyBytes)
    }
}

extension HoldfastError {
    /// Returns a plugin's `HoldfastError` instead of this failure, or this failure with any other
    /// error as its cause.
    fileprivate func replaced(by error: any Error) -> HoldfastError {
        if let error = error as? HoldfastError { return error }
        var changed = self
        changed.cause = error
        return changed
    }
}
