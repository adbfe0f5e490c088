// From stored samples to sRGB. The matrix, the range and the curve come from the stream's tags; where a tag is missing
// the size decides, as players do (ITU-R BT.709 from 1280 wide or 577 high on, BT.601 below).

internal import FramemillMedia

#if canImport(Glibc)
    internal import Glibc
#endif

/// What the samples of a picture mean.
struct ColorModel: Equatable {
    /// Luma weights of red and blue (ITU-R BT.601, BT.709, BT.2020: `Kr`, `Kb`). `nil`: the planes are G, B, R.
    var weights: (red: Float, blue: Float)?
    var isFullRange: Bool
    var bits: Int
    var isGrey: Bool
    var curve: Curve

    enum Curve: String, Equatable { case sdr, pq, hlg }

    static let bt601: (red: Float, blue: Float) = (0.299, 0.114)
    static let bt709: (red: Float, blue: Float) = (0.2126, 0.0722)
    static let bt2020: (red: Float, blue: Float) = (0.2627, 0.0593)
    static let fcc: (red: Float, blue: Float) = (0.30, 0.11)
    static let smpte240: (red: Float, blue: Float) = (0.212, 0.087)

    static func == (left: ColorModel, right: ColorModel) -> Bool {
        left.weights?.red == right.weights?.red && left.weights?.blue == right.weights?.blue
            && left.isFullRange == right.isFullRange && left.bits == right.bits && left.isGrey == right.isGrey
            && left.curve == right.curve
    }
}

/// Converts rows of samples to RGBA rows.
struct ColorConverter {
    private let model: ColorModel
    private let lumaScale: Float
    private let lumaBase: Float
    private let chromaScale: Float
    private let chromaMiddle: Float
    private let redFromCr: Float
    private let blueFromCb: Float
    private let greenFromCr: Float
    private let greenFromCb: Float
    private let toneMap: ToneMap?
    private let alphaScale: Float

    init(_ model: ColorModel) {
        self.model = model
        let most = Float((1 << model.bits) - 1)
        let unit = Float(1 << (model.bits - 8))
        let full = model.isFullRange
        // Results are 0 ... 1. Limited range: 16 to 235 and 16 to 240 in units of 8 bits (ITU-R BT.709, 3.4).
        lumaBase = full ? 0 : 16 * unit
        lumaScale = full ? 1 / most : 1 / (219 * unit)
        chromaMiddle = Float(1 << (model.bits - 1))
        chromaScale = full ? 1 / most : 1 / (224 * unit)
        let weights = model.weights ?? ColorModel.bt709
        let green = 1 - weights.red - weights.blue
        redFromCr = 2 * (1 - weights.red)
        blueFromCb = 2 * (1 - weights.blue)
        greenFromCr = -weights.red * redFromCr / green
        greenFromCb = -weights.blue * blueFromCb / green
        toneMap = model.curve == .sdr ? nil : ToneMap(model.curve)
        alphaScale = 255 / most
    }

    /// Turns a row of samples, in the stream's units, into red, green and blue of 0 ... 255, clamped, in place.
    func convert(_ row: inout SampleRow) {
        let count = row.count
        // `row` gives `count` elements of each component. Choices are made outside the loops: that, and no checks in
        // them, is what lets the compiler do eight samples at once.
        unsafe row.withMutablePointers { first, second, third in
            if model.isGrey {
                for x in 0..<count {
                    let luma = unsafe (first[x] - lumaBase) * lumaScale
                    unsafe (first[x], second[x], third[x]) = (luma, luma, luma)
                }
            } else if model.weights == nil {
                for x in 0..<count {
                    let (green, blue, red) = unsafe (first[x], second[x], third[x])
                    unsafe first[x] = (red - lumaBase) * lumaScale
                    unsafe second[x] = (green - lumaBase) * lumaScale
                    unsafe third[x] = (blue - lumaBase) * lumaScale
                }
            } else {
                for x in 0..<count {
                    let luma = unsafe (first[x] - lumaBase) * lumaScale
                    let cb = unsafe (second[x] - chromaMiddle) * chromaScale
                    let cr = unsafe (third[x] - chromaMiddle) * chromaScale
                    unsafe first[x] = luma + redFromCr * cr
                    unsafe second[x] = luma + greenFromCr * cr + greenFromCb * cb
                    unsafe third[x] = luma + blueFromCb * cb
                }
            }
            if let toneMap {
                for x in 0..<count {
                    unsafe (first[x], second[x], third[x]) = toneMap.map(first[x], second[x], third[x])
                }
            }
            for x in 0..<count {
                unsafe first[x] = min(255, max(0, first[x] * 255))
                unsafe second[x] = min(255, max(0, second[x] * 255))
                unsafe third[x] = min(255, max(0, third[x] * 255))
            }
        }
    }

