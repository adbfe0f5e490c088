#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/display.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/imgutils.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>

// AVERROR and its tags are macros that Swift can't see.
static inline int framemill_averror(int number) { return AVERROR(number); }
static inline int framemill_averror_eof(void) { return AVERROR_EOF; }
static inline int framemill_averror_exit(void) { return AVERROR_EXIT; }
static inline int framemill_averror_again(void) { return AVERROR(EAGAIN); }
static inline int64_t framemill_no_pts(void) { return AV_NOPTS_VALUE; }
// av_log_set_callback takes a variadic function; silence is a level.
static inline void framemill_quiet_log(void) { av_log_set_level(AV_LOG_QUIET); }
