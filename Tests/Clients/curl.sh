#!/usr/bin/env bash
# curl: GET, HEAD, ranges, conditions, uploads of every kind, kept connections, HTTP/1.0.
# Offline, it repeats the reads.
# curl.sh online|offline GATEWAY ORIGIN FOLDER
set -u
phase=$1 gateway=$2 memory=$4
body=$memory/body head=$memory/head

# Stale at once: the gateway validates it each time while the origin is reachable.
stale='/respond?field=Cache-Control:max-age%3D0&body=old'

# A text of 2,000 bytes, below the route that compresses.
words=$(printf 'ferry%.0s' {1..400})
packed="/packed/respond?field=Content-Type:text/css&field=Cache-Control:public,max-age%3D600&body=$words"

done_() {
    printf '    ok  %s\n' "$1"
}

wrong() {
    printf '  FAILED, line %s: %s\n' "${BASH_LINENO[1]}" "$1" >&2
    if [ -f "$head" ]; then sed 's/^/    /' "$head" >&2; fi
    exit 1
}

# get ARGUMENTS...: curl; the head and the body go to files.
get() {
    rm -f "$head" "$body"
    curl --silent --show-error --max-time 20 --dump-header "$head" --output "$body" "$@" || wrong "curl ended with $?: $*"
    touch "$body"
}

# settled ARGUMENTS...: repeats 'get' until its response joins none that is still being stored.
settled() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        get "$@"
        grep -iq '^Cache-Status: .*collapsed' "$head" || return 0
    done
    wrong 'still being stored after 200 requests'
}

# status CODE: checks the status of the last response, without interim ones.
status() {
    local got
    got=$(grep '^HTTP/' "$head" | tail -n 1 | cut -d ' ' -f 2)
    [ "$got" = "$1" ] || wrong "expected the status $1, got $got"
}

# has REGEX, lacks REGEX: check the lines of the last head.
has() {
    tr -d '\r' <"$head" | grep -Eiq -- "$1" || wrong "expected a line like '$1'"
}

lacks() {
    ! tr -d '\r' <"$head" | grep -Eiq -- "$1" || wrong "expected no line like '$1'"
}

# bytes COUNT: checks the length of the last body.
bytes() {
    local got
    got=$(wc -c <"$body")
    [ "$got" -eq "$1" ] || wrong "expected $1 bytes, got $got"
}

same() {
    cmp -s "$body" "$1" || wrong "the body is not that of '$1'"
}

sum() {
    sha256sum "$1" | cut -d ' ' -f 1
}

contains() {
    grep -Fq -- "$1" "$body" || wrong "expected '$1' in the body: $(head -c 300 "$body")"
}

