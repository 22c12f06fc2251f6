public import HTTPCache
public import HTTPCacheSemantics
import NIOCore
import Synchronization

/// Wraps a working store and fails on demand.
///
/// ```swift
/// let store = FaultyResponseStore(InMemoryResponseStore())
/// store.fail([.finish], .afterwards)                    // torn: done, reported as failed
/// store.failRandomly(seed: seed, probability: 0.05)     // the same for a seed
/// store.hold([.lookup], at: gate)                       // slow: until the test opens the gate
/// ```
public final class FaultyResponseStore: ResponseStore {
    /// The operations that can fail.
    public enum Operation: String, Sendable, Hashable, CaseIterable {
        /// ``FaultyResponseStore/lookup(_:)``.
        case lookup
        /// ``FaultyResponseStore/openBody(of:range:)``.
        case openBody
        /// ``FaultyResponseStore/beginWrite(_:fencingNumber:)``.
        case beginWrite
        /// `append` of a writer.
        case append
        /// `finish` of a writer.
        case finish
        /// ``FaultyResponseStore/freshen(_:with:fencingNumber:)``.
        case freshen
        /// ``FaultyResponseStore/invalidate(_:_:at:)`` and ``FaultyResponseStore/withdraw(_:)``.
        case invalidate
    }

    /// The point at which a failing operation fails.
    public enum Moment: String, Sendable, Hashable, CaseIterable {
        /// The operation fails before it starts.
        case beforehand
        /// The operation succeeds but reports a failure. ``Operation/append`` writes half of the
        /// bytes.
        case afterwards
    }

    /// The error of a failing operation.
    public struct Failure: Error, Sendable, Hashable {
        /// The operation that failed.
        public let operation: Operation
    }

    private struct Chance {
        var random: SeededRandom
        var probability: Double
        var operations: Set<Operation>
    }

    private struct State {
        var failing: [Operation: Moment] = [:]
        var chance: Chance?
        var gates: [Operation: Gate] = [:]
        var bodyLimit: Int64?
        var failures: [Operation] = []

        mutating func moment(of operation: Operation) -> Moment? {
            var moment = failing[operation]
            if moment == nil, var chance, chance.operations.contains(operation) {
                // Each operation draws the same number of random values, so that a run can be
                // repeated.
                let isFailing = Double.random(in: 0..<1, using: &chance.random) < chance.probability
                let drawn: Moment = Bool.random(using: &chance.random) ? .beforehand : .afterwards
                self.chance = chance
                if isFailing { moment = drawn }
            }
            if moment != nil { failures.append(operation) }
            return moment
        }
    }

    private let base: any ResponseStore
    private let state = Mutex(State())

    /// Creates a store that works like `base` until failures are configured.
    public init(_ base: any ResponseStore) { self.base = base }

    /// Makes exactly these operations fail from now on, in addition to random failures.
    public func fail(_ operations: Set<Operation>, _ moment: Moment = .beforehand) {
        state.withLock { state in
            state.failing = [:]
            for operation in operations { state.failing[operation] = moment }
        }
    }

    /// Makes these operations fail at random from now on, either before they start or after they
    /// have succeeded.
    ///
    /// - Parameters:
    ///   - seed: the seed of the failures. The same seed and the same calls in the same order
    ///     produce the same failures.
    ///   - probability: the probability of a failure, from 0 (never) to 1 (always).
    public func failRandomly(
        seed: UInt64,
        probability: Double,
        of operations: Set<Operation> = Set(Operation.allCases)
    ) {
        let chance = Chance(random: SeededRandom(seed: seed), probability: probability, operations: operations)
        state.withLock { $0.chance = chance }
    }

    /// Makes these operations wait at a gate before they start. Replaces the operations of previous
    /// calls.
    public func hold(_ operations: Set<Operation>, at gate: Gate) {
        state.withLock { state in
            state.gates = [:]
            for operation in operations { state.gates[operation] = gate }
        }
    }

    /// Makes every body that is opened from now on throw after this number of bytes, if it is
    /// longer; `nil` restores complete bodies.
    public func breakBodies(after bytes: Int64?) {
        state.withLock { $0.bodyLimit = bytes }
    }

    /// Stops all configured and random failures, stops breaking bodies, and stops holding
    /// operations that have not started to wait.
    public func recover() {
        state.withLock { $0 = State(failures: $0.failures) }
    }

    /// The operations that failed, in order.
    public var failures: [Operation] { state.withLock { $0.failures } }

