public import FramemillEngine
public import FramemillMedia

/// What is done with a frame that is drawn. Both compute, on the thread that calls.
extension Imaging: FrameRenderer {
    public func fit(_ bitmap: Bitmap, into box: Recipe.Box, stop: Stop) throws(Failure) -> Bitmap {
        var recipe = Recipe()
        recipe.box = box
        let plan = Plan(
            storedWidth: bitmap.width, storedHeight: bitmap.height, aspect: (1, 1), orientation: 1,
            recipe: recipe)
        return Resampler.resize(bitmap, plan: plan, orientation: 1)
    }

    public func encode(_ bitmap: Bitmap, recipe: Recipe, stop: Stop) throws(Failure) -> [UInt8] {
        try Encoder.encode(bitmap, recipe: recipe)
    }
}