online() {
    get "$gateway/bytes/100000?seed=1"
    status 200
    bytes 100000
    has '^Cache-Status: holdfast; fwd=uri-miss; stored'
    has '^Via: .*holdfast'
    has '^Date: '
    cp "$body" "$memory/bytes"
    settled "$gateway/bytes/100000?seed=1"
    status 200
    same "$memory/bytes"
    has '^Cache-Status: holdfast; hit; ttl='
    has '^Age: [0-9]+$'
    has '^Content-Length: 100000$'
    local tag
    tag=$(tr -d '\r' <"$head" | sed -n 's/^[Ee][Tt]ag: //p')
    get "$gateway$stale"
    has '^Cache-Status: holdfast; fwd=uri-miss; stored'
    settled "$gateway$stale"
    has '^Cache-Status: holdfast; fwd=stale'
    contains 'old'
    done_ 'GET: a miss, then a hit; stale responses are validated'

    get --head "$gateway/bytes/100000?seed=1"
    status 200
    has '^Content-Length: 100000$'
    get --head "$gateway/bytes/4321?seed=1"
    status 200
    has '^Content-Length: 4321$'
    # A HEAD is not a GET: the next GET has a body.
    get "$gateway/bytes/4321?seed=1"
    bytes 4321
    done_ 'HEAD, stored and not stored'

    get --range 100-199 "$gateway/bytes/100000?seed=1"
    status 206
    has '^Content-Range: bytes 100-199/100000$'
    dd if="$memory/bytes" of="$memory/part" bs=1 skip=100 count=100 2>/dev/null
    same "$memory/part"
    get --range -10 "$gateway/bytes/100000?seed=1"
    status 206
    tail -c 10 "$memory/bytes" >"$memory/part"
    same "$memory/part"
    get --range 100000- "$gateway/bytes/100000?seed=1"
    status 416
    has '^Content-Range: bytes \*/100000$'
    get --header "If-Range: $tag" --range 0-0 "$gateway/bytes/100000?seed=1"
    status 206
    get --header 'If-Range: "other"' --range 0-0 "$gateway/bytes/100000?seed=1"
    status 200
    same "$memory/bytes"
    # curl's own resumption after an interruption.
    head -c 60000 "$memory/bytes" >"$memory/resumed"
    curl --silent --show-error --max-time 20 --continue-at - --output "$memory/resumed" "$gateway/bytes/100000?seed=1" || wrong "resuming failed"
    cmp -s "$memory/resumed" "$memory/bytes" || wrong "the resumed download is not the whole content"
    get --range 5-9 "$gateway/bytes/3000?seed=2"
    status 206
    bytes 5
    get "$gateway/bytes/3000?seed=2"
    status 200
    bytes 3000
    done_ 'ranges of stored and other responses; an interrupted download'

    get --header "If-None-Match: $tag" "$gateway/bytes/100000?seed=1"
    status 304
    bytes 0
    get --header 'If-None-Match: "other"' "$gateway/bytes/100000?seed=1"
    status 200
    same "$memory/bytes"
    get --time-cond 'Fri, 01 Jan 2027 00:00:00 GMT' "$gateway/moments?userID=harbour&page=1"
    get --time-cond 'Fri, 02 Jan 2026 00:00:00 GMT' "$gateway/moments?userID=harbour&page=1"
    status 304
    get --etag-save "$memory/tag" "$gateway/moments?userID=harbour&page=1"
    status 200
    cp "$body" "$memory/feed"
    get --etag-compare "$memory/tag" "$gateway/moments?userID=harbour&page=1"
    status 304
    done_ 'conditions: tags and dates'

    get --compressed "$gateway/gzip/80000"
    has '^Content-Encoding: '
    bytes 80000
    cp "$body" "$memory/text"
    get "$gateway/gzip/80000"
    lacks '^Content-Encoding: '
    has '^Cache-Status: holdfast; fwd=vary-miss'
    same "$memory/text"
    settled --compressed "$gateway/gzip/80000"
    has '^Cache-Status: holdfast; hit'
    same "$memory/text"
    done_ 'coded content: each client gets what it can read'

    get --compressed "$gateway$packed"
    has '^Content-Encoding: gzip$'
    has '^Vary: .*Accept-Encoding'
    contains "$words"
    local coding
    for coding in gzip 'identity' 'gzip;q=0' '*' 'br, gzip;q=0.5'; do
        settled --header "Accept-Encoding: $coding" "$gateway$packed"
        has '^Cache-Status: holdfast; hit'
        case $coding in
        identity | 'gzip;q=0')
            lacks '^Content-Encoding: '
            has '^Content-Length: 2000$'
            bytes 2000
            ;;
        *)
            has '^Content-Encoding: gzip$'
            lacks '^Accept-Ranges: '
            gzip --decompress --stdout <"$body" >"$memory/part"
            [ "$(cat "$memory/part")" = "$words" ] || wrong "not the text, decoded"
            ;;
        esac
        get --head --header "Accept-Encoding: $coding" "$gateway$packed"
        status 200
    done
    get --compressed --header 'Cookie: a=b' "$gateway$packed"
    lacks '^Content-Encoding: '
    get --header 'Accept-Encoding: gzip' --range 0-4 "$gateway$packed"
    status 206
    lacks '^Content-Encoding: '
    contains 'ferry'
    done_ 'compression: each client gets what it accepts; parts and requests with cookies get no coding'

    head -c 3000000 /dev/urandom >"$memory/content"
    local sum
    sum=$(sum "$memory/content")
    get --data-binary "@$memory/content" "$gateway/upload"
    status 200
    contains "$sum"
    # curl sends Expect: 100-continue before so much content, and waits for the 100.
    has '^HTTP/1.1 100'
    get --header 'Expect:' --data-binary "@$memory/content" "$gateway/upload"
    lacks '^HTTP/1.1 100'
    contains "$sum"
    get --header 'Transfer-Encoding: chunked' --data-binary "@$memory/content" "$gateway/upload"
    contains "$sum"
    get --header 'Expect: 100-continue' --data-binary 'abc' "$gateway/upload"
    has '^HTTP/1.1 100'
    contains '"bytes":3'
    get --upload-file "$memory/content" "$gateway/upload"
    contains "$sum"
    get --upload-file - "$gateway/upload" <"$memory/content"
    contains "$sum"
    get --form "file=@$memory/content;filename=content.bin" "$gateway/upload/multipart"
    contains "$sum"
    get --request POST "$gateway/echo"
    status 200
    contains '"length":0'
    get --request DELETE "$gateway/moments/harbour-3/like"
    lacks '^HTTP/1.1 5'
    done_ 'uploads: with a length, chunked, with Expect, as a form; PUT, POST without content, DELETE'

    # A GET with content, on a hit: the gateway must not read the content as the next request.
    get --request GET --data 'GET /echo HTTP/1.1' "$gateway/bytes/100000?seed=1" --next --silent --dump-header "$head" --output "$body" "$gateway/html"
    contains '<'
    local connects
    connects=$(curl --silent --show-error --max-time 20 --output /dev/null --output /dev/null --output /dev/null --output /dev/null \
        --write-out '%{num_connects} ' "$gateway/html" "$gateway/echo" "$gateway/gzip/80000" "$gateway/status/404") || wrong 'four requests failed'
    [ "$connects" = '1 0 0 0 ' ] || wrong "four requests took these connections: $connects"
    connects=$(curl --silent --max-time 20 --output /dev/null --output /dev/null --write-out '%{num_connects} ' --header 'Connection: close' "$gateway/html" "$gateway/html")
    [ "$connects" = '1 1 ' ] || wrong "two requests that close took these connections: $connects"
    done_ 'connections: kept, reused, closed on request'

    for target in "bytes/100000?seed=1" "bytes/100000?seed=1&chunked=true" "bytes/100000?seed=1&chunked=true"; do
        get --http1.0 "$gateway/$target"
        status 200
        same "$memory/bytes"
        lacks '^Transfer-Encoding'
    done
    get --http1.0 "$gateway/drip?count=3&size=1000&pause=5&chunked=true"
    bytes 3000
    lacks '^Transfer-Encoding'
    connects=$(curl --http1.0 --silent --max-time 20 --output /dev/null --output /dev/null --write-out '%{num_connects} ' --header 'Connection: keep-alive' "$gateway/html" "$gateway/html")
    [ "$connects" = '1 0 ' ] || wrong "two requests of HTTP/1.0 that keep their connection took these: $connects"
    done_ 'HTTP/1.0: nothing chunked, nothing cut off, kept on request'

    get "$gateway/no-store"
    has '^Cache-Status: holdfast; fwd=uri-miss$'
    get --location "$gateway/redirect?to=/html"
    status 200
    get "$gateway/failing?status=503"
    status 503
    # The client sees the missing end too, and the second request is not a hit.
    for _ in 1 2; do
        curl --silent --max-time 20 --output /dev/null "$gateway/truncated?announced=1000&sent=100"
        [ $? -eq 18 ] || wrong 'a body without its end was taken for whole'
    done
    get "$gateway/hangup"
    status 502
    has '^Content-Type: application/problem\+json'
    get --path-as-is --globoff "$gateway/echo/a%2Fb/..%2F;x=1?q=%7C|[]&&=&a"
    contains '"target":"/echo/a%2Fb/..%2F;x=1?q=%7C|[]&&=&a"'
    done_ 'responses that are not stored, redirected, failed, cut off; targets byte for byte'
}

