/// Selects the certificate files to reload.
public enum CertificateSelection: Sendable, Hashable {
    /// All files.
    case all
    /// Files that changed since they were read.
    case changed
}