    /// Runs an operation, or fails it.
    fileprivate func perform<Value: Sendable>(
        _ operation: Operation,
        half: (() async throws -> Void)? = nil,
        _ body: () async throws -> Value
    ) async throws -> Value {
        let (moment, gate) = state.withLock { ($0.moment(of: operation), $0.gates[operation]) }
        try await gate?.wait()
        switch moment {
        case nil: return try await body()
        case .beforehand: break
        case .afterwards: if let half { try await half() } else { _ = try await body() }
        }
        throw Failure(operation: operation)
    }

    // MARK: ResponseStore

    /// See `ResponseStore`.
    public var invalidationSequence: InvalidationSequence { base.invalidationSequence }

    /// See `ResponseStore`.
    public var changes: StoreChangeFeed { base.changes }

    /// Always `nil`, so that every lookup can fail.
    public func resident(_ key: StoreKey) -> [StoredResponse]? { nil }

    /// See `ResponseStore`.
    public func lookup(_ key: StoreKey) async throws -> [StoredResponse] {
        try await perform(.lookup) { try await base.lookup(key) }
    }

    /// See `ResponseStore`.
    public func openBody(of response: StoredResponse, range: Range<Int64>?) async throws -> BodyStream? {
        let body = try await perform(.openBody) { try await base.openBody(of: response, range: range) }
        guard let body, let limit = state.withLock({ $0.bodyLimit }) else { return body }
        return body.breaking(after: limit)
    }

    /// See `ResponseStore`.
    public func beginWrite(
        _ draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> (any StoredResponseWriter)? {
        let writer = try await perform(.beginWrite) { try await base.beginWrite(draft, fencingNumber: fencingNumber) }
        return writer.map { Writer(store: self, base: $0) }
    }

    /// See `ResponseStore`.
    public func freshen(
        _ response: StoredResponse,
        with draft: ResponseDraft,
        fencingNumber: InvalidationSequence
    ) async throws -> StoredResponse? {
        try await perform(.freshen) { try await base.freshen(response, with: draft, fencingNumber: fencingNumber) }
    }

    /// See `ResponseStore`. To make it fail, use ``Operation/invalidate``.
    public func withdraw(_ response: StoredResponse) async throws -> Bool {
        try await perform(.invalidate) {
            try await base.withdraw(response)
        }
    }

    /// See `ResponseStore`.
    public func invalidate(
        _ scope: InvalidationScope,
        _ effect: InvalidationEffect,
        at now: Timestamp
    ) async throws -> InvalidationSequence {
        try await perform(.invalidate) {
            try await base.invalidate(scope, effect, at: now)
        }
    }

    /// See `ResponseStore`.
    public func noteNeeded(_ response: StoredResponse) { base.noteNeeded(response) }

    private final class Writer: StoredResponseWriter {
        private let store: FaultyResponseStore
        private let base: any StoredResponseWriter

        init(store: FaultyResponseStore, base: any StoredResponseWriter) {
            self.store = store
            self.base = base
        }

        func append(_ chunk: ByteBuffer) async throws {
            try await store.perform(.append) {
                let half = chunk.getSlice(at: chunk.readerIndex, length: chunk.readableBytes / 2) ?? ByteBuffer()
                if half.readableBytes > 0 { try await self.base.append(half) }
            } _: {
                try await base.append(chunk)
            }
        }

        var readableLength: Int64 { get async { await base.readableLength } }

        func readBack(from offset: Int64) async throws -> ByteBuffer { try await base.readBack(from: offset) }

        func finish() async throws -> StoredResponse? {
            try await store.perform(.finish) { try await base.finish() }
        }

        func abandon() async { await base.abandon() }
    }
}

extension BodyStream {
    fileprivate func breaking(after limit: Int64) -> BodyStream {
        BodyStream(length: length) {
            var iterator = makeAsyncIterator()
            var left = limit
            var rest: ByteBuffer?
            return {
                let next = if let rest { rest } else { try await iterator.next() }
                guard var chunk = next else { return nil }
                guard left > 0 else { throw FaultyResponseStore.Failure(operation: .openBody) }
                let part = chunk.readSlice(length: Int(Swift.min(left, Int64(chunk.readableBytes)))) ?? chunk
                rest = chunk.readableBytes > 0 ? chunk : nil
                left -= Int64(part.readableBytes)
                return part
            }
        }
    }
}

/// A broken body stands for a damaged one.
extension FaultyResponseStore.Failure: StoredContentFailure {}
