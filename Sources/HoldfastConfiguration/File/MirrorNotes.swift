import CacheRules
import HTTPCacheSemantics

extension Configuration {
    /// Returns notes about mirrors that receive neither the fields that rules set for the origin
    /// nor requests with credentials. A note is not a fault, because a mirror may belong to another
    /// owner.
    package func mirrorNotes(about origin: Origin) -> [String] {
        guard rules.rules.contains(where: { $0.settings.toOrigin.set?.isEmpty == false }) else { return [] }
        let trusted = Set(origins.filter(\.takesCredentials).map(\.url))
        return origin.mirrors.compactMap { mirror in
            guard let target = try? TargetURI(mirror), !trusted.contains("\(target.scheme)://\(target.authority)")
            else { return nil }
            return
                "The mirror '\(mirror)' of '\(origin.url)' does not receive the fields that rules set ('to-origin.set'), or requests with credentials. "
                + "If it may receive them, set 'credentials: true' for '\(target.scheme)://\(target.authority)' under 'origins'."
        }
    }
}
