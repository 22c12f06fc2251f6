import Testing

/// The sections of the RFCs that tests are about.
extension Tag {
    @Tag static var key: Self
    @Tag static var rfc9110Dates: Self
    @Tag static var rfc9110Conditions: Self
    @Tag static var rfc9111Storing: Self
    @Tag static var rfc9111Vary: Self
    @Tag static var rfc9111Freshness: Self
    @Tag static var rfc9111Age: Self
    @Tag static var rfc9111Stale: Self
    @Tag static var rfc9111Validation: Self
    @Tag static var rfc9111Freshening: Self
    @Tag static var rfc9111RequestDirectives: Self
    @Tag static var rfc9111ResponseDirectives: Self
    @Tag static var rfc5861: Self
    @Tag static var rfc9211: Self
    @Tag static var rfc9213: Self
    @Tag static var attacks: Self
    @Tag static var redaction: Self
}
