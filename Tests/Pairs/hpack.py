"""HPACK (RFC 7541), as much as a client needs that keeps no dynamic table."""

NAMES = """:authority|;:method|GET;:method|POST;:path|/;:path|/index.html;:scheme|http;:scheme|https;:status|200;:status|204;
:status|206;:status|304;:status|400;:status|404;:status|500;accept-charset|;accept-encoding|gzip, deflate;accept-language|;
accept-ranges|;accept|;access-control-allow-origin|;age|;allow|;authorization|;cache-control|;content-disposition|;
content-encoding|;content-language|;content-length|;content-location|;content-range|;content-type|;cookie|;date|;etag|;expect|;
expires|;from|;host|;if-match|;if-modified-since|;if-none-match|;if-range|;if-unmodified-since|;last-modified|;link|;location|;
max-forwards|;proxy-authenticate|;proxy-authorization|;range|;referer|;refresh|;retry-after|;server|;set-cookie|;
strict-transport-security|;transfer-encoding|;user-agent|;vary|;via|;www-authenticate|"""
STATIC = [tuple(entry.strip().split("|")) for entry in NAMES.split(";")]

# The lengths of the codes. The code is canonical, so they are all of it. RFC 7541 appendix B
LENGTHS = [int(length) for length in """
13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10 13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6
15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28
20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26 30""".split()]


def codes():
    """{(length, code): symbol}"""
    result, code, last = {}, 0, 0
    for length, symbol in sorted((length, symbol) for symbol, length in enumerate(LENGTHS)):
        code <<= length - last
        result[length, code], last = symbol, length
        code += 1
    return result


CODES = codes()


def unpacked(data):
    """The text of a string in Huffman's code."""
    result, code, length = bytearray(), 0, 0
    for byte in data:
        for place in range(7, -1, -1):
            code, length = code << 1 | byte >> place & 1, length + 1
            symbol = CODES.get((length, code))
            if symbol is not None:
                result.append(symbol)
                code = length = 0
    return bytes(result)


def integer(value, bits, first=0):
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    result, value = bytearray([first | limit]), value - limit
    while value >= 128:
        result.append(value & 127 | 128)
        value >>= 7
    return bytes(result) + bytes([value])


def encoded(fields):
    """Each field as a literal that is not indexed, without Huffman's code."""
    text = b""
    for name, value in fields:
        name, value = name.encode("latin-1"), value.encode("latin-1")
        text += b"\0" + integer(len(name), 7) + name + integer(len(value), 7) + value
    return text


class Decoder:
    """Reads a block of fields. The table has no dynamic part, which the client's SETTINGS say."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def integer(self, bits):
        limit = (1 << bits) - 1
        value = self.data[self.at] & limit
        self.at += 1
        if value < limit:
            return value
        shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value += (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def string(self):
        is_packed = self.data[self.at] & 128
        length = self.integer(7)
        text = self.data[self.at:self.at + length]
        self.at += length
        return (unpacked(text) if is_packed else text).decode("latin-1")

    def fields(self):
        result = []
        while self.at < len(self.data):
            byte = self.data[self.at]
            if byte & 128:
                result.append(STATIC[self.integer(7) - 1])
            elif byte & 0xE0 == 0x20:
                self.integer(5)
            else:
                index = self.integer(6 if byte & 0xC0 == 0x40 else 4)
                name = STATIC[index - 1][0] if index else self.string()
                result.append((name, self.string()))
        return result
