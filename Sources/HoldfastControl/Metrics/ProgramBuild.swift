/// The versions of what a program is made of: the labels of `holdfast_build_info`.
public struct ProgramBuild: Sendable, Hashable {
    /// The program's version.
    public var version: String
    /// The commit; `unknown` to a program whose build does not tell it.
    public var revision: String
    /// The version of SQLite, whose library the system provides; `nil` without a store on disk.
    public var sqlite: String?

    /// - Parameter version: the program's.
    public init(version: String, revision: String = "unknown", sqlite: String? = nil) {
        self.version = version
        self.revision = revision
        self.sqlite = sqlite
    }

    /// The compiler that built it. Swift tells a program only whether it is at least of a version.
    public static let swift: String = {
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
