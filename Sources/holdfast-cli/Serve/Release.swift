/// The release that this program is built from.
///
/// `scripts/version --stamp` replaces this file in the copy of the sources from which a release is
/// built. No step of a build changes it or runs Git, so a build from a clone reports these values.
enum Release {
    /// The version in reports, metrics and traces. A release has the version in the file VERSION.
    static let version = "development"
    /// The commit.
    static let revision = "unknown"
}
