import CommandLineSupport
import HTTPTypes
import HoldfastControl
import NIOCore
import Synchronization

/// A gateway to which the page's requests are relayed. Says on standard error when it stops
/// responding, and when it responds again.
final class WatchedGateway: ControlForwarding {
    private let gateway: ControlClient
    private let isGone = Mutex(false)

    init(_ gateway: ControlClient) { self.gateway = gateway }

    func forward(
        _ method: HTTPRequest.Method,
        _ target: String,
        _ content: ByteBuffer?
    ) async throws -> ForwardedResponse {
        do {
            let response = try await gateway.forward(method, target, content)
            note(isGone: false)
            return response
        } catch {
            // The page canceled its request.
            if !Task.isCancelled { note(isGone: true) }
            throw error
        }
    }

    private func note(isGone: Bool) {
        let isNews = self.isGone.withLock { known in
            defer { known = isGone }
            return known != isGone
        }
        guard isNews else { return }
        StandardStream.error.line(
            isGone
                ? "holdfast: '\(gateway.name)' does not respond. Start the gateway again, or end this command with Ctrl-C."
                : "holdfast: '\(gateway.name)' responds again"
        )
    }
}
