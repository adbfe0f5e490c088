#pragma once
#include <avif/avif.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>
#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

// libpng reports errors by longjmp and its simplified writer can't be told a filter and a strategy. The whole life of
// a png_struct is in here, so that a jump starts and ends in C and never passes a Swift frame.

typedef struct framemill_png_sink {
    unsigned char *bytes;
    size_t count, room;
    char *message;
    size_t messageRoom;
} framemill_png_sink;

static inline void framemill_png_fail(png_structp png, png_const_charp words) {
    framemill_png_sink *sink = (framemill_png_sink *)png_get_error_ptr(png);
    strncpy(sink->message, words, sink->messageRoom - 1);
    png_longjmp(png, 1);
}

static inline void framemill_png_ignore(png_structp png, png_const_charp words) { (void)png, (void)words; }

static inline void framemill_png_flush(png_structp png) { (void)png; }

static inline void framemill_png_write(png_structp png, png_bytep data, size_t count) {
    framemill_png_sink *sink = (framemill_png_sink *)png_get_io_ptr(png);
    if (sink->room - sink->count < count) {
        size_t room = (sink->room + count) * 2;
        unsigned char *bytes = (unsigned char *)realloc(sink->bytes, room);
        if (!bytes) png_error(png, "out of memory");
        sink->bytes = bytes;
        sink->room = room;
    }
    memcpy(sink->bytes + sink->count, data, count);
    sink->count += count;
}

// Encodes rows of RGBA, leaving the fourth byte out of the file without hasAlpha. The caller frees what is returned; NULL: see message, which holds
// messageRoom zeroed bytes.
static inline unsigned char *framemill_png_encode(const unsigned char *pixels, uint32_t width, uint32_t height,
                                                  int hasAlpha, int level, int strategy, int filters,
                                                  size_t *count, char *message, size_t messageRoom) {
    framemill_png_sink sink = {NULL, 0, 0, message, messageRoom};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &sink, framemill_png_fail, framemill_png_ignore);
    if (!png) return NULL;
    // volatile: read after the jump.
    png_infop volatile info = png_create_info_struct(png);
    if (!info || setjmp(png_jmpbuf(png))) {
        png_infop made = info;
        png_destroy_write_struct(&png, &made);
        free(sink.bytes);
        return NULL;
    }
    png_set_write_fn(png, &sink, framemill_png_write, framemill_png_flush);
    png_set_IHDR(png, info, width, height, 8, hasAlpha ? PNG_COLOR_TYPE_RGBA : PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_compression_level(png, level);
    png_set_compression_strategy(png, strategy);
    png_set_filter(png, PNG_FILTER_TYPE_BASE, filters);
    png_write_info(png, info);
    if (!hasAlpha) png_set_filler(png, 0, PNG_FILLER_AFTER);
    for (uint32_t row = 0; row < height; row++) png_write_row(png, pixels + (size_t)row * width * 4);
    png_write_end(png, NULL);
    png_infop made = info;
    png_destroy_write_struct(&png, &made);
    *count = sink.count;
    return sink.bytes;
}
