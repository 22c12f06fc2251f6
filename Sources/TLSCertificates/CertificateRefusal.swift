/// The error if a certificate's file cannot be used. It reveals no content of the file.
package struct CertificateRefusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// The path of the file.
    package let file: String
    /// The fault, and the next step.
    let reason: String
    /// Whether the fault is only that the certificate is not valid at this time.
    package let isOfDates: Bool

    package init(_ file: String, _ reason: String, isOfDates: Bool = false) {
        self.file = file
        self.reason = reason
        self.isOfDates = isOfDates
    }

    /// A sentence that begins with the file's path.
    package var description: String { "'\(file)' \(reason)" }
}
