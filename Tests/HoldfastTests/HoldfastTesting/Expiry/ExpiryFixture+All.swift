import Foundation
import HoldfastTesting

extension ExpiryFixture {
    /// The fixtures of `Tests/Fixtures/expiry`.
    static func all(_ file: String = #filePath) throws -> [ExpiryFixture] {
        let tests = URL(filePath: file).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try load(folder: tests.appending(path: "Fixtures/expiry").path)
    }
}
