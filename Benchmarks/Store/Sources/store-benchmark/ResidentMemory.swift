#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The process's resident memory in bytes, as Linux reports it; 0 elsewhere.
enum ResidentMemory {
    static var present: Double { value("VmRSS:") }

    /// The peak since ``resetPeak()``.
    static var peak: Double { value("VmHWM:") }

    static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    private static func value(_ name: String) -> Double { processValue(name, in: "status") * 1024 }
}

/// The bytes that the process has read from and written to files, as Linux reports them; 0
/// elsewhere.
enum FileBytes {
    static var read: Double { processValue("rchar:", in: "io") }
    static var written: Double { processValue("wchar:", in: "io") }
}

/// Reads a number from one of Linux's files about this process.
private func processValue(_ name: String, in file: String) -> Double {
    guard let file = fopen("/proc/self/\(file)", "r") else { return 0 }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    while fgets(&line, Int32(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.hasPrefix(name) {
            let digits = text.filter(\.isNumber)
            return Double(digits) ?? 0
        }
    }
    return 0
}
