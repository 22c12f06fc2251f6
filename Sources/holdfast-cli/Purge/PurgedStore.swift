import CommandLineSupport
import Holdfast
import HoldfastControl

/// A store that is purged: through the gateway that has it open, or by this process if none has.
struct PurgedStore: Sendable {
    /// The store's folder.
    let folder: String

    /// How long to wait for the control socket of a gateway that has just opened the store.
    private static let startLimit = Duration.seconds(1)
    private static let pause = Duration.milliseconds(20)

    /// - Throws: `CommandFailure`
    func purge(_ purge: PurgeRequest) async throws -> PurgeResult {
        let socket = ControlSocket.inStore(folder)
        var waited = Duration.zero
        while true {
            switch socket.reach {
            case .live: return try await ControlClient(socket: socket).purge(purge)
            case .denied:
                throw CommandFailure(
                    "This user may not connect to the control socket '\(socket.path)'. "
                        + "Run the command as the gateway's user, or in its group."
                )
            case .nobody: break
            }
            do {
                return try await purgeInPlace(purge)
            } catch let error as StoreError where error.code == .inUse {
                guard waited < Self.startLimit else {
                    throw CommandFailure(
                        "\(error) It has no control socket at '\(socket.path)': "
                            + "start the gateway without '--no-control', or stop it first."
                    )
                }
                try await Task.sleep(for: Self.pause)
                waited += Self.pause
            } catch let error as StoreError {
                throw CommandFailure("\(error)")
            } catch let problem as ControlProblem {
                throw CommandFailure(problem.detail)
            }
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
        let store = try await CacheManager.open(at: folder)
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
