// The system's libnghttp2 (RFC 9113 and RFC 7541), as a module.

#ifndef HOLDFAST_CNGHTTP2_H
#define HOLDFAST_CNGHTTP2_H

#include <nghttp2/nghttp2.h>

#endif