    /// Writes a converted row as RGBA to `pixels`, from byte `start` on; `alpha`, in sample units, is empty for opaque
    /// pictures.
    func pack(
        _ row: borrowing SampleRow, alpha: [Float], into pixels: inout [UInt8], at start: Int
    ) {
        let count = row.count
        precondition(start >= 0 && start + count * 4 <= pixels.count)
        unsafe pixels.withUnsafeMutableBytes { pixels in
            unsafe row.withPointers { red, green, blue in
                // `count` elements each, and `count` pixels from `start` on, as asked above.
                for x in 0..<count {
                    let color = unsafe UInt32(byte(red[x])) | UInt32(byte(green[x])) << 8
                    let pixel = unsafe color | UInt32(byte(blue[x])) << 16 | 0xFF00_0000
                    unsafe pixels.storeBytes(
                        of: pixel.littleEndian, toByteOffset: start + x * 4, as: UInt32.self)
                }
            }
        }
        for (x, value) in alpha.enumerated() { pixels[start + x * 4 + 3] = byte(value * alphaScale) }
    }
}

/// HDR to sRGB, on thumbnail pixels: undo the curve, compress what is brighter than paper white, move BT.2020
/// primaries to BT.709, apply the sRGB curve.
///
/// Light is counted in units of paper white. ITU-R BT.2408 puts that at 203 cd/m2; 185 here lifts mid-tones by a tenth,
/// to the level that ordinary clips have beside it in a feed. The peak is 1,000 cd/m2. The curve is Moebius on the
/// largest component, so that hue stays: straight up to 0.4 of white, then bent so that the peak just reaches 1. PQ's 203
/// cd/m2 becomes 224 of 255 (untreated it would show as 148); HLG's code 573, 77 cd/m2, becomes 172.
struct ToneMap {
    private let toLinear: [Float]
    private let toSRGB: [Float]
    private static let white: Float = 185
    private let peak: Float = 1000 / white
    private let isHLG: Bool

    init(_ curve: ColorModel.Curve) {
        isHLG = curve == .hlg
        toLinear = (0...4096).map { step in
            let code = Float(step) / 4096
            return curve == .hlg ? Self.hlgScene(code) : Self.pqNits(code) / Self.white
        }
        toSRGB = (0...4096).map { step in
            let light = Float(step) / 4096
            return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055
        }
    }

    /// SMPTE ST 2084, equation 4.1: code value to cd/m2.
    static func pqNits(_ code: Float) -> Float {
        let power = pow(max(code, 0), 1 / 78.84375)
        let top = max(power - 0.8359375, 0)
        return 10000 * pow(top / (18.8515625 - 18.6875 * power), 1 / 0.1593017578125)
    }

    /// ITU-R BT.2100, table 5: the inverse HLG OETF, scene light 0 ... 1.
    static func hlgScene(_ code: Float) -> Float {
        code <= 0.5 ? code * code / 3 : (exp((code - 0.55991073) / 0.17883277) + 0.28466892) / 12
    }

    func map(_ red: Float, _ green: Float, _ blue: Float) -> (Float, Float, Float) {
        var r = look(toLinear, red)
        var g = look(toLinear, green)
        var b = look(toLinear, blue)
        if isHLG {
            // The system gamma of a 1,000 cd/m2 display, 1.2, on scene luminance (BT.2100, table 5).
            let luminance = max(1e-6, 0.2627 * r + 0.678 * g + 0.0593 * b)
            let gain = pow(luminance, 0.2) * peak
            (r, g, b) = (r * gain, g * gain, b * gain)
        }
        let most = max(r, g, b)
        if most > 0 {
            let gain = min(1, bend(most)) / most
            (r, g, b) = (r * gain, g * gain, b * gain)
        }
        // BT.2020 to BT.709 primaries (ITU-R BT.2087, annex 2, inverted).
        return (
            look(toSRGB, 1.6605 * r - 0.5876 * g - 0.0728 * b),
            look(toSRGB, -0.1246 * r + 1.1329 * g - 0.0083 * b),
            look(toSRGB, -0.0182 * r - 0.1006 * g + 1.1187 * b)
        )
    }

    private static let knee: Float = 0.4

    /// `(b + k)^2 / (b - a) * (x + a) / (x + b)`, with `a` and `b` such that the curve leaves the straight part smoothly
    /// and meets 1 at the peak.
    private func bend(_ light: Float) -> Float {
        let k = Self.knee
        guard light > k else { return light }
        let a = -k * k * (peak - 1) / (k * k - 2 * k + peak)
        let b = (k * k - 2 * k * peak + peak) / (peak - 1)
        return (b + k) * (b + k) / (b - a) * (light + a) / (light + b)
    }

    /// Linear interpolation in a table of 4,097 steps over 0 ... 1; the curve of dark sRGB is steep, but straight there.
    private func look(_ table: [Float], _ value: Float) -> Float {
        let place = min(1, max(0, value)) * 4096
        let low = min(4095, Int(place))
        return table[low] + (table[low + 1] - table[low]) * (place - Float(low))
    }
}
