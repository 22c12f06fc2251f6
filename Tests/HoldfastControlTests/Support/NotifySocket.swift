import Foundation
import LocalSockets
import Testing

@testable import HoldfastControl

/// The socket on which a service manager receives the notices of its services.
final class NotifySocket: Sendable {
    let path: String
    private let descriptor: Int32

    init() throws {
        path = "/tmp/holdfast-\(UUID().uuidString.prefix(8))"
        #if canImport(Glibc)
            let kind = Int32(SOCK_DGRAM.rawValue)
        #else
            let kind = SOCK_DGRAM
        #endif
        descriptor = socket(AF_UNIX, kind, 0)
        let address = try #require(UnixAddress(path))
        let descriptor = descriptor
        try #require(address.withPointer { bind(descriptor, $0, $1) } == 0)
    }

    deinit {
        close(descriptor)
        unlink(path)
    }

    var manager: ServiceManager { ServiceManager(environment: ["NOTIFY_SOCKET": path]) }

    /// The datagrams that have come.
    func received() -> [String] {
        var result: [String] = []
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
            guard count >= 0 else { return result }
            result.append(String(decoding: bytes.prefix(count), as: UTF8.self))
        }
    }
}
