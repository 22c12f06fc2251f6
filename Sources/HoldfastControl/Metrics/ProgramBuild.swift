/// The versions of a program and its parts, which become the labels of `holdfast_build_info`.
package struct ProgramBuild: Sendable, Hashable {
    /// The program's version.
    package var version: String
    /// The commit from which the program was built; `unknown` if the build does not set it.
    package var revision: String
    /// The version of the system's SQLite library; `nil` without a store on disk.
    package var sqlite: String?

    /// Creates a description of a program's build.
    package init(version: String, revision: String = "unknown", sqlite: String? = nil) {
        self.version = version
        self.revision = revision
        self.sqlite = sqlite
    }

    /// The compiler's version. It is approximate, because Swift code can only check whether the
    /// compiler has at least a given version.
    package static let swift: String = {
        #if compiler(>=6.4)
            "6.4 or later"
        #elseif compiler(>=6.3)
            "6.3"
        #elseif compiler(>=6.2)
            "6.2"
        #else
            "6.1 or earlier"
        #endif
    }()
}
