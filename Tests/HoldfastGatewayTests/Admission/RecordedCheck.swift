import NIOCore
import Synchronization

@testable import HoldfastGateway

/// A check that records the clients whose requests it gets, and rejects some of these requests.
final class RecordedCheck: RequestCheck {
    private let asked = Mutex<[ClientAddress]>([])
    private let rejects: @Sendable (Int) -> Bool

    /// - Parameter rejects: whether to reject the request with this number, from 1.
    init(rejects: @escaping @Sendable (Int) -> Bool) { self.rejects = rejects }

    /// The client of each request, in order.
    var clients: [ClientAddress] { asked.withLock { $0 } }

    func requests(of client: ClientAddress) -> ClientCheck? { { [self] _ in problem(of: client) } }

    func forecast(for client: ClientAddress, at now: NIODeadline) -> CheckForecast? { nil }

    private func problem(of client: ClientAddress) -> Problem? {
        let number = asked.withLock { asked in
            asked.append(client)
            return asked.count
        }
        return rejects(number)
            ? Problem(code: "checked", title: "Too many requests", status: 429, detail: "Try again later.") : nil
    }
}
