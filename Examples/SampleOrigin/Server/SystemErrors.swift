#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Returns the reason for a failed bind in words; for unusual reasons, the error's number.
func bindFailureReason(errno code: CInt) -> String {
    switch code {
    case EADDRINUSE: "another process listens there"
    case EACCES: "not permitted, ports below 1024 need privileges"
    case EADDRNOTAVAIL: "this machine has no such address"
    default: "the system returned error \(code)"
    }
}
