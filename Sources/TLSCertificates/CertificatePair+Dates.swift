import NIOSSL

extension CertificatePair {
    /// Returns why clients reject the certificate because of its dates; `nil` if they do not.
    ///
    /// - Parameters:
    ///   - file: the file of the chain.
    ///   - now: the time in seconds since 1970.
    package func refusalOfDates(in file: String, at now: Int64) -> CertificateRefusal? {
        if expiry <= now {
            return CertificateRefusal(file, "expired \(Self.days(now - expiry)) ago. Renew it.", isOfDates: true)
        }
        guard Int64(chain[0].notValidBefore) > now else { return nil }
        return CertificateRefusal(file, "is not valid yet. Check this machine's clock.", isOfDates: true)
    }

    /// Returns a number of seconds in days, for people.
    package static func days(_ seconds: Int64) -> String {
        let days = seconds / 86_400
        return days == 0 ? "less than a day" : days == 1 ? "1 day" : "\(days) days"
    }
}
