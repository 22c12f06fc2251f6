/// A certificate's files cannot be used. This contains nothing from the files.
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
