package a // want "ties it to a platform"
