public import FramemillMedia

/// What is done with a frame that is drawn. Both compute, on the thread that calls.
extension Imaging {
    /// The whole of `bitmap`, fitted into `box`; never enlarged.
    public func fit(_ bitmap: Bitmap, into box: Recipe.Box) -> Bitmap {
        var recipe = Recipe()
        recipe.box = box
        let plan = Plan(
            storedWidth: bitmap.width, storedHeight: bitmap.height, aspect: (1, 1), orientation: 1,
            recipe: recipe)
        return Resampler.resize(bitmap, plan: plan, orientation: 1)
    }

    /// The file of one bitmap, by the format, quality, effort and background of `recipe`.
    /// - Throws: `badOption` for a quality or an effort that is not there, `notSupported` for a size that the format
    ///   can't hold.
    public func encode(_ bitmap: Bitmap, recipe: Recipe) throws(Failure) -> [UInt8] {
        try Encoder.encode(bitmap, recipe: recipe)
    }
}
