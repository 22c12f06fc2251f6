import FleetTier
import HoldfastConfiguration

/// The secrets of a fleet that a node uses.
///
/// If `fleet.secret` is replaced while the program runs, the node still opens entries that are
/// sealed with the secret before it: other nodes may not have read the new one yet.
struct FleetSecrets: Sendable, Hashable {
    /// A secret that is no longer in any file.
    struct Former: Sendable, Hashable {
        let secret: String
        /// When the log has no more entries that are sealed with it.
        let until: Duration
    }

    let secret: String
    let previous: String?
    let next: String?
    private(set) var former: Former?

    init(_ file: HoldfastConfiguration.Configuration, environment: [String: String]) throws {
        let secrets = try file.fleetSecrets(environment: environment)
        (secret, previous, next) = (secrets.secret, secrets.previous, secrets.next)
    }

    /// Returns these secrets as the successors of others.
    ///
    /// - Parameters:
    ///   - now: the time since a fixed instant in the past.
    ///   - lifetime: the time for which the log keeps entries.
    func succeeding(_ earlier: FleetSecrets, at now: Duration, for lifetime: Duration) -> FleetSecrets {
        var secrets = self
        if secret != earlier.secret {
            secrets.former = Former(secret: earlier.secret, until: now + lifetime)
        } else if let former = earlier.former, former.until > now {
            secrets.former = former
        }
        return secrets
    }

    /// Returns the settings whose values differ from those of other secrets.
    func changes(from earlier: FleetSecrets) -> [String] {
        var changes: [String] = []
        if secret != earlier.secret { changes.append("fleet.secret") }
        if previous != earlier.previous { changes.append("fleet.previous-secret") }
        if next != earlier.next { changes.append("fleet.next-secret") }
        return changes
    }

    /// The keys that are derived from the secrets; `nil` if a secret is too short.
    var keys: FleetKeys? {
        FleetKeys(
            secret: Array(secret.utf8),
            previous: previous.map { Array($0.utf8) },
            next: next.map { Array($0.utf8) },
            former: former.map { Array($0.secret.utf8) }
        )
    }
}
