import ArgumentParser
import CommandLineSupport
import Holdfast

/// A configuration file, as commands read it.
enum ConfigurationFile {
    /// Reads a file. Its errors go to standard error, one line each.
    ///
    /// - Throws: `ExitCode` 1: the error is in a file, not in the command line, so it is not 64.
    static func read(_ path: String) throws -> Configuration {
        try reporting { try Configuration(contentsOf: path) }
    }

    /// Reads a file for a command that sends no request. The values of fields are not looked up, so
    /// that it runs without those secrets.
    static func readWithoutValues(_ path: String) throws -> Configuration {
        try reporting { try Configuration(withoutValuesOf: path) }
    }

    /// Writes the findings that `body` throws to standard error.
    ///
    /// - Throws: `ExitCode` 1 in place of the findings; other errors of the body.
    static func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ConfigurationError {
            for finding in error.findings { StandardStream.error.line("\(finding)") }
            throw ExitCode.failure
        }
    }
}
