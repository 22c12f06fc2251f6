import Foundation
import HTTPCache
import TestSupport
import Testing

@testable import OfflineStore
@testable import StoreFiles

/// The name of a store among the nodes of a fleet.
@Suite(.timeLimit(.minutes(20))) struct NodeFileTests {
    private func file(_ path: String) -> NodeFile { NodeFile(StoreFolder(path: path)) }

    @Test func theNameOutlastsStartsAndNotesKeepIt() throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let first = try file(path).make()
        #expect(first.notes == [])
        try file(path).write(notes: Array("a\nb".utf8))
        let again = try file(path).make()
        #expect(again.name == first.name && again.notes == Array("a\nb".utf8))
        let renewed = try file(path).renew()
        let last = try file(path).read()
        #expect(renewed != first.name && last.name == renewed && last.notes == again.notes)
    }

    /// Also while the original runs: it is another node.
    @Test func aCopiedFolderGetsANameOfItsOwnAndKeepsTheNotes() throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let (original, copy) = (path + "/a", path + "/b")
        try FileManager.default.createDirectory(atPath: original, withIntermediateDirectories: false)
        let name = try file(original).make().name
        try file(original).write(notes: [1, 2])
        try FileManager.default.copyItem(atPath: original, toPath: copy)
        #expect(try file(copy).read().name == nil)
        let made = try file(copy).make()
        #expect(made.name != name && made.notes == [1, 2])
        #expect(try file(copy).make().name == made.name && file(original).make().name == name)
    }

    /// Whatever stands there, a start has a name.
    @Test func aDamagedFileIsReplaced() throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        let whole = try file(path).make()
        let url = URL(fileURLWithPath: path + "/node")
        let bytes = [UInt8](try Data(contentsOf: url))
        for length in bytes.indices {
            try Data(bytes[..<length]).write(to: url)
            #expect(try file(path).make().name != whole.name, "cut at \(length)")
        }
        try Data([UInt8](repeating: 0xFF, count: 5000)).write(to: url)
        let name = try file(path).make().name
        #expect(try file(path).make().name == name)
    }

    @Test func notesThatAreTooLongAreNotKept() throws {
        let folder = try TemporaryFolder()
        let path = folder.path
        _ = try file(path).make()
        try file(path).write(notes: [7])
        try file(path).write(notes: [UInt8](repeating: 8, count: NodeFile.longestNotes + 1))
        #expect(try file(path).read().notes == [7])
    }
}
