internal import FramemillMedia

/// Which part of a stored picture goes into a result of which size. Pure arithmetic, in one order: pixel aspect, turn,
/// fit. Nothing is enlarged unless the recipe asks for it.
struct Plan: Equatable {
    /// Upright, pixel aspect applied.
    var displayWidth: Int
    var displayHeight: Int
    /// The result, upright.
    var width: Int
    var height: Int
    /// The part used, in stored pixels.
    var cropX: Double
    var cropY: Double
    var cropWidth: Double
    var cropHeight: Double

    /// The result before it is turned upright.
    func sizeBeforeTurn(_ orientation: Int) -> (width: Int, height: Int) {
        Geometry.swapsSides(orientation) ? (height, width) : (width, height)
    }

    /// The size a stored picture is shown at before it is turned.
    ///
    /// Wide pixels stretch the width. Tall ones stretch the height while that adds at most a quarter (no stored column
    /// is lost to a small correction); a clip squeezed more than that was squeezed on purpose, and loses the width.
    static func shown(width: Int, height: Int, aspect: (num: Int, den: Int)) -> (width: Int, height: Int) {
        guard aspect.num > 0, aspect.den > 0 else { return (width, height) }
        let ratio = Double(aspect.num) / Double(aspect.den)
        // Beyond 1:64 a ratio is damage, not a lens.
        guard ratio > 1.0 / 64, ratio < 64 else { return (width, height) }
        func scaled(_ side: Int, _ factor: Double) -> Int { max(1, Int((Double(side) * factor).rounded())) }
        if ratio >= 1 { return (scaled(width, ratio), height) }
        if ratio >= 0.8 { return (width, scaled(height, 1 / ratio)) }
        return (scaled(width, ratio), height)
    }

    init(
        storedWidth: Int, storedHeight: Int, aspect: (num: Int, den: Int), orientation: Int, recipe: Recipe
    ) {
        let shown = Self.shown(width: storedWidth, height: storedHeight, aspect: aspect)
        let turned = Geometry.swapsSides(orientation)
        displayWidth = turned ? shown.height : shown.width
        displayHeight = turned ? shown.width : shown.height
        let (displayed, box) = Self.box(recipe.box, width: displayWidth, height: displayHeight)
        var cropped = displayed
        func whole(_ value: Double) -> Int { max(1, Int(value.rounded())) }
        switch recipe.mode {
        case .fit:
            let wish = min(box.width / displayed.width, box.height / displayed.height)
            let scale = recipe.enlarge ? wish : min(1, wish)
            (width, height) = (whole(displayed.width * scale), whole(displayed.height * scale))
        case .fill:
            let wish = max(box.width / displayed.width, box.height / displayed.height)
            let scale = recipe.enlarge ? wish : min(1, wish)
            // The box itself shrinks where the source is too small to fill it.
            let (boxWidth, boxHeight) = (box.width / wish * scale, box.height / wish * scale)
            (width, height) = (whole(boxWidth), whole(boxHeight))
            cropped = (min(displayed.width, boxWidth / scale), min(displayed.height, boxHeight / scale))
        case .stretch:
            let most = min(displayed.width / box.width, displayed.height / box.height)
            let scale = recipe.enlarge ? 1 : min(1, most)
            (width, height) = (whole(box.width * scale), whole(box.height * scale))
        }
        // From upright display pixels to stored ones: turn back, then undo the pixel aspect. The crop is centred, so
        // only its size has to be turned.
        let (across, down) =
            turned ? (cropped.height, cropped.width) : (cropped.width, cropped.height)
        cropWidth = across / Double(shown.width) * Double(storedWidth)
        cropHeight = down / Double(shown.height) * Double(storedHeight)
        cropX = (Double(storedWidth) - cropWidth) / 2
        cropY = (Double(storedHeight) - cropHeight) / 2
    }

    private static func box(
        _ box: Recipe.Box, width: Int, height: Int
    ) -> (displayed: (width: Double, height: Double), box: (width: Double, height: Double)) {
        let displayed = (Double(width), Double(height))
        switch box {
        case .native: return (displayed, displayed)
        case .longestSide(let side): return (displayed, (Double(side), Double(side)))
        case .size(let width, let height): return (displayed, (Double(width), Double(height)))
        }
    }
}
