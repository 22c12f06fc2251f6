/// Why the files of a certificate cannot be used. It holds nothing of their content.
struct CertificateRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    let file: String
    /// The fault, and the next step.
    let reason: String

    init(_ file: String, _ reason: String) {
        self.file = file
        self.reason = reason
    }

    /// A sentence that begins with the file.
    var description: String { "'\(file)' \(reason)" }
}
