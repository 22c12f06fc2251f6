import StoreFiles
import TestSupport
import Testing

@testable import OfflineStore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The next step in errors about a path that may not be read or written, and about a full disk.
@Suite(.timeLimit(.minutes(20))) struct AccessAdviceTests {
    /// Mutant: root is told to become the owner, which does not help.
    @Test(
        arguments: [
            (false, 1000, 1001, "Run this as the user that owns it (uid 1000)"),
            (false, 0, 1001, "Run this as the user that owns it (uid 0)"),
            (false, 1000, 1000, "Give this process access there"), (false, nil, 1000, "Give this process access there"),
            (false, 1000, 0, "Give this process access there"), (true, 1000, 0, "Remount its file system writable"),
            (true, 1000, 1001, "Remount its file system writable"),
        ] as [(Bool, uid_t?, uid_t, String)]
    )
    func adviceFollowsTheCause(isReadOnly: Bool, owner: uid_t?, user: uid_t, words: String) {
        let advice = AccessAdvice(isFileSystemReadOnly: isReadOnly, owner: owner, user: user)
        #expect("\(advice)".hasPrefix(words), "\(advice)")
    }

    /// The path itself is missing, so its folder's owner counts.
    @Test func ownerIsThatOfTheNearestFolder() throws {
        let folder = try TemporaryFolder()
        var advice = AccessAdvice(path: folder.path + "/a/b/c", number: EACCES)
        #expect(advice.owner == geteuid() && !advice.isFileSystemReadOnly && advice.folder == folder.path)
        #expect(AccessAdvice(path: folder.path, number: EACCES).folder == nil)
        advice.owner = 0
        advice.user = 65534
        let words = "This user (uid 65534) lacks access to '\(folder.path)', which belongs to uid 0. Choose another"
        #expect("\(advice)".hasPrefix(words), "\(advice)")
        #expect(AccessAdvice(path: folder.path, number: EROFS).isFileSystemReadOnly)
    }

    /// A store that is not open yet resumes nothing.
    @Test(arguments: [true, false])
    func fullDiskStopsTheStart(whileOpening: Bool) {
        for error in [SystemFailure("write", "/x", number: ENOSPC), SQLiteFailure(code: 13, message: "")] as [any Error]
        {
            let message = "\(StoreError(error, path: "/x", whileOpening: whileOpening))"
            #expect(message.contains("then start again") == whileOpening, "\(message)")
            #expect(message.contains("resumes automatically") != whileOpening, "\(message)")
        }
    }
}
