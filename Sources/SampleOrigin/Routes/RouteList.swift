extension SampleOrigin {
    /// What an origin answers, as text for people, in lines of at most 79 columns.
    public static let routes = """
        THE FEED (users: harbour, lighthouse, tides; moments: harbour-1 to harbour-25)
          GET  /moments?userID=ID&page=N  a page; ETag, Last-Modified, max-age
          GET  /moments/{id}              one moment
          POST /moments/{id}/likes        adds a like: changes the feed and its ETag
          DELETE /moments/{id}/likes      takes one back
          GET  /users/{id}                one user
          GET  /images/{name}             an image of the feed
          POST /graphql                   getMomentsDetailsByUserID(userID:, page:)
                                          and the mutation likeMoment(momentID:)

        FRESHNESS (each says in Cache-Control what its name says)
          GET  /no-store, /no-cache, /private, /public, /must-revalidate,
               /proxy-revalidate, /immutable, /stale-while-revalidate,
               /stale-if-error
          GET  /heuristic                 Last-Modified, and no lifetime
          GET  /uncacheable               Vary: *
          GET  /counter?max-age=SECONDS   the number of the request as the body
          GET  /respond?status=N&field=Name:value&body=TEXT
                                          an answer made of the query

        CONTENT
          GET  /greeting                  by Accept-Language: de, en, fr
          GET  /bytes/{count}?seed=N&chunked=true
                                          that many deterministic bytes, streamed
          GET  /html, /empty              a success that is not JSON, or is nothing
          any  /echo, /echo/...           the request as it was received
          GET  /redirect?to=PATH&status=N a redirection

        FAULTS
          GET  /slow?milliseconds=N       answers late, by 30 seconds at most
          GET  /failing?status=N&retry-after=SECONDS
                                          any status from 400 to 599
          GET  /flaky?fail=N&name=NAME    503 the first N times, then 200
          GET  /truncated?announced=N&sent=N&chunked=true
                                          announces more than it sends, then closes
          GET  /hangup?reset=true         closes without an answer

        ABOUT THE ORIGIN (not counted)
          GET  /_statistics               how many requests each route received
        """
}
