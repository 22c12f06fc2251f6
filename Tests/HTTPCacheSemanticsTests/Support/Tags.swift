import Testing

/// The RFC sections and subjects of the tests, so that `grep -r rfc9111Stale Tests` lists the tests
/// of RFC 9111 §4.2.4.
///
/// Tables of cases by section are in `Tests/Fixtures/conformance` too; each file names its section.
extension Tag {
    /// Cache keys and target URIs.
    @Tag static var key: Self
    @Tag static var rfc3986: Self
    /// §5.6.7.
    @Tag static var rfc9110Dates: Self
    /// §8.8, §13.
    @Tag static var rfc9110Conditions: Self
    /// §14.
    @Tag static var rfc9110Ranges: Self
    /// §3 to §3.3 and §3.5.
    @Tag static var rfc9111Storing: Self
    /// §3.4.
    @Tag static var rfc9111Combining: Self
    /// §4.1.
    @Tag static var rfc9111Vary: Self
    /// §4.2.1, §4.2.2.
    @Tag static var rfc9111Freshness: Self
    /// §4.2.3, §5.1.
    @Tag static var rfc9111Age: Self
    /// §4.2.4: serving stale responses.
    @Tag static var rfc9111Stale: Self
    /// §4.3.1, §4.3.2.
    @Tag static var rfc9111Validation: Self
    /// §3.2, §4.3.4, §4.3.5.
    @Tag static var rfc9111Freshening: Self
    /// §4.4.
    @Tag static var rfc9111Invalidation: Self
    /// §5.2.1.
    @Tag static var rfc9111RequestDirectives: Self
    /// §5.2.2.
    @Tag static var rfc9111ResponseDirectives: Self
    /// `stale-while-revalidate`, `stale-if-error`.
    @Tag static var rfc5861: Self
    /// `Cache-Status`.
    @Tag static var rfc9211: Self
    /// Targeted fields.
    @Tag static var rfc9213: Self
    /// Cache groups.
    @Tag static var rfc9875: Self
    /// `docs/attacks.md`.
    @Tag static var attacks: Self
    @Tag static var redaction: Self
}