offline() {
    get "$gateway/bytes/100000?seed=1"
    status 200
    same "$memory/bytes"
    has '^Cache-Status: holdfast; hit'
    get "$gateway/moments?userID=harbour&page=1"
    same "$memory/feed"
    get --compressed "$gateway/gzip/80000"
    same "$memory/text"
    get --compressed "$gateway$packed"
    has '^Content-Encoding: gzip$'
    contains "$words"
    get --head "$gateway/bytes/100000?seed=1"
    has '^Content-Length: 100000$'
    get --range 100-199 "$gateway/bytes/100000?seed=1"
    status 206
    bytes 100
    get --http1.0 "$gateway/bytes/100000?seed=1&chunked=true"
    same "$memory/bytes"
    get "$gateway$stale"
    status 200
    contains 'old'
    has '^Cache-Status: holdfast; hit; ttl=-?[0-9]+; detail=unreachable$'
    done_ 'all earlier responses are served, to HEAD, ranges and HTTP/1.0 too; stale ones are marked'

    get --max-time 5 "$gateway/never-read"
    status 504
    has '^Content-Type: application/problem\+json'
    has '^Cache-Status: holdfast; .*detail='
    contains '"status":504'
    get --max-time 5 "$gateway/truncated?announced=1000&sent=100"
    status 504
    get --max-time 5 "$gateway/no-store"
    status 504
    get --max-time 5 --data-binary "@$memory/content" "$gateway/upload"
    status 504
    get --max-time 5 --header 'Expect:' --header 'Transfer-Encoding: chunked' --data-binary "@$memory/content" "$gateway/upload"
    status 504
    done_ 'requests that need the origin fail at once'
}

"$phase"
