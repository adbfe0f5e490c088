internal import CCurl

/// Dates as HTTP writes them (RFC 9110, 5.6.7), all three forms.
enum HTTPDate {
    /// Seconds since 1970; `nil` for what is no date.
    static func seconds(_ text: String) -> Int? {
        // The text lives through the call, and the second argument is not used.
        let seconds = unsafe curl_getdate(text, nil)
        return seconds < 0 ? nil : seconds
    }
}
