import Dispatch
import Synchronization

/// Signs the leaf certificates of a run, one after the other on a thread of its own, so that no
/// event loop waits for a signature.
package final class LeafIssuer: Sendable {
    package typealias Completion = @Sendable (Result<[UInt8], any Error>) -> Void

    /// The error for a host that cannot get a certificate.
    package enum Refusal: Error, Hashable, CustomStringConvertible {
        case invalidName
        case tooMany

        package var description: String {
            switch self {
            case .invalidName: "A certificate cannot name this host."
            case .tooMany:
                "The command connects to new hosts too fast: the limit is \(LeafIssuance.rate) certificates per second."
            }
        }
    }

    private struct State {
        var issuance = LeafIssuance()
        /// The callers that wait for a certificate.
        var waiting: [LeafName: [Completion]] = [:]
    }

    private let authority: RunAuthority
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "holdfast.certificates")

    /// - Parameter now: returns a time in milliseconds that never goes back.
    package init(_ authority: RunAuthority, now: @escaping @Sendable () -> Int64) {
        self.authority = authority
        self.now = now
    }

    /// The private key of all certificates, in PEM.
    package var key: String { authority.leafKey }

    /// The number of certificates that are kept.
    package var count: Int { state.withLock { $0.issuance.count } }

    /// Calls `completion` with the certificate for a host, in DER, on any thread.
    ///
    /// - Parameter host: a name in lowercase, an IPv4 address, or an IPv6 address in brackets.
    package func certificate(for host: String, _ completion: @escaping Completion) {
        guard let name = LeafName(host) else { return completion(.failure(Refusal.invalidName)) }
        let decision = state.withLock { state in
            let decision = state.issuance.request(name, at: now())
            switch decision {
            case .sign, .wait: state.waiting[name, default: []].append(completion)
            case .issued, .refuse: break
            }
            return decision
        }
        switch decision {
        case .issued(let bytes): completion(.success(bytes))
        case .refuse: completion(.failure(Refusal.tooMany))
        case .wait: break
        case .sign: queue.async { self.sign(name) }
        }
    }

    private func sign(_ name: LeafName) {
        let result = Result { try authority.leaf(for: name) }
        let waiting = state.withLock { state in
            state.issuance.finish(name, try? result.get())
            return state.waiting.removeValue(forKey: name) ?? []
        }
        for completion in waiting { completion(result) }
    }
}
