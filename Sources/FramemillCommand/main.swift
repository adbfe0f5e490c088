print("framemill")
