/// The release that the programs are built from.
///
/// `scripts/version --stamp` replaces this file in the copy of the sources from which a release is
/// built. No step of a build changes it or runs Git, so a build from a clone reports these values.
package enum Release {
    /// The version in reports, metrics and traces. A release has the version in the file VERSION.
    package static let version = "development"
    /// The commit.
    package static let revision = "unknown"
}
