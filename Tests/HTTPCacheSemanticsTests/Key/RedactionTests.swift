import HTTPCacheSemantics
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(20)), .tags(.redaction)) struct RedactionTests {
    @Test(
        arguments: [
            ("token=abc", "token=REDACTED"), ("a=1&access_token=x&b=2", "a=1&access_token=REDACTED&b=2"),
            ("API-Key=x;SIG=y", "API-Key=REDACTED;SIG=REDACTED"), ("X-Amz-Signature=x", "X-Amz-Signature=REDACTED"),
            ("x-amz-credential=x&v=1", "x-amz-credential=REDACTED&v=1"), ("%74oken=x", "%74oken=REDACTED"),
            ("auth[token]=x", "auth[token]=REDACTED"), ("user_token=x", "user_token=REDACTED"),
            ("clientSecret=x", "clientSecret=REDACTED"), ("password=a=b", "password=REDACTED"),
            ("key", "key"), ("key=", "key="), ("monkey=1", "monkey=1"), ("page=2", "page=2"), ("", ""), ("&&=", "&&="),
            ("code=1&Session=2&jwt=3&pwd=4", "code=REDACTED&Session=REDACTED&jwt=REDACTED&pwd=REDACTED"),
        ] as [(String, String)]
    )
    func hidesSecretParameters(query: String, redacted: String) throws {
        #expect(Redaction.query(query) == redacted)
        #expect(try TargetURI("http://a.example/?" + query).redacted.hasPrefix("http://a.example/?"))
    }

    @Test func targetDescriptionShowsNoSecret() throws {
        let target = try TargetURI("https://a.example/x?q=1&api_key=hunter2")
        #expect(target.redacted == "https://a.example/x?q=1&api_key=REDACTED")
        #expect("\(target)" == target.redacted)
        #expect(target.uri.hasSuffix("hunter2"))
    }

    @Test func errorsShowNoSecret() {
        let error = #expect(throws: TargetURIError.self) {
            try TargetURI("http://user:hunter2@a.example/?token=hunter3")
        }
        #expect(error?.message.contains("hunter") == false)
        let other = #expect(throws: TargetURIError.self) {
            try TargetURI("ftp://user:hunter2@a.example/\r\n?token=hunter3")
        }
        #expect(other?.message.contains("hunter") == false)
        #expect(other?.message.contains("\n") == false)
    }

    @Test func fieldsShowNoSecret() {
        let shown = redactedFields(
            fields([
                ("Authorization", "Bearer s3cret"), ("Cookie", "a=s3cret"), ("Set-Cookie", "sid=s3cret; Path=/"),
                ("Set-Cookie", "s3cret"), ("X-Api-Key", "s3cret"), ("Proxy-Authorization", "s3cret"),
                ("X-Foo-Token", "s3cret"), ("Location", "https://u:s3cret@a.example/?code=s3cret&x=1"),
                ("Content-Type", "text/plain"), ("Surrogate-Key", "a b"),
            ])
        )
        #expect(!shown.contains { $0.value.contains("s3cret") })
        #expect(shown[values: .setCookie] == ["sid=REDACTED", "REDACTED"])
        #expect(shown[.contentType] == "text/plain")
        #expect(shown[.location] == "https://REDACTED@a.example/?code=REDACTED&x=1")
        #expect(shown.count == 10)
    }

    @Test(
        arguments: [
            (
                "The content of 'https://a.example/x?page=9' is bad.",
                "The content of 'https://a.example/x?REDACTED' is bad."
            ),
            ("'http://a.example?q=O'Brien': no", "'http://a.example?REDACTED': no"),
            (
                "http://a.example/?a=1 and 'https://b.example/?b=2',",
                "http://a.example/?REDACTED and 'https://b.example/?REDACTED',"
            ),
            ("Is it 'https://a.example/x'? Yes: what?", "Is it 'https://a.example/x'?REDACTED Yes: what?"), ("", ""),
        ]
    )
    func queriesInMessagesAreHidden(_ message: String, _ shown: String) {
        #expect(Redaction.withoutQueries(in: message) == shown)
    }

    @Test func queriesOfFieldsAreHiddenWhole() {
        let shown = Redaction.fields(
            fields([
                ("Location", "https://a.example/x?page=hidden, or hidden#hidden"), ("Content-Location", "/x"),
                ("Link", "</a?page=hidden>; rel=next, </b>; rel=prev, <?hidden=>; rel=\"x\""),
                ("Refresh", "5; url='/x?page=hidden'"), ("X-Other", "what?"),
            ]),
            hidesQueries: true
        )
        #expect(!shown.contains { $0.value.contains("hidden") })
        #expect(shown[.location] == "https://a.example/x?REDACTED")
        let values = shown.map(\.value)
        #expect(values[1] == "/x" && values[4] == "what?")
        #expect(values[2] == "</a?REDACTED>; rel=next, </b>; rel=prev, <?REDACTED>; rel=\"x\"")
    }
}
