package import Logging

/// The result of reloading a certificate's files, or the client roots.
package struct CertificateReading: Sendable {
    /// The certificate's name; `nil` for the client roots.
    package var certificate: String?
    package var file: String
    /// The time when the new certificate expires, in seconds since 1970.
    package var expiry: Int64?
    /// `nil` if the new files are in use.
    package var refusal: CertificateRefusal?
    /// Why clients reject the new files, although they are in use; `nil` if clients accept them.
    package var warning: CertificateRefusal?

    package init(certificate: String? = nil, file: String) {
        self.certificate = certificate
        self.file = file
    }

    package func log(to logger: Logger) {
        var metadata: Logger.Metadata = ["tls.file": "\(file)"]
        if let certificate = certificate { metadata["tls.certificate"] = "\(certificate)" }
        if let refusal = refusal {
            metadata["tls.reason"] = "\(refusal.reason)"
            logger.error("Certificate rejected; the previous one stays in use", metadata: metadata)
        } else if let warning {
            metadata["tls.reason"] = "\(warning.reason)"
            logger.warning("Certificate read, but clients reject it, as they did the previous one", metadata: metadata)
        } else {
            logger.info("Certificate read", metadata: metadata)
        }
    }
}
