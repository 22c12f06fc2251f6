extension SampleOrigin {
    /// A description of the routes for people, in lines of at most 79 columns.
    public static let routes = """
        THE FEED (users: harbour, lighthouse, tides; moments: harbour-1 to harbour-25)
          GET  /moments?userID=ID&page=N  a page; ETag, Last-Modified, max-age
          GET  /moments/{id}              one moment
          POST /moments/{id}/likes        adds a like: changes the feed and its ETag
          DELETE /moments/{id}/likes      removes a like
          PUT, POST /moments/{id}/like    likes it; repeating changes nothing
          DELETE /moments/{id}/like       removes the like
          GET  /users/{id}                one user
          GET  /images/{name}             an image of the feed
          POST /graphql                   getMomentsDetailsByUserID(userID:, page:) and
                                          the mutations likeMoment(momentID:),
                                          unlikeMoment(momentID:) and
                                          updateMomentLike(momentID:, isLiked:)
          GET  /graphql?query=TEXT&variables=JSON&operationName=NAME&extensions=JSON
                                          queries, persisted ones too: by their
                                          SHA-256, once it was sent with the text

        FRESHNESS (each sends the Cache-Control that it is named for)
          GET  /no-store, /no-cache, /private, /public, /must-revalidate,
               /proxy-revalidate, /immutable, /stale-while-revalidate,
               /stale-if-error
          GET  /heuristic                 Last-Modified, and no lifetime
          GET  /uncacheable               Vary: *
          GET  /counter?max-age=SECONDS   the number of the request as the body
          GET  /respond?status=N&field=Name:value&body=TEXT
                                          a response made of the query
          any  /status/{code}?body=TEXT   any status from 200 to 599, with the
                                          fields that it must have

        CONTENT
          GET  /greeting                  by Accept-Language: de, en, fr
          GET  /bytes/{count}?seed=N&chunked=true
                                          that many deterministic bytes, streamed;
                                          Range and If-Range, one range at a time
          GET  /gzip/{count}, /deflate/{count}
                                          lines of text, coded by Accept-Encoding;
                                          always=true codes regardless, raw=true
                                          leaves the zlib format out of 'deflate',
                                          missing=N leaves out the last N bytes
          GET  /html, /empty              a success without JSON, or without content
          any  /echo, /echo/...           the request as it was received
          any  /redirect?to=PATH&status=N&max-age=SECONDS
                                          a redirection; '//host:port/path' leads to
                                          another origin

        ENVELOPES (GET or POST; code=CODE, msg=TEXT, as=number, string or bool)
          /envelope/object, array, null, none, ids
                                          {code, msg, data}; 'none' has no data
          /envelope/failure, bare         a failed one; 'bare' is only a code
          /envelope/nested, nested-failure
                                          {error: {errCode, errMsg}, result}
          /envelope/list                  a page, asked for by a JSON or form body
                                          with 'page', or by the query

        UPLOADS (PUT or POST; limit=BYTES lowers the limit of 1 GiB)
          /upload                         returns bytes, sha256, contentType, query
          /upload/multipart               a form, read strictly: the same of its
                                          parts, with name and filename

        AUTHENTICATION
          POST /auth/token                grant_type=refresh_token and
                                          refresh_token=refresh-harbour, a form or
                                          JSON; returns access-harbour-N and
                                          ends the one before. seconds=N and
                                          requests=N limit its life, rotate=true
                                          replaces the refresh token
          GET  /auth/me                   the user of a bearer token, or 401

        FAULTS
          GET  /slow?milliseconds=N       responds late, by at most 30 seconds
          GET  /drip?count=N&size=N&pause=MS&chunked=true
                                          bytes in so many parts with a pause between
                                          them, for 30 seconds at most
          GET  /gated/{name}?before=N&after=N&chunked=true
                                          bytes, a halt until the gate of that name
                                          is opened, and bytes
          GET  /failing?status=N&retry-after=SECONDS&as=date
                                          any status from 400 to 599
          any  /flaky/{key}?fail=N&status=N&retry-after=SECONDS&as=date
                                          fails the first N times, then 200
          GET  /bytes/{count}?key=KEY&cut=N&times=N&changes=N
                                          cuts the connection after N bytes the
                                          first times; the content is another one
                                          each of the first N changes
          GET  /truncated?announced=N&sent=N&chunked=true
                                          announces more than it sends, then closes
          GET  /hangup?reset=true         closes without a response
          GET  /bomb?mebibytes=N          a small gzip that inflates to 1 GiB, or so

        ABOUT THE ORIGIN (not counted)
          GET  /_statistics               the requests that each route received, and
                                          the number of tokens
          POST /_auth/expire              ends the access tokens that are valid
          POST /_gates/{name}             opens a gate
        """
}
