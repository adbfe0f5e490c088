import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct FetchURLTests {
    private func target(_ text: String) throws -> String {
        guard case .http(let web) = try Location(text) else { throw Failure(.badURL, .input, "a file") }
        return web.target
    }

    private func reason(_ text: String) -> Failure.Reason? {
        do throws(Failure) {
            _ = try Location(text)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(arguments: [
        ("http://h/a%20b.mp4", "/a%20b.mp4"), ("http://h/a b.mp4", "/a%20b.mp4"),
        ("http://h/a%2520b.mp4", "/a%2520b.mp4"), ("http://h/100%.mp4", "/100%25.mp4"),
        ("http://h/a+b.mp4", "/a+b.mp4"), ("http://h/%e4%bd%a0", "/%e4%bd%a0"),
        ("http://h/你", "/%E4%BD%A0"), ("http://h/🎬.mp4", "/%F0%9F%8E%AC.mp4"),
        ("http://h/a/../b", "/a/../b"), ("http://h?x=1 2#part", "/?x=1%202"), ("http://h", "/"),
        (" \u{FEFF}http://h/a.mp4\r\n", "/a.mp4"), ("HTTP://H/A?sig=a%2Fb/c", "/A?sig=a%2Fb/c"),
    ])
    func encodesWhatIsRawOnce(_ text: String, _ wire: String) throws {
        #expect(try target(text) == wire)
    }

    @Test(arguments: [
        "http://127.0.0.1:8000\\@example.com/", "http://example.com\\@127.0.0.1/", "http://a@127.0.0.1:8000/",
        "http://a@b@example.com/", "http://exa\tmple.com/", "http://example.com/a\rb",
        "http://example.com/a\nb",
        "http://example.com/\u{0}", "http://%31%32%37.0.0.1/", "http:///a", "http://:80/", "http://h:99999/",
        "http://h:8x/", "http:h/a", "http://[::1/", "http://[zz]/", "ftp://h/a", "data:image/png;base64,x",
        "",
        "http://a b/",
    ])
    func refusesWhatTwoParsersReadDifferently(_ text: String) {
        #expect(reason(text) == .badURL)
    }

    @Test func endsTheHostAtTheFragment() throws {
        #expect(try Location("http://127.0.0.1#@example.com/").displayName == "http://127.0.0.1/")
    }

    @Test(arguments: [
        ("http://EXAMPLE.com:80/a/./b/../c?q=%2f#x", "http://example.com/a/c?q=%2F"),
        ("https://example.com:443", "https://example.com/"), ("https://h:8443/A", "https://h:8443/A"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://[2001:DB8::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("file:///a%20b/%25.mp4", "/a b/%.mp4"), ("file://localhost/x", "/x"),
        ("/x/./y%20z.mp4", "/x/y%20z.mp4"),
    ])
    func writesOneTextForOneSource(_ text: String, _ canonical: String) throws {
        #expect(try Location(text).canonical == canonical)
    }

    @Test(arguments: ["./a b.mp4", "clip.mp4", "take:2.mp4", "100%.mp4"])
    func takesPlainPathsAsTheyAre(_ path: String) throws {
        #expect(try Location(path) == .file(path: path))
    }

    @Test(arguments: [
        ("/x", "http://h:81/x"), ("x?q", "http://h:81/a/x?q"), ("../x", "http://h:81/x"),
        ("?z=1", "http://h:81/a/b?z=1"), ("//other/x", "http://other/x"), ("https://o/ü", "https://o/%C3%BC"),
        ("#top", "http://h:81/a/b?q=1"),
    ])
    func resolvesRedirectTargets(_ reference: String, _ whole: String) throws {
        guard case .http(let web) = try Location("http://h:81/a/b?q=1") else { return }
        #expect(try web.following(reference).canonical == whole)
    }

    @Test func namesNoQueryAndNoPassword() throws {
        #expect(try Location("https://h/a.mp4?sig=secret").displayName == "https://h/a.mp4")
        let failure = #expect(throws: Failure.self) { try Location("https://me:secret@h/a.mp4") }
        #expect(failure?.description.contains("secret") == false)
    }

    /// B35: Swift takes a delimiter and U+0301 behind it for one character; browsers and Python split there.
    @Test(arguments: [
        ("http://h/a#\u{301}b", "http://h/a"), ("http://h/a?\u{301}b=1", "http://h/a?%CC%81b=1"),
        ("http://h/a/..\u{301}/b", "http://h/a/..%CC%81/b"), ("http://h/a/\u{301}/../b", "http://h/a/b"),
        ("http:/\u{301}/h/", nil), ("http://\u{301}h/", "http://xn--h-wbb/"), ("http://u:p@\u{301}h/", nil),
        ("http://h:\u{301}80/", nil), ("http://h/\u{301}", "http://h/%CC%81"), ("http://[::1]\u{301}/", nil),
        ("http://[\u{301}::1]/", nil), ("file:///a/\u{301}b/./c", "/a/\u{301}b/c"),
    ])
    func findsADelimiterBeforeACombiningMark(_ url: String, _ canonical: String?) throws {
        #expect((try? Location(url).canonical) == canonical)
    }

    @Test func findsADelimiterBeforeACombiningMarkInARedirect() throws {
        guard case .http(let web) = try Location("http://h/a/b") else { return }
        for (target, wanted) in [
            ("c#\u{301}", "http://h/a/c"), ("/\u{301}", "http://h/%CC%81"),
            ("?\u{301}", "http://h/a/b?%CC%81"),
            ("//i/\u{301}", "http://i/%CC%81"), ("c/../d?\u{301}/../e", "http://h/a/d?%CC%81/../e"),
        ] { #expect(try web.following(target).canonical == wanted, "\(target)") }
        #expect(CacheRecord.withoutUser("http://u:p@\u{301}h/") == "http://\u{301}h/")
    }
}
