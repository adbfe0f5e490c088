#!/usr/bin/env bash
# The recipe of samples/media: every file there was made by this script, with Debian 12's ffmpeg, from its own
# test pictures. Run it again to make them anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/media"

# make ARGUMENTS... FILE: without the time, the tool and the random numbers that containers like to carry.
make() { ffmpeg -nostdin -loglevel error -y "${@:1:$#-1}" -fflags +bitexact "${@: -1}"; }
h264=(-c:v libx264 -preset veryslow -crf 30 -threads 1 -pix_fmt yuv420p -flags:v +bitexact)
aac=(-c:a aac -b:a 48k -flags:a +bitexact)
tone=(-f lavfi -i "sine=frequency=330:duration=2")

# The index in front, as it should be for the web; and at the end, as cameras leave it.
make -f lavfi -i "testsrc2=size=640x360:rate=25:duration=2" "${tone[@]}" -g 25 "${h264[@]}" "${aac[@]}" \
    -movflags +faststart clip.mp4
make -f lavfi -i "mandelbrot=size=640x360:rate=25:start_scale=0.5" -t 2 "${h264[@]}" clip-end.mp4
make -f lavfi -i "testsrc=size=640x360:rate=25:duration=2" -c:v libvpx-vp9 -crf 45 -b:v 0 -threads 1 \
    -pix_fmt yuv420p -flags:v +bitexact clip.webm
make -f lavfi -i "smptehdbars=size=640x360:rate=25:duration=1" "${h264[@]}" clip.ts

# A phone held upright: stored lying, 640x360, with a matrix that turns it by 90 degrees clockwise.
make -f lavfi -i "testsrc2=size=360x640:rate=25:duration=1" -vf transpose=cclock "${h264[@]}" upright.tmp.mov
make -i upright.tmp.mov -c copy -metadata:s:v:0 rotate=270 rotated.mov
rm upright.tmp.mov

# Two seconds of black, then the film: `--at auto` moves on past the opening.
make -f lavfi -i "color=black:size=640x360:rate=25:duration=2" \
    -f lavfi -i "testsrc2=size=640x360:rate=25:duration=1" \
    -filter_complex "[0][1]concat" -g 25 "${h264[@]}" black-opening.mp4

# 10 bits, BT.2020 and PQ, to be tone-mapped.
pq="colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc"
make -f lavfi -i "testsrc2=size=320x180:rate=25:duration=0.4" \
    -vf "scale=out_color_matrix=bt2020,format=yuv420p10le" \
    -c:v libx265 -preset medium -crf 30 -tag:v hvc1 \
    -x265-params "log-level=error:pools=none:frame-threads=1:info=0:$pq" \
    -color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc hdr.mp4

make -f lavfi -i "testsrc2=size=240x160:rate=10:duration=1.5" -flags:v +bitexact \
    -vf "split[a][b];[a]palettegen=max_colors=32[p];[b][p]paletteuse=dither=none" animation.gif
disc="format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='255*lt(hypot(X-W/2,Y-H/2),H/2)'"
make -f lavfi -i "testsrc2=size=200x200:rate=10:duration=1" -vf "$disc" \
    -c:v libwebp_anim -quality 60 -loop 0 sticker.webp
steps="r='32*floor(8*X/W)':g='32*floor(8*Y/H)':b=128:a='255*lt(hypot(X/W-0.5,Y/H-0.5),0.4)'"
make -f lavfi -i "color=black:size=400x300" -vf "format=rgba,geq=$steps" \
    -frames:v 1 -flags:v +bitexact picture.png
make -f lavfi -i "mandelbrot=size=800x600:start_scale=0.02:start_x=-0.743:start_y=-0.131" -frames:v 1 -q:v 6 \
    -pix_fmt yuvj420p -flags:v +bitexact photo.jpg

# A song with its cover inside.
make -f lavfi -i "smptehdbars=size=300x300" -frames:v 1 -q:v 5 -pix_fmt yuvj420p \
    -flags:v +bitexact sleeve.tmp.jpg
make "${tone[@]}" -i sleeve.tmp.jpg -map 0 -map 1 -c:a libmp3lame -b:a 48k -c:v copy \
    -disposition:v attached_pic -id3v2_version 3 song.mp3
rm sleeve.tmp.jpg
