import Foundation

/// A folder as Kubernetes mounts a Secret: each file is a link through `..data`, which a rename
/// replaces.
package struct SecretVolume: Sendable {
    package let path: String

    /// Makes the folder.
    package init(at path: String) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    /// The path of a file, which stays the same.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Replaces all files at once.
    ///
    /// - Parameter texts: the content of each file.
    package func publish(_ texts: [String: String], mode: Int = 0o440) throws {
        let files = FileManager.default
        let version = "..\(UUID().uuidString)"
        try files.createDirectory(atPath: file(version), withIntermediateDirectories: false)
        for (name, text) in texts {
            let place = file(version) + "/" + name
            try Data(text.utf8).write(to: URL(fileURLWithPath: place))
            try files.setAttributes([.posixPermissions: mode], ofItemAtPath: place)
            if (try? files.destinationOfSymbolicLink(atPath: file(name))) == nil {
                try files.createSymbolicLink(atPath: file(name), withDestinationPath: "..data/" + name)
            }
        }
        try files.createSymbolicLink(atPath: file("..new"), withDestinationPath: version)
        guard rename(file("..new"), file("..data")) == 0 else { throw TestFailure("rename: \(errno)") }
    }
}
