import ArgumentParser
import CommandLineSupport
import Holdfast
import HoldfastConfiguration

/// Reads configuration files for commands.
enum ConfigurationFile {
    /// Reads a file. Errors are written to standard error, one per line.
    ///
    /// - Throws: `ExitCode` 1: the error is in a file rather than on the command line, so it is not
    ///   64.
    static func read(_ path: String) throws -> Configuration {
        try reporting { try Configuration(contentsOf: path) }
    }

    /// Reads a file for a command that sends no request. The values of fields are not looked up, so
    /// the command runs without those secrets.
    static func readWithoutValues(_ path: String) throws -> Configuration {
        try reporting { try Configuration(withoutValuesOf: path) }
    }

    /// Runs `body` and writes any findings that it throws to standard error.
    ///
    /// - Throws: `ExitCode` 1 instead of the findings, or any other error from `body`.
    static func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as ConfigurationError {
            for finding in error.findings { StandardStream.error.line("\(finding)") }
            throw ExitCode.failure
        }
    }
}
