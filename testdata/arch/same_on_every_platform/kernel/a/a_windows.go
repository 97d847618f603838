package a // want "not in every build"
