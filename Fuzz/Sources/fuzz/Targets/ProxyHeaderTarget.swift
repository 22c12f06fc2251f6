import NIOCore

@testable import HTTPWire
@testable import HoldfastGateway

/// The header of the PROXY protocol: the bytes of a connection, as a proxy sends them.
func proxyHeader(_ bytes: UnsafeBufferPointer<UInt8>) {
    let all = UnsafeRawBufferPointer(bytes)
    let reading = ProxyHeader.read(all)
    // However the bytes are cut, the result is the same, and it comes as soon as it is known.
    var isDecided = false
    for count in 0..<all.count {
        let part = ProxyHeader.read(UnsafeRawBufferPointer(rebasing: all[..<count]))
        if part == .needsMore { require(!isDecided, "a decision is final") } else { isDecided = true }
        require(part == .needsMore || part == reading, "a part is read like the whole")
    }
    switch reading {
    case .needsMore:
        require(all.count < ProxyHeader.blockLimit + 16, "a header has an end")
    case .refused: break
    case .header(let header):
        require(header.length <= all.count, "the header has come")
        let isLine = all.first == UInt8(ascii: "P")
        require(
            header.length <= (isLine ? ProxyHeader.lineLimit : ProxyHeader.blockLimit + 16),
            "the header is within its limit"
        )
        let alone = ProxyHeader.read(UnsafeRawBufferPointer(rebasing: all[..<header.length]))
        require(alone == reading, "what follows the header changes nothing")
        guard let endpoints = header.endpoints else { return }
        for end in [endpoints.source, endpoints.destination] {
            let address = try? SocketAddress(ipAddress: end.address, port: Int(end.port))
            require(address?.ipAddress == end.address, "an address is written as the system does")
        }
        checkWritten(endpoints)
    }
}

/// Writes the endpoints as a line, and reads that.
private func checkWritten(_ endpoints: ProxyHeader.Endpoints) {
    let (source, destination) = (endpoints.source, endpoints.destination)
    let isLong = source.address.contains(":")
    let line =
        "PROXY TCP\(isLong ? 6 : 4) \(source.address) \(destination.address) \(source.port) \(destination.port)\r\n"
    let bytes = Array(line.utf8)
    let header = ProxyHeader(endpoints: endpoints, length: bytes.count)
    require(bytes.withUnsafeBytes { ProxyHeader.read($0) } == .header(header), "a line has the same endpoints")
}
