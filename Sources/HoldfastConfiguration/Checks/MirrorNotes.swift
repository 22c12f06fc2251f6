import HTTPCacheSemantics

extension Configuration {
    /// Sentences about mirrors of an origin that get less of a request than the origin, where rules
    /// set fields for origins. They are no faults: a mirror has another owner.
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
