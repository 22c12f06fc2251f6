/// The error if a certificate's file cannot be used. It reveals no content of the file.
struct CertificateRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    let file: String
    /// The fault, and the next step.
    let reason: String

    init(_ file: String, _ reason: String) {
        self.file = file
        self.reason = reason
    }

    /// A sentence that begins with the file's path.
    var description: String { "'\(file)' \(reason)" }
}

extension ListenFailure {
    /// Whether the listener's certificate or key cannot be used.
    package var isOfCertificate: Bool { cause is CertificateRefusal }
}
