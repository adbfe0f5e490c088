package import FramemillMedia

extension Request {
    /// One text for all spellings of the source that surely mean the same bytes; as written where it is no URL.
    package var canonicalURL: String {
        // What is no URL fails when it is fetched, with a reason; here it only needs a name.
        (try? Location(url).canonical) ?? url
    }

    /// - Parameter isWeb: no local path either.
    /// - Throws: `badURL` for what nobody could ever fetch, such as `ftp:`.
    package static func check(_ url: String, isWeb: Bool = false) throws(Failure) {
        let location = try Location(url)
        if isWeb, case .file = location {
            throw Failure(.badURL, .input, "an http or https address is wanted, not \(location.displayName)")
        }
    }
}
