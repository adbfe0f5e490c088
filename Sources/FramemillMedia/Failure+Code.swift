extension Failure.Reason {
    /// Reads back what `code` wrote; `nil` for any other text.
    public init?(code: String) {
        if code.hasPrefix("http_"), let status = Int(code.dropFirst(5)) {
            self = .http(status)
        } else if let reason = Self.byCode[code] {
            self = reason
        } else {
            return nil
        }
    }

    /// Every reason but HTTP's, which has a number of its own. A test compares it with the table.
    private static let byCode: [String: Self] = {
        let all: [Self] = [
            .empty, .notMedia, .invalid, .corrupt, .truncatedHeader, .zeroDimensions, .noFrames, .tooLarge,
            .noVideoStream, .unsupportedCodec, .unsupportedFormat, .notSupported, .encrypted,
            .noDecodableFrame, .timeout, .tooSlow, .tooManyRedirects, .unreachable, .dns, .tls, .badResponse,
            .sourceChanged, .noRange, .badURL, .blockedAddress, .notFound, .notKept, .outOfMemory,
            .tooMuchMemory, .decoderCrashed, .writeFailed, .badOption, .cancelled, .closed, .internalError,
        ]
        return Dictionary(uniqueKeysWithValues: all.map { ($0.code, $0) })
    }()
}
