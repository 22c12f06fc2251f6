#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Darwin)
    import Darwin
#endif

/// Identifies the machine's current boot. Writes that are not synced survive the end of their
/// process, but not a loss of power.
package enum BootIdentity {
    /// The current boot; `nil` if the system does not provide it. Tests set it to simulate a
    /// restart.
    @TaskLocal package static var current: String? = system

    private static let system: String? = {
        #if canImport(Darwin)
            var length = 0
            guard sysctlbyname("kern.bootsessionuuid", nil, &length, nil, 0) == 0, length > 1 else { return nil }
            var bytes = [UInt8](repeating: 0, count: length)
            guard sysctlbyname("kern.bootsessionuuid", &bytes, &length, nil, 0) == 0 else { return nil }
            return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        #else
            guard let bytes = FileManager.default.contents(atPath: "/proc/sys/kernel/random/boot_id") else {
                return nil
            }
            let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
            return text.isEmpty ? nil : text
        #endif
    }()
}
