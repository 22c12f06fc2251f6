import HTTPCache
import Logging

extension InvalidationSharing {
    /// The shortest and longest pause between two attempts to use the server. An attempt without a
    /// connection sends nothing; the Redis client limits its own connection attempts.
    private static let waits = (first: Duration.milliseconds(50), longest: Duration.milliseconds(250))
    /// The time that a read waits for the next entry, and the interval between heartbeats.
    private static let beat = Duration.seconds(1)
    /// The number of consecutive changes of epoch after which the next one counts as a failure.
    private static let epochsInARow = 8

    /// Follows the log and publishes waiting invalidations until the task is canceled. Keeps
    /// retrying while the server is unusable, including at startup.
    package func run() async {
        var delay = Self.waits.first
        var epochs = 0
        begin()
        while !Task.isCancelled {
            do {
                // Subscribe before the first check of the journal, so that no addition is missed.
                let additions = additions()
                try await connect()
                try await catchUp()
                try await confirm()
                try await publish()
                (delay, epochs) = (Self.waits.first, 0)
                try await stay(publishing: additions)
            } catch FleetLogError.wrongEpoch where epochs < Self.epochsInARow {
                // The server changed or lost its log: begin an epoch there and read the log.
                epochs += 1
                disconnect(because: FleetLogError.wrongEpoch)
            } catch {
                if Task.isCancelled { break }
                fail(error)
                try? await pause(delay)
                delay = min(delay * 2, Self.waits.longest)
            }
        }
        disconnect(because: CancellationError())
    }

    /// Follows the log until something fails.
    private func stay(publishing additions: AsyncStream<Void>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.follow() }
            group.addTask { for await _ in additions { try await self.publishPatiently() } }
            group.addTask { try await self.beat() }
            let end = await group.nextResult()
            group.cancelAll()
            // The next confirmation may take a long time.
            try await makeDurable()
            try end?.get()
        }
    }

    private func follow() async throws {
        var allowance = TimeOutAllowance()
        while !Task.isCancelled {
            let count: Int
            do {
                // After a full page, this node is behind, so it neither waits nor pauses.
                count = try await read(wait: isBehind ? .zero : Self.beat)
                allowance.renew()
            } catch {
                try note(error, &allowance)
                continue
            }
            // Entries that arrive during the pause are applied together.
            if count > 0, !isBehind { try await pause(Self.readingPause) }
        }
    }

    /// Publishes waiting invalidations, and retries once after a timeout. An entry that may already
    /// be in the log is not added again.
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
                // A timeout does not extend the contact.
                try note(error, &allowance)
            }
            beats += 1
            try await pause(Self.beat)
        }
    }

    /// Counts the error.
    ///
    /// - Throws: the error, unless the allowance covers it.
    private func note(_ error: any Error, _ allowance: inout TimeOutAllowance) throws {
        guard allowance.passes(error) else { throw error }
        status.countFailure(error)
    }
}
