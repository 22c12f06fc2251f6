#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Lines on standard output, each written at once, so that they survive the process.
enum Line {
    static func write(_ text: String) {
        let bytes = Array((text.map { $0 == "\n" ? " " : $0 } + "\n").map(String.init).joined().utf8)
        _ = bytes.withUnsafeBytes { systemWrite($0) }
    }

    private static func systemWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
            Glibc.write(1, bytes.baseAddress, bytes.count)
        #elseif canImport(Musl)
            Musl.write(1, bytes.baseAddress, bytes.count)
        #else
            Darwin.write(1, bytes.baseAddress, bytes.count)
        #endif
    }
}
