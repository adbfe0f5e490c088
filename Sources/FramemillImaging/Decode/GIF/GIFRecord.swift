internal import FramemillMedia

/// What a graphic control extension says of the frame behind it (GIF89a, section 23).
struct GIFControl {
    var transparent: Int?
    /// Hundredths of a second.
    var delay = 0
    var disposal = 0

    init() {}

    /// Packed fields, delay (low byte first), transparent index.
    mutating func read(_ body: UnsafeBufferPointer<UInt8>) {
        // The caller's: four bytes or more.
        let packed = unsafe body[0]
        transparent = packed & 1 == 1 ? Int(unsafe body[3]) : nil
        delay = unsafe Int(body[1]) | Int(body[2]) << 8
        disposal = Int(packed >> 2 & 7)
    }
}

/// One frame of a GIF: where its data lies, and what is needed to read it. Small, for there may be 100,000.
struct GIFRecord: Sendable {
    private(set) var left: UInt16 = 0
    private(set) var top: UInt16 = 0
    private(set) var width: UInt16 = 0
    private(set) var height: UInt16 = 0
    var isInterlaced = false
    /// The data ends with the file.
    var isCut = false
    private let transparentIndex: Int16
    private let delay: UInt16
    private let disposalCode: UInt8
    private var codeSizeByte: UInt8 = 0
    private var localColorCount: UInt16 = 0
    /// The first sub-block; the local colours end one byte before it.
    var dataStart: Int64 = 0
    var dataEnd: Int64 = 0

    init(_ control: GIFControl) {
        transparentIndex = Int16(control.transparent ?? -1)
        delay = UInt16(control.delay)
        disposalCode = UInt8(control.disposal)
    }

    mutating func place(left: Int, top: Int, width: Int, height: Int) {
        // giflib reads each from two bytes.
        self.left = UInt16(truncatingIfNeeded: left)
        self.top = UInt16(truncatingIfNeeded: top)
        self.width = UInt16(truncatingIfNeeded: width)
        self.height = UInt16(truncatingIfNeeded: height)
    }

    var transparent: Int? { transparentIndex < 0 ? nil : Int(transparentIndex) }
    var codeSize: Int {
        get { Int(codeSizeByte) }
        set { codeSizeByte = UInt8(truncatingIfNeeded: newValue) }
    }
    /// 0: the global table's.
    var localColors: Int {
        get { Int(localColorCount) }
        set { localColorCount = UInt16(truncatingIfNeeded: newValue) }
    }

    /// Whether there can be a picture at all. A code size of 0 allows for one colour.
    var isPicture: Bool { width > 0 && height > 0 && codeSize > 0 }

    /// Disposals 4 to 7 are undefined; Chromium takes 4 for "previous" (old encoders counted so), the rest for "keep".
    var facts: FrameFacts {
        let disposal: FrameFacts.Disposal =
            switch disposalCode {
            case 2: .background
            case 3, 4: .previous
            default: .keep
            }
        return FrameFacts(
            rawDelay: Double(delay) * 10, left: Int(left), top: Int(top), width: Int(width),
            height: Int(height),
            disposal: disposal, blend: .over)
    }
}
