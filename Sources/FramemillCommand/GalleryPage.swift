import Framemill

/// The words of the gallery. Whatever comes from a list or a source is escaped.
enum GalleryPage {
    static func card(_ record: Record, cover: String?) -> String {
        let title = escape(record.id ?? shown(record.url))
        let place = escape(shown(record.url))
        let search = escape("\(record.id ?? "") \(shown(record.url)) \(record.code)".lowercased())
        guard record.isMade, let facts = record.facts else {
            return """
                <article class="bad" tabindex="0" data-s="\(search)">\
                <div class="pic">\(escape(record.code))</div>\
                <h2>\(title)</h2><p>\(place)</p><p>\(escape(words(record)))</p>\
                <p class="f">line \(record.line) · \(escape(record.class ?? ""))</p></article>

                """
        }
        let color = facts.dominantColor.map(escape) ?? "#888"
        let picture = cover.map {
            """
            <img loading="lazy" decoding="async" alt="" width="\(facts.width)" height="\(facts.height)" \
            src="\($0)">
            """
        }
        return """
            <article tabindex="0" data-s="\(search)"><div class="pic" style="background:\(color)">\
            \(picture ?? "file is gone")</div>\
            <h2>\(title)</h2><p>\(place)</p><p class="f">\(escape(summary(facts)))</p></article>

            """
    }

    private static func words(_ record: Record) -> String {
        (record.message ?? "") + (record.cause.map { " (\($0))" } ?? "")
    }

    /// Without credentials and query: a page is passed on, a token in it should not be.
    static func shown(_ url: String) -> String {
        guard let scheme = url.firstRange(of: "://") else { return url }
        let rest = url[scheme.upperBound...].prefix { $0 != "?" && $0 != "#" }
        let host = rest.prefix { $0 != "/" }
        let bare = host.lastIndex(of: "@").map { host[host.index(after: $0)...] } ?? host
        return url[..<scheme.upperBound] + String(bare) + rest.dropFirst(host.count)
    }

    static func summary(_ facts: Facts) -> String {
        var words = ["\(facts.width)×\(facts.height) \(facts.format)", size(facts.byteCount)]
        words.append("\(facts.source.rawValue) \(facts.codec) \(facts.displayWidth)×\(facts.displayHeight)")
        if let text = facts.durationText { words.append(text) }
        if let used = facts.timeUsed { words.append("at \((used * 100).rounded() / 100) s") }
        if let hdr = facts.hdr { words.append(hdr) }
        let marks: [(Bool, String)] = [
            (facts.alpha, "alpha"), (facts.animated, "animated"), (facts.audio, "audio"),
            (facts.dark, "dark"),
            (facts.degraded, "degraded"), (facts.approximate, "approximate"),
        ]
        words += marks.filter(\.0).map(\.1)
        return words.joined(separator: " · ")
    }

    static func size(_ bytes: Int) -> String {
        bytes < 1000 ? "\(bytes) B" : "\(Progress.short(Double(bytes) / 1000)) KB"
    }

    static func escape(_ text: String) -> String {
        var safe = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": safe += "&amp;"
            case "<": safe += "&lt;"
            case ">": safe += "&gt;"
            case "\"": safe += "&quot;"
            case "'": safe += "&#39;"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: safe += " "
            default: safe.unicodeScalars.append(scalar)
            }
        }
        return safe
    }

    static let head = """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
        style-src 'unsafe-inline'; script-src 'unsafe-inline'">
        <title>Framemill covers</title>
        <style>
        :root{color-scheme:light dark}
        body{font:15px/1.35 system-ui,sans-serif;margin:0}
        header{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:8px;align-items:center;
        padding:8px 12px;        background:Canvas;border-bottom:1px solid #8886}
        h1{font-size:16px;margin:0}
        input{font:inherit;flex:1 1 160px;min-width:0;padding:6px 8px}
        button{font:inherit;padding:6px 10px;min-height:40px}
        button[aria-pressed=true]{outline:2px solid Highlight}
        main{display:grid;gap:12px;padding:12px;
        grid-template-columns:repeat(auto-fill,minmax(min(100%,220px),1fr))}
        article{content-visibility:auto;contain-intrinsic-size:auto 260px;
        border:1px solid #8884;border-radius:8px;overflow:hidden;padding-bottom:8px}
        article:focus{outline:3px solid Highlight}
        article[hidden]{display:none}
        .pic{display:grid;place-items:center;height:180px;color:#fff}
        .bad .pic{background:#a33;font:600 16px ui-monospace,monospace}
        img{max-width:100%;max-height:180px;width:auto;height:auto;display:block}
        h2{font-size:14px;margin:8px 10px 2px;overflow-wrap:anywhere}
        p{font-size:12px;margin:2px 10px;overflow-wrap:anywhere}
        .f{opacity:.75}
        </style></head><body>
        <header><h1>Framemill covers</h1><span id="n"></span>
        <input id="q" type="search" placeholder="Filter ( / )" aria-label="Filter">
        <button data-v="all" aria-pressed="true">All</button>\
        <button data-v="ok" aria-pressed="false">Made</button>\
        <button data-v="bad" aria-pressed="false">Failed</button></header>
        <main>

        """

    static func tail(made: Int, failed: Int) -> String {
        """
        </main>
        <script>
        "use strict";
        const cards = [...document.querySelectorAll("article")], q = document.getElementById("q");
        const count = document.getElementById("n"), buttons = [...document.querySelectorAll("button")];
        let view = "all";
        const total = "\(made) made, \(failed) failed";
        function filter() {
          const words = q.value.toLowerCase().split(/\\s+/).filter(Boolean);
          let shown = 0;
          for (const card of cards) {
            const bad = card.classList.contains("bad");
            const fits = (view === "all" || (view === "bad") === bad)
              && words.every(word => card.dataset.s.includes(word));
            card.hidden = !fits;
            if (fits) shown++;
          }
          count.textContent = shown === cards.length ? total : shown + " of " + cards.length + " shown";
        }
        q.addEventListener("input", filter);
        for (const button of buttons) button.addEventListener("click", () => {
          view = button.dataset.v;
          for (const other of buttons) other.setAttribute("aria-pressed", other === button);
          filter();
        });
        document.addEventListener("keydown", event => {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          if (event.key === "/" && document.activeElement !== q) {
            event.preventDefault();
            q.focus();
            return q.select();
          }
          if (event.key === "Escape") { q.value = ""; filter(); q.blur(); return; }
          if (document.activeElement === q && event.key !== "ArrowDown") return;
          const shown = cards.filter(card => !card.hidden);
          if (!shown.length) return;
          const at = shown.indexOf(document.activeElement);
          const row = shown.filter(card => card.offsetTop === shown[0].offsetTop).length || 1;
          const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: row, ArrowUp: -row }[event.key];
          const last = shown.length - 1;
          const to = event.key === "Home" ? 0 : event.key === "End" ? last
            : step === undefined ? undefined : at < 0 ? 0 : Math.max(0, Math.min(last, at + step));
          if (to === undefined) return;
          event.preventDefault();
          shown[to].focus();
          shown[to].scrollIntoView({ block: "nearest" });
        });
        filter();
        </script></body></html>

        """
    }
}
