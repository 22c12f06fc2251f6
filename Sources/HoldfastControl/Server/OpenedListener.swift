import HTTPCacheSemantics
import ServiceLifecycle
import Synchronization

/// A listener whose error tells the operator what to change if it cannot be opened.
struct OpenedListener: Service {
    let listener: any Service
    let opening: Opening
    let refusal: @Sendable (any Error) -> InvalidSetting

    func run() async throws {
        do {
            try await listener.run()
        } catch {
            guard !opening.hasSucceeded, !Task.isCancelled else { throw error }
            throw refusal(error)
        }
    }
}

/// Whether clients can connect to a listener.
final class Opening: Sendable {
    private let flag = Mutex(false)

    var hasSucceeded: Bool { flag.withLock { $0 } }

    func succeed() { flag.withLock { $0 = true } }
}
