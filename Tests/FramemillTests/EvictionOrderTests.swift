import FramemillMedia
import Testing

@testable import Framemill

@Suite struct EvictionOrderTests {
    /// The same written down once more, as slowly and plainly as can be; both must agree at every step.
    @Test(arguments: [1, 2, 7, 40, 200])
    func agreesWithAPlainModel(room: Int) {
        var random = SystemRandomNumberGenerator()
        let keys = (0..<room * 3).map { key($0) }
        var (order, model) = (EvictionOrder(limit: room * 100), PlainOrder(limit: room * 100))
        var (places, marks, counts) = ([CacheKey: Int](), Set<CacheKey>(), [CacheKey: Int]())
        for _ in 0..<4000 {
            let key = keys[min(Int.random(in: 0..<room * 3), Int.random(in: 0..<room * 3))]
            counts[key, default: 0] += 1
            if let place = places[key] {
                marks.insert(key)
                if Int.random(in: 0..<50, using: &random) == 0 {
                    order.remove(place)
                    model.remove(key)
                    places[key] = nil
                    marks.remove(key)
                }
                continue
            }
            let cost = Int.random(in: 1...100 * min(room, 3), using: &random)
            places[key] = order.add(key, cost: cost)
            let before = marks
            var evicted: [CacheKey] = []
            order.settle(
                .init(takesMark: { marks.remove($0) != nil }, frequency: { counts[$0] ?? 0 })
            ) { evicted.append($0) }
            #expect(evicted == model.add(key, cost, before, counts))
            #expect(marks == model.marks)
            for key in evicted {
                places[key] = nil
                marks.remove(key)
            }
            #expect(order.cost <= room * 100 && order.count == places.count && places[key] != nil)
            #expect(order.cost == model.cost)
        }
    }

    @Test func keepsWhatIsAskedForInALoopThatDoesNotFit() {
        let price = MemoryCache.cost(of: picture(0))
        let cache = MemoryCache(bytes: price * 100)
        var hits = 0
        for call in 0..<150 * 40 {
            let number = call % 150
            if cache.artifact(for: key(number)) != nil {
                hits += 1
            } else {
                cache.store(picture(number), for: key(number))
            }
        }
        // Two thirds would fit; least recently used would serve none.
        #expect(hits > 150 * 40 / 3)
    }

    @Test func followsOtherFavourites() {
        let price = MemoryCache.cost(of: picture(0))
        let cache = MemoryCache(bytes: price * 100)
        for start in [0, 1000] {
            for call in 0..<8000 {
                let number = start + call % 80
                if cache.artifact(for: key(number)) == nil { cache.store(picture(number), for: key(number)) }
            }
        }
        #expect((1000..<1080).count { cache.artifact(for: key($0)) != nil } > 70)
    }
}

/// Arrays, searched from end to end.
private struct PlainOrder {
    let limit: Int
    var window: [(key: CacheKey, cost: Int)] = []
    var main: [(key: CacheKey, cost: Int)] = []
    var hand: CacheKey?
    var marks: Set<CacheKey> = []

    init(limit: Int) { self.limit = limit }

    var cost: Int { (window + main).reduce(0) { $0 + $1.cost } }

    mutating func remove(_ key: CacheKey) {
        if let place = main.firstIndex(where: { $0.key == key }) {
            if hand == key { hand = place + 1 < main.count ? main[place + 1].key : nil }
            main.remove(at: place)
        }
        window.removeAll { $0.key == key }
    }

    mutating func add(
        _ key: CacheKey, _ cost: Int, _ marks: Set<CacheKey>, _ counts: [CacheKey: Int]
    ) -> [CacheKey] {
        self.marks = marks
        window.append((key, cost))
        var evicted: [CacheKey] = []
        while window.reduce(0, { $0 + $1.cost }) > limit / 20, window.count > 1 {
            let candidate = window[0]
            var isIn = true
            while self.cost > limit, isIn {
                guard let victim = victim() else {
                    isIn = false
                    break
                }
                if counts[main[victim].key]! < counts[candidate.key]! {
                    evicted.append(main[victim].key)
                    remove(main[victim].key)
                } else {
                    hand = victim + 1 < main.count ? main[victim + 1].key : nil
                    isIn = false
                }
            }
            window.removeFirst()
            if isIn { main.append(candidate) } else { evicted.append(candidate.key) }
        }
        while self.cost > limit, let victim = victim() {
            evicted.append(main[victim].key)
            remove(main[victim].key)
        }
        return evicted
    }

    private mutating func victim() -> Int? {
        guard !main.isEmpty else { return nil }
        var place = hand.flatMap { hand in main.firstIndex { $0.key == hand } } ?? 0
        while marks.remove(main[place].key) != nil { place = (place + 1) % main.count }
        hand = main[place].key
        return place
    }
}

@Suite struct SketchTests {
    @Test func countsUpToItsMostAndNeverTooFew() {
        var sketch = Sketch(counters: 1 << 12)
        for number in 0..<100 {
            for _ in 0..<number % 18 { sketch.add(key(number)) }
        }
        var exact = 0
        for number in 0..<100 {
            let frequency = sketch.frequency(of: key(number))
            #expect(frequency >= min(15, number % 18))
            if frequency == min(15, number % 18) { exact += 1 }
        }
        #expect(exact > 90)
        #expect(sketch.frequency(of: key(1000)) <= 15)
    }

    @Test func forgetsHalfWhenTold() {
        var sketch = Sketch(counters: 64)
        for _ in 0..<20 { sketch.add(key(1)) }
        #expect(sketch.frequency(of: key(1)) == 15 && sketch.added == 15)
        sketch.halve()
        #expect(sketch.frequency(of: key(1)) == 7 && sketch.added == 0)
    }
}
