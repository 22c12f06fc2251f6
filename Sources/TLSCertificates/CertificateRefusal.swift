/// The error if a certificate's file cannot be used. It reveals no content of the file.
package struct CertificateRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    package let file: String
    /// The fault, and the next step.
    let reason: String

    package init(_ file: String, _ reason: String) {
        self.file = file
        self.reason = reason
    }

    /// A sentence that begins with the file's path.
    package var description: String { "'\(file)' \(reason)" }
}
