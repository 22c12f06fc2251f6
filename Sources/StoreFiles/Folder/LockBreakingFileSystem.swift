import LibC

/// A file system whose locks or shared memory are known not to work between all users of a file.
///
/// SQLite's write-ahead log needs both, and `flock` ensures that there is only one writer. On these
/// file systems, they depend on the server, on mount options, or on other machines that mount the
/// folder.
package enum LockBreakingFileSystem: String, Sendable {
    case nfs = "NFS"
    case smb = "SMB"
    case plan9 = "9p"
    case fuse = "FUSE"
    case afs = "AFS"
    case afp = "AFP"
    case coda = "Coda"
    case ceph = "Ceph"
    case lustre = "Lustre"
    case webDAV = "WebDAV"
    case virtualBox = "VirtualBox shared folder"
    case vmware = "VMware shared folder"
    case parallels = "Parallels shared folder"

    /// Creates the kind for a Linux `statfs` type (`f_type`); returns `nil` for all other types.
    init?(linuxType: UInt32) {
        switch linuxType {
        case 0x6969: self = .nfs
        case 0x517b, 0xff53_4d42, 0xfe53_4d42: self = .smb
        case 0x0102_1997: self = .plan9
        case 0x6573_5546: self = .fuse
        case 0x5346_414f, 0x6b41_4653: self = .afs
        case 0x7375_7245: self = .coda
        case 0x00c3_6400: self = .ceph
        case 0x0bd0_0bd0: self = .lustre
        case 0x786f_4256: self = .virtualBox
        case 0xbacb_acbc: self = .vmware
        case 0x7c7c_6673: self = .parallels
        default: return nil
        }
    }

    /// Creates the kind for a macOS `statfs` type name (`f_fstypename`); returns `nil` for all
    /// other names.
    init?(darwinName: String) {
        switch darwinName {
        case "nfs": self = .nfs
        case "smbfs", "cifs": self = .smb
        case "afpfs": self = .afp
        case "webdav": self = .webDAV
        case "prl_fs", "prlufs": self = .parallels
        case "9p": self = .plan9
        case let name where name.contains("fuse"): self = .fuse
        default: return nil
        }
    }

    /// Returns the kind of a folder's file system; `nil` if its locks are not known to break, or if
    /// the file system cannot be determined.
    package static func probe(_ path: String) -> LockBreakingFileSystem? {
        #if canImport(Darwin)
            var status = statfs()
            guard statfs(path, &status) == 0 else { return nil }
            let name = withUnsafeBytes(of: status.f_fstypename) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            return LockBreakingFileSystem(darwinName: name)
        #else
            return linuxType(of: path).flatMap { LockBreakingFileSystem(linuxType: $0) }
        #endif
    }

    #if !canImport(Darwin)
        /// Returns the type from `statfs` (`f_type`); `nil` if the call fails.
        ///
        /// Swift's C library modules omit `sys/statfs.h`, and `statvfs` does not return the type.
        static func linuxType(of path: String) -> UInt32? {
            guard let symbol = dlsym(nil, "statfs") else { return nil }
            typealias Function = @convention(c) (UnsafePointer<CChar>, UnsafeMutableRawPointer) -> CInt
            let function = unsafeBitCast(symbol, to: Function.self)
            // `struct statfs` has 120 bytes on 64-bit machines; its first word is the type.
            return withUnsafeTemporaryAllocation(byteCount: 512, alignment: 16) { status in
                guard let start = status.baseAddress, path.withCString({ function($0, start) }) == 0 else { return nil }
                return UInt32(truncatingIfNeeded: start.load(as: UInt.self))
            }
        }
    #endif
}
