package a

func f() {
	select {} // want "select in pure code"
}
