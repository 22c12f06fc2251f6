import HTTPCacheSemantics
import Logging
import Synchronization
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

@Suite(.timeLimit(.minutes(20))) struct LockBreakingFileSystemTests {
    @Test(
        arguments: [
            (0x6969, .nfs), (0xff53_4d42, .smb), (0xfe53_4d42, .smb), (0x517b, .smb), (0x0102_1997, .plan9),
            (0x6573_5546, .fuse),
            // ext4, xfs, btrfs, tmpfs, overlay, zfs, f2fs.
            (0xef53, nil), (0x5846_5342, nil), (0x9123_683e, nil), (0x0102_1994, nil), (0x794c_7630, nil),
            (0x2fc1_2fc1, nil),
            (0xf2f5_2010, nil),
        ] as [(UInt32, LockBreakingFileSystem?)]
    )
    func recognizesLinuxTypes(_ type: UInt32, _ expected: LockBreakingFileSystem?) {
        #expect(LockBreakingFileSystem(linuxType: type) == expected)
    }

    @Test(
        arguments: [
            ("nfs", .nfs), ("smbfs", .smb), ("afpfs", .afp), ("webdav", .webDAV), ("macfuse", .fuse),
            ("osxfuse", .fuse),
            ("apfs", nil), ("hfs", nil), ("tmpfs", nil), ("", nil),
        ] as [(String, LockBreakingFileSystem?)]
    )
    func recognizesDarwinNames(_ name: String, _ expected: LockBreakingFileSystem?) {
        #expect(LockBreakingFileSystem(darwinName: name) == expected)
    }

    @Test func openingWarnsOnceAndNamesTheFileSystem() throws {
        let folder = try TemporaryFolder()
        let now = Timestamp(milliseconds: 1)
        for fileSystem in [nil, LockBreakingFileSystem.nfs, .fuse] {
            let log = CapturedLog()
            func named() -> [String?] { log.events.map { $0.metadata["store.filesystem"] } }
            let asked = Mutex<[String]>([])
            let probe: (String) -> LockBreakingFileSystem? = { path in
                asked.withLock { $0.append(path) }
                return fileSystem
            }
            let writer = try StoreOpening.openForWriting(
                at: folder.store,
                configuration: .init(),
                now: now,
                logger: log.logger(.warning),
                fileSystem: probe
            )
            #expect(named() == (fileSystem.map { [$0.rawValue] } ?? []))
            let reader = try StoreOpening.openForReading(
                at: folder.store,
                configuration: .init(),
                now: now,
                logger: log.logger(.warning),
                fileSystem: probe
            )
            #expect(named() == (fileSystem.map { [$0.rawValue, $0.rawValue] } ?? []))
            #expect(asked.withLock { $0 } == [folder.store, folder.store])
            try reader.close()
            try writer.close()
        }
    }

    /// The folder that these tests use themselves.
    @Test func localDiskIsNotReported() {
        #expect(LockBreakingFileSystem.probe("/") == nil)
        #expect(LockBreakingFileSystem.probe("/nowhere/at/all") == nil)
    }

    #if os(Linux)
        @Test func readsTheTypeFromTheKernel() {
            #expect(LockBreakingFileSystem.linuxType(of: "/proc") == 0x9fa0)
            #expect(LockBreakingFileSystem.linuxType(of: "/nowhere/at/all") == nil)
        }
    #endif
}
