public import HTTPCacheSemantics
import LibC

/// A listening socket that another process created: a service manager, or the process that serves
/// until this one is ready.
///
/// The other process owns the socket. The gateway accepts through copies of the descriptor and
/// closes only these copies, so connections that wait in the socket's queue survive the gateway.
public struct InheritedSocket: Sendable, Hashable {
    /// The socket's descriptor, which must stay open while the gateway listens.
    public let descriptor: CInt
    /// The address that the socket listens on.
    public let address: ListenAddress

    /// Creates a listener's socket from a descriptor.
    ///
    /// - Throws: `InvalidSetting` if the descriptor is not a stream socket that listens on an IP
    ///   address or as a Unix socket.
    public init(descriptor: CInt) throws(InvalidSetting) {
        #if canImport(Glibc)
            let stream = CInt(SOCK_STREAM.rawValue)
        #else
            let stream = SOCK_STREAM
        #endif
        guard Self.option(SO_TYPE, of: descriptor) == stream else {
            throw InvalidSetting(
                "Descriptor \(descriptor) is not a stream socket. Use 'ListenStream=' in the socket unit."
            )
        }
        guard Self.option(SO_ACCEPTCONN, of: descriptor) ?? 0 != 0 else {
            throw InvalidSetting(
                "The socket of descriptor \(descriptor) does not listen. Use 'Accept=no' in the socket unit."
            )
        }
        guard let address = ListenAddress(ofSocket: descriptor) else {
            throw InvalidSetting("The socket of descriptor \(descriptor) has neither an IP address nor a path.")
        }
        self.descriptor = descriptor
        self.address = address
    }

    private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
        var value: CInt = 0
        var length = socklen_t(MemoryLayout<CInt>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }
}

extension ListenAddress {
    /// The address of an open socket; `nil` for other kinds of sockets.
    fileprivate init?(ofSocket descriptor: CInt) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let found = withUnsafeMutablePointer(to: &storage) { pointer -> ListenAddress? in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard getsockname(descriptor, address, &length) == 0 else { return nil }
                return switch CInt(address.pointee.sa_family) {
                case AF_INET, AF_INET6: Self.internet(address, length)
                case AF_UNIX: Self.unix(address, length)
                default: nil
                }
            }
        }
        guard let found else { return nil }
        self = found
    }

    private static func internet(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> ListenAddress? {
        var host = [CChar](repeating: 0, count: 128)
        var port = [CChar](repeating: 0, count: 16)
        // The lengths have different types on different systems.
        let code = getnameinfo(
            address,
            length,
            &host,
            .init(host.count),
            &port,
            .init(port.count),
            NI_NUMERICHOST | NI_NUMERICSERV
        )
        guard code == 0, let number = Int(text(port)) else { return nil }
        return ListenAddress(host: text(host), port: number)
    }

    private static func unix(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> ListenAddress? {
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 0
        let bytes = UnsafeRawBufferPointer(start: address, count: Int(length)).dropFirst(start)
        guard let first = bytes.first else { return nil }
        // An abstract name begins with NUL, and is not a path.
        let isAbstract = first == 0
        let name = isAbstract ? bytes.dropFirst() : bytes.prefix { $0 != 0 }
        return ListenAddress(path: (isAbstract ? "@" : "") + String(decoding: name, as: UTF8.self))
    }

    private static func text(_ characters: [CChar]) -> String {
        String(decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
