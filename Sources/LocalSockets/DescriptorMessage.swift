import LibC

/// Bytes and descriptors that are sent together over a Unix socket (`SCM_RIGHTS`). unix(7)
///
/// System headers have only C macros for control messages (`cmsg(3)`), so their layout is written
/// here.
package enum DescriptorMessage {
    /// The maximum number of descriptors in a message. Linux allows 253.
    package static let limit = 128
    /// The maximum number of bytes that one call receives.
    private static let pieceLimit = 16 << 10

    #if canImport(Darwin)
        private typealias Length = UInt32
    #else
        private typealias Length = UInt
    #endif
    /// The length, the level and the type.
    private static let headerLength = MemoryLayout<Length>.size + 2 * MemoryLayout<CInt>.size
    private static let levelOffset = MemoryLayout<Length>.size
    private static let typeOffset = MemoryLayout<Length>.size + MemoryLayout<CInt>.size
    private static let descriptorLength = MemoryLayout<CInt>.size
    /// `SCM_RIGHTS`, which some system headers declare as an enumeration.
    private static let rights: CInt = 1

    /// Returns a length, rounded up to the alignment of control messages.
    private static func aligned(_ length: Int) -> Int {
        let alignment = MemoryLayout<Length>.size
        return (length + alignment - 1) / alignment * alignment
    }

    // MARK: Sending

    /// Sends bytes, and descriptors that arrive together with the first of them.
    ///
    /// - Parameter descriptors: at most ``limit``. They stay open in this process.
    /// - Returns: whether everything was sent.
    package static func send(_ bytes: [UInt8], _ descriptors: [OpenDescriptor] = [], to socket: CInt) -> Bool {
        guard !bytes.isEmpty, descriptors.count <= limit else { return false }
        var bytes = bytes
        var control = Self.control(of: descriptors)
        #if canImport(Darwin)
            let flags: CInt = 0
        #else
            let flags = CInt(MSG_NOSIGNAL)
        #endif
        let sent = withMessage(&bytes, &control) { message in
            var count = sendmsg(socket, message, flags)
            while count < 0, errno == EINTR { count = sendmsg(socket, message, flags) }
            return count
        }
        withExtendedLifetime(descriptors) {}
        return sent == bytes.count
    }

    private static func control(of descriptors: [OpenDescriptor]) -> [UInt8] {
        guard !descriptors.isEmpty else { return [] }
        let length = headerLength + descriptors.count * descriptorLength
        var control = [UInt8](repeating: 0, count: aligned(length))
        control.withUnsafeMutableBytes { buffer in
            buffer.storeBytes(of: Length(clamping: length), as: Length.self)
            buffer.storeBytes(of: SOL_SOCKET, toByteOffset: levelOffset, as: CInt.self)
            buffer.storeBytes(of: rights, toByteOffset: typeOffset, as: CInt.self)
            for (index, descriptor) in descriptors.enumerated() {
                let offset = headerLength + index * descriptorLength
                buffer.storeBytes(of: descriptor.number, toByteOffset: offset, as: CInt.self)
            }
        }
        return control
    }

    /// Calls a system function with a message that refers to both buffers.
    private static func withMessage<Result>(
        _ bytes: inout [UInt8],
        _ control: inout [UInt8],
        _ body: (UnsafeMutablePointer<msghdr>) -> Result
    ) -> Result {
        bytes.withUnsafeMutableBytes { content in
            control.withUnsafeMutableBytes { control in
                var piece = iovec(iov_base: content.baseAddress, iov_len: content.count)
                return withUnsafeMutablePointer(to: &piece) { piece in
                    var message = msghdr()
                    message.msg_iov = piece
                    message.msg_iovlen = 1
                    message.msg_control = control.isEmpty ? nil : control.baseAddress
                    message.msg_controllen = .init(control.count)
                    return withUnsafeMutablePointer(to: &message) { body($0) }
                }
            }
        }
    }

    // MARK: Receiving

    /// The result of a read.
    package enum Received: Sendable {
        case content([UInt8], [OpenDescriptor])
        /// The peer has closed the connection.
        case ended
        /// The system's error.
        case failed(CInt)
    }

    /// Receives the bytes that have arrived, and their descriptors. Waits for the first byte.
    package static func receive(from socket: CInt) -> Received {
        var bytes = [UInt8](repeating: 0, count: pieceLimit)
        var control = [UInt8](repeating: 0, count: aligned(headerLength + limit * descriptorLength))
        #if canImport(Darwin)
            let flags: CInt = 0
        #else
            let flags = CInt(MSG_CMSG_CLOEXEC)
        #endif
        let (count, controlCount, isCut) = withMessage(&bytes, &control) { message in
            let controlLength = message.pointee.msg_controllen
            var count = recvmsg(socket, message, flags)
            while count < 0, errno == EINTR {
                message.pointee.msg_controllen = controlLength
                count = recvmsg(socket, message, flags)
            }
            let isCut = message.pointee.msg_flags & CInt(MSG_CTRUNC) != 0
            return (count, Int(clamping: message.pointee.msg_controllen), isCut)
        }
        guard count >= 0 else { return .failed(errno) }
        let descriptors = Self.descriptors(in: control.prefix(controlCount))
        // The process has too many open files, or the message is not one of ours.
        if isCut { return .failed(EMFILE) }
        return count == 0 ? .ended : .content(Array(bytes.prefix(count)), descriptors)
    }

    private static func descriptors(in control: ArraySlice<UInt8>) -> [OpenDescriptor] {
        var found: [OpenDescriptor] = []
        control.withUnsafeBytes { buffer in
            var start = 0
            while start + headerLength <= buffer.count {
                let length = Int(clamping: buffer.loadUnaligned(fromByteOffset: start, as: Length.self))
                guard length >= headerLength, length <= buffer.count - start else { return }
                let level = buffer.loadUnaligned(fromByteOffset: start + levelOffset, as: CInt.self)
                let type = buffer.loadUnaligned(fromByteOffset: start + typeOffset, as: CInt.self)
                if level == SOL_SOCKET, type == rights {
                    for index in 0..<(length - headerLength) / descriptorLength {
                        let offset = start + headerLength + index * descriptorLength
                        let number = buffer.loadUnaligned(fromByteOffset: offset, as: CInt.self)
                        #if canImport(Darwin)
                            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
                        #endif
                        found.append(OpenDescriptor(owning: number))
                    }
                }
                start += aligned(length)
            }
        }
        return found
    }
}
