import HTTPCacheSemantics

extension Configuration {
    /// Returns notes about mirrors that get less of a request than the origin itself, because rules
    /// set fields for origins. These notes are not faults: a mirror belongs to another owner.
    public func mirrorNotes(about origin: Origin) -> [String] {
        guard rules.rules.contains(where: { $0.settings.toOrigin.set?.isEmpty == false }) else { return [] }
        let trusted = Set(origins.filter(\.takesCredentials).map(\.url))
        return origin.mirrors.compactMap { mirror in
            guard let target = try? TargetURI(mirror), !trusted.contains("\(target.scheme)://\(target.authority)")
            else { return nil }
            return
                "The mirror '\(mirror)' of '\(origin.url)' gets no fields that rules set ('to-origin.set') and no requests with credentials. "
                + "If it may get them, set 'credentials: true' for '\(target.scheme)://\(target.authority)' under 'origins'."
        }
    }
}
