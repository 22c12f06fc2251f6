import Foundation
import NIOCore
import TestSupport
import Testing

@testable import HoldfastGateway

@Suite(.timeLimit(.minutes(20))) struct LogLossesTests {
    @Test func begunAndEndedOnce() {
        var losses = LogLosses()
        var now = NIODeadline.now()
        #expect(losses.note(dropped: 0, failure: nil, at: now) == .none)
        #expect(losses.note(dropped: 3, failure: 28, at: now) == .begin(28))
        #expect(losses.note(dropped: 9, failure: 28, at: now) == .none)
        #expect(losses.note(dropped: 9, failure: 28, at: now) == .none, "it still fails")
        #expect(losses.note(dropped: 9, failure: nil, at: now) == .end(9))
        #expect(losses.note(dropped: 9, failure: nil, at: now) == .none)
        now = now + .seconds(9)
        #expect(losses.note(dropped: 10, failure: 28, at: now) == .none, "it was said a moment ago")
        now = now + .seconds(2)
        #expect(losses.note(dropped: 12, failure: 28, at: now) == .begin(28))
        #expect(losses.note(dropped: 12, failure: nil, at: now) == .end(2))
    }

    /// logrotate renames a file, and a signal reopens it. Nothing but a deletion loses lines.
    @Test func deletedFileIsNoticedAndARenamedOneIsNot() throws {
        var output = LogOutput()
        #expect(!output.isDeleted)
        let folder = try TemporaryFolder()
        let path = folder.path + "/access.log"
        #expect(output.open(.file(path)) == nil && !output.isDeleted)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        #expect(!output.isDeleted)
        try FileManager.default.removeItem(atPath: path + ".1")
        #expect(output.isDeleted)
        #expect(output.open(.file(path)) == nil && !output.isDeleted)
        output.close()
        #expect(!output.isDeleted)
    }
}
