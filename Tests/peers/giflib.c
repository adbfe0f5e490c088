// The peer of bench-gif.py: DGifSlurp, then every frame composited on an RGBA canvas that is handed over as a copy.
// giflib FILE ROUNDS: prints frames, median and least milliseconds. One round more warms up.
#include <gif_lib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct memory { const uint8_t *bytes; size_t count, at; };

static int read_memory(GifFileType *gif, GifByteType *to, int count) {
    struct memory *memory = gif->UserData;
    size_t left = memory->count - memory->at, part = (size_t)count < left ? (size_t)count : left;
    memcpy(to, memory->bytes + memory->at, part);
    memory->at += part;
    return (int)part;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static int limit(int value, int most) { return value < most ? value : most; }

static int decode(struct memory memory) {
    int code;
    GifFileType *gif = DGifOpen(&memory, read_memory, &code);
    if (!gif) return 0;
    DGifSlurp(gif);
    int width = gif->SWidth, height = gif->SHeight, frames = gif->ImageCount;
    size_t bytes = (size_t)width * height * 4;
    // Four buffers in turn, as a consumer on another thread would hold them.
    uint32_t *canvas = calloc(1, bytes), *before = malloc(bytes);
    uint8_t *handed = malloc(bytes * 4);
    for (int index = 0; index < frames; index++) {
        SavedImage *image = &gif->SavedImages[index];
        GraphicsControlBlock control = {0, 0, 0, NO_TRANSPARENT_COLOR};
        DGifSavedExtensionToGCB(gif, index, &control);
        ColorMapObject *map = image->ImageDesc.ColorMap ? image->ImageDesc.ColorMap : gif->SColorMap;
        uint32_t colors[256] = {0};
        for (int color = 0; map && color < map->ColorCount; color++) {
            GifColorType *entry = &map->Colors[color];
            colors[color] = entry->Red | entry->Green << 8 | entry->Blue << 16 | 0xFF000000u;
        }
        int left = image->ImageDesc.Left, top = image->ImageDesc.Top, across = image->ImageDesc.Width;
        int right = limit(left + across, width), bottom = limit(top + image->ImageDesc.Height, height);
        if (control.DisposalMode == DISPOSE_PREVIOUS) memcpy(before, canvas, bytes);
        for (int y = top; y < bottom; y++) {
            const uint8_t *row = image->RasterBits + (size_t)(y - top) * across;
            uint32_t *to = canvas + (size_t)y * width;
            for (int x = left; x < right; x++)
                if (row[x - left] != control.TransparentColor) to[x] = colors[row[x - left]];
        }
        memcpy(handed + bytes * (index & 3), canvas, bytes);
        if (control.DisposalMode == DISPOSE_PREVIOUS) memcpy(canvas, before, bytes);
        if (control.DisposalMode == DISPOSE_BACKGROUND)
            for (int y = top; y < bottom && left < right; y++)
                memset(canvas + (size_t)y * width + left, 0, 4 * (size_t)(right - left));
    }
    free(canvas), free(before), free(handed);
    DGifCloseFile(gif, &code);
    return frames;
}

static int by_value(const void *a, const void *b) {
    double difference = *(const double *)a - *(const double *)b;
    return (difference > 0) - (difference < 0);
}

int main(int count, char **words) {
    if (count != 3) return 2;
    FILE *file = fopen(words[1], "rb");
    if (!file) return 1;
    fseek(file, 0, SEEK_END);
    size_t size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(size);
    if (fread(bytes, 1, size, file) != size) return 1;
    int rounds = atoi(words[2]), frames = 0;
    double *times = malloc(rounds * sizeof *times);
    for (int round = -1; round < rounds; round++) {
        double start = now();
        frames = decode((struct memory){bytes, size, 0});
        if (round >= 0) times[round] = now() - start;
    }
    qsort(times, rounds, sizeof *times, by_value);
    printf("%d\t%.3f\t%.3f\n", frames, times[rounds / 2], times[0]);
    return 0;
}
