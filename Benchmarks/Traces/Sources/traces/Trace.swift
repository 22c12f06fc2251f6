import LibC

/// Requests in order.
struct Trace {
    struct Request {
        var key: Int64
        var size: Int
    }

    var name: String
    var requests: [Request]

    /// The bytes of all objects.
    var bytes: Int {
        var sizes: [Int64: Int] = [:]
        for request in requests { sizes[request.key] = request.size }
        return sizes.values.reduce(0, +)
    }

    // MARK: Files

    private static let recordLength = 24

    /// Writes libCacheSim's general format with an oracle: for each request the time, the object,
    /// its size, and the number of its next request (-1 if there is none), in 4, 8, 4 and 8 bytes,
    /// little endian.
    func write(to folder: String) throws {
        var next = [Int64](repeating: -1, count: requests.count)
        var last: [Int64: Int] = [:]
        for index in requests.indices.reversed() {
            if let later = last[requests[index].key] { next[index] = Int64(later) }
            last[requests[index].key] = index
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(requests.count * Self.recordLength)
        func add(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        for (index, request) in requests.enumerated() {
            add(UInt32(index / 100))
            add(request.key)
            add(UInt32(request.size))
            add(next[index])
        }
        let path = "\(folder)/\(name).bin"
        guard let file = fopen(path, "w") else { throw TraceError(message: "cannot write '\(path)'") }
        let count = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, count == bytes.count else { throw TraceError(message: "cannot write '\(path)'") }
    }

    init(name: String, requests: [Request]) {
        self.name = name
        self.requests = requests
    }

    /// Reads a file in the format that ``write(to:)`` writes.
    init(path: String) throws {
        guard let file = fopen(path, "r") else { throw TraceError(message: "cannot read '\(path)'") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: Self.recordLength << 16)
        while true {
            let count = fread(&part, 1, part.count, file)
            if count == 0 { break }
            bytes.append(contentsOf: part[..<count])
        }
        guard bytes.count % Self.recordLength == 0 else {
            throw TraceError(message: "'\(path)' is not a trace: its length is not a multiple of 24")
        }
        requests = bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: Self.recordLength).map { start in
                Request(
                    key: Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 4, as: Int64.self)),
                    size: Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 12, as: UInt32.self)))
                )
            }
        }
        let last = path.split(separator: "/").last.map(String.init) ?? path
        name = last.hasSuffix(".bin") ? String(last.dropLast(4)) : last
    }
}

struct TraceError: Error {
    var message: String
}
