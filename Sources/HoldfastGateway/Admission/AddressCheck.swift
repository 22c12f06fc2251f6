import HoldfastConfiguration
import NIOCore

/// Rejects the requests of clients that are not in the lists.
struct AddressCheck: RequestCheck {
    let lists: HoldfastConfiguration.Configuration.ClientLists

    func requests(of client: ClientAddress) -> ClientCheck? {
        guard !lists.admit(client.text, isOwn: client.isOwn) else { return nil }
        return { _ in .clientNotAllowed }
    }

    func forecast(for client: ClientAddress, at now: NIODeadline) -> CheckForecast? {
        lists.rejecting(client.text, isOwn: client.isOwn).map {
            CheckForecast(setting: "clients.\($0.rawValue)", problem: .clientNotAllowed)
        }
    }
}

extension Problem {
    fileprivate static let clientNotAllowed = Problem(
        .clientNotAllowed,
        title: "The client is not allowed",
        status: 403,
        detail: "Requests from your address are not served here."
    )
}
