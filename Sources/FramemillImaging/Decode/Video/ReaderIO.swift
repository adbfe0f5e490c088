internal import CFFmpeg
internal import FramemillEngine
internal import FramemillMedia

/// libav's byte input over a `ByteReader`: libav opens no URL and no file of its own.
final class ReaderIO {
    let reader: any ByteReader
    let stop: Stop
    private var position: Int64 = 0
    /// What the reader threw; libav only carries a number back.
    private(set) var failure: Failure?
    /// Time spent in reads, which for a remote source is waiting.
    private(set) var waited: Duration = .zero

    init(_ reader: any ByteReader, stop: Stop) {
        self.reader = reader
        self.stop = stop
    }

    func read(_ buffer: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
        guard failure == nil, !stop.isOver else { return framemill_averror_exit() }
        guard count > 0, let buffer = unsafe buffer else { return framemill_averror_eof() }
        let began = ContinuousClock.now
        defer { waited += began.duration(to: .now) }
        do throws(Failure) {
            // libav owns `count` bytes at `buffer` for the length of this call.
            let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
            let got = unsafe try reader.read(at: position, into: target)
            position += Int64(got)
            return got > 0 ? Int32(got) : framemill_averror_eof()
        } catch {
            failure = error
            return framemill_averror_exit()
        }
    }

    func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return reader.byteCount ?? -1
        case SEEK_SET: position = offset
        case SEEK_CUR: position += offset
        case SEEK_END:
            guard let end = reader.byteCount else { return Int64(framemill_averror(ESPIPE)) }
            position = end + offset
        default: return Int64(framemill_averror(EINVAL))
        }
        guard position >= 0 else {
            position = 0
            return Int64(framemill_averror(EINVAL))
        }
        return position
    }
}

/// An open container. Owns the format context, its input and the buffer between.
@safe struct AVInput: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFormatContext>
    let io: ReaderIO
    private let buffer: UnsafeMutablePointer<AVIOContext>

    /// Demuxers that read one self-contained file. Playlists, scripts, devices and image sequences are not among them.
    static let allowed = """
        mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,live_flv,mpegts,mpeg,mpegvideo,m4v,ogg,asf,rm,mxf,gxf,nut,ivf,obu,\
        h264,hevc,h263,h261,vc1,dirac,mjpeg,cavsvideo,yuv4mpegpipe,dv,nsv,wtv,film_cpk,bink,smk,roq,vmd,4xm,amv,\
        mp3,flac,wav,aac,aiff,au,ape,wv,tta,ac3,eac3,dts,amr,caf,w64,mpc,mpc8,tak,oma,voc,dsf,bmp_pipe,tiff_pipe,gif,\
        ico,psd_pipe,qoi_pipe,jpegxl_pipe,j2k_pipe,pgm_pipe,ppm_pipe
        """

    init(_ reader: any ByteReader, probeBytes: Int64, stop: Stop) throws(Failure) {
        let io = ReaderIO(reader, stop: stop)
        let bufferBytes = 64 << 10
        guard let context = unsafe avformat_alloc_context() else { throw outOfMemory("a container") }
        let memory = unsafe av_malloc(bufferBytes)?.assumingMemoryBound(to: UInt8.self)
        // The I/O object outlives the context: this struct holds it until after `deinit` has closed the container.
        let opaque = unsafe Unmanaged.passUnretained(io).toOpaque()
        let input = unsafe avio_alloc_context(
            memory, Int32(bufferBytes), 0, opaque,
            { opaque, buffer, count in
                unsafe Unmanaged<ReaderIO>.fromOpaque(opaque!).takeUnretainedValue().read(buffer, count)
            }, nil,
            { opaque, offset, whence in
                unsafe Unmanaged<ReaderIO>.fromOpaque(opaque!).takeUnretainedValue().seek(offset, whence)
            })
        guard let input = unsafe input else {
            unsafe av_free(memory)
            unsafe avformat_free_context(context)
            throw outOfMemory("an input buffer")
        }
        unsafe context.pointee.pb = input
        unsafe context.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { opaque in
                unsafe Unmanaged<ReaderIO>.fromOpaque(opaque!).takeUnretainedValue().stop.isOver ? 1 : 0
            }, opaque: opaque)
        // No demuxer may open anything beside what it was given.
        unsafe context.pointee.io_open = { _, _, _, _, _ in framemill_averror(EPERM) }
        unsafe context.pointee.max_streams = 1000
        var options: OpaquePointer?
        unsafe av_dict_set(&options, "format_whitelist", Self.allowed, 0)
        unsafe av_dict_set(&options, "protocol_whitelist", "none", 0)
        unsafe av_dict_set(&options, "probesize", "\(probeBytes)", 0)
        unsafe av_dict_set(&options, "formatprobesize", "\(min(probeBytes, 1 << 20))", 0)
        var opened: UnsafeMutablePointer<AVFormatContext>? = unsafe context
        let code = unsafe avformat_open_input(&opened, nil, nil, &options)
        unsafe av_dict_free(&options)
        guard code >= 0, let opened = unsafe opened else {
            // On failure libav has freed the context, but never a caller's own input.
            unsafe Self.free(input)
            if let failure = io.failure { throw failure }
            try stop.check(.probe)
            throw Failure(
                .invalid, .probe, "not a video, audio or picture file that can be read", cause: avWords(code))
        }
        unsafe pointer = opened
        unsafe buffer = input
        self.io = io
    }

    private static func free(_ input: UnsafeMutablePointer<AVIOContext>) {
        var gone: UnsafeMutablePointer<AVIOContext>? = unsafe input
        // libav may have replaced the buffer, so the current one is freed, not the one that was made.
        unsafe av_freep(&input.pointee.buffer)
        unsafe avio_context_free(&gone)
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = unsafe pointer
        unsafe avformat_close_input(&context)
        unsafe Self.free(buffer)
    }
}
