#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lines on standard output, each written at once: what was written survives the process.
enum Line {
    static func write(_ text: String) {
        let octets = Array((text.map { $0 == "\n" ? " " : $0 } + "\n").map(String.init).joined().utf8)
        _ = octets.withUnsafeBytes { systemWrite($0) }
    }

    private static func systemWrite(_ octets: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.write(1, octets.baseAddress, octets.count)
        #elseif canImport(Musl)
            Musl.write(1, octets.baseAddress, octets.count)
        #else
            Darwin.write(1, octets.baseAddress, octets.count)
        #endif
    }
}
