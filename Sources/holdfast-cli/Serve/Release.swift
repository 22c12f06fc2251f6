/// The release that this program is built from.
enum Release {
    /// The version in reports and in the Debian package; scripts/deb reads this line. Nothing has
    /// been released yet.
    static let version = "unreleased"
    /// The commit. A build cannot determine it: a plugin would have to run Git on every build, and
    /// the sources may not be in a repository. To build from a commit, you can set it here.
    static let revision = "unknown"
}
