import CommandLineSupport
import Holdfast
import HoldfastControl
import LocalSockets
import NIOCore
import NIOHTTP1

/// A store to purge or to change pins in. If a gateway has the store open, the gateway makes the
/// change; otherwise this process does.
struct PurgedStore: Sendable {
    /// The store's folder.
    let folder: String
    /// The store's own settings, used to open it if no process has it open.
    let configuration: CacheManager.Configuration
    /// The configuration file, if it is invalid. Only a gateway then changes the store, because
    /// `store.secure-delete` is unknown, for example.
    let invalidFile: String?
    /// The value of '--timeout'.
    let timeLimit: TimeAmount?

    /// Settings for a store whose settings are unknown. Opening it evicts nothing.
    private static let unknown = CacheManager.Configuration(budget: 1 << 50)

    init(_ store: GatewayLocation.NamedStore, timeLimit: TimeAmount?) {
        folder = store.folder
        configuration = store.settings ?? Self.unknown
        invalidFile = store.invalidFile
        self.timeLimit = timeLimit
    }

    /// The maximum time to wait for the control socket of a gateway that has just opened the store.
    private static let startLimit = Duration.seconds(1)
    private static let pause = Duration.milliseconds(20)

    /// The result of a purge, and who applied it.
    struct Purged: Sendable {
        let result: PurgeResult
        /// Whether a gateway purged its store, and not this process.
        let isByGateway: Bool
    }

    /// - Throws: `CommandFailure`
    func purge(_ purge: PurgeRequest) async throws -> Purged {
        try await perform(
            // Only the gateway knows whether it would fetch anything again.
            isReading: purge.dryRun && purge.refresh == nil,
            { Purged(result: try await purgeHere(purge, in: $0), isByGateway: false) },
            through: { Purged(result: try await $0.purge(purge), isByGateway: true) }
        )
    }

    /// Purges in a store that this process has opened.
    ///
    /// - Throws: `CommandFailure` if the purge may end with this process.
    private func purgeHere(_ purge: PurgeRequest, in store: CacheManager) async throws -> PurgeResult {
        let result = try await store.perform(purge)
        guard result.durable == false else {
            if !purge.dryRun {
                StandardStream.error.line(
                    "No process has the store '\(folder)' open, so no running gateway was purged. "
                        + "If one should have it, 'holdfast status' says why it does not."
                )
            }
            return result
        }
        throw CommandFailure(
            "The disk of the store '\(folder)' is full, so the purge may be lost. Free some space, then purge again."
        )
    }

    /// - Throws: `CommandFailure`
    func pin(_ change: PinRequest) async throws -> PinResult {
        try await perform(
            isReading: change.dryRun,
            { try await $0.perform(change) },
            through: { try await $0.send(.POST, "/v1/pins", change, isQueued: true) }
        )
    }

    /// Performs an operation.
    ///
    /// - Parameters:
    ///   - isReading: whether the operation changes nothing.
    ///   - operation: performs the operation on a store that this process has opened.
    ///   - through: performs the operation through the gateway that has the store open.
    /// - Throws: `CommandFailure`
    private func perform<Result: Sendable>(
        isReading: Bool,
        _ operation: (CacheManager) async throws -> Result,
        through: (ControlClient) async throws -> Result
    ) async throws -> Result {
        let socket = ControlSocket.inStore(folder)
        var waited = Duration.zero
        while true {
            // Try the store first: the socket in its folder belongs to it only if the store is open
            // in another process. In a copy of a folder, the socket belongs to another store.
            let inUse: StoreError
            do {
                return try await performInPlace(isReading: isReading, operation)
            } catch let error as StoreError where error.code == .inUse {
                inUse = error
            } catch let error as StoreError {
                throw CommandFailure("\(error)")
            } catch let problem as ControlProblem {
                throw CommandFailure(OptionWords.text(problem))
            }
            if let client = try ControlClient(reaching: socket, timeLimit: timeLimit) {
                return try await through(client)
            }
            guard waited < Self.startLimit else {
                throw CommandFailure(
                    "\(inUse) That process has no control socket at '\(socket.path)': "
                        + "start the gateway without '--no-control', or stop it first."
                )
            }
            try await Task.sleep(for: Self.pause)
            waited += Self.pause
        }
    }

    /// Opens the store and performs an operation. The store must exist, because no operation
    /// creates one.
    private func performInPlace<Result: Sendable>(
        isReading: Bool,
        _ operation: (CacheManager) async throws -> Result
    ) async throws -> Result {
        let reader = try await CacheManager.openReadOnly(at: folder)
        if isReading { return try await Self.perform(operation, closing: reader) }
        try await reader.close()
        // This fails if a gateway has the store open.
        let store = try await CacheManager.open(at: folder, configuration: configuration)
        if let invalidFile {
            try? await store.close()
            throw CommandFailure(
                "'\(invalidFile)' is invalid, and no gateway has the store '\(folder)' open. Nothing was changed. "
                    + "Correct the file, or use '--store' instead of '--config'."
            )
        }
        guard !store.isReadOnly else {
            try? await store.close()
            // It would be in force in memory only, so it would end with this process.
            throw CommandFailure(
                "The store '\(folder)' cannot be written, because its disk is full or read-only. Nothing was changed. "
                    + "Free some space, or make the file system writable, and try again."
            )
        }
        return try await Self.perform(operation, closing: store)
    }

    /// Performs an operation and closes the store, even after an error.
    private static func perform<Result: Sendable>(
        _ operation: (CacheManager) async throws -> Result,
        closing store: CacheManager
    ) async throws -> Result {
        do {
            let result = try await operation(store)
            try await store.close()
            return result
        } catch {
            try? await store.close()
            throw error
        }
    }
}
