import FleetTier
import HTTPCache
import HTTPCacheSemantics
import HoldfastTesting
import NIOCore

/// An engine under test, with the operations that most rules need.
struct FleetValuesUnderTest: Sendable {
    let engine: any FleetValuesEngine
    let findings: Findings
    let seed: UInt64
    /// The deadline for each call. It is longer than any call takes.
    let limit: Duration

    /// A lifetime that does not expire during a rule.
    static let long = Duration.seconds(24 * 3600)
    /// A lifetime that expires almost immediately.
    static let short = Duration.milliseconds(1)

    func node() async throws -> FleetValuesNode {
        FleetValuesNode(values: try await engine.makeValues(), tested: self)
    }

    /// Returns a name that is unique to this number.
    func name(_ number: Int = 1) -> ValueName { ValueName("hf1:test:{contract}:\(number)") }

    func lease(_ token: UInt64, _ name: ValueName? = nil) -> FetchLease {
        var random = SeededRandom(seed: seed &* 31 &+ token)
        return FetchLease(name: name ?? self.name(1000), token: LeaseToken(using: &random))
    }

    /// Returns a value that was received at a given time, with bytes derived from a number.
    func value(_ number: Int, at time: EngineTime, length: Int = 200) -> ByteBuffer {
        var value = header(at: time)
        var random = SeededRandom(seed: seed &+ UInt64(number) &+ 4_000_000)
        value.writeBytes((value.readableBytes..<max(length, value.readableBytes)).map { _ in random.next() as UInt8 })
        return value
    }

    func header(at time: EngineTime) -> ByteBuffer {
        var value = ByteBuffer(string: ValueHeader.magic)
        value.writeBytes([1, 0, 7, 0])
        value.writeInteger(UInt64(clamping: time.milliseconds))
        value.writeRepeatingByte(0, count: ValueHeader.length - value.readableBytes)
        return value
    }

    func chunk(_ number: Int, length: Int = ValueLimits.longestChunk) -> SealedChunk {
        let byte = UInt8(truncatingIfNeeded: number &* 37 &+ 1)
        return SealedChunk(name: name(number), bytes: ByteBuffer(repeating: byte, count: length))
    }

    /// Returns the error of a call; `nil` if the call succeeds.
    func error(_ call: () async throws(FleetLogError) -> Void) async -> FleetLogError? {
        do throws(FleetLogError) {
            try await call()
            return nil
        } catch {
            return error
        }
    }

    /// Checks that a call is rejected because of a limit.
    func expectLimit(_ what: String, _ call: () async throws(FleetLogError) -> Void) async {
        let error = await error(call)
        if case .limit = error { return }
        findings.add("\(what): expected a limit error, got \(error.map { "\($0)" } ?? "none")")
    }

    /// Lets time pass until a condition is true. If the engine works, the condition becomes true.
    func wait(until isMet: () async throws -> Bool) async throws {
        while try await !isMet() {
            try Task.checkCancellation()
            await engine.passTime()
        }
    }

    /// Runs a body with increasing lifetimes until it finishes within its lifetime.
    ///
    /// - Parameter body: returns whether it finished within the lifetime.
    func race(_ body: (Int, Duration) async throws -> Bool) async throws -> (number: Int, lifetime: Duration) {
        var lifetime = Duration.milliseconds(20)
        for number in 1...12 {
            if try await body(number, lifetime) { return (number, lifetime) }
            lifetime *= 4
        }
        findings.add("no lifetime was long enough")
        throw CheckEnded()
    }
}

/// A node's values. It retries calls while the engine is unreachable, for example after a fault.
struct FleetValuesNode: Sendable {
    let values: any FleetValues
    let tested: FleetValuesUnderTest

    private var limit: Duration { tested.limit }

    func reach<Value>(_ call: () async throws(FleetLogError) -> Value) async throws -> Value {
        while true {
            do throws(FleetLogError) {
                return try await call()
            } catch {
                guard error == .unreachable, !Task.isCancelled else { throw error }
                await Task.yield()
            }
        }
    }

    func values(_ names: ValueName...) async throws -> [ByteBuffer?] {
        try await reach { () async throws(FleetLogError) in try await values.values(names, within: limit) }
    }

    func value(_ name: ValueName) async throws -> ByteBuffer? { try await values(name)[0] }

    @discardableResult
    func put(
        _ value: ByteBuffer,
        as name: ValueName,
        for lifetime: Duration = FleetValuesUnderTest.long,
        releasing lease: FetchLease? = nil
    ) async throws -> Bool {
        try await reach { () async throws(FleetLogError) in
            try await values.put(value, as: name, for: lifetime, releasing: lease, within: limit)
        }
    }

    func extend(_ names: [ValueName], for lifetime: Duration) async throws -> Bool {
        try await reach { () async throws(FleetLogError) in
            try await values.extend(names, for: lifetime, within: limit)
        }
    }

    func chunks(_ names: [ValueName]) async throws -> [ByteBuffer?] {
        try await reach { () async throws(FleetLogError) in try await values.chunks(names, within: limit) }
    }

    func putChunks(_ chunks: [SealedChunk], for lifetime: Duration = FleetValuesUnderTest.long) async throws {
        try await reach { () async throws(FleetLogError) in
            try await values.putChunks(chunks, for: lifetime, within: limit)
        }
    }

    func lead(_ lease: FetchLease, for duration: Duration = FleetValuesUnderTest.long) async throws -> LeaseAnswer {
        try await reach { () async throws(FleetLogError) in
            try await values.lead(lease, for: duration, within: limit)
        }
    }

    func readValue(_ lease: FetchLease) async throws -> LeaseReading {
        try await reach { () async throws(FleetLogError) in
            try await values.readValue(at: tested.name(), lease: lease.name, within: limit)
        }
    }

    func renew(_ lease: FetchLease, for duration: Duration = FleetValuesUnderTest.long) async throws -> Bool {
        try await reach { () async throws(FleetLogError) in
            try await values.renew(lease, for: duration, within: limit)
        }
    }

    func release(_ lease: FetchLease) async throws -> Bool {
        try await reach { () async throws(FleetLogError) in try await values.release(lease, within: limit) }
    }

    func pass(_ lease: FetchLease, for duration: Duration = FleetValuesUnderTest.long) async throws {
        try await reach { () async throws(FleetLogError) in
            try await values.pass(lease.name, for: duration, within: limit)
        }
    }
}
