import ArgumentParser
import CommandLineSupport

/// The path of a folder to create.
enum LocalFolder {
    /// Checks that a path was not meant as a place on another machine, which would become a folder
    /// here.
    ///
    /// - Throws: `ValidationError`
    static func check(_ path: String) throws {
        guard path.wholeMatch(of: /[A-Za-z0-9+.-]+:\/\/.*|[^\/]+@[^\/:]+:.*/) != nil else { return }
        throw ValidationError(
            "'\(path.printable)' is not a path on this machine. Write the store to a folder here, and copy that."
        )
    }
}
