import CommandLineSupport
import Holdfast
import HoldfastControl

/// A store that is purged: through the gateway that has it open, or by this process if none has.
struct PurgedStore: Sendable {
    /// The store's folder.
    let folder: String
    /// The store's own settings, by which it is opened if no process has it open.
    let configuration: CacheManager.Configuration

    /// For a store whose settings are not known: opening it evicts nothing.
    static let unknown = CacheManager.Configuration(budget: 1 << 50)

    /// How long to wait for the control socket of a gateway that has just opened the store.
    private static let startLimit = Duration.seconds(1)
    private static let pause = Duration.milliseconds(20)

    /// - Throws: `CommandFailure`
    func purge(_ purge: PurgeRequest) async throws -> PurgeResult {
        let socket = ControlSocket.inStore(folder)
        var waited = Duration.zero
        while true {
            // The store comes first: only if it is open elsewhere does the socket in its folder
            // belong to it. In the copy of a folder it belongs to another store.
            let inUse: StoreError
            do {
                return try await purgeInPlace(purge)
            } catch let error as StoreError where error.code == .inUse {
                inUse = error
            } catch let error as StoreError {
                throw CommandFailure("\(error)")
            } catch let problem as ControlProblem {
                throw CommandFailure(PurgeWords.text(problem))
            }
            switch socket.reach {
            case .live: return try await ControlClient(socket: socket).purge(purge)
            case .denied: throw ControlClient.denied(socket)
            case .nobody: break
            }
            guard waited < Self.startLimit else {
                throw CommandFailure(
                    "\(inUse) It has no control socket at '\(socket.path)': "
                        + "start the gateway without '--no-control', or stop it first."
                )
            }
            try await Task.sleep(for: Self.pause)
            waited += Self.pause
        }
    }

    /// Opens the store. It must exist: a purge creates none.
    private func purgeInPlace(_ purge: PurgeRequest) async throws -> PurgeResult {
        let reader = try await CacheManager.openReadOnly(at: folder)
        if purge.dryRun {
            let result: Result<PurgeResult, any Error>
            do { result = .success(try await reader.perform(purge)) } catch { result = .failure(error) }
            try await reader.close()
            return try result.get()
        }
        try await reader.close()
        let store = try await CacheManager.open(at: folder, configuration: configuration)
        do {
            let result = try await store.perform(purge)
            try await store.close()
            return result
        } catch {
            try? await store.close()
            throw error
        }
    }
}
