import HTTPCache
import Logging

extension InvalidationSharing {
    /// The waits between two attempts to use the engine, shortest and longest. An attempt without
    /// a connection sends nothing: the pauses between connections are the engine's.
    private static let waits = (first: Duration.milliseconds(50), longest: Duration.milliseconds(250))
    /// How long a reading waits for the log's next entry, and the pause between two heartbeats.
    private static let beat = Duration.seconds(1)
    /// Epochs that begin one after the other before it counts as a failure.
    private static let epochsInARow = 8

    /// Follows the log and publishes what waits, until the task is cancelled. An engine that cannot
    /// be used is tried again and again, and needs not be there at the start.
    package func run() async {
        var delay = Self.waits.first
        var epochs = 0
        begin()
        while !Task.isCancelled {
            do {
                // Before the first look at what waits, so that nothing comes between.
                let additions = additions()
                try await connect()
                while try await read(wait: .zero) > 0 {}
                try await confirm()
                try await publish()
                (delay, epochs) = (Self.waits.first, 0)
                try await stay(publishing: additions)
            } catch SharedLogError.wrongEpoch where epochs < Self.epochsInARow {
                // Another server, or a lost log: its epoch has to be begun, and read.
                epochs += 1
                disconnect(because: SharedLogError.wrongEpoch)
            } catch {
                if Task.isCancelled { break }
                fail(error)
                try? await pause(delay)
                delay = min(delay * 2, Self.waits.longest)
            }
        }
        disconnect(because: CancellationError())
    }

    /// Follows until something fails.
    private func stay(publishing additions: AsyncStream<Void>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.follow() }
            group.addTask { for await _ in additions { try await self.publishPatiently() } }
            group.addTask { try await self.beat() }
            let end = await group.nextResult()
            group.cancelAll()
            // Later confirmations may not come for long.
            try await makeDurable()
            try end?.get()
        }
    }

    private func follow() async throws {
        var allowance = TimeOutAllowance()
        while !Task.isCancelled {
            let count: Int
            do {
                count = try await read(wait: Self.beat)
                allowance.renew()
            } catch {
                try note(error, &allowance)
                continue
            }
            // Entries that come meanwhile are put in force together. A full batch is not waited
            // for: the node is behind.
            if count > 0, count < Self.batch { try await pause(Self.readingPause) }
        }
    }

    /// Publishes what waits. An entry that may be there already is not added again.
    private func publishPatiently() async throws {
        var allowance = TimeOutAllowance()
        while true {
            do {
                try await publish()
                return
            } catch {
                try note(error, &allowance)
            }
        }
    }

    private func beat() async throws {
        var allowance = TimeOutAllowance()
        var beats = 0
        while !Task.isCancelled {
            do {
                try await confirm()
                if beats % 10 == 9 { try await measureTime() }
                if beats % 60 == 59 { try await trim() }
                allowance.renew()
            } catch {
                // The contact is not extended.
                try note(error, &allowance)
            }
            beats += 1
            try await pause(Self.beat)
        }
    }

    /// - Throws: the error, unless it is one that may pass. It is counted in any case.
    private func note(_ error: any Error, _ allowance: inout TimeOutAllowance) throws {
        guard allowance.passes(error) else { throw error }
        status.countFailure("\(error)")
    }
}
