// The system's zlib (RFC 1950, 1951, 1952), as a module.
//
// Swift cannot call function-like macros, and zlib's initializers are such macros. They pass the
// version and the size of 'z_stream' that the caller was compiled with, so that a library with
// another layout rejects the call instead of overwriting memory. The functions below wrap those
// macros.

#ifndef HOLDFAST_CZLIB_H
#define HOLDFAST_CZLIB_H

#include <zlib.h>

// 'inflateInit2': 8 to 15 reads the zlib format, 16 more gzip, 32 more either by its header,
// negative a raw stream.
static inline int czlib_inflateInit2(z_stream *stream, int windowBits) {
    return inflateInit2(stream, windowBits);
}

// 'deflateInit2' with the default strategy: 9 to 15 writes the zlib format, 16 more gzip, negative
// a raw stream.
static inline int czlib_deflateInit2(z_stream *stream, int level, int windowBits, int memLevel) {
    return deflateInit2(stream, level, Z_DEFLATED, windowBits, memLevel, Z_DEFAULT_STRATEGY);
}

#endif
